//! Why commands of clients have no effect, as their scripts say; on every backend and in the
//! oracle.

use gpu_kernels::{Frame, RefusedCommand};
use shared::world::logic::{Constant, LogicConfig, Text};
use shared::{EntityId, Refusal, Tick, WorldConfig};
use testkit::parity::Parity;
use testkit::scripts::with_texts;

const ME: EntityId = EntityId::new(0, 1);
const OTHER: EntityId = EntityId::new(1, 1);

const WORLD: &str = "
    [world]
    size = [100, 100]
    capacity = 8
    [limits]
    timed_commands = 8
    atomic_per_tick = 8
    [[kind]]
    name = 'player'
    attributes = [
        { name = 'gold', type = 'i32', default = 10, min = 0, max = 20, audience = 'state' },
    ]
";

/// A world with a script, whose `pay` can be given as often as one wants.
fn world(text: &str, script: &str) -> WorldConfig {
    let mut config = world_file::parse(text, "reasons").unwrap();
    if script.contains("fn pay(") {
        let usage = [("per_tick".to_owned(), Constant::Int(0))];
        let constants = &mut config.logic.constants;
        constants.insert("pay".to_owned(), usage.into());
    }
    with_texts(&config, vec![Text::new("test.rs", script)])
}

/// A world with a script, in which two players live.
fn started(script: &str) -> Parity {
    let config = world(WORLD, script);
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(0, 0, &[4096, 4096]);
    frame.spawn_at(0, 1, &[8192, 4096]);
    parity.tick(&frame);
    parity
}

/// What becomes of a player's commands in a tick: why each has no effect, and what its script says.
fn given(parity: &mut Parity, commands: &[(&str, i32)]) -> Vec<(u32, Refusal, Option<String>)> {
    let config = parity.oracle.config.clone();
    let mut frame = Frame::new(parity.oracle.tick);
    for (sequence, (name, word)) in (0..).zip(commands) {
        let kind = config.schema.command_named(name).unwrap().kind;
        frame.push(ME, sequence, kind, &[*word]);
    }
    let refused = parity.tick(&frame).refused;
    said(&config, &refused)
}

fn said(config: &WorldConfig, refused: &[RefusedCommand]) -> Vec<(u32, Refusal, Option<String>)> {
    let text = |number: u8| config.reasons[usize::from(number)].clone();
    let refused = refused.iter();
    refused
        .map(|refused| (refused.sequence, refused.reason, refused.because.map(text)))
        .collect()
}

fn because(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn a_command_says_which_condition_did_not_hold_if_it_did_nothing() {
    let mut parity = started(
        "fn positive(n: i32) -> i32 { require(n > 0, \"not positive\"); n }
        #[command(clients)] fn pay(me: Entity, n: i32) {
            require(positive(n) < 100, \"too much\");
            require(n != 7);
            if n > 50 { me.gold -= 1; }
            require(n <= me.gold, \"too little gold\");
            me.gold -= n;
        }",
    );
    let commands = [
        ("pay", 0),
        ("pay", 100),
        ("pay", 7),
        ("pay", 11),
        // It has an effect before its last condition does not hold.
        ("pay", 51),
        ("pay", 3),
    ];
    let expected = [
        (0, Refusal::Idle, because("not positive")),
        (1, Refusal::Idle, because("too much")),
        (2, Refusal::Idle, None),
        (3, Refusal::Idle, because("too little gold")),
    ];
    assert_eq!(given(&mut parity, &commands), expected);
    let gold = parity.oracle.config.schema.column("gold").unwrap();
    assert_eq!(parity.oracle.slots[0].row[gold], 6);
}

#[test]
fn an_atomic_command_says_it_in_its_turn() {
    let mut parity = started(
        "#[command(clients, atomic)] fn pay(me: Entity, n: i32) {
            require(n > 0, \"not positive\");
            me.gold -= 1;
            require(me.gold >= n, \"too little gold\");
            me.gold -= n;
            if n == 2 { require_fits(me.gold += 100); }
        }",
    );
    let commands = [("pay", 6), ("pay", 4), ("pay", 0), ("pay", 2)];
    let expected = [
        // Of 10, the first left 3.
        (1, Refusal::Unmet, because("too little gold")),
        (2, Refusal::Unmet, because("not positive")),
        // What does not fit has no words of its own.
        (3, Refusal::Unmet, None),
    ];
    assert_eq!(given(&mut parity, &commands), expected);
    parity.restart(true);
}

#[test]
fn only_what_clients_give_has_reasons() {
    let parity = started(
        "#[command(clients)] fn begin(me: Entity, n: i32) {
            require(n > 0, \"one\");
            require(n > 1, \"two\");
            require(n > 2, \"one\");
            after(1, go_on(me, n));
        }
        #[command] fn go_on(me: Entity, n: i32) { require(n > 3, \"three\"); me.gold += n; }
        #[command(rules)] fn grow(me: Entity) { require(me.gold < 9, \"four\"); me.gold += 1; }
        #[on(birth)] fn born(me: Entity) { require(me.gold < 9, \"five\"); me.gold += 1; }
        fn unused(n: i32) { require(n > 0, \"six\"); }",
    );
    assert_eq!(parity.oracle.config.reasons, ["one", "two"]);
}

#[test]
fn other_scripts_bring_other_reasons() {
    let before = "#[command(clients)] fn pay(me: Entity, n: i32) {
        require(n < 5, \"too much\"); me.gold -= n;
    }";
    let mut parity = started(before);
    let idle = |text| vec![(0, Refusal::Idle, because(text))];
    assert_eq!(given(&mut parity, &[("pay", 9)]), idle("too much"));
    let after = "#[command(clients)] fn beg(me: Entity, n: i32) {
        require(n < 3, \"too greedy\"); me.gold += n;
    }";
    let logic = LogicConfig {
        texts: vec![Text::new("a.rs", after), Text::new("test.rs", before)],
        ..parity.oracle.config.logic.clone()
    };
    let mut frame = Frame::new(parity.oracle.tick);
    frame.logic = Some(Box::new(logic));
    parity.tick(&frame);
    assert_eq!(parity.oracle.config.reasons, ["too greedy", "too much"]);
    assert_eq!(given(&mut parity, &[("pay", 9)]), idle("too much"));
    assert_eq!(given(&mut parity, &[("beg", 9)]), idle("too greedy"));
    // Without words again.
    let mut frame = Frame::new(parity.oracle.tick);
    frame.logic = Some(Box::new(LogicConfig {
        texts: vec![Text::new("test.rs", before.replace(", \"too much\"", ""))],
        ..parity.oracle.config.logic.clone()
    }));
    parity.tick(&frame);
    assert_eq!(parity.oracle.config.reasons, [""; 0]);
    let found = given(&mut parity, &[("pay", 9)]);
    assert_eq!(found, [(0, Refusal::Idle, None)]);
}

#[test]
fn a_command_that_waited_says_it_in_the_tick_of_its_turn() {
    let text = WORLD.replace("atomic_per_tick = 8", "atomic_per_tick = 1");
    let script = "#[command(clients, atomic)] fn pay(me: Entity, n: i32) {
        require(me.gold >= n, \"too little gold\");
        me.gold -= n;
    }";
    let config = world(&text, script);
    let pay = config.schema.command_named("pay").unwrap().kind;
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(0, 0, &[4096, 4096]);
    frame.spawn_at(0, 1, &[8192, 4096]);
    parity.tick(&frame);
    frame.reset(Tick(1));
    frame.push(OTHER, 0, pay, &[6]);
    frame.push(OTHER, 1, pay, &[6]);
    assert_eq!(parity.tick(&frame).refused, []);
    parity.restart(true);
    frame.reset(Tick(2));
    let refused = parity.tick(&frame).refused;
    let expected = [(1, Refusal::Unmet, because("too little gold"))];
    assert_eq!(said(&config, &refused), expected);
}
