//! Layers: what scripts read of cells, and what walls leave of sight, shots and steps. The expected
//! values come from the drawing, and from definitions in other words.

use script::{Command, Logic};
use shared::world::layer::Layers;
use shared::world::logic::Constants;
use shared::world::mix::mix;
use shared::{EntityId, Schema};

use crate::common::{self, TestWorld, native};

/// The edge of a cell in raw units, and the cells of an axis.
pub const EDGE: i32 = 2 << 12;
pub const CELLS: i32 = 40;
/// Less than the cells cover.
pub const SIZE: i32 = 79 << 12;

pub struct Drawing {
    /// By row, the highest first.
    pub walls: Vec<String>,
    heights: Vec<String>,
    tags: Vec<String>,
}

impl Drawing {
    /// A part of the cells, of 256, are walls.
    pub fn new(seed: u64, part: u64) -> Drawing {
        let below = |x: i32, y: i32, salt: u64, n: u64| {
            let bits = mix(mix(seed, salt), (y * CELLS + x) as u64) >> 32;
            (bits * n) >> 32
        };
        let rows = |char: &dyn Fn(i32, i32) -> char| {
            let rows = (0..CELLS).rev();
            rows.map(|y| (0..CELLS).map(|x| char(x, y)).collect())
                .collect()
        };
        Drawing {
            // The lowest corner is free, so that something is.
            walls: rows(&|x, y| match x + y > 0 && below(x, y, 1, 256) < part {
                true => '#',
                false => '.',
            }),
            heights: rows(&|x, y| ['.', '3', '~', '^'][below(x, y, 2, 4) as usize]),
            tags: rows(&|x, y| ['.', '=', 'o'][below(x, y, 3, 3) as usize]),
        }
    }

    fn char(rows: &[String], x: i32, y: i32) -> char {
        let row = &rows[(CELLS - 1 - y) as usize];
        row.chars().nth(x as usize).unwrap()
    }

    pub fn is_wall(&self, x: i32, y: i32) -> bool {
        Drawing::char(&self.walls, x, y) == '#'
    }

    pub fn schema(&self, dimensions: usize) -> Schema {
        let file = format!(
            r#"
[world]
size = {}
aoi = 10
capacity = 16

[[layer]]
name = "blocked"
cell = 2
drawing = """
{}
"""

[[layer]]
name = "height"
cell = 2
legend = {{ "~" = -300, "^" = 32767 }}
drawing = """
{}
"""

[[layer]]
name = "tag"
cell = 2
legend = {{ "o" = "swamp", "=" = "road" }}
drawing = """
{}
"""

[[kind]]
name = "player"
attributes = [
    {{ name = "n", type = "i32", merge = "last", audience = "state" }},
    {{ name = "ground", type = "symbol", symbols = ["road", "swamp", "mud"], audience = "state" }},
]
"#,
            ["[79, 79]", "[79, 79, 50]"][dimensions - 2],
            self.walls.join("\n"),
            self.heights.join("\n"),
            self.tags.join("\n"),
        );
        world_file::parse(&file, "test").unwrap().schema
    }
}

/// A command that puts a value into `me.n`, or a point into the position, over two points and an
/// offset. What it does must be the same by the interpreter and as machine code.
pub struct Formula {
    world: TestWorld,
    me: EntityId,
    command: Command,
    native: script::native::Native,
}

impl Formula {
    pub fn new(schema: &Schema, statement: &str) -> Formula {
        let text = format!(
            "#[command(clients)] fn test(me: Entity, at: Point, to: Point, by: Fixed) {{
                {statement}
            }}"
        );
        let logic = compile(schema, &text);
        let mut world = TestWorld::of(schema.clone());
        let me = world.add("player", 1, 1);
        let native = native::compile(&logic, &world);
        let command = logic.commands.into_iter().next().unwrap();
        Formula {
            world,
            me,
            command,
            native,
        }
    }

    /// The values of its updates.
    pub fn of(&self, at: [i32; 2], to: [i32; 2], by: i32) -> Vec<i32> {
        self.of_words(&[at[0], at[1], to[0], to[1], by])
    }

    pub fn of_words(&self, words: &[i32]) -> Vec<i32> {
        let (world, me) = (&self.world, self.me);
        let done = world.run(&self.command, me, words);
        let again = native::run(&self.native, world, &self.command, me, words);
        assert_eq!(done, again, "{words:?}");
        let done = done.unwrap();
        done.updates.into_iter().map(|update| update.2).collect()
    }
}

fn compile(schema: &Schema, text: &str) -> Logic {
    let texts = [shared::world::logic::Text::new("test.rs", text)];
    let logic = common::compile_for(schema, &texts, &Constants::default());
    logic.unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: i32) -> i32 {
        self.0 = mix(self.0, 99);
        (((self.0 >> 32) * n as u64) >> 32) as i32
    }

    pub fn place(&mut self) -> [i32; 2] {
        [self.below(SIZE), self.below(SIZE)]
    }

    pub fn free(&mut self, layers: &Layers) -> [i32; 2] {
        loop {
            let [x, y] = self.place();
            if !layers.is_blocked([x, y, 0]) {
                return [x, y];
            }
        }
    }
}

#[test]
fn cells_have_what_is_drawn_and_places_outside_are_the_nearest_inside() {
    let drawing = Drawing::new(1, 100);
    let schema = drawing.schema(2);
    let of = |expression: &str| Formula::new(&schema, &format!("me.n = {expression};"));
    let blocked = of("if is_blocked(at) { 1 } else { 0 }");
    let height = of("height(at)");
    let tag = of("if tag(at) == \"swamp\" { 1 } else if tag(at) == \"road\" { 2 } else { 0 }");
    for x in 0..CELLS {
        for y in 0..CELLS {
            let char = |rows: &[String]| Drawing::char(rows, x, y);
            for at in [[x * EDGE, y * EDGE], [x * EDGE + EDGE - 1, y * EDGE + 1]] {
                let at = at.map(|axis| axis.min(SIZE - 1));
                let value = |formula: &Formula| formula.of(at, [0; 2], 0)[0];
                assert_eq!(value(&blocked), i32::from(drawing.is_wall(x, y)), "{at:?}");
                let expected = match char(&drawing.heights) {
                    '3' => 3,
                    '~' => -300,
                    '^' => 32_767,
                    _ => 0,
                };
                assert_eq!(value(&height), expected, "{at:?}");
                let expected = match char(&drawing.tags) {
                    'o' => 1,
                    '=' => 2,
                    _ => 0,
                };
                assert_eq!(value(&tag), expected, "{at:?}");
            }
        }
    }
    for (outside, inside) in [
        ([i32::MIN, i32::MAX], [0, SIZE - 1]),
        ([SIZE, -1], [SIZE - 1, 0]),
    ] {
        for formula in [&blocked, &height, &tag] {
            let [far, near] = [outside, inside].map(|at| formula.of(at, [0; 2], 0));
            assert_eq!(far, near);
        }
    }
}

/// Whether a line from cell to cell, middle to middle, passes: by the exact places where it crosses
/// the borders of all cells around it.
fn sees(drawing: &Drawing, [ax, ay]: [i32; 2], [bx, by]: [i32; 2]) -> bool {
    let (low, high) = ([ax.min(bx), ay.min(by)], [ax.max(bx), ay.max(by)]);
    let (dx, dy) = (i64::from(bx - ax), i64::from(by - ay));
    // The side of the line on which a corner of cells is: corners are half a cell from middles.
    let side = |x: i32, y: i32| {
        let (x, y) = (i64::from(2 * (x - ax) - 1), i64::from(2 * (y - ay) - 1));
        (x * dy - y * dx).signum()
    };
    for x in low[0]..=high[0] {
        for y in low[1]..=high[1] {
            let corners = [
                side(x, y),
                side(x + 1, y),
                side(x, y + 1),
                side(x + 1, y + 1),
            ];
            let is_crossed = corners.contains(&1) && corners.contains(&-1);
            let is_whole = dx == 0 && dy == 0;
            if (is_crossed || is_whole) && drawing.is_wall(x, y) {
                return false;
            }
        }
    }
    // Corners on the line, within it.
    for x in low[0] + 1..=high[0] {
        for y in low[1] + 1..=high[1] {
            if side(x, y) == 0 {
                let beside = match (dx > 0) == (dy > 0) {
                    true => [[x - 1, y], [x, y - 1]],
                    false => [[x - 1, y - 1], [x, y]],
                };
                if beside.iter().all(|&[x, y]| drawing.is_wall(x, y)) {
                    return false;
                }
            }
        }
    }
    true
}

#[test]
fn sight_ends_at_walls_on_the_exact_line_through_cells() {
    let mut both = [0; 2];
    for (seed, part) in [(1, 10), (2, 40), (3, 100)] {
        let drawing = Drawing::new(seed, part);
        let schema = drawing.schema(2);
        let formula = Formula::new(&schema, "me.n = if sees(at, to) { 1 } else { 0 };");
        let mut dice = Dice(seed);
        for round in 0..1500 {
            let (at, mut to) = (dice.place(), dice.place());
            if round % 3 == 0 {
                // Diagonals, and lines of other simple slopes, go through corners.
                let n = dice.below(2 * CELLS) - CELLS;
                let by = [[n, n], [n, -n], [n, 3 * n], [n, 0]][dice.below(4) as usize];
                to = [0, 1].map(|axis| (at[axis] + by[axis] * EDGE).clamp(0, SIZE - 1));
            }
            let cells = [at, to].map(|place| place.map(|axis| axis / EDGE));
            let expected = sees(&drawing, cells[0], cells[1]);
            let found = formula.of(at, to, 0)[0] == 1;
            assert_eq!(found, expected, "{cells:?}");
            assert_eq!(formula.of(to, at, 0)[0] == 1, expected, "back: {cells:?}");
            both[usize::from(found)] += 1;
        }
    }
    assert!(both.iter().all(|&n| n > 500), "{both:?}");
}

/// The cells of the line from the middle of a cell to that of another, in their order.
fn line([ax, ay]: [i32; 2], [bx, by]: [i32; 2]) -> Vec<[i32; 2]> {
    let (dx, dy) = (i64::from(bx - ax), i64::from(by - ay));
    let side = |x: i32, y: i32| {
        let (x, y) = (i64::from(2 * (x - ax) - 1), i64::from(2 * (y - ay) - 1));
        (x * dy - y * dx).signum()
    };
    let mut cells: Vec<[i32; 2]> = (ax.min(bx)..=ax.max(bx))
        .flat_map(|x| (ay.min(by)..=ay.max(by)).map(move |y| [x, y]))
        .filter(|&[x, y]| {
            let corners = [
                side(x, y),
                side(x + 1, y),
                side(x, y + 1),
                side(x + 1, y + 1),
            ];
            (dx, dy) == (0, 0) || corners.contains(&1) && corners.contains(&-1)
        })
        .collect();
    cells.sort_by_key(|&[x, y]| i64::from(x - ax) * dx + i64::from(y - ay) * dy);
    cells
}

#[test]
fn a_shot_ends_in_the_last_cell_of_its_line_before_a_wall() {
    let drawing = Drawing::new(4, 40);
    let schema = drawing.schema(2);
    let shot = Formula::new(
        &schema,
        "let hit = first_hit(at, to, by); me.position += hit - me.position;",
    );
    let reach = Formula::new(
        &schema,
        "let end = towards(at, to, by); me.position += end - me.position;",
    );
    let mut dice = Dice(5);
    let (mut stopped, mut at_once) = (0, 0);
    for _ in 0..1500 {
        let (at, to) = (dice.free(&schema.layers), dice.place());
        let by = dice.below(60 << 12);
        let place = |formula: &Formula| {
            let moved = formula.of(at, to, by);
            [moved[0] + 4096, moved[1] + 4096]
        };
        let end = place(&reach).map(|axis| axis.clamp(0, SIZE - 1));
        let cells = line(at.map(|axis| axis / EDGE), end.map(|axis| axis / EDGE));
        let is_wall = |[x, y]: [i32; 2]| drawing.is_wall(x, y);
        let ends = |pair: &[[i32; 2]]| {
            let [[ax, ay], [bx, by]] = [pair[0], pair[1]];
            let is_corner = ax != bx && ay != by;
            is_wall(pair[1]) || is_corner && is_wall([ax, by]) && is_wall([bx, ay])
        };
        let expected = match cells.windows(2).position(ends) {
            None => end,
            Some(0) => {
                at_once += 1;
                at
            }
            Some(last) => {
                stopped += 1;
                cells[last].map(|cell| (cell * EDGE + EDGE / 2).min(SIZE - 1))
            }
        };
        assert_eq!(place(&shot), expected, "{at:?} {to:?} {by}");
    }
    assert!(stopped > 300 && at_once > 50, "{stopped} {at_once}");
}

#[test]
fn a_shot_goes_up_as_far_as_it_goes_along() {
    let mut drawing = Drawing::new(1, 0);
    let row = drawing.walls.len() - 1 - 5;
    drawing.walls[row].replace_range(20..21, "#");
    let schema = drawing.schema(3);
    let text = "#[command(clients)] fn test(me: Entity, at: Point) {
        me.position += first_hit(at, point(78.5, 11.0, 39.0), 100.0) - me.position;
    }";
    let logic = compile(&schema, text);
    let mut world = TestWorld::of(schema.clone());
    let me = world.add("player", 1, 1);
    let command = &logic.commands[0];
    let done = world.run(command, me, &[4096, 11 << 12, 0]).unwrap();
    let native = native::compile(&logic, &world);
    let again = native::run(&native, &world, command, me, &[4096, 11 << 12, 0]);
    assert_eq!(again.as_ref(), Ok(&done));
    let hit: Vec<i32> = done.updates.iter().map(|update| update.2).collect();
    let middle = 19 * EDGE + EDGE / 2;
    assert_eq!(hit[0] + 4096, middle, "the last free cell is the 20th");
    // It is behind 19 of 39 borders, and so at 19 of 39 units, less what divisions drop.
    assert!(((19 << 12) - 39..=19 << 12).contains(&hit[2]), "{hit:?}");
}

#[test]
fn steps_go_along_walls_and_never_into_one_or_behind_one() {
    for (seed, part) in [(1, 20), (2, 60), (3, 120)] {
        let drawing = Drawing::new(seed, part);
        let schema = drawing.schema(2);
        let formula = Formula::new(&schema, "me.position += slide(at, to);");
        let mut dice = Dice(seed);
        let mut stopped = 0;
        for round in 0..1500 {
            let at = dice.free(&schema.layers);
            let most = [EDGE, 3 * EDGE, SIZE, i32::MAX][round % 4];
            let step = [0; 2].map(|_| dice.below(most) - most / 2);
            let moved = formula.of(at, step, 0);
            let expected = schema
                .layers
                .slide([at[0], at[1], 0], [step[0], step[1], 0]);
            assert_eq!(moved, expected[..2], "{at:?} {step:?}");
            let end = [at[0] + moved[0], at[1] + moved[1]];
            assert!(end.iter().all(|axis| (0..SIZE).contains(axis)));
            assert!(!schema.layers.is_blocked([end[0], end[1], 0]));
            assert!(is_connected(&drawing, at, end), "{at:?} {end:?}");
            let whole = [0, 1].map(|axis| {
                let goal = i64::from(at[axis]) + i64::from(step[axis]);
                goal.clamp(0, i64::from(SIZE) - 1) as i32
            });
            stopped += i32::from(end != whole);
        }
        assert!(stopped > 100, "{part}: {stopped}");
    }
}

/// Whether a way through free cells, from side to side, leads from a place to another.
fn is_connected(drawing: &Drawing, from: [i32; 2], to: [i32; 2]) -> bool {
    let [from, to] = [from, to].map(|place| place.map(|axis| axis / EDGE));
    let mut seen = vec![from];
    let mut open = vec![from];
    while let Some([x, y]) = open.pop() {
        if [x, y] == to {
            return true;
        }
        for next in [[x + 1, y], [x - 1, y], [x, y + 1], [x, y - 1]] {
            let is_cell = next.iter().all(|axis| (0..CELLS).contains(axis));
            if is_cell && !drawing.is_wall(next[0], next[1]) && !seen.contains(&next) {
                seen.push(next);
                open.push(next);
            }
        }
    }
    false
}

#[test]
fn a_step_along_a_wall_keeps_what_does_not_lead_into_it() {
    let mut drawing = Drawing::new(1, 0);
    let row = drawing.walls.len() - 1 - 10;
    drawing.walls[row] = "#".repeat(CELLS as usize);
    drawing.walls[row].replace_range(30..31, ".");
    let schema = drawing.schema(2);
    let formula = Formula::new(&schema, "me.position += slide(at, to);");
    let border = 10 * EDGE;
    let at = [5 * EDGE, border - 4096];
    assert_eq!(formula.of(at, [3 << 12, 3 << 12], 0), [3 << 12, 4095]);
    assert_eq!(
        formula.of(at, [-(3 << 12), 60 << 12], 0),
        [-(3 << 12), 4095]
    );
    assert_eq!(formula.of(at, [7, -9], 0), [7, -9]);
    // Who is in a wall may leave it.
    let within = [5 * EDGE, border + 4096];
    assert_eq!(formula.of(within, [0, 4096], 0), [0, 4096]);
    assert_eq!(formula.of(within, [0, -4097], 0), [0, -4097]);
    assert_eq!(
        formula.of(within, [-EDGE, 0], 0),
        [-(within[0] % EDGE), 0],
        "no wall to a wall"
    );
}

#[test]
fn inside_is_out_of_walls_nearby() {
    let drawing = Drawing::new(9, 200);
    let schema = drawing.schema(2);
    let formula = Formula::new(
        &schema,
        "let place = inside(at); me.position += place - me.position;",
    );
    let mut dice = Dice(3);
    for _ in 0..800 {
        let [x, y] = dice.place();
        let moved = formula.of([x, y], [0; 2], 0);
        let place = [moved[0] + 4096, moved[1] + 4096];
        assert!(!schema.layers.is_blocked([place[0], place[1], 0]));
        let expected = schema.layers.free_place([x, y, 0]);
        assert_eq!(place, expected[..2]);
        if !schema.layers.is_blocked([x, y, 0]) {
            assert_eq!(place, [x, y]);
        }
        // No free cell is nearer by a ring.
        let ring = |to: [i32; 2]| {
            let along = [to[0] / EDGE - x / EDGE, to[1] / EDGE - y / EDGE];
            along[0].abs().max(along[1].abs())
        };
        let own = ring(place);
        for [cx, cy] in (0..CELLS).flat_map(|x| (0..CELLS).map(move |y| [x, y])) {
            if !drawing.is_wall(cx, cy) {
                assert!(ring([cx * EDGE, cy * EDGE]) >= own);
            }
        }
    }
}

#[test]
fn a_world_whose_near_cells_are_all_walls_has_a_refuge() {
    let mut drawing = Drawing::new(1, 256);
    let row = drawing.walls.len() - 1;
    drawing.walls[row].replace_range(39..40, ".");
    let schema = drawing.schema(2);
    // The nearest free cell is too far away to be searched for.
    let place = schema.layers.free_place([20 * EDGE, 39 * EDGE, 0]);
    assert!(!schema.layers.is_blocked(place));
    let formula = Formula::new(
        &schema,
        "let place = inside(at); me.position += place - me.position;",
    );
    let moved = formula.of([20 * EDGE, 39 * EDGE], [0; 2], 0);
    assert_eq!([moved[0] + 4096, moved[1] + 4096], place[..2]);
}

/// A place that may be outside of the world, and now and then as far as numbers go.
fn any_place(dice: &mut Dice, axes: usize) -> [i32; 3] {
    let mut place = [0; 3];
    for axis in &mut place[..axes] {
        *axis = match dice.below(16) {
            0 => [i32::MIN, i32::MAX, -1, SIZE][dice.below(4) as usize],
            1 | 2 => dice.below(2 * SIZE) - SIZE / 2,
            _ => dice.below(SIZE),
        };
    }
    place
}

#[test]
fn clients_find_in_layers_what_scripts_find() {
    for (seed, part) in [(11, 0), (12, 15), (13, 60), (14, 140), (15, 250)] {
        let schema = Drawing::new(seed, part).schema(2);
        let layers = &schema.layers;
        let of = |statement: &str| Formula::new(&schema, statement);
        let moved = |to: &str| of(&format!("me.position += {to} - me.position;"));
        let blocked = of("me.n = if is_blocked(at) { 1 } else { 0 };");
        let height = of("me.n = height(at);");
        let tag = of(
            "me.n = if tag(at) == \"swamp\" { 1 } else if tag(at) == \"road\" { 2 } else { 0 };",
        );
        let number = |name: &str| schema.symbols.iter().position(|own| own == name);
        let [swamp, road] = ["swamp", "road"].map(|name| number(name).unwrap() as i32);
        let sees = of("me.n = if sees(at, to) { 1 } else { 0 };");
        let slide = of("me.position += slide(at, to);");
        let (end, hit) = (moved("towards(at, to, by)"), moved("first_hit(at, to, by)"));
        let mut dice = Dice(seed);
        for _ in 0..800 {
            let [at, to] = [0; 2].map(|_| any_place(&mut dice, 2));
            let by = dice.below(90 << 12);
            let what = format!("{seed}: {at:?} {to:?} {by}");
            let asked = |formula: &Formula| formula.of([at[0], at[1]], [to[0], to[1]], by);
            let one = |formula: &Formula| asked(formula)[0];
            let point = |formula: &Formula, from: i32| {
                let moved = asked(formula);
                [from.wrapping_add(moved[0]), from.wrapping_add(moved[1]), 0]
            };
            assert_eq!(one(&blocked) == 1, layers.is_blocked(at), "{what}");
            assert_eq!(Some(one(&height)), layers.height_at(at), "{what}");
            let symbol = [-1, swamp, road][one(&tag) as usize];
            assert_eq!(Some(symbol), layers.tag_at(at), "{what}");
            assert_eq!(one(&sees) == 1, layers.sees(at, to), "{what}");
            assert_eq!(point(&slide, 0), layers.slide(at, to), "{what}");
            let (end, hit) = (point(&end, 4096), point(&hit, 4096));
            assert_eq!(hit, layers.first_hit(at, end), "{what}");
        }
    }
}

#[test]
fn clients_find_in_layers_what_scripts_find_above_the_ground() {
    let schema = Drawing::new(16, 40).schema(3);
    let layers = &schema.layers;
    let mut dice = Dice(16);
    for _ in 0..12 {
        let to = [dice.below(SIZE), dice.below(SIZE), dice.below(50 << 12)];
        let by = f64::from(dice.below(90 << 12)) / 4096.0;
        let [x, y, z] = to.map(|axis| f64::from(axis) / 4096.0);
        let to = format!("point({x:?}, {y:?}, {z:?})");
        let formula = |statement: &str| {
            let text =
                format!("#[command(clients)] fn test(me: Entity, at: Point) {{ {statement} }}");
            let command = compile(&schema, &text).commands.remove(0);
            let mut world = TestWorld::of(schema.clone());
            let me = world.add("player", 1, 1);
            move |at: [i32; 3]| {
                let done = world.run(&command, me, &at).unwrap();
                let moved: Vec<i32> = done.updates.iter().map(|update| update.2).collect();
                [moved[0], moved[1], moved[2]]
            }
        };
        let slide = formula(&format!("me.position += slide(at, {to});"));
        let end = formula(&format!("me.position += towards(at, {to}, {by:?}) - at;"));
        let hit = formula(&format!("me.position += first_hit(at, {to}, {by:?}) - at;"));
        for _ in 0..60 {
            let at = [dice.below(SIZE), dice.below(SIZE), dice.below(50 << 12)];
            let plus = |moved: [i32; 3]| [0, 1, 2].map(|axis| at[axis] + moved[axis]);
            let step = [x, y, z].map(|axis| (axis * 4096.0) as i32);
            assert_eq!(slide(at), layers.slide(at, step), "{at:?} {to}");
            let end = plus(end(at));
            assert_eq!(plus(hit(at)), layers.first_hit(at, end), "{at:?} {to} {by}");
        }
    }
}

#[test]
fn without_walls_a_step_is_what_it_was_and_costs_nothing() {
    let schema = common::schema();
    let code = |step: &str| {
        let text = format!(
            "#[command(clients)] fn test(me: Entity, step: Point) {{ me.position += {step}; }}"
        );
        compile(&schema, &text).commands.remove(0).code
    };
    assert_eq!(code("slide(me, step)"), code("step"));
    let formula = Formula::new(
        &schema,
        "me.gold += if is_blocked(at) { 1 } else if sees(at, to) { 3 } else { 5 };",
    );
    assert_eq!(formula.of([0; 2], [9; 2], 0), [3]);
}

#[test]
fn heights_and_tags_need_their_layers() {
    for name in ["height", "tag"] {
        let text = format!("#[command(clients)] fn test(me: Entity) {{ let a = {name}(me); }}");
        let drawn = common::drawn(&text);
        let expected = format!("the world has no layer `{name}`");
        assert!(drawn.contains(&expected), "{drawn}");
    }
}

#[test]
fn only_layers_that_the_file_says_are_editable_are_changed() {
    let schema = Drawing::new(1, 0).schema(2);
    let file = "[world]\nsize = [2, 2]\n[[layer]]\nname = 'tag'\neditable = true\n\
                legend = { m = 'mud' }\ndrawing = '''\nm.\n..\n'''\n";
    let mud = world_file::parse(file, "test").unwrap().schema;
    for (schema, call, expected) in [
        (
            &schema,
            "set_blocked(me, true)",
            "the layer `blocked` can't be changed",
        ),
        (
            &schema,
            "set_height(me, 3)",
            "the layer `height` can't be changed",
        ),
        (&schema, "clear_tag(me)", "the layer `tag` can't be changed"),
        (
            &mud,
            "set_blocked(me, true)",
            "the world has no layer `blocked`",
        ),
        (&mud, "set_tag(me, \"bog\")", "bog"),
        (&mud, "set_tag(me, 3)", "expected"),
    ] {
        let text = format!("#[command(clients)] fn test(me: Entity) {{ {call}; }}");
        let texts = [shared::world::logic::Text::new("test.rs", &text)];
        let problems = common::compile_for(schema, &texts, &Constants::default()).unwrap_err();
        let problem = problems[0].to_string();
        assert!(problem.contains(expected), "{call}: {problem}");
    }
    let text = "#[command(clients)] fn test(me: Entity) { set_tag(me, \"mud\"); clear_tag(me); }";
    let logic = compile(&mud, text);
    assert!(logic.commands[0].code.edits());
}

#[test]
fn nobody_is_not_seen() {
    let drawing = Drawing::new(1, 0);
    let schema = drawing.schema(2);
    let formula = Formula::new(&schema, "me.n = if sees(me, none) { 1 } else { 0 };");
    assert_eq!(formula.of([0; 2], [0; 2], 0), [0]);
}

#[test]
fn a_line_longer_than_the_budget_is_an_overrun_for_all() {
    let drawing = Drawing::new(1, 0);
    let schema = drawing.schema(2);
    let text = "#[command(clients)] fn test(me: Entity, at: Point, to: Point, by: Fixed) {
        for i in 0..200 { if sees(at, to) { me.n = i; } }
    }";
    let formula = {
        let logic = compile(&schema, text);
        let mut world = TestWorld::of(schema.clone());
        let me = world.add("player", 1, 1);
        let native = native::compile(&logic, &world);
        let command = logic.commands.into_iter().next().unwrap();
        (world, me, command, native)
    };
    let (world, me, command, native) = &formula;
    let words = [0, 0, 30 * EDGE, 0, 0];
    let ran = world.run(command, *me, &words);
    assert!(
        ran.is_err(),
        "200 lines of 30 cells are more than 4096 steps"
    );
    assert_eq!(ran, native::run(native, world, command, *me, &words));
}

#[test]
fn built_in_steps_go_along_walls_where_there_are_some() {
    for name in ["move", "roam", "follow", "steer"] {
        let [plain, walled] = [script::builtin::text, script::builtin::text_for_walls]
            .map(|text| text(name).unwrap().text);
        assert!(!plain.contains("slide("), "{name}");
        assert_eq!(
            walled.matches("me.position += slide(me, ").count(),
            1,
            "{name}"
        );
        assert_eq!(plain.matches("me.position += ").count(), 1, "{name}");
    }
    let [plain, walled] = [script::builtin::text, script::builtin::text_for_walls]
        .map(|text| text("teleport").unwrap().text);
    assert_eq!(plain, walled);
}

#[test]
#[ignore = "measures"]
fn sight_over_30_cells() {
    let mut drawing = Drawing::new(1, 0);
    drawing.walls[0].replace_range(..1, "#");
    let schema = drawing.schema(2);
    let text = "#[command(clients)] fn test(me: Entity, at: Point, to: Point) {
        for i in 0..100 { if sees(at, to) { me.n = i; } }
    }";
    let logic = compile(&schema, text);
    let mut world = TestWorld::of(schema.clone());
    let me = world.add("player", 1, 1);
    let compiled = native::compile(&logic, &world);
    for (dx, dy) in [(30, 0), (20, 10), (15, 15), (7, 23)] {
        let words = [EDGE, EDGE, (1 + dx) * EDGE, (1 + dy) * EDGE];
        let times = (0..200).map(|_| {
            let start = std::time::Instant::now();
            native::run(&compiled, &world, &logic.commands[0], me, &words).unwrap();
            start.elapsed()
        });
        // The run is done twice, with 100 lines each.
        let best = times.min().unwrap().as_nanos() / 200;
        println!("{dx}, {dy}: {best} ns");
    }
}
