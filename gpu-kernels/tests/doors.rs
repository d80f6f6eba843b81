//! Doors and buildings: entities block cells while they live and are closed, on every backend and in
//! the oracle, for whatever asks for walls.

use std::collections::BTreeSet;

use gpu_kernels::Frame;
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::scripts::{command, with_texts};

const CELLS: usize = 40;

/// Walkers who look and shoot, among random walls, gates that open, and buildings.
fn world(dice: &mut Dice) -> WorldConfig {
    let mut drawing = String::new();
    for y in 0..CELLS {
        for x in 0..CELLS {
            let is_wall = x + y > 0 && dice.below(100) < 12;
            drawing.push(if is_wall { '#' } else { '.' });
        }
        drawing.push('\n');
    }
    let file = format!(
        "[world]\nsize = [79, 79.5]\naoi = 20\ncapacity = 200\nseed = {}\n\
         [limits]\natomic_per_tick = 100\ntimed_commands = 200\n\
         [logic]\nbuiltin = [\"move\", \"roam\"]\n\
         [commands]\nmove = {{ speed_max = 3, per_tick = 0 }}\nroam = {{ step = 2 }}\n\
         [[kind]]\nname = \"player\"\npopulation = 50\nattributes = [\
         {{ name = \"found\", type = \"i32\", merge = \"last\", audience = \"state\" }}]\n\
         [[kind]]\nname = \"gate\"\npopulation = 25\nblocks = [3, 2]\nattributes = [\
         {{ name = \"closed\", type = \"bool\", default = true, audience = \"state\" }}]\n\
         [[kind]]\nname = \"house\"\npopulation = 10\nblocks = [4, 5]\n\
         [[every]]\nkind = \"player\"\nticks = 2\ncommand = \"roam\"\n\
         [[layer]]\nname = \"blocked\"\ncell = 2\ndrawing = \"\"\"\n{drawing}\"\"\"\n",
        dice.below(1 << 30),
    );
    let config = world_file::parse(&file, "doors").unwrap_or_else(|error| panic!("{error}"));
    let texts = "
        #[command(clients)]
        fn look(me: Entity) {
            let there = point(random(0, 79) as Fixed, random(0, 79) as Fixed);
            let hit = first_hit(me, there, 30.0);
            let mut found = if sees(me, there) { 1 } else { 0 };
            if is_blocked(there) { found += 2; }
            if is_blocked(me) { found += 4; }
            me.found = found + 8 * (distance(me, hit) as i32);
        }
        #[command(clients)]
        fn hunt(me: Entity, gate: Entity) { me.position += approach(me, gate, 2.5, 15); }
        #[command(clients)]
        fn swing(me: Entity, gate: Entity) { gate.closed = !gate.closed; }
        #[command(clients, atomic)]
        fn lock(me: Entity, gate: Entity) { gate.closed = true; }
        #[command(clients)]
        fn build(me: Entity, at: Point) { spawn(\"house\", at); }
        #[command(clients)]
        fn wreck(me: Entity, gate: Entity) { despawn(gate); }
        #[command(clients)]
        fn shift(me: Entity, gate: Entity, by: Point) { gate.position += by; }
    ";
    with_texts(&config, vec![Text::new("doors.rs", texts)])
}

/// The cells that closed doors block, as their places and sizes say.
fn blocked(config: &WorldConfig, parity: &Parity) -> BTreeSet<[i32; 2]> {
    let edge = 2 << 12;
    let mut cells = BTreeSet::new();
    for entity in parity.oracle.alive() {
        let slot = &parity.oracle.slots[entity.slot.index()];
        let kind = &config.schema.kinds[usize::from(slot.kind)];
        let [width, height] = match kind.name.as_str() {
            "gate" if slot.row[config.schema.column("closed").unwrap()] == 1 => [3, 2],
            "house" => [4, 5],
            _ => continue,
        };
        for x in 0..width {
            for y in 0..height {
                let along = |axis: usize, n: i32, all: i32| {
                    (slot.row[axis] + n * edge - (all - 1) * edge / 2).div_euclid(edge)
                };
                cells.insert([along(0, x, width), along(1, y, height)]);
            }
        }
    }
    cells
}

#[test]
fn nobody_walks_into_what_is_closed_and_every_backend_sees_the_same_doors() {
    let (mut kept_out, mut changes) = (0, 0);
    for seed in 1..=3 {
        let mut dice = Dice::new(seed);
        let config = world(&mut dice);
        let mut parity = Parity::new(&config);
        for tick in 0..40 {
            let mut frame = Frame::new(Tick(tick));
            if tick == 0 {
                frame.populate(&config);
            }
            let all = |kind| parity.oracle.living_of(kind);
            let (players, gates) = (all("player"), all("gate"));
            for &player in &players {
                let words = [0; 2].map(|_| dice.within(-3 * 4096..=3 * 4096));
                frame.push(player, 0, command(&config, "move"), &words);
                frame.push(player, 2, command(&config, "look"), &[]);
                if gates.is_empty() {
                    continue;
                }
                let gate = dice.pick(&gates).reference().0;
                let place = [0; 2].map(|_| dice.within(0..=78 << 12));
                match dice.below(40) {
                    0..4 => frame.push(player, 1, command(&config, "swing"), &[gate]),
                    10..25 => frame.push(player, 1, command(&config, "hunt"), &[gate]),
                    4 => frame.push(player, 1, command(&config, "lock"), &[gate]),
                    5 if tick % 4 == 0 => {
                        frame.push(player, 1, command(&config, "build"), &place);
                    }
                    6 if tick % 8 == 0 => frame.push(player, 1, command(&config, "wreck"), &[gate]),
                    7 => {
                        let by = [gate, words[0], words[1]];
                        frame.push(player, 1, command(&config, "shift"), &by);
                    }
                    _ => {}
                }
            }
            frame.order(config.seed);
            let before = blocked(&config, &parity);
            let cell = |at: [i32; 3]| [at[0] / (2 << 12), at[1] / (2 << 12)];
            let was: Vec<_> = players
                .iter()
                .map(|e| cell(parity.oracle.position(e.slot.0)))
                .collect();
            parity.tick(&frame);
            for (player, was) in players.iter().zip(was) {
                let at = parity.oracle.position(player.slot.0);
                let is = cell(at);
                assert!(!config.schema.layers.is_blocked(at), "{player:?} {at:?}");
                // Who stood where a door closed may stay, or leave.
                assert!(!before.contains(&is) || is == was, "{player:?} {at:?}");
                kept_out += usize::from(is == was);
            }
            changes += usize::from(blocked(&config, &parity) != before);
            if tick == 25 {
                parity.restart(seed % 2 == 0);
            }
        }
    }
    assert!(kept_out > 500 && changes > 60, "{kept_out} {changes}");
}

#[test]
fn a_gate_keeps_a_walker_out_until_it_opens() {
    let file = "[world]\nsize = [8, 1]\ncapacity = 4\n[logic]\nbuiltin = [\"move\"]\n\
                [commands]\nmove = { speed_max = 8 }\n\
                [[kind]]\nname = \"player\"\n\
                [[kind]]\nname = \"gate\"\nblocks = [1, 1]\nattributes = [\
                { name = \"closed\", type = \"bool\", default = true, audience = \"state\" }]\n\
                [[layer]]\nname = \"blocked\"\ndrawing = \"........\"\n";
    let config = world_file::parse(file, "gate").unwrap();
    let texts = "#[command(clients)] fn open(me: Entity, gate: Entity) { gate.closed = false; }";
    let config = with_texts(&config, vec![Text::new("gate.rs", texts)]);
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.push(EntityId::NONE, 0, CommandKind::SPAWN, &[0, 0, 4096, 100]);
    let middle = (4 << 12) + 2048;
    frame.push(EntityId::NONE, 1, CommandKind::SPAWN, &[1, 0, middle, 100]);
    parity.tick(&frame);
    let (walker, gate) = (EntityId::new(0, 1), EntityId::new(1, 1));
    let step = |parity: &mut Parity, kind: CommandKind, words: &[i32]| {
        let mut frame = Frame::new(parity.oracle.tick);
        frame.push(walker, frame.tick.0 as u32, kind, words);
        parity.tick(&frame);
        parity.oracle.position(0)[0]
    };
    let go = [5 << 12, 0];
    let before_it = (4 << 12) - 1;
    assert_eq!(step(&mut parity, command(&config, "move"), &go), before_it);
    let open = command(&config, "open");
    let opened = step(&mut parity, open, &[gate.reference().0]);
    assert_eq!(opened, before_it);
    let through = step(&mut parity, command(&config, "move"), &go);
    assert_eq!(through, (8 << 12) - 1, "as far as the world goes");
}
