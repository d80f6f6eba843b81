//! No entity is ever in a wall, on every backend and in the oracle, whatever moves it.

use gpu_kernels::Frame;
use script::builtin;
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::scripts::with_texts;

const CELLS: usize = 32;

/// Walkers, roamers that declare their steps, and what scripts throw about, among random walls.
fn world(dice: &mut Dice, part: usize) -> WorldConfig {
    let mut drawing = String::new();
    for y in 0..CELLS {
        for x in 0..CELLS {
            let is_wall = x + y > 0 && dice.below(100) < part;
            drawing.push(if is_wall { '#' } else { '.' });
        }
        drawing.push('\n');
    }
    let file = format!(
        "[world]\nsize = [63, 62.5]\naoi = 20\ncapacity = 200\nseed = {}\n\
         velocity = [\"vx\", \"vy\"]\n\
         [limits]\natomic_per_tick = 100\n\
         [logic]\nbuiltin = [\"move\", \"roam\", \"steer\", \"teleport\"]\n\
         [commands]\nmove = {{ speed_max = 3, per_tick = 0 }}\nroam = {{ step = 5 }}\n\
         [[kind]]\nname = \"player\"\npopulation = 60\nattributes = [\
         {{ name = \"vx\", type = \"fixed\", merge = \"last\", default = 0.75, audience = \"hidden\" }},\
         {{ name = \"vy\", type = \"fixed\", merge = \"last\", default = -0.5, audience = \"hidden\" }},\
         ]\n\
         [[kind]]\nname = \"ghost\"\npopulation = 40\n\
         [[every]]\nkind = \"player\"\nticks = 3\ncommand = \"drift\"\n\
         [[every]]\nkind = \"ghost\"\nticks = 2\ncommand = \"roam\"\n\
         [[layer]]\nname = \"blocked\"\ncell = 2\ndrawing = \"\"\"\n{drawing}\"\"\"\n",
        dice.below(1 << 30),
    );
    let config = world_file::parse(&file, "walls").unwrap_or_else(|error| panic!("{error}"));
    let texts = "
        #[command(clients)]
        fn throw(me: Entity, step: Point) { me.position += step; }
        #[command(clients, atomic)]
        fn set(me: Entity, step: Point) { me.position += step; }
        #[command]
        fn bring(at: Point) { spawn(\"ghost\", at); }
    ";
    with_texts(&config, vec![Text::new("throws.rs", texts)])
}

fn kind(config: &WorldConfig, name: &str) -> CommandKind {
    config.schema.command_named(name).unwrap().kind
}

#[test]
fn nothing_that_moves_or_is_born_is_ever_in_a_wall() {
    let mut held = 0;
    for (seed, part) in [(1, 10), (2, 35), (3, 70)] {
        let mut dice = Dice::new(seed);
        let config = world(&mut dice, part);
        let [throw, set] = ["throw", "set"].map(|name| kind(&config, name));
        let steps = [builtin::MOVE, throw, set];
        let mut parity = Parity::new(&config);
        for tick in 0..40 {
            let mut frame = Frame::new(Tick(tick));
            if tick == 0 {
                frame.populate(&config);
            }
            let alive = parity.oracle.alive();
            for entity in alive.iter().copied() {
                for sequence in 0..dice.below(4) as u32 {
                    let reach = dice.pick(&[4096, 3 * 4096, 20 * 4096, 1 << 29]);
                    let words = [0; 2].map(|_| dice.within(-reach..=reach));
                    frame.push(entity, sequence, dice.pick(&steps), &words);
                }
            }
            if tick > 0 {
                let place = [0; 2].map(|_| dice.within(0..=62 << 12));
                let words = [&[1, 0][..], &place[..]].concat();
                frame.push(EntityId::NONE, 0, CommandKind::SPAWN, &words);
            }
            frame.order(config.seed);
            let before: Vec<_> = alive
                .iter()
                .map(|e| parity.oracle.position(e.slot.0))
                .collect();
            parity.tick(&frame);
            for entity in parity.oracle.alive() {
                let place = parity.oracle.position(entity.slot.0);
                assert!(
                    !config.schema.layers.is_blocked(place),
                    "{entity:?} {place:?}"
                );
            }
            let at = alive.iter().map(|e| parity.oracle.position(e.slot.0));
            held += at.zip(before).filter(|(at, before)| at == before).count();
        }
        parity.restart(seed % 2 == 0);
    }
    assert!(held > 100, "{held}");
}

#[test]
fn two_steps_of_one_tick_lead_no_farther_than_walls_leave_both() {
    let file = "[world]\nsize = [8, 1]\ncapacity = 4\n[logic]\nbuiltin = [\"move\"]\n\
                [commands]\nmove = { speed_max = 2, per_tick = 0 }\n\
                [[layer]]\nname = \"blocked\"\ndrawing = \"...#....\"\n";
    let config = world_file::parse(file, "walls").unwrap();
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.push(EntityId::NONE, 0, CommandKind::SPAWN, &[0, 0, 2 << 12, 100]);
    parity.tick(&frame);
    let walker = EntityId::new(0, 1);
    frame.reset(Tick(1));
    for sequence in 0..3 {
        frame.push(walker, sequence, builtin::MOVE, &[2 << 12, 0]);
    }
    frame.order(config.seed);
    parity.tick(&frame);
    assert_eq!(parity.oracle.position(0), [(3 << 12) - 1, 100, 0]);
}

#[test]
fn ten_million_random_steps_end_in_no_wall() {
    for (seed, part) in [(1, 10), (2, 40)] {
        let mut dice = Dice::new(seed);
        let config = world(&mut dice, part);
        let (layers, [width, depth, _]) = (&config.schema.layers, config.size_raw());
        let mut at = layers.free_place([width / 2, depth / 2, 0]);
        for round in 0..5_000_000 {
            // Most are about a cell long, and some go through several.
            let reach = [9000, 9000, 9000, 40_000][round % 4];
            let step = [0; 2].map(|_| dice.within(-reach..=reach));
            let [x, y, _] = layers.slide(at, [step[0], step[1], 0]);
            at = [at[0] + x, at[1] + y, 0];
            let is_inside = (0..width).contains(&at[0]) && (0..depth).contains(&at[1]);
            assert!(
                is_inside && !layers.is_blocked(at),
                "{seed}, {round}: {at:?}"
            );
        }
    }
}
