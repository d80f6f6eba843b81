//! What atomic commands do, by the interpreter.

use script::atomic::Key;
use script::interpreter::NoEffect;
use shared::EntityId;

use crate::common::{self, Done, TestWorld};

/// Runs the first command of a text for `me`.
fn run(world: &TestWorld, text: &str, me: EntityId, words: &[i32]) -> Result<Done, NoEffect> {
    let logic = common::compile(text).unwrap_or_else(|problems| panic!("{}", problems[0]));
    world.run(&logic.commands[0], me, words)
}

/// The last value that a run left in an attribute.
fn left(world: &TestWorld, done: &Done, entity: EntityId, attribute: &str) -> Option<i32> {
    let column = world.schema.column(attribute).unwrap() as u16;
    let mut own = done.writes.iter().rev();
    own.find(|write| (write.0, write.1) == (entity.slot.0, column))
        .map(|write| write.2)
}

#[test]
fn an_atomic_command_sees_what_it_wrote_and_changes_attributes_of_any_merge_rule() {
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    let text = "#[command(clients, atomic)] fn test(me: Entity, n: i32) {
        me.gold -= n;
        me.best = me.gold * 2;
        me.best -= 1;
        me.hp = 7;
        me.hp.max(9);
        me.least = me.hp;
        me.least.min(4);
    }";
    let done = run(&world, text, me, &[3]).unwrap();
    let left = |attribute| left(&world, &done, me, attribute);
    assert_eq!(left("gold"), Some(7));
    assert_eq!(left("best"), Some(13));
    assert_eq!([left("hp"), left("least")], [Some(9), Some(4)]);
    assert!(done.updates.is_empty(), "nothing is left to a merge");
}

#[test]
fn a_failed_require_leaves_nothing_and_a_return_keeps_what_was_done() {
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    let text = "struct Paid { n: i32 }
    #[command(clients, atomic)] fn test(me: Entity, n: i32) {
        me.gold -= n;
        tell(Paid { n }, around(me, 5.0));
        after(1, later(me));
        if n == 3 { return; }
        require(me.gold > 5);
    }
    #[command] fn later(me: Entity) { me.gold += 1; }";
    assert_eq!(run(&world, text, me, &[6]), Err(NoEffect::Refused));
    let done = run(&world, text, me, &[3]).unwrap();
    assert_eq!(left(&world, &done, me, "gold"), Some(7));
    assert_eq!((done.notifications.len(), done.afters.len()), (1, 1));
}

#[test]
fn a_write_is_clamped_at_once_or_refused_where_it_has_to_fit() {
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    let clamped = "#[command(clients, atomic)] fn test(me: Entity, n: i32) {
        me.hp += n;
        me.hp -= 10;
    }";
    let done = run(&world, clamped, me, &[50]).unwrap();
    assert_eq!(left(&world, &done, me, "hp"), Some(90), "100, then 10 less");
    let fits = "#[command(clients, atomic)] fn test(me: Entity, n: i32) {
        me.gold += 5;
        require_fits(me.hp -= n);
    }";
    assert_eq!(run(&world, fits, me, &[101]), Err(NoEffect::Refused));
    assert_eq!(run(&world, fits, me, &[i32::MIN]), Err(NoEffect::Refused));
    let done = run(&world, fits, me, &[100]).unwrap();
    assert_eq!(left(&world, &done, me, "hp"), Some(0));
}

#[test]
fn writes_of_nobody_and_of_kinds_without_the_attribute_do_nothing() {
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    let item = world.add("item", 1, 1);
    let text = "#[command(clients, atomic)] fn test(me: Entity, other: Entity) {
        other.gold += 5;
        none.gold = 3;
    }";
    let done = run(&world, text, me, &[item.reference().0]).unwrap();
    assert_eq!(done, Done::default());
}

#[test]
fn a_run_with_more_writes_than_are_kept_uses_up_its_budget() {
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    let text = "#[command(clients, atomic)] fn test(me: Entity, n: i32) {
        for i in 0..n { me.score += 1; }
    }";
    let done = run(&world, text, me, &[256]).unwrap();
    assert_eq!(left(&world, &done, me, "score"), Some(256));
    assert_eq!(run(&world, text, me, &[257]), Err(NoEffect::Overrun));
}

#[test]
fn keys_are_the_actor_the_arguments_and_what_their_references_lead_to() {
    let text = "#[command(clients, atomic)] fn test(me: Entity, item: Entity) {
        item.owner.gold += 1;
        me.target.target.gold -= 1;
    }";
    let logic = common::compile(text).unwrap();
    let schema = common::schema();
    let [owner, target] = ["owner", "target"].map(|name| schema.column(name).unwrap() as u16);
    let keys = logic.commands[0].atomic.as_ref().unwrap();
    assert_eq!(
        keys.paths(),
        [
            Key::Actor,
            Key::Word(0),
            Key::Of(1, owner),
            Key::Of(0, target),
            Key::Of(3, target),
        ]
    );
}
