//! Hooks and zones: which event gives which command, when and how often; on every backend and in
//! the oracle.

use gpu_kernels::Frame;
use gpu_kernels::tick::frame::JOIN_TOKEN;
use script::logic::with_logic;
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, Tick, WorldConfig};
use testkit::backends::backends;
use testkit::oracle::OracleOutput;
use testkit::parity::Parity;
use testkit::scripts::with_texts;

const UNIT: i32 = 4096;

/// Players that count what happens to them, carts that carry their shade with them, and a tally
/// of what concerns nobody.
const WORLD: &str = r#"
[world]
size = [100, 100]
aoi = 20
capacity = 40
[limits]
clients = 8
LIMITS
[logic]
builtin = []

[[kind]]
name = "player"
respawn_ticks = 5
attributes = [
    { name = "hp", type = "i32", default = 100, min = 0, max = 100, falls_at = 0, audience = "state" },
    { name = "gold", type = "i32", default = 7, min = 0, audience = "state" },
    { name = "joins", type = "i32", audience = "state" },
    { name = "births", type = "i32", audience = "state" },
    { name = "enters", type = "i32", audience = "state" },
    { name = "exits", type = "i32", audience = "state" },
    { name = "earliest", type = "i32", merge = "first", audience = "state" },
    { name = "latest", type = "i32", merge = "last", audience = "state" },
    { name = "carrier", type = "entity", merge = "last", audience = "state" },
]
[[kind]]
name = "cart"
attributes = [
    { name = "births", type = "i32", audience = "state" },
    { name = "enters", type = "i32", audience = "state" },
]
[[kind]]
name = "tally"
attributes = [
    { name = "falls", type = "i32", audience = "state" },
    { name = "orphans", type = "i32", audience = "state" },
    { name = "loads", type = "i32", audience = "state" },
]

[[zone]]
name = "disc"
center = [50, 50]
radius = 10
[[zone]]
name = "box"
area = [[10, 10], [20, 20]]
[[zone]]
name = "shade"
carrier = "cart"
radius = 5
"#;

/// Causes are kept where clients can subscribe.
const LIMITS: &str = "timed_commands = 100\natomic_per_tick = 10\nsubscriptions_per_client = 1";

const COMMANDS: &str = "
#[command(rules)]
fn hit(me: Entity, n: i32) { me.hp -= n; }
#[command]
fn strike(me: Entity, target: Entity, n: i32) { target.hp -= n; }
#[command(atomic)]
fn stab(me: Entity, target: Entity, n: i32) { target.hp -= n; }
#[command]
fn shift(me: Entity, by: Point) { me.position += by; }
";

const COUNTERS: &str = "
#[on(join)]
fn joined(me: Entity) { me.joins += 1; }
#[on(birth)]
fn born(me: Entity) { me.births += 1; }
#[on(fall, kind = \"player\")]
fn fell(me: Entity, by: Entity) {
    by.gold += me.gold;
    let tally = nearest(me, 150.0, \"tally\");
    tally.falls += 1;
    if !exists(by) { tally.orphans += 1; }
}
#[on(enter, \"disc\")]
fn entered_disc(me: Entity) { me.enters += 1; me.earliest = 1; me.latest = 1; }
#[on(exit, \"disc\")]
fn left_disc(me: Entity) { me.exits += 1; me.earliest = 2; me.latest = 2; }
#[on(enter, \"box\")]
fn entered_box(me: Entity) { me.enters += 1; me.earliest = 3; me.latest = 3; }
#[on(exit, \"box\")]
fn left_box(me: Entity) { me.exits += 1; me.earliest = 4; me.latest = 4; }
#[on(enter, \"shade\")]
fn entered_shade(me: Entity, carrier: Entity) { me.enters += 1; me.carrier = carrier; }
#[on(exit, \"shade\")]
fn left_shade(me: Entity, carrier: Entity) {
    me.exits += 1;
    me.latest = if exists(carrier) { 5 } else { 6 };
}
#[on(reload)]
fn loaded() { nearest(point(50.0, 50.0), 150.0, \"tally\").loads += 1; }
";

const PLAYER: u16 = 0;
const CART: u16 = 1;
const TALLY: u16 = 2;

/// Far from all zones.
const AWAY: [i32; 2] = [90 * UNIT, 10 * UNIT];

fn world_with(limits: &str, hooks: &str) -> WorldConfig {
    let text = WORLD.replace("LIMITS", limits);
    let config = world_file::parse(&text, "hooks").unwrap();
    let texts = [("commands.rs", COMMANDS), ("hooks.rs", hooks)];
    with_texts(
        &config,
        texts.map(|(file, text)| Text::new(file, text)).to_vec(),
    )
}

/// A world in every backend, whose snapshots are taken and restored after each tick if `restarts`.
struct Game {
    parity: Parity,
    frame: Frame,
    restarts: bool,
}

impl Game {
    fn new(hooks: &str) -> Game {
        Game::of(&world_with(LIMITS, hooks))
    }

    fn of(config: &WorldConfig) -> Game {
        Game {
            parity: Parity::new(config),
            frame: Frame::new(Tick(0)),
            restarts: false,
        }
    }

    /// Runs the frame that the test has filled.
    fn tick(&mut self) -> OracleOutput {
        let tick = self.frame.tick.next();
        let output = self.parity.tick(&self.frame);
        if self.restarts {
            self.parity.restart(tick.0.is_multiple_of(2));
        }
        self.frame.reset(tick);
        output
    }

    fn ticks(&mut self, count: usize) {
        (0..count).for_each(|_| drop(self.tick()));
    }

    /// Born with the next tick, in the lowest free slot.
    fn spawn(&mut self, kind: u16, place: [i32; 2]) -> EntityId {
        self.frame.spawn_at(kind, 0, &place);
        let births = self.tick().births;
        births[0].entity.unwrap()
    }

    fn give(&mut self, entity: EntityId, command: &str, words: &[i32]) {
        let kind = self
            .parity
            .oracle
            .config
            .schema
            .command_named(command)
            .unwrap()
            .kind;
        let sequence = self.frame.commands.len() as u32;
        self.frame.push(entity, sequence, kind, words);
    }

    /// Moves an entity by raw units.
    fn shift(&mut self, entity: EntityId, by: [i32; 2]) {
        self.give(entity, "shift", &by);
        self.tick();
    }

    fn value(&self, entity: EntityId, attribute: &str) -> i32 {
        let oracle = &self.parity.oracle;
        let column = oracle.config.schema.column(attribute).unwrap();
        oracle.slots[entity.slot.index()].row[column]
    }

    fn values<const N: usize>(&self, entity: EntityId, attributes: [&str; N]) -> [i32; N] {
        attributes.map(|attribute| self.value(entity, attribute))
    }

    fn is_alive(&self, entity: EntityId) -> bool {
        self.parity.oracle.is_alive(entity)
    }
}

#[test]
fn each_occasion_gives_its_hook_once_whether_or_not_a_snapshot_lies_between() {
    for restarts in [false, true] {
        let mut game = Game::new(COUNTERS);
        game.restarts = restarts;
        let tally = game.spawn(TALLY, AWAY);
        game.frame
            .give_reload_hooks(&game.parity.oracle.config.clone());
        game.frame.spawn_at(PLAYER, 3 | JOIN_TOKEN, &AWAY);
        game.frame.spawn_at(PLAYER, 4, &AWAY);
        let output = game.tick();
        // The token of a client's first entity is the client's.
        let tokens: Vec<u32> = output.births.iter().map(|birth| birth.token).collect();
        assert_eq!(tokens, [3, 4]);
        let [joined, reborn] = [0, 1].map(|birth: usize| output.births[birth].entity.unwrap());
        assert_eq!(game.value(joined, "births"), 0);
        game.ticks(3);
        assert_eq!(game.values(joined, ["joins", "births"]), [1, 1]);
        assert_eq!(game.values(reborn, ["joins", "births"]), [0, 1]);

        let disc = [50 * UNIT - AWAY[0], 50 * UNIT - AWAY[1]];
        game.shift(joined, disc);
        assert_eq!(game.value(joined, "enters"), 0);
        game.ticks(3);
        assert_eq!(game.values(joined, ["enters", "exits"]), [1, 0]);
        game.shift(joined, disc.map(|axis| -axis));
        game.ticks(3);
        assert_eq!(game.values(joined, ["enters", "exits"]), [1, 1]);

        game.give(joined, "hit", &[200]);
        game.ticks(4);
        assert_eq!(game.values(tally, ["falls", "orphans", "loads"]), [1, 0, 1]);
        assert_eq!(game.tick().counts.timed, 0);
    }
}

#[test]
fn hooks_and_timed_commands_can_be_read_after_their_tick() {
    let config = world_with(
        LIMITS,
        "#[on(birth)] fn born(me: Entity) { after(2, echo(me, 5)); }
         #[command] fn echo(me: Entity, n: i32) { me.births -= n; }",
    );
    let number = |name: &str| config.schema.command_named(name).unwrap().kind;
    let [born, echo] = ["born", "echo"].map(number);
    for (label, mut backend) in backends(&config) {
        let mut frame = Frame::new(Tick(0));
        frame.spawn_at(PLAYER, 0, &AWAY);
        frame.spawn_at(CART, 1, &AWAY);
        backend.tick(&frame).unwrap();
        let mut found = vec![];
        for tick in (1..5).map(Tick) {
            let mut frame = Frame::new(tick);
            frame.push(EntityId::new(1, 1), 0, number("shift"), &[0, 0]);
            backend.tick(&frame).unwrap();
            let due = backend.due(&|kind| kind == born || kind == echo).unwrap();
            assert_eq!(due.left_out, 0, "{label}");
            found.extend(due.iter().map(|(command, words)| {
                let kind = CommandKind(command.kind);
                (tick.0, command.entity, kind, words.to_vec())
            }));
        }
        let [player, cart] = [0, 1].map(|slot| EntityId::new(slot, 1));
        let expected = [
            (1, player, born, vec![]),
            (1, cart, born, vec![]),
            (3, player, echo, vec![5]),
            (3, cart, echo, vec![5]),
        ];
        assert_eq!(found, expected, "{label}");
    }
}

#[test]
fn a_hook_of_a_kind_is_given_by_no_other() {
    let mut game = Game::new(
        "#[on(birth, kind = \"cart\")] fn born(me: Entity) { me.births += 1; }
         #[on(enter, \"disc\", kind = \"player\")] fn entered(me: Entity) { me.enters += 1; }",
    );
    let place = [50 * UNIT; 2];
    let player = game.spawn(PLAYER, place);
    let cart = game.spawn(CART, place);
    game.ticks(2);
    assert_eq!(game.values(player, ["births", "enters"]), [0, 1]);
    assert_eq!(game.values(cart, ["births", "enters"]), [1, 0]);
}

#[test]
fn a_command_of_several_hooks_is_given_by_each() {
    let mut game = Game::new(
        "#[on(join)]
         #[on(enter, \"disc\")]
         #[on(exit, \"disc\")]
         #[on(birth, kind = \"cart\")]
         #[on(enter, \"box\", kind = \"player\")]
         fn noted(me: Entity) { me.enters += 1; }
         #[on(fall)]
         #[on(exit, \"shade\")]
         fn with_another(me: Entity, other: Entity) { other.births += 1; }",
    );
    let config = game.parity.oracle.config.clone();
    let mut commands: Vec<CommandKind> = config.hooks.iter().map(|hook| hook.command).collect();
    assert_eq!(commands.len(), 7);
    commands.dedup();
    assert_eq!(commands.len(), 2);

    let by = |x: i32, y: i32| [x * UNIT, y * UNIT];
    // A rebirth in the box, and a cart's birth in the disc.
    let reborn = game.spawn(PLAYER, by(15, 15));
    let cart = game.spawn(CART, by(50, 50));
    game.frame.spawn_at(PLAYER, 3 | JOIN_TOKEN, &by(30, 10));
    let joined = game.tick().births[0].entity.unwrap();
    game.ticks(2);
    let noted = [reborn, cart, joined].map(|own| game.value(own, "enters"));
    assert_eq!(noted, [1, 2, 1]);
    // Into the disc, and from there into the box: out of one zone and into the other.
    game.shift(joined, by(21, 40));
    game.ticks(2);
    assert_eq!(game.value(joined, "enters"), 2);
    game.shift(joined, by(-36, -35));
    game.ticks(2);
    assert_eq!(game.value(joined, "enters"), 4);
    assert_eq!(game.value(cart, "births"), 1);
    game.give(reborn, "strike", &[joined.reference().0, 100]);
    game.ticks(3);
    assert_eq!(game.value(reborn, "births"), 1);
}

#[test]
fn the_fallen_can_be_read_once_more_and_name_who_felled_them() {
    // Of ordinary commands the first counts that wanted the change; of atomic ones, the last that
    // wrote it.
    for (command, does_first) in [("strike", true), ("stab", false)] {
        let mut game = Game::new(COUNTERS);
        let tally = game.spawn(TALLY, AWAY);
        let [prey, first, second] = [0; 3].map(|_| game.spawn(PLAYER, AWAY));
        game.ticks(2);
        let target = prey.reference().0;
        game.give(first, command, &[target, 60]);
        game.give(second, command, &[target, 60]);
        let output = game.tick();
        assert!(output.deaths.is_empty() && game.is_alive(prey));
        assert_eq!(game.value(prey, "hp"), 0);
        let output = game.tick();
        assert_eq!(output.deaths, [prey]);
        let gold = [first, second].map(|player| game.value(player, "gold"));
        assert_eq!(
            gold,
            if does_first { [14, 7] } else { [7, 14] },
            "{command}"
        );
        game.ticks(3);
        assert_eq!(game.values(tally, ["falls", "orphans"]), [1, 0]);
    }
}

#[test]
fn nobody_fells_a_newborn_or_what_the_world_itself_wounds() {
    let mut game = Game::new(&format!(
        "{COUNTERS}
         #[on(reload)] fn storm() {{ nearest(point(90.0, 10.0), 150.0, \"player\").hp -= 100; }}"
    ));
    let tally = game.spawn(TALLY, AWAY);
    let column = |name: &str| game.parity.oracle.config.schema.column(name).unwrap();
    let mut row = game
        .parity
        .oracle
        .config
        .schema
        .default_row(usize::from(PLAYER));
    row[column("hp")] = 0;
    (row[0], row[1]) = (AWAY[0], AWAY[1]);
    game.frame.spawn_as(PLAYER, 0, &row);
    let newborn = game.tick().births[0].entity.unwrap();
    assert!(game.is_alive(newborn));
    assert_eq!(game.tick().deaths, [newborn]);
    assert_eq!(game.values(tally, ["falls", "orphans"]), [1, 1]);

    let hit = game.spawn(PLAYER, AWAY);
    game.ticks(2);
    game.frame
        .give_reload_hooks(&game.parity.oracle.config.clone());
    game.ticks(1);
    assert_eq!(game.tick().deaths, [hit]);
    assert_eq!(game.values(tally, ["falls", "orphans"]), [2, 2]);
}

#[test]
fn a_healed_falling_entity_dies_and_falls_only_once() {
    let mut game = Game::new(COUNTERS);
    let tally = game.spawn(TALLY, AWAY);
    let player = game.spawn(PLAYER, AWAY);
    game.give(player, "hit", &[100]);
    game.tick();
    game.give(player, "hit", &[-50]);
    assert_eq!(game.tick().deaths, [player]);
    game.ticks(2);
    assert_eq!(game.value(tally, "falls"), 1);
    // A second blow in the tick of the hooks is none.
    let player = game.spawn(PLAYER, AWAY);
    for _ in 0..2 {
        game.give(player, "hit", &[100]);
        game.tick();
    }
    game.ticks(2);
    assert_eq!(game.value(tally, "falls"), 2);
    // An entity that is despawned while falling dies once.
    let player = game.spawn(PLAYER, AWAY);
    game.give(player, "hit", &[100]);
    game.tick();
    game.frame.push(player, 0, CommandKind::DESPAWN, &[]);
    assert_eq!(game.tick().deaths, [player]);
    game.ticks(2);
    assert_eq!(game.value(tally, "falls"), 3);
}

#[test]
fn borders_of_zones_belong_to_them() {
    let mut game = Game::new(COUNTERS);
    let edge = [60 * UNIT, 50 * UNIT];
    let player = game.spawn(PLAYER, [edge[0] + 1, edge[1]]);
    game.ticks(2);
    assert_eq!(game.values(player, ["enters", "exits"]), [0, 0]);
    // One step to the border, one along it to a place just outside of the disc.
    for (by, expected) in [([-1, 0], [1, 0]), ([0, UNIT], [1, 1]), ([0, -UNIT], [2, 1])] {
        game.shift(player, by);
        game.tick();
        assert_eq!(game.values(player, ["enters", "exits"]), expected, "{by:?}");
    }
    let corner = [20 * UNIT, 20 * UNIT];
    let player = game.spawn(PLAYER, corner);
    game.tick();
    for (by, expected) in [
        ([0, 0], [1, 0]),
        ([0, 1], [1, 1]),
        ([0, -1], [2, 1]),
        ([1, 0], [2, 2]),
    ] {
        game.shift(player, by);
        game.tick();
        assert_eq!(game.values(player, ["enters", "exits"]), expected, "{by:?}");
    }
}

#[test]
fn what_is_left_comes_before_what_is_entered() {
    let mut game = Game::new(COUNTERS);
    let player = game.spawn(PLAYER, [50 * UNIT; 2]);
    game.ticks(2);
    for (by, left, entered) in [(-35, 2, 3), (35, 4, 1)] {
        game.shift(player, [by * UNIT; 2]);
        game.tick();
        assert_eq!(game.values(player, ["earliest", "latest"]), [left, entered]);
    }
    assert_eq!(game.values(player, ["enters", "exits"]), [3, 2]);
}

#[test]
fn a_carried_zone_moves_over_those_that_rest_and_leaves_them_when_its_carrier_dies() {
    for restarts in [false, true] {
        let mut game = Game::new(COUNTERS);
        game.restarts = restarts;
        let player = game.spawn(PLAYER, AWAY);
        let cart = game.spawn(CART, [AWAY[0] - 6 * UNIT, AWAY[1]]);
        game.tick();
        game.shift(cart, [UNIT, 0]);
        game.tick();
        assert_eq!(game.values(player, ["enters", "exits"]), [1, 0]);
        assert_eq!(game.value(player, "carrier"), cart.reference().0);
        // Both move alike.
        game.give(player, "shift", &[0, 9]);
        game.shift(cart, [0, 9]);
        game.tick();
        assert_eq!(game.values(player, ["enters", "exits"]), [1, 0]);
        game.shift(cart, [-1, 0]);
        game.tick();
        assert_eq!(
            game.values(player, ["enters", "exits", "latest"]),
            [1, 1, 5]
        );
        game.shift(cart, [1, 0]);
        game.frame.push(cart, 0, CommandKind::DESPAWN, &[]);
        game.ticks(2);
        assert_eq!(
            game.values(player, ["enters", "exits", "latest"]),
            [2, 2, 6]
        );
        // A carrier is not in its own zone, but in those of others; a new one in the slot of one
        // that died brings a zone of its own.
        game.frame.release.push(cart.slot);
        let [a, b] = [0; 2].map(|_| game.spawn(CART, AWAY));
        assert_eq!(a.slot, cart.slot);
        game.ticks(2);
        assert_eq!([a, b].map(|cart| game.value(cart, "enters")), [1, 1]);
        assert_eq!(game.values(player, ["enters", "exits"]), [4, 2]);
    }
}

#[test]
fn the_dead_cross_no_borders_and_newborns_enter_where_they_are_born() {
    let mut game = Game::new(COUNTERS);
    let witness = game.spawn(PLAYER, [50 * UNIT; 2]);
    game.tick();
    assert_eq!(game.value(witness, "enters"), 1);
    game.frame.push(witness, 0, CommandKind::DESPAWN, &[]);
    assert_eq!(game.tick().counts.timed, 0);
    game.frame.release.push(witness.slot);
    // Its successor in the slot was in no zone before.
    let successor = game.spawn(PLAYER, [50 * UNIT; 2]);
    assert_eq!(successor.slot, witness.slot);
    game.ticks(2);
    assert_eq!(game.values(successor, ["enters", "exits"]), [1, 0]);
}

#[test]
fn hooks_that_feed_each_other_are_bounded_and_counted() {
    let config = world_with(
        "timed_commands = 3\natomic_per_tick = 10",
        "#[on(enter, \"disc\")] fn out(me: Entity) { me.enters += 1; me.position += point(20.0, 0.0); }
         #[on(exit, \"disc\")] fn back(me: Entity) { me.exits += 1; me.position -= point(20.0, 0.0); }",
    );
    let mut game = Game::of(&config);
    for _ in 0..5 {
        game.frame.spawn_at(PLAYER, 0, &[50 * UNIT; 2]);
    }
    let output = game.tick();
    assert_eq!((output.counts.timed, output.counts.timed_dropped), (3, 2));
    // Those whose hook was dropped rest where they are.
    for _ in 0..6 {
        let output = game.tick();
        assert_eq!((output.counts.timed, output.counts.timed_dropped), (3, 0));
    }
    let players = [0, 1, 2, 3, 4].map(|slot| EntityId::new(slot, 1));
    let moves = players.map(|player| game.values(player, ["enters", "exits"]));
    assert_eq!(moves, [[3, 3], [3, 3], [3, 3], [0, 0], [0, 0]]);
}

#[test]
fn other_scripts_bring_other_hooks() {
    let mut game = Game::new(COUNTERS);
    let tally = game.spawn(TALLY, AWAY);
    let player = game.spawn(PLAYER, [50 * UNIT; 2]);
    game.tick();
    assert_eq!(game.value(player, "enters"), 1);
    // It leaves in the last tick of the old scripts, whose hook is gone when it is due.
    game.shift(player, [20 * UNIT, 0]);
    let others = "
        #[on(enter, \"disc\")] fn came(me: Entity) { me.enters += 100; }
        #[on(enter, \"box\")] fn entered_box(me: Entity) { me.enters += 1000; }
        #[on(reload)] fn again() { nearest(point(50.0, 50.0), 150.0, \"tally\").loads += 10; }";
    let mut logic = game.parity.oracle.config.logic.clone();
    let own = logic.texts.iter_mut().find(|text| text.file == "hooks.rs");
    own.unwrap().text = others.to_owned();
    let config = with_logic(&game.parity.oracle.config, &logic).unwrap();
    game.frame.logic = Some(Box::new(config.logic.clone()));
    game.frame.give_reload_hooks(&config);
    game.tick();
    assert_eq!(game.value(tally, "loads"), 10);
    game.ticks(2);
    assert_eq!(game.values(player, ["enters", "exits"]), [1, 0]);
    game.shift(player, [-20 * UNIT, 0]);
    game.tick();
    assert_eq!(game.values(player, ["enters", "exits"]), [101, 0]);
    assert_eq!(game.value(tally, "loads"), 10);
}

#[test]
fn scripts_that_ask_who_felled_need_a_world_with_room_for_it() {
    let config = world_with("timed_commands = 100\natomic_per_tick = 10", "");
    let mut logic = config.logic.clone();
    let own = logic.texts.iter_mut().find(|text| text.file == "hooks.rs");
    own.unwrap().text = COUNTERS.to_owned();
    let problems = with_logic(&config, &logic).unwrap_err();
    let [problem] = &problems[..] else {
        panic!("{problems:?}");
    };
    assert!(
        problem.to_string().contains("who caused a fall"),
        "{problem}"
    );
}
