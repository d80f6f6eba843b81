//! What scripts ask of planes, by the interpreter and as machine code, is what the atlas says.

use shared::Schema;
use shared::world::logic::{Constants, Text};
use shared::world::plane::Rectangle;

use crate::common;
use crate::layers::{Dice, Formula};

const FILE: &str = "
[world]
size = [40, 24]
aoi = 10
capacity = 64

[[plane]]
name = \"cave\"
size = [16, 24]
copies = 7

[[plane]]
name = \"house\"
size = [8, 8]
copies = 20

[[kind]]
name = \"player\"
attributes = [
    { name = \"n\", type = \"i32\", merge = \"last\", audience = \"state\" },
]
";

fn schema() -> Schema {
    world_file::parse(FILE, "test").unwrap().schema
}

fn problem(schema: &Schema, text: &str) -> String {
    let text =
        format!("#[command(clients)] fn test(me: Entity, at: Point, by: Fixed) {{ {text} }}");
    let texts = [Text::new("test.rs", text)];
    let problems = common::compile_for(schema, &texts, &Constants::default()).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn scripts_find_planes_and_places_in_them() {
    let schema = schema();
    let atlas = &schema.atlas;
    assert_eq!(atlas.count(), 28);
    let plane = Formula::new(&schema, "me.n = plane(at);");
    let local = Formula::new(&schema, "me.position += local(at);");
    let placed = Formula::new(&schema, "me.position += in_plane(by as i32, at);");
    let inside = Formula::new(&schema, "me.position += inside(at);");
    let names = Formula::new(
        &schema,
        "me.n = first_plane(\"house\") * 100 + copies(\"cave\");",
    );
    assert_eq!(names.of([0; 2], [0; 2], 0), [807]);
    let [width, height] = atlas.extent();
    let mut dice = Dice(3);
    let mut seen = [0; 28];
    for round in 0..3000 {
        let at = match round % 8 {
            0 => [i32::MIN, i32::MAX, -1, width + 5][round % 4..][..1].repeat(2),
            _ => vec![dice.below(width), dice.below(height)],
        };
        let at = [at[0], at[1]];
        // Places beyond the world count as the nearest in it.
        let edge = [at[0].clamp(0, width - 1), at[1].clamp(0, height - 1)];
        let number = atlas.plane_of(edge);
        assert_eq!(plane.of(at, [0; 2], 0), [number as i32], "{at:?}");
        seen[number as usize] += 1;
        let low = atlas.rectangle(number).low;
        let expected = [0, 1].map(|axis| at[axis].wrapping_sub(low[axis]));
        assert_eq!(local.of(at, [0; 2], 0), expected, "{at:?}");
        // No cell of a plane is a wall here.
        assert_eq!(inside.of(at, [0; 2], 0), atlas.nearest(edge), "{at:?}");
        let number = dice.below(40) - 6;
        let Rectangle { low, size } = atlas.rectangle(number.max(0) as u32);
        let expected = [0, 1].map(|axis| low[axis] + at[axis].clamp(0, size[axis] - 1));
        let found = placed.of(at, [0; 2], number << 12);
        assert_eq!(found, expected, "{number} {at:?}");
    }
    assert!(seen.iter().all(|&n| n > 5), "{seen:?}");
}

#[test]
fn distances_end_at_the_edge_of_a_plane() {
    let schema = schema();
    let atlas = &schema.atlas;
    // The gap is 20 units: a constant within it needs no second look.
    let short = Formula::new(
        &schema,
        "me.n = if is_within(at, to, 15.0) { 1 } else { 0 };",
    );
    let long = Formula::new(
        &schema,
        "me.n = if is_within(at, to, 90.0) { 1 } else { 0 };",
    );
    let given = Formula::new(&schema, "me.n = if is_within(at, to, by) { 1 } else { 0 };");
    let mut dice = Dice(9);
    let mut found = [0; 2];
    for _ in 0..2000 {
        let mut place = || {
            let plane = dice.below(8) as u32;
            atlas.place_in(plane, [dice.below(30 << 12), dice.below(24 << 12)])
        };
        let (a, b) = (place(), place());
        let is_one = atlas.plane_of(a) == atlas.plane_of(b);
        let far = f64::hypot(f64::from(a[0] - b[0]), f64::from(a[1] - b[1])) / 4096.0;
        let by = dice.below(100);
        for (formula, radius) in [(&short, 15), (&long, 90), (&given, by)] {
            let expected = is_one && far <= f64::from(radius);
            assert_eq!(
                formula.of(a, b, by << 12),
                [i32::from(expected)],
                "{a:?} {b:?} {radius}"
            );
            found[usize::from(expected)] += 1;
        }
    }
    assert!(found.iter().all(|&n| n > 500), "{found:?}");
}

#[test]
fn a_world_without_planes_is_plane_0_and_costs_nothing() {
    let file = FILE.replace("[[plane]]", "[[zone]]\nradius = 1\ncenter = [1, 1]");
    let file = file.lines().filter(|line| {
        let is_key = ["copies", "size = [16", "size = [8"];
        !is_key.iter().any(|key| line.starts_with(key))
    });
    let file: Vec<&str> = file.collect();
    let schema = world_file::parse(&file.join("\n"), "test").unwrap().schema;
    assert!(schema.atlas.is_empty());
    let plane = Formula::new(&schema, "me.n = plane(at);");
    let local = Formula::new(&schema, "me.position += local(at);");
    let placed = Formula::new(&schema, "me.position += in_plane(3, at);");
    for at in [[5, 7], [-4, 1 << 20]] {
        assert_eq!(plane.of(at, [0; 2], 0), [0]);
        assert_eq!(local.of(at, [0; 2], 0), at);
    }
    assert_eq!(placed.of([-4, 1 << 20], [0; 2], 0), [0, (24 << 12) - 1]);
}

#[test]
fn mistakes_about_planes_are_named() {
    let schema = schema();
    for (text, expected) in [
        ("me.n = copies(\"cav\");", "did you mean \"cave\"?"),
        ("me.n = copies(\"tavern\");", "there is no plane \"tavern\""),
        ("me.n = first_plane(me.n);", "planes are named by a text"),
        ("me.n = plane(me.n);", "Point"),
        (
            "tell(Roar { loud: 1 }, around(me, 15.0));",
            "this may be received in other planes: it reaches 15 units",
        ),
    ] {
        let found = problem(&schema, text);
        assert!(found.contains(expected), "{text}\n{found}");
    }
    let texts = [Text::new(
        "test.rs",
        "#[command(clients)] fn test(me: Entity, by: Fixed) {
            tell(Roar { loud: 1 }, around(me, 10.0));
            tell(Roar { loud: 2 }, around(me, by));
        }",
    )];
    common::compile_for(&schema, &texts, &Constants::default()).unwrap();
}
