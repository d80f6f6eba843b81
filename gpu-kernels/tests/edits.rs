//! Layers that scripts change: the same cells on every backend and in the oracle, for whatever asks for
//! them, from the tick after on.

use gpu_kernels::{Frame, RestoreError, Target};
use shared::world::edit::{Edit, LayerKind};
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::scripts::{command, with_texts};
use testkit::snapshots::{Change, assert_hash_sees, assert_refused, out_of_range};
use testkit::watching::watch;

const CELLS: usize = 40;

/// Walkers among random walls, gates that open, heights and tags, all of which they change.
fn world(dice: &mut Dice) -> WorldConfig {
    let mut drawn = |chars: [char; 2], cells: usize| {
        let mut drawing = String::new();
        for y in 0..cells {
            for x in 0..cells {
                let other = x + y > 0 && dice.below(100) < 15;
                drawing.push(chars[usize::from(other)]);
            }
            drawing.push('\n');
        }
        drawing
    };
    let (walls, heights, tags) = (
        drawn(['.', '#'], CELLS),
        drawn(['2', '7'], CELLS / 2),
        drawn(['.', '~'], CELLS / 4),
    );
    let gates = dice.pick(&[0, 20]);
    let limits = dice.pick(&[
        "",
        "edits_per_tick = 7\n",
        "edited_cells = 12\n",
        "notifications_per_tick = 9\n",
    ]);
    let sight = dice.pick(&["", "[visibility]\nline_of_sight = true\n"]);
    let file = format!(
        "{sight}[world]\nsize = [79, 79.5]\naoi = 20\ncapacity = 200\nseed = {}\n\
         [limits]\natomic_per_tick = 100\ntimed_commands = 200\nsubscriptions_per_client = 1\n{limits}\
         [logic]\nbuiltin = [\"move\", \"roam\"]\n\
         [commands]\nmove = {{ speed_max = 3, per_tick = 0 }}\nroam = {{ step = 2 }}\n\
         [[kind]]\nname = \"player\"\npopulation = 50\nattributes = [\
         {{ name = \"found\", type = \"i32\", merge = \"last\", audience = \"state\" }}]\n\
         [[kind]]\nname = \"gate\"\npopulation = {gates}\nblocks = [3, 2]\nattributes = [\
         {{ name = \"closed\", type = \"bool\", default = true, audience = \"state\" }}]\n\
         [[every]]\nkind = \"player\"\nticks = 40\ncommand = \"roam\"\n\
         [[layer]]\nname = \"blocked\"\ncell = 2\neditable = true\ndrawing = \"\"\"\n{walls}\"\"\"\n\
         [[layer]]\nname = \"height\"\ncell = 4\neditable = true\ndrawing = \"\"\"\n{heights}\"\"\"\n\
         [[layer]]\nname = \"tag\"\ncell = 8\neditable = true\n\
         legend = {{ \"~\" = \"swamp\", \"=\" = \"road\" }}\ndrawing = \"\"\"\n{tags}\"\"\"\n",
        dice.below(1 << 30),
    );
    let config = world_file::parse(&file, "edits").unwrap_or_else(|error| panic!("{error}"));
    let texts = "
        struct Dug { at: Point }
        #[command(clients)]
        fn look(me: Entity) {
            let there = point(random(-5, 84) as Fixed, random(-5, 84) as Fixed);
            let mut found = if sees(me, there) { 1 } else { 0 };
            if is_blocked(there) { found += 2; }
            if is_blocked(me) { found += 4; }
            if tag(there) == \"swamp\" { found += 8; }
            if tag(there) == \"road\" { found += 16; }
            me.found = found + 32 * height(there);
        }
        #[command(clients)]
        fn dig(me: Entity, at: Point) { set_blocked(at, false); tell(Dug { at }, around(at, 5.0)); }
        #[command(clients)]
        fn wall(me: Entity, at: Point) { set_blocked(at, !is_blocked(at)); }
        #[command(clients, atomic)]
        fn build(me: Entity) { set_blocked(me, true); me.found = 1; }
        #[command(clients)]
        fn raise(me: Entity, at: Point, to: i32) { set_height(at, to); set_height(me, 3); }
        #[command(clients)]
        fn burn(me: Entity, at: Point) {
            if tag(at) == \"swamp\" { set_tag(at, \"road\"); } else { set_tag(at, \"swamp\"); }
        }
        #[command(clients)]
        fn clear(me: Entity, at: Point) { clear_tag(at); set_tag(at, tag(me)); }
        #[command(clients)]
        fn swing(me: Entity, gate: Entity) { gate.closed = !gate.closed; }
    ";
    with_texts(&config, vec![Text::new("edits.rs", texts)])
}

#[test]
fn every_backend_has_the_same_cells_after_edits_births_doors_and_restarts() {
    let (mut edits, mut dropped, mut walled_in, mut seen) = (0, 0, 0, 0);
    for seed in 1..=8 {
        println!("seed {seed}");
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
            if tick == 1 {
                let observers = players.iter().take(10).zip(0..);
                let watched = observers
                    .map(|(&player, client)| watch(client, 0, Target::Entity(player), i32::MAX));
                frame.observers.extend(watched);
            }
            // Half the time nothing but walls changes, which hide and show those who rest.
            let only_walls = tick % 10 > 4;
            for &player in players.iter().filter(|_| only_walls) {
                let place = [0; 2].map(|_| dice.within(0..=79 << 12));
                frame.push(player, 0, command(&config, "wall"), &place);
            }
            for &player in players.iter().filter(|_| !only_walls) {
                let words = [0; 2].map(|_| dice.within(-3 * 4096..=3 * 4096));
                frame.push(player, 0, command(&config, "move"), &words);
                frame.push(player, 2, command(&config, "look"), &[]);
                // Many are of few cells, and some are outside.
                let place = match dice.below(3) {
                    0 => [0; 2].map(|_| dice.within(0..=20 << 12)),
                    _ => [0; 2].map(|_| dice.within(-3 * 4096..=82 << 12)),
                };
                let to = dice.within(-40_000..=40_000);
                let (name, words) = match dice.below(24) {
                    0..3 => ("dig", place.to_vec()),
                    3..5 => ("wall", place.to_vec()),
                    5 => ("build", vec![]),
                    6 => ("raise", vec![place[0], place[1], to]),
                    7 => ("burn", place.to_vec()),
                    8 => ("clear", place.to_vec()),
                    9 if !gates.is_empty() => ("swing", vec![dice.pick(&gates).reference().0]),
                    _ => continue,
                };
                frame.push(player, 1, command(&config, name), &words);
            }
            frame.order(config.seed);
            let layers = config
                .schema
                .layers
                .with_edits(&parity.oracle.snapshot().edits);
            let cell = |at: [i32; 3]| [at[0] >> 13, at[1] >> 13];
            let place = |e: &EntityId| parity.oracle.position(e.slot.0);
            let was: Vec<_> = players.iter().map(place).map(cell).collect();
            let out = parity.tick(&frame);
            seen += out.counts.deliveries;
            edits += out.counts.edits;
            dropped += out.counts.edits_dropped;
            for (player, was) in players.iter().zip(was) {
                let at = parity.oracle.position(player.slot.0);
                // Who stood where a wall came may stay, or leave.
                let is_wall = layers.is_blocked(at);
                assert!(!is_wall || cell(at) == was, "{player:?} {at:?}");
                walled_in += usize::from(is_wall);
            }
            if dice.once_in(12) {
                parity.restart(dice.once_in(2));
            }
        }
    }
    assert!(
        edits > 1000 && dropped > 100 && walled_in > 10 && seen > 1000,
        "{edits} {dropped} {walled_in} {seen}"
    );
}

/// A corridor of eight cells with a wall in the middle, whose cells a player changes.
fn corridor() -> (WorldConfig, Parity) {
    let file = "[world]\nsize = [8, 1]\ncapacity = 4\n\
                [logic]\nbuiltin = [\"move\"]\n[commands]\nmove = { speed_max = 8 }\n\
                [[kind]]\nname = \"player\"\n\
                [[layer]]\nname = \"blocked\"\neditable = true\ndrawing = \"....#...\"\n";
    let config = world_file::parse(file, "corridor").unwrap();
    let texts = "#[command(clients)] fn dig(me: Entity, at: Point) { set_blocked(at, false); }
                 #[command(clients)] fn fill(me: Entity, at: Point) { set_blocked(at, true); }";
    let config = with_texts(&config, vec![Text::new("corridor.rs", texts)]);
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.push(EntityId::NONE, 0, CommandKind::SPAWN, &[0, 0, 4096, 100]);
    parity.tick(&frame);
    (config, parity)
}

fn edit(cell: u32, value: i32) -> Edit {
    Edit {
        layer: LayerKind::Blocked,
        cell,
        value,
    }
}

#[test]
fn a_wall_that_is_dug_away_lets_through_from_the_next_tick_on() {
    let (config, mut parity) = corridor();
    let walker = EntityId::new(0, 1);
    let step = |parity: &mut Parity, commands: &[(&str, &[i32])]| {
        let mut frame = Frame::new(parity.oracle.tick);
        for (number, (name, words)) in (0..).zip(commands) {
            let sequence = 8 * frame.tick.0 as u32 + number;
            frame.push(walker, sequence, command(&config, name), words);
        }
        frame.order(config.seed);
        let edits = parity.tick(&frame).edits;
        (parity.oracle.position(0)[0], edits)
    };
    let (before_it, end) = ((4 << 12) - 1, (8 << 12) - 1);
    let wall = [4 << 12, 0];
    let go: &[i32] = &[7 << 12, 0];
    let dug = step(&mut parity, &[("dig", &wall), ("move", go)]);
    assert_eq!(dug, (before_it, vec![edit(4, 0)]));
    parity.restart(true);
    assert_eq!(step(&mut parity, &[("move", go)]), (end, vec![]));
    // The last one in order stays, and what was there before is no edit any more.
    let far: &[i32] = &[6 << 12, 0];
    let both = step(&mut parity, &[("dig", far), ("fill", far)]);
    assert_eq!(both, (end, vec![edit(6, 1)]));
    assert_eq!(
        step(&mut parity, &[("fill", &wall)]),
        (end, vec![edit(4, 1)])
    );
    assert_eq!(parity.oracle.snapshot().edits, [edit(6, 1)]);
    // A wall around the walker: it leaves its cell, and comes back to no other.
    step(&mut parity, &[("fill", &[end, 0])]);
    assert_eq!(
        step(&mut parity, &[("move", &[-2 << 12, 0])]),
        (7 << 12, vec![])
    );
}

#[test]
fn a_snapshot_has_cells_that_can_differ_and_the_hash_sees_them() {
    let (config, mut parity) = corridor();
    parity.tick(&Frame::new(Tick(1)));
    let mut base = parity.oracle.snapshot();
    base.edits = vec![edit(2, 1), edit(4, 0)];
    let changes: [(&str, Change); 3] = [
        ("tracks", |s| s.edits.clear()),
        ("tracks", |s| s.edits.truncate(1)),
        ("tracks", |s| s.edits[0].cell = 3),
    ];
    assert_hash_sees(&config, &base, &changes);
    let cases: [(Change, RestoreError); 6] = [
        (|s| s.edits[1].cell = 8, out_of_range("edited cells", 8)),
        (|s| s.edits[1].value = 1, out_of_range("edited cells", 4)),
        (|s| s.edits[0].value = 2, out_of_range("edited cells", 2)),
        (
            |s| s.edits[0].layer = LayerKind::Height,
            out_of_range("edited cells", 2),
        ),
        (
            |s| s.edits.swap(0, 1),
            out_of_range("order of edited cells", 2),
        ),
        (
            |s| s.edits = vec![edit(2, 1); 65_537],
            out_of_range("number of edited cells", 65_537),
        ),
    ];
    assert_refused(&config, &base, &cases);
}
