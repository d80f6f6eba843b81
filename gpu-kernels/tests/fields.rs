//! Flow fields: entities find ways to goals, on every backend and in the oracle.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

use gpu_kernels::{Frame, RestoreError};
use shared::world::logic::Text;
use shared::{EntityId, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::scripts::{command, with_texts};
use testkit::snapshots::{Change, assert_hash_sees, assert_refused, out_of_range, wrong_size};

type Cell = [usize; 2];

const WIDTH: usize = 44;
const HEIGHT: usize = 37;
/// A cell's edge in raw units: two units.
const EDGE: i32 = 2 << 12;

/// Rows of cells from the lowest `y` on; true is a wall.
type Walls = Vec<Vec<bool>>;

fn noise(dice: &mut Dice, part: usize) -> Walls {
    let mut row = || (0..WIDTH).map(|_| dice.below(100) < part).collect();
    (0..HEIGHT).map(|_| row()).collect()
}

/// One way winds from the outside to the middle.
fn spiral() -> Walls {
    let mut walls = vec![vec![false; WIDTH]; HEIGHT];
    let (mut low, mut high) = ([1, 1], [WIDTH - 2, HEIGHT - 2]);
    let mut is_left = false;
    while low[0] + 3 < high[0] && low[1] + 3 < high[1] {
        for row in [low[1], high[1]] {
            walls[row][low[0]..=high[0]].fill(true);
        }
        for row in &mut walls[low[1]..=high[1]] {
            row[low[0]] = true;
            row[high[0]] = true;
        }
        // The gap of each wall is on the other side.
        walls[low[1] + 1][if is_left { low[0] } else { high[0] }] = false;
        is_left = !is_left;
        (low, high) = (low.map(|axis| axis + 2), high.map(|axis| axis - 2));
    }
    walls
}

/// Corridors of one cell, each joined with the one below or beside it.
fn maze(dice: &mut Dice) -> Walls {
    let mut walls = vec![vec![true; WIDTH]; HEIGHT];
    for y in (0..HEIGHT).step_by(2) {
        for x in (0..WIDTH).step_by(2) {
            walls[y][x] = false;
            match (x > 0, y > 0, dice.below(2)) {
                (true, false, _) | (true, true, 0) => walls[y][x - 1] = false,
                (_, true, _) => walls[y - 1][x] = false,
                _ => {}
            }
        }
    }
    walls
}

fn beside([x, y]: Cell) -> Vec<Cell> {
    let mut cells = vec![];
    cells.extend((x + 1 < WIDTH).then_some([x + 1, y]));
    cells.extend((y + 1 < HEIGHT).then_some([x, y + 1]));
    cells.extend(x.checked_sub(1).map(|x| [x, y]));
    cells.extend(y.checked_sub(1).map(|y| [x, y]));
    cells
}

/// How far cells are from the nearest goal.
fn distances(walls: &Walls, goals: &[Cell]) -> BTreeMap<Cell, u64> {
    let mut far: BTreeMap<Cell, u64> = goals.iter().map(|&goal| (goal, 0)).collect();
    let mut open: VecDeque<Cell> = goals.iter().copied().collect();
    while let Some(at) = open.pop_front() {
        for next in beside(at) {
            if !walls[next[1]][next[0]] && !far.contains_key(&next) {
                far.insert(next, far[&at] + 1);
                open.push_back(next);
            }
        }
    }
    far
}

fn layer(walls: &Walls) -> String {
    let mut drawing = String::new();
    for row in walls.iter().rev() {
        drawing.extend(row.iter().map(|&is_wall| if is_wall { '#' } else { '.' }));
        drawing.push('\n');
    }
    format!("[[layer]]\nname = \"blocked\"\ncell = 2\ndrawing = \"\"\"\n{drawing}\"\"\"\n")
}

/// The middle of a cell, in raw units.
fn middle(cell: Cell) -> [i32; 2] {
    cell.map(|axis| axis as i32 * EDGE + EDGE / 2)
}

fn cell_of(place: [i32; 3]) -> Cell {
    [0, 1].map(|axis| (place[axis] / EDGE) as usize)
}

fn world(text: &str, scripts: &str) -> WorldConfig {
    let config = world_file::parse(text, "fields").unwrap_or_else(|error| panic!("{error}"));
    with_texts(&config, vec![Text::new("fields.rs", scripts)])
}

/// A walker on each free cell goes a cell in each tick: so it arrives in as many ticks as it is far.
#[test]
fn walkers_arrive_in_as_many_ticks_as_a_plain_search_says() {
    let mut dice = Dice::new(11);
    let drawings = [
        noise(&mut dice, 0),
        noise(&mut dice, 30),
        noise(&mut dice, 42),
        spiral(),
        maze(&mut dice),
        maze(&mut dice),
    ];
    let (mut farthest, mut lost) = (0, 0);
    for walls in drawings {
        let cells = (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| [x, y]));
        let free: Vec<Cell> = cells.filter(|&[x, y]| !walls[y][x]).collect();
        let goals = [free[dice.below(free.len())], free[dice.below(free.len())]];
        let places = goals.map(|goal| [0, 1].map(|axis| 2.0 * goal[axis] as f64 + 0.5));
        let file = format!(
            "[world]\nsize = [{}, {}]\naoi = 10\ncapacity = 2000\nmotion = false\n\
             [limits]\nclients = 1\n[logic]\nbuiltin = []\n\
             [[kind]]\nname = \"player\"\n[[kind]]\nname = \"walker\"\n\
             [[field]]\nname = \"goal\"\nplaces = {places:?}\nrefresh_ticks = 4\n{}",
            2 * WIDTH,
            2 * HEIGHT,
            layer(&walls)
        );
        let text = "#[command(clients)]
            fn walk(me: Entity) { me.position += toward(me, \"goal\", 2.0); }";
        let config = world(&file, text);
        let walk = command(&config, "walk");
        let mut parity = Parity::new(&config);
        let mut frame = Frame::new(Tick(0));
        for (token, &cell) in (0..).zip(&free) {
            frame.spawn_at(1, token, &middle(cell));
        }
        parity.tick(&frame);
        let far = distances(&walls, &goals);
        let last = far.values().max().copied().unwrap_or(0);
        farthest = farthest.max(last);
        let all = parity.oracle.alive();
        assert_eq!(all.len(), free.len());
        // The rest of a long way is as its beginning.
        for tick in 1..=last.min(40) + 1 {
            let mut frame = Frame::new(Tick(tick));
            for &walker in &all {
                frame.push(walker, 0, walk, &[]);
            }
            parity.tick(&frame);
            for (&walker, cell) in all.iter().zip(&free) {
                let now = cell_of(parity.oracle.position(walker.slot.0));
                match far.get(cell) {
                    None => assert_eq!(now, *cell),
                    Some(far_before) => {
                        let left = far_before.saturating_sub(tick);
                        assert_eq!(far[&now], left, "from {cell:?} in tick {tick}");
                    }
                }
            }
        }
        lost += free.len() - far.len();
    }
    assert!(farthest > 150 && lost > 100, "{farthest} {lost}");
}

/// Walkers among random walls, gates that open, and goals that come, go and die.
fn busy_world(dice: &mut Dice) -> WorldConfig {
    let mut walls = noise(dice, 15);
    walls[0][0] = false;
    let tags: String = (0..10)
        .map(|_| {
            (0..11)
                .map(|_| dice.pick(&['.', '~', '=']))
                .collect::<String>()
                + "\n"
        })
        .collect();
    let mut fields = String::new();
    for (name, goal) in [
        ("gates", "kind = \"gate\""),
        ("prey", "kind = \"player\""),
        ("corner", "places = [[0, 0], [1.5, 0.5]]"),
        ("market", "zone = \"market\""),
    ] {
        let ticks = dice.pick(&[1, 2, 5, 7]);
        let costs = dice.pick(&[
            "",
            "costs = { swamp = 9 }\n",
            "costs = { swamp = 15, road = 2 }\n",
        ]);
        write!(
            fields,
            "[[field]]\nname = {name:?}\n{goal}\nrefresh_ticks = {ticks}\n{costs}"
        )
        .unwrap();
    }
    let file = format!(
        "[world]\nsize = [{}, {}]\naoi = 20\ncapacity = 200\nseed = {}\n\
         [limits]\natomic_per_tick = 100\ntimed_commands = 200\n\
         [logic]\nbuiltin = [\"move\", \"roam\"]\n\
         [commands]\nmove = {{ speed_max = 3, per_tick = 0 }}\nroam = {{ step = 2 }}\n\
         [[kind]]\nname = \"player\"\npopulation = 40\n\
         [[kind]]\nname = \"gate\"\npopulation = 20\nblocks = [3, 2]\nattributes = [\
         {{ name = \"closed\", type = \"bool\", default = true, audience = \"state\" }}]\n\
         [[every]]\nkind = \"player\"\nticks = 3\ncommand = \"roam\"\n\
         [[zone]]\nname = \"market\"\ncenter = [40, 40]\nradius = 7.5\n\
         [[layer]]\nname = \"tag\"\ncell = 8\nlegend = {{ \"~\" = \"swamp\", \"=\" = \"road\" }}\n\
         drawing = \"\"\"\n{tags}\"\"\"\n{fields}{}",
        2 * WIDTH - 1,
        2 * HEIGHT,
        dice.below(1 << 30),
        layer(&walls),
    );
    world(
        &file,
        "
        #[command(clients)]
        fn hunt(me: Entity, which: i32, step: Fixed) {
            me.position += if which == 0 { toward(me, \"gates\", step) }
                else if which == 1 { toward(me, \"prey\", step) }
                else if which == 2 { toward(me, \"corner\", step) }
                else { toward(me.position + point(random(-9.0, 9.0), 0.5), \"market\", step) };
        }
        #[command(clients, atomic)]
        fn chase(me: Entity, other: Entity) { me.position += toward(other, \"gates\", 1.5); }
        #[command(clients)]
        fn swing(me: Entity, gate: Entity) { gate.closed = !gate.closed; }
        #[command(clients)]
        fn build(me: Entity, at: Point) { spawn(\"gate\", at); }
        #[command(clients)]
        fn wreck(me: Entity, gate: Entity) { despawn(gate); }
        ",
    )
}

#[test]
fn fields_are_alike_on_every_backend_as_doors_close_and_goals_die() {
    let (mut moved, mut stored) = (0, 0);
    for seed in 1..=4 {
        let mut dice = Dice::new(seed);
        let config = busy_world(&mut dice);
        let mut parity = Parity::new(&config);
        for tick in 0..40 {
            let mut frame = Frame::new(Tick(tick));
            if tick == 0 {
                frame.populate(&config);
            }
            let alive = parity.oracle.alive();
            let of = |kind: u16| {
                let slots = &parity.oracle.slots;
                let own = alive
                    .iter()
                    .filter(move |e| slots[e.slot.index()].kind == kind);
                own.copied().collect::<Vec<EntityId>>()
            };
            let (players, gates) = (of(0), of(1));
            for &player in &players {
                let step = dice.within(-4096..=3 * 4096);
                let words = [dice.below(4) as i32, step];
                frame.push(player, 0, command(&config, "hunt"), &words);
                let other = dice.pick(&players).reference().0;
                if dice.once_in(4) {
                    frame.push(player, 1, command(&config, "chase"), &[other]);
                }
                if gates.is_empty() {
                    continue;
                }
                let gate = dice.pick(&gates).reference().0;
                let place = [dice.within(0..=80 << 12), dice.within(0..=70 << 12)];
                match dice.below(60) {
                    0..6 => frame.push(player, 2, command(&config, "swing"), &[gate]),
                    6 => frame.push(player, 2, command(&config, "wreck"), &[gate]),
                    7 => frame.push(player, 2, command(&config, "build"), &place),
                    8 if tick > 10 => frame.push(
                        player,
                        2,
                        command(&config, "wreck"),
                        &[player.reference().0],
                    ),
                    _ => {}
                }
            }
            frame.order(config.seed);
            let before: Vec<_> = players
                .iter()
                .map(|e| parity.oracle.position(e.slot.0))
                .collect();
            parity.tick(&frame);
            for (player, before) in players.iter().zip(before) {
                let at = parity.oracle.position(player.slot.0);
                assert!(!config.schema.layers.is_blocked(at), "{player:?} {at:?}");
                moved += usize::from(at != before);
            }
            if tick % 9 == 4 {
                let snapshot = parity.oracle.snapshot();
                let cells = snapshot
                    .fields
                    .iter()
                    .map(|f| f.under_way.closed.len() + f.in_force.goals.len());
                stored += cells.sum::<usize>();
                parity.restart(tick % 2 == 0);
            }
        }
    }
    assert!(moved > 2000 && stored > 200, "{moved} {stored}");
}

/// A corridor of eight cells, with the field's goal of a kind.
const CORRIDOR: &str = "[world]\nsize = [8, 1]\ncapacity = 4\n[limits]\ntimed_commands = 4\n[logic]\nbuiltin = []\n\
    [[kind]]\nname = \"player\"\n[[kind]]\nname = \"flag\"\n\
    [[kind]]\nname = \"gate\"\nblocks = [1, 1]\n\
    [[layer]]\nname = \"blocked\"\ndrawing = \"........\"\n\
    [[field]]\nname = \"flag\"\nkind = \"flag\"\nrefresh_ticks = 5\n";

#[test]
fn what_is_taken_comes_into_force_at_the_next_refresh_and_stays_until_then() {
    let config = world(
        CORRIDOR,
        "#[command(clients)] fn walk(me: Entity) { me.position += toward(me, \"flag\", 0.125); }
         #[command(clients)] fn strike(me: Entity, flag: Entity) { despawn(flag); }",
    );
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(0, 0, &[2048, 2048]);
    frame.spawn_at(1, 1, &[7 << 12, 2048]);
    parity.tick(&frame);
    let walker = EntityId::new(0, 1);
    let mut steps = String::new();
    for tick in 1..26 {
        let mut frame = Frame::new(Tick(tick));
        frame.push(walker, 0, command(&config, "walk"), &[]);
        if tick == 12 {
            let flag = EntityId::new(1, 1).reference().0;
            frame.push(walker, 1, command(&config, "strike"), &[flag]);
        }
        let before = parity.oracle.position(0)[0];
        parity.tick(&frame);
        let step = parity.oracle.position(0)[0] - before;
        steps.push(if step > 0 { '>' } else { '.' });
        if tick == 7 {
            parity.restart(false);
        }
    }
    // The flag lives from tick 1 on, is picked up in tick 5, and dies before tick 15.
    assert_eq!(steps, ".........>>>>>>>>>>......");
}

#[test]
fn a_longer_way_is_taken_where_it_costs_less() {
    let file = "[world]\nsize = [5, 3]\ncapacity = 4\n[logic]\nbuiltin = []\n\
        [[kind]]\nname = \"player\"\n\
        [[layer]]\nname = \"blocked\"\ndrawing = \"\"\"\n.....\n.###.\n.....\n\"\"\"\n\
        [[layer]]\nname = \"tag\"\nlegend = { \"~\" = \"swamp\" }\n\
        drawing = \"\"\"\n.....\n.....\n..~..\n\"\"\"\n\
        [[field]]\nname = \"goal\"\nplaces = [[4.5, 0.5]]\nrefresh_ticks = 5\ncosts = { swamp = COST }\n";
    // 4 cells are left on the straight way, and 8 around the wall.
    for (cost, is_around) in [(1, false), (4, false), (5, false), (6, true), (15, true)] {
        let config = world(
            &file.replace("COST", &cost.to_string()),
            "#[command(clients)] fn walk(me: Entity) { me.position += toward(me, \"goal\", 1.0); }",
        );
        let mut parity = Parity::new(&config);
        let mut frame = Frame::new(Tick(0));
        frame.spawn_at(0, 0, &[2048, 2048]);
        parity.tick(&frame);
        let mut frame = Frame::new(Tick(1));
        frame.push(EntityId::new(0, 1), 0, command(&config, "walk"), &[]);
        parity.tick(&frame);
        let went_up = parity.oracle.position(0)[1] > 4096;
        // Of ways that cost the same, the first is along `x`.
        assert_eq!(went_up, is_around, "{cost}");
    }
}

#[test]
fn the_state_hash_and_a_restore_see_where_goals_and_doors_were() {
    let config = world(CORRIDOR, "");
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(1, 0, &[2048, 2048]);
    frame.spawn_at(2, 1, &[(3 << 12) + 2048, 2048]);
    parity.tick(&frame);
    for tick in 1..8 {
        parity.tick(&Frame::new(Tick(tick)));
    }
    let base = parity.oracle.snapshot();
    assert_eq!(base.fields[0].under_way.goals, [0]);
    assert_eq!(base.fields[0].under_way.closed, [3]);
    let changes: [(&str, Change); 5] = [
        ("tracks", |s| s.fields[0].under_way.goals[0] = 1),
        ("tracks", |s| s.fields[0].under_way.closed.push(5)),
        ("tracks", |s| s.fields[0].in_force.goals.push(5)),
        ("tracks", |s| s.fields[0].in_force.closed.push(5)),
        ("tracks", |s| s.fields[0].under_way.goals.clear()),
    ];
    assert_hash_sees(&config, &base, &changes);
    let cases: [(Change, RestoreError); 4] = [
        (|s| s.fields.clear(), wrong_size("fields", 1, 0)),
        (
            |s| s.fields[0].in_force.goals = vec![2, 2],
            out_of_range("order of a field's cells", 2),
        ),
        (
            |s| s.fields[0].in_force.closed = vec![8],
            out_of_range("cells of fields", 8),
        ),
        (
            |s| s.fields[0].under_way.goals = vec![32],
            out_of_range("cells of fields", 32),
        ),
    ];
    assert_refused(&config, &base, &cases);
}
