//! `[[plane]]`: what lies in each copy, what lies between, and what a world with planes can't have.

use shared::WorldConfig;
use shared::world::hook::Zone;

const CAVES: &str = r##"
[world]
size = [16, 8]
aoi = 8
capacity = 200

[[plane]]
name = "cave"
size = [8, 4]
copies = 5

[[plane]]
name = "attic"
size = [4, 4]

[[kind]]
name = "player"

[[kind]]
name = "chest"
plane = "cave"
places = [[1.5, 0.5], [6.5, 3.5]]

[[kind]]
name = "rat"
plane = "cave"
population = 3
spawn = { center = [4, 2], radius = 1 }

[[layer]]
name = "blocked"
cell = 2
drawing = """
........
........
........
###.....
"""

[[layer]]
name = "blocked"
plane = "cave"
cell = 2
drawing = """
...#
#...
"""

[[layer]]
name = "tag"
plane = "cave"
legend = { "~" = "water" }
drawing = """
~.......
........
........
.......~
"""

[[layer]]
name = "tag"
plane = "attic"
legend = { "~" = "dust", "w" = "water" }
drawing = """
~...
....
....
...w
"""
"##;

const UNIT: i32 = 4096;

fn world(text: &str) -> WorldConfig {
    world_file::parse(text, "test").unwrap_or_else(|error| panic!("{error}"))
}

fn problem(text: &str) -> String {
    world_file::parse(text, "test").unwrap_err().to_string()
}

#[test]
fn each_copy_has_what_is_drawn_and_walls_are_between() {
    let config = world(CAVES);
    let (atlas, layers) = (&config.schema.atlas, &config.schema.layers);
    assert_eq!(atlas.count(), 7);
    assert_eq!(atlas.gap, 50 * UNIT, "as far as a free cell is searched");
    let tag = |name: &str| {
        let symbols = config.schema.symbols.iter();
        let at = symbols.into_iter().position(|symbol| symbol == name);
        at.unwrap() as i32
    };
    let [width, height, _] = config.schema.world.size_raw();
    assert_eq!([width, height], atlas.extent());
    let (mut walls, mut tags) = (0, 0);
    for y in (0..height).step_by(UNIT as usize) {
        for x in (0..width).step_by(UNIT as usize) {
            let plane = atlas.plane_of([x, y]);
            let [at_x, at_y] = atlas.local([x, y]).map(|axis| axis / UNIT);
            let is_inside = atlas.rectangle(plane).contains([x, y]);
            let name = atlas.name_of(plane).map_or("", |(name, _)| name);
            let is_wall = match name {
                _ if !is_inside => true,
                "" => at_y < 2 && at_x < 6,
                "cave" => at_y < 2 && at_x < 2 || at_y >= 2 && at_x >= 6,
                _ => false,
            };
            assert_eq!(
                layers.is_blocked([x, y, 0]),
                is_wall,
                "{plane} {at_x} {at_y}"
            );
            walls += i32::from(is_wall);
            let expected = match (is_inside, name, [at_x, at_y]) {
                (true, "cave", [0, 3] | [7, 0]) | (true, "attic", [3, 0]) => tag("water"),
                (true, "attic", [0, 3]) => tag("dust"),
                _ => -1,
            };
            assert_eq!(
                layers.tag_at([x, y, 0]),
                Some(expected),
                "{plane} {at_x} {at_y}"
            );
            tags += i32::from(expected >= 0);
        }
    }
    assert!(walls > 1000);
    assert_eq!(tags, 12);
    // Where nothing near is free, entities go to the world itself.
    let refuge = layers.blocked().unwrap().refuge;
    assert!(refuge[0] < 8 && refuge[1] < 4, "{refuge:?}");
}

#[test]
fn each_copy_has_the_places_and_the_population_of_its_kinds() {
    let config = world(CAVES);
    let atlas = &config.schema.atlas;
    assert_eq!(config.populations, [0, 10, 15]);
    assert_eq!(config.places[0], [[0; 3]; 0]);
    let local = |place: &[i32; 3]| {
        let flat = [place[0], place[1]];
        (atlas.plane_of(flat), atlas.local(flat))
    };
    let chests: Vec<_> = config.places[1].iter().map(local).collect();
    let corners = [[3 * UNIT / 2, UNIT / 2], [13 * UNIT / 2, 7 * UNIT / 2]];
    let expected = (1..6).flat_map(|plane| corners.map(|corner| (plane, corner)));
    assert_eq!(chests, expected.collect::<Vec<_>>());
    let rats: Vec<_> = config.places[2].iter().map(local).collect();
    for (rat, (plane, [x, y])) in rats.iter().enumerate() {
        assert_eq!(*plane, 1 + rat as u32 / 3);
        let away = f64::hypot(f64::from(x - 4 * UNIT), f64::from(y - 2 * UNIT));
        assert!(away <= f64::from(UNIT), "{x} {y}");
    }
    let mut differ: Vec<_> = rats.iter().map(|rat| rat.1).collect();
    differ.sort_unstable();
    differ.dedup();
    assert_eq!(differ.len(), 15);
    // Everybody else is born in the world itself.
    let born = config.spawns[0].unwrap();
    let whole = Zone {
        name: String::new(),
        area: born,
        carrier: None,
    };
    assert_eq!(whole.corners(), [[0; 3], [16 * UNIT - 1, 8 * UNIT - 1, 0]]);
}

#[test]
fn a_world_without_walls_has_some_between_its_planes() {
    let text = "[world]\nsize = [96, 64]\naoi = 20\ncapacity = 8\n\
                [[plane]]\nname = \"pit\"\nsize = [32, 64]\ncopies = 9\n";
    let config = world(text);
    let (atlas, layers) = (&config.schema.atlas, &config.schema.layers);
    assert_eq!(atlas.gap, 40 * UNIT);
    let edge = 1 << layers.blocked().unwrap().grid.edge_bits;
    assert_eq!(edge, 32 * UNIT);
    let [width, height] = atlas.extent();
    for y in (0..height).step_by(16 * UNIT as usize) {
        for x in (0..width).step_by(16 * UNIT as usize) {
            let is_inside = atlas.rectangle(atlas.plane_of([x, y])).contains([x, y]);
            assert_eq!(layers.is_blocked([x, y, 0]), !is_inside, "{x} {y}");
        }
    }
    // A world without planes has none of it.
    let plain = world("[world]\nsize = [96, 64]\naoi = 20\ncapacity = 8\n");
    assert!(plain.schema.layers.is_empty() && plain.schema.atlas.is_empty());
    assert_eq!(plain.spawns, [None]);
    assert!(
        plain
            .logic
            .texts
            .iter()
            .all(|text| text.file != "world-planes.rs")
    );
}

#[test]
fn what_planes_cant_have_is_rejected_with_the_reason() {
    let plane = "[[plane]]\nname = \"cave\"\nsize = [8, 4]\n";
    let world = |rest: &str| format!("[world]\ncapacity = 100\n{rest}");
    for (text, expected) in [
        (
            world("gap = 10\n"),
            "the world has no planes that could be apart",
        ),
        (
            world(&format!("gap = 20\n{plane}")),
            "expected at least 50, as far as world.aoi may reach, found 20",
        ),
        (
            world(&format!("aoi_leave = 60\ngap = 55\n{plane}")),
            "expected at least 60, as far as world.aoi_leave may reach, found 55",
        ),
        (
            world(&format!("{plane}[limits]\nregions_per_client = 1\n")),
            "expected 0: they reach anywhere, and the world has planes, found 1",
        ),
        (
            world(&format!("{plane}[limits]\nsubscriptions_per_client = 1\n")),
            "expected 0: they reach anywhere, and the world has planes, found 1",
        ),
        (
            world(&format!("{plane}{plane}")),
            "a name that no other plane has",
        ),
        (world(&format!("{plane}copies = 0\n")), "1 to 65535"),
        (world(&format!("{plane}copies = 65536\n")), "1 to 65535"),
        (
            world("[[plane]]\nname = \"cave\"\nsize = [8]\n"),
            "expected 2 numbers, along `x` and `y`",
        ),
        (
            world("[[plane]]\nname = \"cave\"\nsize = [8.03, 4]\n"),
            "multiples of 0.0625",
        ),
        (
            world("[[plane]]\nname = \"cave\"\nsize = [200000, 200000]\ncopies = 4\n"),
            "these are more planes than there is room for",
        ),
        (
            world("[[plane]]\nname = \"cave\"\nsize = [7, 7]\ncopies = 60000\n"),
            "cells so large that 8192 along an axis cover the world and its planes",
        ),
        (
            world(&format!(
                "{plane}[[kind]]\nname = \"player\"\nplane = \"cave\"\n"
            )),
            "players are born in the world itself",
        ),
        (
            world(&format!(
                "{plane}[[kind]]\nname = \"player\"\n[[kind]]\nname = \"rat\"\nplane = \"cav\"\n"
            )),
            "expected one of [\"cave\"], found \"cav\"",
        ),
        (
            world(&format!(
                "{plane}[[kind]]\nname = \"player\"\n[[kind]]\nname = \"rat\"\nplane = \"cave\"\n\
                 places = [[9, 1]]\n"
            )),
            "expected 0 to 8, found 9",
        ),
        (
            world(&format!(
                "{plane}[[kind]]\nname = \"player\"\n[[kind]]\nname = \"rat\"\nplane = \"cave\"\n\
                 respawn_ticks = 5\nattributes = [{{ name = \"hp\", type = \"i32\", default = 3, \
                 falls_at = 0, audience = \"state\" }}]\n"
            )),
            "expected none, as the kind has a `plane`",
        ),
        (
            world(&format!(
                "{plane}[[layer]]\nname = \"blocked\"\nplane = \"cave\"\ncell = 4\ndrawing = \"..\"\n\
                 [[layer]]\nname = \"blocked\"\ncell = 1000\ndrawing = \".\"\n"
            )),
            "power of two",
        ),
        (
            world(&format!(
                "size = [16, 4]\n{plane}[[layer]]\nname = \"height\"\nplane = \"cave\"\ncell = 4\n\
                 drawing = \"..\"\n[[layer]]\nname = \"height\"\ncell = 2\n\
                 drawing = \"\"\"\n........\n........\n\"\"\"\n"
            )),
            "expected the same in all planes",
        ),
        (
            world(&format!(
                "size = [16, 4]\n{plane}[[layer]]\nname = \"blocked\"\ncell = 16\ndrawing = \".\"\n"
            )),
            "multiples of 16",
        ),
        (
            world(&format!(
                "{plane}[[zone]]\nname = \"far\"\ncenter = [990, 990]\nradius = 120\n"
            )),
            "expected a zone that ends less than world.gap = 100 beyond the world",
        ),
        (
            world("[[layer]]\nname = \"height\"\nplane = \"cave\"\ndrawing = \".\"\n"),
            "\"cave\"",
        ),
    ] {
        let found = problem(&text);
        assert!(found.contains(expected), "{text}\n{found}");
    }
}

/// What reaches farthest decides how far planes are apart.
#[test]
fn planes_are_apart_as_far_as_anything_reaches() {
    let plane = "[[plane]]\nname = \"cave\"\nsize = [64, 64]\n";
    for (rest, gap) in [
        ("", 100),
        ("aoi = 30\n", 60),
        ("aoi = 30\naoi_leave = 60\n", 60),
        ("gap = 300\n", 300),
    ] {
        let text = format!("[world]\ncapacity = 8\nsize = [64, 64]\n{rest}{plane}");
        assert_eq!(world(&text).schema.atlas.gap, gap * UNIT, "{rest}");
    }
    let kind = "[[kind]]\nname = \"player\"\n";
    for (rest, gap, around) in [
        ("publishes = [300, 20]\n", 150, 100),
        ("subscribes = [300, 20]\n", 200, 50),
        ("publishes = [400, 20]\nsubscribes = [20, 200]\n", 300, 200),
        (
            "[[zone]]\nname = \"aura\"\ncarrier = \"player\"\nradius = 170\n",
            170,
            120,
        ),
    ] {
        let text = format!("[world]\ncapacity = 8\nsize = [64, 64]\n{plane}{kind}{rest}");
        let atlas = world(&text).schema.atlas;
        assert_eq!(
            (atlas.gap, atlas.around),
            (gap * UNIT, around * UNIT),
            "{rest}"
        );
    }
}
