//! What clients' scripts mean, and messages about their mistakes.

use crate::common::{TestWorld, schema};
use script::interpreter::Interpreter;
use script::play::Sent;
use script::{Play, Problem};
use shared::world::logic::Text;
use shared::{EntityId, Schema};

fn play(schema: &Schema, text: &str) -> Result<Play, Vec<Problem>> {
    Play::compile(schema, &Text::new("test.rs", text))
}

/// What a player at (10, 10) sends, with another one 4 units away and an item.
fn sent(body: &str) -> (Vec<(String, Vec<i32>)>, [EntityId; 3]) {
    let mut world = TestWorld::new();
    let me = world.add("player", 10, 10);
    let item = world.add("item", 12, 10);
    let other = world.add("player", 10, 14);
    let schema = schema();
    let play = play(&schema, body).unwrap_or_else(|problems| panic!("{body}: {problems:?}"));
    let sent = play.act(&mut Interpreter::default(), &world, (world.tick, me), 1);
    let name = |sent: Sent| {
        let command = schema.command(sent.command).unwrap();
        (command.name.clone(), sent.words)
    };
    (
        sent.unwrap().into_iter().map(name).collect(),
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
fn a_play_beyond_the_budget_sends_nothing() {
    let schema = schema();
    let text = "fn act() { for _ in 0..1000000 { send(heal(me)); } }";
    let play = play(&schema, text).unwrap();
    let mut world = TestWorld::new();
    let me = world.add("player", 10, 10);
    let sent = play.act(&mut Interpreter::default(), &world, (world.tick, me), 1);
    assert!(sent.is_err());
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
