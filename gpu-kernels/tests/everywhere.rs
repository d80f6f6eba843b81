//! Entities of a kind and rankings, as commands see them: on every backend what the oracle sees.

use gpu_kernels::Frame;
use shared::world::logic::Text;
use shared::{Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::scripts::with_texts;

/// Commands that ask while entities are born, die and change, some of them atomic.
const SCRIPT: &str = r#"
#[command(clients)]
fn gather(me: Entity, n: i32) {
    let most = count("wolf");
    the("wolf").hp -= n % 5;
    for it in all("wolf") { it.hp += random(-2, 3); }
    for it in top("strong", n % 12) { it.score += rank(it, "strong"); }
    me.score += most + rank(me, "poor");
    if most < 9 { spawn("wolf", me); }
    if n % 3 == 0 { despawn(the("wolf")); }
}

#[command(clients, atomic)]
fn feed(me: Entity, n: i32) {
    require(n % 2 == 0);
    let wolf = the("wolf");
    wolf.hp -= 1;
    // As they stood at the start of the tick, whatever commands before this one left.
    wolf.score = rank(wolf, "strong");
    me.score += 100 * count("player") + rank(me, "poor");
}

#[command(rules)]
fn age(me: Entity) {
    me.score += rank(me, "strong") - rank(me, "poor");
}
"#;

const WORLD: &str = r#"
[world]
size = [60, 60]
aoi = 20
capacity = 60
attributes = [{ name = "age", type = "i32", audience = "state" }]
[limits]
clients = 8
timed_commands = 1000
atomic_per_tick = 50
[logic]
builtin = []

[[kind]]
name = "player"
population = 8
attributes = [{ name = "score", type = "i32", audience = "state" }]

[[kind]]
name = "stone"
population = 5
attributes = []

[[kind]]
name = "wolf"
population = 6
attributes = [
    { name = "score", type = "i32", audience = "state" },
    { name = "hp", type = "i32", default = { from = -3, to = 3 }, audience = "state" },
]

[[ranking]]
name = "poor"
kind = "player"
by = "score"
first = "least"

[[ranking]]
name = "strong"
kind = "wolf"
by = "hp"
length = 7
"#;

fn world() -> WorldConfig {
    let config = world_file::parse(WORLD, "world").unwrap();
    let config = with_texts(&config, vec![Text::new("ask.rs", SCRIPT.to_owned())]);
    assert_eq!(config.schema.rankings.len(), 2);
    config
}

#[test]
fn every_backend_sees_the_same_kinds_and_rankings_as_the_oracle() {
    let config = world();
    let mut parity = Parity::new(&config);
    let mut dice = Dice::new(7);
    let [mut changes, mut deaths] = [0u64; 2];
    for tick in 0..60 {
        let mut frame = Frame::new(Tick(tick));
        match tick {
            0 => frame.populate(&config),
            _ => give(&mut frame, &parity, &config, &mut dice),
        }
        frame.order(config.seed);
        let out = parity.tick(&frame);
        changes += out.counts.changes;
        deaths += out.deaths.len() as u64;
        // What is asked for does not depend on what the backend did before.
        if tick % 20 == 9 {
            parity.restart(tick % 40 == 9);
        }
    }
    assert!(changes > 500 && deaths > 5, "{changes} {deaths}");
}

/// Each player gives one of the commands, or two.
fn give(frame: &mut Frame, parity: &Parity, config: &WorldConfig, dice: &mut Dice) {
    let kind = |name: &str| config.schema.command_named(name).unwrap().kind;
    let (gather, feed) = (kind("gather"), kind("feed"));
    for entity in parity.oracle.alive() {
        if parity.oracle.slots[entity.slot.index()].kind > 0 {
            continue;
        }
        let n = dice.below(30) as i32;
        match dice.below(3) {
            0 => frame.push(entity, 0, gather, &[n]),
            1 => frame.push(entity, 0, feed, &[n]),
            _ => {
                frame.push(entity, 0, feed, &[n]);
                frame.push(entity, 1, gather, &[n]);
            }
        };
    }
}

#[test]
fn scripts_that_begin_to_ask_see_what_is_there() {
    let quiet = world_file::parse(WORLD, "world").unwrap();
    let mut parity = Parity::new(&quiet);
    let mut frame = Frame::new(Tick(0));
    frame.populate(&quiet);
    parity.tick(&frame);
    let asking = with_texts(&quiet, vec![Text::new("ask.rs", SCRIPT.to_owned())]);
    let mut frame = Frame::new(Tick(1));
    frame.logic = Some(Box::new(asking.logic.clone()));
    let gather = asking.schema.command_named("gather").unwrap().kind;
    let me = parity.oracle.alive()[0];
    frame.push(me, 0, gather, &[6]);
    let out = parity.tick(&frame);
    assert!(out.counts.changes > 0);
}
