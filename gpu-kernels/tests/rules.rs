//! Commands of world rules, on every backend and in the oracle.

use gpu_kernels::Frame;
use script::builtin;
use shared::world::logic::Text;
use shared::{EntityId, Tick, WorldConfig};
use testkit::parity::Parity;
use testkit::scripts::with_texts;

const UNIT: i32 = 4096;

/// A world in which a kind bombs, every 3 ticks, the place where it is.
fn world(rule: &str) -> WorldConfig {
    let text = format!(
        "[world]\nsize = [100, 100]\ncapacity = 40\n\
         [commands]\nblast = {{ radius = 5, damage = 3 }}\n\
         [[kind]]\nname = \"player\"\n\
         attributes = [{{ name = \"hp\", type = \"i32\", default = 50, audience = \"state\" }}]\n\
         [[kind]]\nname = \"bomb\"\n\
         [[every]]\n{rule}"
    );
    world_file::parse(&text, "rules").unwrap()
}

#[test]
fn a_rule_at_its_own_place_follows_each_entity() {
    let config = world("kind = \"bomb\"\nticks = 3\ncommand = \"blast\"\nat = \"own\"");
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    // Players 20 apart, bombs next to some of them.
    for i in 0..4 {
        frame.spawn_at(0, i as u32, &[(10 + 20 * i) * UNIT, 10 * UNIT]);
    }
    for i in [1, 3, 3] {
        frame.spawn_at(1, 10, &[(11 + 20 * i) * UNIT, 10 * UNIT]);
    }
    parity.tick(&frame);
    for tick in 1..=3 {
        parity.tick(&Frame::new(Tick(tick)));
    }
    let hp: Vec<i32> = parity.oracle.slots[..4]
        .iter()
        .map(|slot| slot.row[2])
        .collect();
    assert_eq!(hp, [50, 47, 50, 44]);
    // The blast sees the place before the step that the bomb takes in the same tick.
    frame.reset(Tick(4));
    let bomb = EntityId::new(4, 1);
    frame.push(bomb, 0, builtin::MOVE, &[2 * UNIT, 0]);
    parity.tick(&frame);
    frame.reset(Tick(5));
    frame.push(bomb, 0, builtin::MOVE, &[2 * UNIT, 0]);
    parity.tick(&frame);
    // Slot 4 acts in ticks 2, 5 and 8: in 5 it is 3 units away, in 8 it is 5.
    for tick in 6..9 {
        parity.tick(&Frame::new(Tick(tick)));
    }
    assert_eq!(parity.oracle.slots[1].row[2], 50 - 3 - 3 - 3);
}

#[test]
fn words_around_an_own_place_are_the_rules() {
    let text = "#[command(rules)] fn mark(me: Entity, a: i32, at: Point, b: i32) {\n\
                    if at.x == me.position.x && at.y == me.position.y { me.hp += a * 10 + b; }\n\
                }";
    let config = with_texts(
        &world("kind = \"player\"\nticks = 1\ncommand = \"move\"\nat = \"own\""),
        vec![Text::new("mark.rs", text)],
    );
    let mark = config.schema.command_named("mark").unwrap();
    assert_eq!(mark.point(2), Some(1));
    let mut config = config.clone();
    config.every[0].command = mark.kind;
    config.every[0].words = vec![4, 0, 0, 2];
    config.every[0].own_place = Some(1);
    // Other scripts must keep the point where the rule has it.
    let moved = text.replace("a: i32, at: Point, b: i32", "at: Point, a: i32, b: i32");
    let mut logic = config.logic.clone();
    logic.texts.retain(|text| text.is_builtin);
    logic.texts.push(Text::new("mark.rs", moved));
    let problems = script::logic::with_logic(&config, &logic).unwrap_err();
    assert!(
        problems[0].to_string().starts_with("every[0]: "),
        "{problems:?}"
    );

    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    for token in 0..30 {
        frame.spawn(0, token);
    }
    parity.tick(&frame);
    parity.tick(&Frame::new(Tick(1)));
    for slot in 0..30 {
        assert_eq!(parity.oracle.slots[slot].row[2], 50 + 42);
    }
}

#[test]
fn runs_over_the_budget_are_counted_by_command() {
    let text = "#[command(rules)] fn long(me: Entity) { for i in 0..5000 { me.hp += i; } }\n\
                #[command(rules)] fn short(me: Entity) { me.hp += 1; }\n\
                #[command(rules)] fn wide(me: Entity, n: i32) { for i in 0..n { me.hp += i; } }";
    let config = with_texts(
        &world("kind = \"bomb\"\nticks = 1\ncommand = \"roam\""),
        vec![Text::new("runs.rs", text)],
    );
    let kind = |name: &str| config.schema.command_named(name).unwrap().kind;
    let (long, short, wide) = (kind("long"), kind("short"), kind("wide"));
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.spawn(0, 0);
    frame.spawn(0, 1);
    parity.tick(&frame);
    frame.reset(Tick(1));
    for (slot, n) in [(0, 10), (1, 9000)] {
        let me = EntityId::new(slot, 1);
        frame.push(me, 0, long, &[]);
        frame.push(me, 1, short, &[]);
        frame.push(me, 2, wide, &[n]);
    }
    let output = parity.tick(&frame);
    let expected = [(long.id(), 2), (wide.id(), 1)];
    assert_eq!(output.over_budget.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(output.counts.over_budget, 3);
    // The next tick counts anew.
    assert!(parity.tick(&Frame::new(Tick(2))).over_budget.is_empty());
}
