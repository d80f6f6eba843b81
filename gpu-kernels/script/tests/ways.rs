//! Ways around walls: what `approach` gives is what a plain search from cell to cell finds.

use std::collections::{BTreeMap, VecDeque};

use crate::common;
use crate::layers::{CELLS, Dice, Drawing, EDGE, Formula, SIZE};

type Cell = [i32; 2];

/// The sides of a cell, in the order in which they are taken.
const SIDES: [Cell; 4] = [[1, 0], [0, 1], [-1, 0], [0, -1]];

fn cell(place: [i32; 2]) -> Cell {
    place.map(|axis| axis.clamp(0, SIZE - 1) / EDGE)
}

/// How far the free cells are from a goal, within a window around a cell.
fn distances(drawing: &Drawing, own: Cell, goal: Cell, reach: i32) -> BTreeMap<Cell, u32> {
    let is_near = |cell: Cell| (0..2).all(|axis| (cell[axis] - own[axis]).abs() <= reach);
    let mut far = BTreeMap::new();
    let mut open = VecDeque::new();
    if is_near(goal) {
        far.insert(goal, 0);
        open.push_back(goal);
    }
    while let Some(at) = open.pop_front() {
        for side in SIDES {
            let next = [at[0] + side[0], at[1] + side[1]];
            let is_cell = next.iter().all(|axis| (0..CELLS).contains(axis));
            if !is_cell || !is_near(next) || far.contains_key(&next) {
                continue;
            }
            // The search may end at the cell where the way begins, even if that is a wall.
            if !drawing.is_wall(next[0], next[1]) {
                far.insert(next, far[&at] + 1);
                open.push_back(next);
            }
        }
    }
    far
}

/// Where the next part of the way leads; whether a way was found.
fn next(drawing: &Drawing, at: [i32; 2], to: [i32; 2], reach: i32) -> ([i32; 2], bool) {
    let (own, goal) = (cell(at), cell(to));
    if own == goal {
        return (to, true);
    }
    let far = distances(drawing, own, goal, reach);
    let beside = SIDES.map(|side| [own[0] + side[0], own[1] + side[1]]);
    let reached = beside.into_iter().filter(|cell| far.contains_key(cell));
    match reached.min_by_key(|cell| far[cell]) {
        Some(cell) if cell != goal => {
            let middle = |axis: i32| (axis * EDGE + EDGE / 2).min(SIZE - 1);
            (cell.map(middle), true)
        }
        found => (to, found.is_some()),
    }
}

/// Walls with a single way from the middle to the outside.
fn spiral() -> Drawing {
    let mut drawing = Drawing::new(1, 0);
    let mut rows = vec![vec!['.'; CELLS as usize]; CELLS as usize];
    let (mut low, mut high) = (4usize, CELLS as usize - 5);
    while low + 2 < high {
        for y in [low, high] {
            rows[y][low..=high].fill('#');
        }
        for row in &mut rows[low..=high] {
            row[low] = '#';
            row[high] = '#';
        }
        // The gap of each wall is on the other side.
        let gap = if low % 4 == 0 { low } else { high };
        rows[gap][low + 1] = '.';
        (low, high) = (low + 2, high - 2);
    }
    drawing.walls = rows.iter().map(|row| row.iter().collect()).collect();
    drawing
}

/// Corridors of one cell between rooms of one cell, each joined with the one below or beside it.
fn maze(seed: u64) -> Drawing {
    let mut drawing = Drawing::new(1, 0);
    let mut dice = Dice(seed);
    let mut rows = vec![vec!['#'; CELLS as usize]; CELLS as usize];
    for y in (0..CELLS as usize).step_by(2) {
        for x in (0..CELLS as usize).step_by(2) {
            rows[y][x] = '.';
            match (x > 0, y > 0, dice.below(2)) {
                (true, false, _) | (true, true, 0) => rows[y][x - 1] = '.',
                (_, true, _) => rows[y - 1][x] = '.',
                _ => {}
            }
        }
    }
    drawing.walls = rows.iter().map(|row| row.iter().collect()).collect();
    drawing
}

#[test]
fn every_step_is_on_a_shortest_way_that_a_plain_search_finds() {
    let drawings = [
        Drawing::new(1, 30),
        Drawing::new(2, 80),
        Drawing::new(3, 110),
        spiral(),
        maze(4),
        maze(5),
    ];
    let (mut found, mut around) = (0, 0);
    for (number, drawing) in drawings.iter().enumerate() {
        let schema = drawing.schema(2);
        let layers = &schema.layers;
        for window in [3, 9, 15, 31] {
            let step = format!("me.position += approach(at, to, by, {window});");
            let approach = Formula::new(&schema, &step);
            let towards = Formula::new(&schema, "me.position += towards(at, to, by) - at;");
            let mut dice = Dice(number as u64);
            for round in 0..150 {
                let at = match round % 8 {
                    0 => dice.place(),
                    _ => dice.free(layers),
                };
                let far = (window / 2 + 2) * EDGE;
                let near = |dice: &mut Dice| at.map(|axis| axis + dice.below(2 * far) - far);
                let mut to = near(&mut dice);
                while round % 5 > 0 && layers.is_blocked([to[0], to[1], 0]) {
                    to = near(&mut dice);
                }
                let by = dice.below(5 << 12);
                let (goal, is_found) = next(drawing, at, to, window / 2);
                let straight = towards.of(at, goal, by);
                let expected = layers.slide([at[0], at[1], 0], [straight[0], straight[1], 0]);
                let moved = approach.of(at, to, by);
                assert_eq!(
                    moved,
                    expected[..2],
                    "{number}, {window}: {at:?} {to:?} {by}"
                );
                let direct = towards.of(at, to, by);
                found += i32::from(is_found);
                around += i32::from(is_found && straight != direct);
            }
        }
    }
    assert!(found > 1000 && around > 500, "{found} {around}");
}

#[test]
fn a_hunter_comes_through_a_maze_by_the_shortest_way() {
    for drawing in [maze(7), maze(8), spiral()] {
        let schema = drawing.schema(2);
        let approach = Formula::new(&schema, "me.position += approach(at, to, by, 31);");
        let mut dice = Dice(6);
        let mut walked = 0;
        while walked < 100 {
            let start = dice.free(&schema.layers);
            let prey = start.map(|axis| axis + dice.below(20 * EDGE) - 10 * EDGE);
            let prey = prey.map(|axis| axis.clamp(0, SIZE - 1));
            let far = distances(&drawing, cell(start), cell(prey), 15);
            // As long as the window has the way from each of its cells.
            let is_free = !schema.layers.is_blocked([prey[0], prey[1], 0]);
            let Some(&far) = far.get(&cell(start)).filter(|&&far| is_free && far <= 15) else {
                continue;
            };
            let (mut at, mut cells) = (start, vec![cell(start)]);
            // A step is as long as a cell, so each call comes to the middle of the next.
            while cell(at) != cell(prey) {
                let moved = approach.of(at, prey, 2 * EDGE);
                at = [at[0] + moved[0], at[1] + moved[1]];
                cells.push(cell(at));
                assert!(cells.len() <= far as usize + 1, "{cells:?}");
            }
            walked += far;
        }
    }
}

#[test]
fn the_window_is_an_odd_constant() {
    for window in ["2", "8", "33", "n"] {
        let text = format!(
            "#[command(clients)] fn test(me: Entity, other: Entity, n: i32) {{ \
             me.position += approach(me, other, 1.0, {window}); }}"
        );
        let drawn = common::drawn(&text);
        assert!(
            drawn.contains("expected an odd constant from 3 to 31"),
            "{drawn}"
        );
    }
}

#[test]
fn nobody_is_approached_not_at_all_and_without_walls_the_way_is_straight() {
    let schema = Drawing::new(1, 40).schema(2);
    let nobody = Formula::new(&schema, "me.position += approach(me, none, 1.0, 9);");
    assert!(nobody.of([0; 2], [0; 2], 0).iter().all(|&moved| moved == 0));
    let schema = common::schema();
    let [approach, towards] = ["approach(at, to, by, 9)", "towards(at, to, by) - at"].map(|way| {
        let formula = Formula::new(&schema, &format!("me.position += {way};"));
        formula.of([5000, 6000], [70_000, 20_000], 9000)
    });
    assert_eq!(approach, towards);
}
