//! Commands with as many arguments as there can be, beside some with few; on every backend and in the
//! oracle.

use gpu_kernels::Frame;
use shared::world::command::COMMAND_WORDS_MAX;
use shared::world::logic::Text;
use shared::{EntityId, Tick};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::scripts::with_texts;

const WORLD: &str = "
    [world]
    size = [100, 100]
    capacity = 40
    [limits]
    clients = 8
    commands_per_tick = 30
    [logic]
    builtin = []
    [[kind]]
    name = 'player'
    attributes = [{ name = 'score', type = 'i32', audience = 'state' }]
";

/// `many` weighs its arguments by their places, so that none can stand for another.
fn script() -> String {
    let names: Vec<String> = (0..COMMAND_WORDS_MAX).map(|n| format!("a{n}")).collect();
    let parameters: Vec<String> = names.iter().map(|name| format!("{name}: i32")).collect();
    let sum: Vec<String> = (1..)
        .zip(&names)
        .map(|(n, name)| format!("{n} * {name}"))
        .collect();
    format!(
        "#[command(clients)] fn many(me: Entity, {}) {{ me.score += {}; }}
         #[command(clients)] fn few(me: Entity, n: i32) {{ me.score += 1000 * n; }}",
        parameters.join(", "),
        sum.join(" + ")
    )
}

#[test]
fn each_argument_comes_to_its_place_however_many_there_are() {
    let config = world_file::parse(WORLD, "arguments").unwrap();
    let config = with_texts(&config, vec![Text::new("test.rs", script())]);
    let number = |name: &str| config.schema.command_named(name).unwrap().kind;
    let (many, few) = (number("many"), number("few"));
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    for slot in 0..30 {
        frame.spawn_at(0, slot, &[4096, 4096]);
    }
    parity.tick(&frame);
    let mut dice = Dice::new(7);
    let mut expected = vec![0; 30];
    for tick in 1..12 {
        let mut frame = Frame::new(Tick(tick));
        for (slot, expected) in (0..).zip(&mut expected) {
            let me = EntityId::new(slot, 1);
            let mut words: Vec<i32> = (0..COMMAND_WORDS_MAX)
                .map(|_| dice.pick(&[0, 1, -3, 9]))
                .collect();
            match dice.below(4) {
                0 => {
                    frame.push(me, 0, few, &words[..1]);
                    *expected += 1000 * words[0];
                }
                // One is missing, or is too much.
                1 => {
                    words.push(5);
                    let wrong = dice.pick(&[COMMAND_WORDS_MAX - 1, COMMAND_WORDS_MAX + 1]);
                    frame.push(me, 0, many, &words[..wrong]);
                }
                _ => {
                    frame.push(me, 0, many, &words);
                    let weighed = (1..).zip(&words).map(|(n, word)| n * word);
                    *expected += weighed.sum::<i32>();
                }
            }
        }
        parity.tick(&frame);
        let found = parity.oracle.slots.iter().take(30).map(|slot| slot.row[2]);
        assert_eq!(found.collect::<Vec<_>>(), expected, "tick {tick}");
    }
}
