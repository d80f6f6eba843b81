//! What clients' scripts mean, and messages about their mistakes.

use crate::common::{TestWorld, schema};
use script::interpreter::{Interpreter, NoEffect};
use script::play::{Sent, Turn};
use script::{Play, Problem};
use shared::world::logic::Text;
use shared::{EntityId, Schema};

fn play(schema: &Schema, text: &str) -> Result<Play, Vec<Problem>> {
    Play::compile(schema, &Text::new("test.rs", text))
}

fn act(
    play: &Play,
    world: &TestWorld,
    me: EntityId,
    memory: &mut Vec<i32>,
) -> Result<Turn, NoEffect> {
    play.act(
        &mut Interpreter::default(),
        world,
        (world.tick, me),
        1,
        memory,
    )
}

/// What a player at (10, 10) sends, with another one 4 units away and an item.
fn sent(body: &str) -> (Vec<(String, Vec<i32>)>, [EntityId; 3]) {
    let mut world = TestWorld::new();
    let me = world.add("player", 10, 10);
    let item = world.add("item", 12, 10);
    let other = world.add("player", 10, 14);
    let schema = schema();
    let play = play(&schema, body).unwrap_or_else(|problems| panic!("{body}: {problems:?}"));
    let turn = act(&play, &world, me, &mut play.memory());
    let name = |sent: Sent| {
        let command = schema.command(sent.command).unwrap();
        (command.name.clone(), sent.words)
    };
    (
        turn.unwrap().sent.into_iter().map(name).collect(),
        [me, item, other],
    )
}

#[test]
fn a_play_sends_commands_by_name_in_order() {
    let (sent, [me, _, other]) = sent(
        "
        const REACH: Fixed = 10.0;
        fn act() {
            let prey = nearest(me, REACH, \"player\");
            if exists(prey) && me.hp > 50 {
                attack(prey);
            }
            send(r#move(towards(me, prey, 2.0) - me.position));
            send(r#move(1, -0.5));
            send(heal(me));
        }
        fn attack(prey: Entity) {
            send(strike(prey));
        }
        ",
    );
    let expected = [
        ("strike", vec![other.reference().0]),
        ("move", vec![0, 2 << 12]),
        ("move", vec![1 << 12, -1 << 11]),
        ("heal", vec![me.reference().0]),
    ];
    assert_eq!(sent, expected.map(|(name, words)| (name.to_owned(), words)));
}

#[test]
fn a_play_remembers_what_its_parameters_were_at_the_end() {
    let mut world = TestWorld::new();
    let me = world.add("player", 10, 10);
    let other = world.add("player", 12, 10);
    let schema = schema();
    let text = "
        fn act(mut prey: Entity, mut runs: i32, mut home: Point, mut is_tired: bool) {
            if runs == 0 {
                home = me.position;
                prey = nearest(me, 5.0, \"player\");
            }
            runs += 1;
            if runs == 3 {
                is_tired = true;
                return;
            }
            if is_tired && home == me.position && exists(prey) {
                send(strike(prey));
            }
        }
    ";
    let play = play(&schema, text).unwrap();
    let mut memory = play.memory();
    let sent = |world: &TestWorld, memory: &mut Vec<i32>| {
        let turn = act(&play, world, me, memory).unwrap();
        turn.sent
            .into_iter()
            .map(|sent| sent.words)
            .collect::<Vec<_>>()
    };
    for run in 1..=3 {
        assert_eq!(sent(&world, &mut memory), [[0; 0]; 0], "run {run}");
    }
    assert_eq!(sent(&world, &mut memory), [[other.reference().0]]);
    // Another client remembers nothing of it, and none remembers a run beyond the budget.
    assert_eq!(sent(&world, &mut play.memory()), [[0; 0]; 0]);
    // Entities are remembered as what they are: nobody, once they are gone.
    world.rows[other.slot.index()] = None;
    assert_eq!(sent(&world, &mut memory), [[0; 0]; 0]);
}

#[test]
fn a_run_beyond_the_budget_leaves_the_memory_as_it_was() {
    let schema = schema();
    let text = "fn act(mut n: i32) { n = 7; for _ in 0..1000000 { send(heal(me)); } }";
    let play = play(&schema, text).unwrap();
    let mut world = TestWorld::new();
    let me = world.add("player", 10, 10);
    let mut memory = play.memory();
    assert!(act(&play, &world, me, &mut memory).is_err());
    assert_eq!(memory, [0]);
}

#[test]
fn a_pause_is_in_seconds_and_may_be_drawn() {
    let mut schema = schema();
    schema.world.tick_hz = 20;
    let mut world = TestWorld::new();
    let me = world.add("player", 10, 10);
    let pause = |schema: &Schema, body: &str| {
        let play = play(schema, &format!("fn act() {{ {body} }}")).unwrap();
        act(&play, &world, me, &mut vec![]).unwrap().pause
    };
    assert_eq!(pause(&schema, ""), 0);
    assert_eq!(pause(&schema, "pause(2);"), 40);
    assert_eq!(pause(&schema, "pause(0.33);"), 7);
    assert_eq!(pause(&schema, "pause(0.5); pause(0.1);"), 10, "the longest");
    assert_eq!(pause(&schema, "pause(-1.0 * me.hp as Fixed);"), 1);
    assert_eq!(pause(&schema, "pause(100.0 * me.hp as Fixed);"), 12_000);
    let drawn = pause(&schema, "pause(random(1.0, 3.0));");
    assert!((20..=60).contains(&drawn), "{drawn}");
}

#[test]
fn a_play_beyond_the_budget_sends_nothing() {
    let schema = schema();
    let text = "fn act() { for _ in 0..1000000 { send(heal(me)); } }";
    let play = play(&schema, text).unwrap();
    let mut world = TestWorld::new();
    let me = world.add("player", 10, 10);
    let turn = act(&play, &world, me, &mut play.memory());
    assert!(turn.is_err());
}

#[test]
fn what_only_a_world_does_is_rejected_with_the_way_out() {
    let schema = schema();
    for (text, expected) in [
        ("fn act() { me.hp += 1; }", "an update has no place here"),
        (
            "fn act() { me.best.max(3); }",
            "an update has no place here",
        ),
        (
            "fn act() { after(1, heal(me)); }",
            "`after` has no place here",
        ),
        (
            "fn act() { tell(Cry { n: 1 }); }",
            "`tell` has no place here",
        ),
        (
            "fn act() { spawn(\"item\", me.position); }",
            "`spawn` has no place here",
        ),
        ("fn act() { despawn(me); }", "send(command(…))"),
        ("fn act() { strike(me); }", "write `send(strike(…))`"),
        ("fn act() { send(strick(me)); }", "did you mean `strike`?"),
        (
            "fn act() { send(despawn()); }",
            "clients may not send `despawn`",
        ),
        (
            "fn act() { send(strike()); }",
            "expected `strike(target: Entity)`",
        ),
        (
            "fn act() { send(r#move(1.0)); }",
            "expected `move(point: Point)`",
        ),
        ("fn act() { send(r#move(me)); }", "write `me.position`"),
        (
            "fn act() { send(heal(me, me)); }",
            "expected `heal(target: Entity)`",
        ),
        ("fn act() { send(3); }", "this is not a command"),
        ("fn act(me: Entity) {}", "expected `fn act()`"),
        ("fn act() -> i32 { 3 }", "`act` gives nothing"),
        ("fn act(n: i32) {}", "write `mut` before it"),
        ("fn act(mut s: Symbol) {}", "`s` can't be remembered"),
        ("fn act() { pause(); }", "expected `pause(seconds)`"),
        ("fn act() { pause(601.0); }", "expected 0 to 600 seconds"),
        ("fn act() { pause(me); }", "the types differ"),
        ("fn pause() {} fn act() {}", "`pause` is a built-in name"),
        ("fn go() {}", "there is no `fn act()`"),
        (
            "#[command] fn cheat(me: Entity) {} fn act() {}",
            "no commands of its own",
        ),
        ("struct Cry { n: i32 } fn act() {}", "tells nobody"),
        ("fn act() { let n = me.secret; }", "no client is sent it"),
        (
            "fn help() { send(heal(me)); } fn act() { help(); }",
            "there is no `me` here",
        ),
    ] {
        let schema = match text.contains("secret") {
            true => hidden(&schema),
            false => schema.clone(),
        };
        let problems = play(&schema, text).expect_err(text);
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let said = said.join("\n");
        assert!(said.contains(expected), "{text}: {said}");
    }
}

/// A schema whose hit points are hidden and called `secret`.
fn hidden(schema: &Schema) -> Schema {
    let mut schema = schema.clone();
    let hp = schema.column("hp").unwrap();
    schema.attributes[hp].name = "secret".to_owned();
    schema.attributes[hp].audience = shared::Audience::Hidden;
    schema
}
