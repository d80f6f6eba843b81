//! The guide for game designers says nothing that isn't so: its examples compile, and those
//! that shall fail do so with the message that stands beside them.

use script::atomic::KEYS_MAX;
use script::ir::{ALL_MAX, Budget, WRITES_MAX};
use script::{BUILTINS, builtin};
use shared::world::field::{COST_MAX, FIELD_CELLS_MAX, FIELDS_MAX, REFRESH_TICKS_MAX};
use shared::world::group::{GROUPS_MAX, MEMBERS_SENT_MAX};
use shared::world::hook::{CARRIED_EDGE_MAX, HOOKS_MAX, ZONES_MAX};
use shared::world::logic::{Constant, Constants, Text};
use shared::world::plane::{PLANE_NAMES_MAX, PLANES_MAX};
use shared::world::ranking::RANKINGS_MAX;
use shared::world::shown::{THINGS_MAX, THINGS_OF_OTHERS_MAX};

use crate::common;

const GUIDE: &str = include_str!("../../../server/worlds/logic.md");

const LAG: &str = include_str!("../../../server/worlds/lag.md");

const TESTING: &str = include_str!("../../../server/worlds/testing.md");
const ATOMIC: &str = include_str!("../../../server/worlds/atomic.md");
const HOOKS: &str = include_str!("../../../server/worlds/hooks.md");
const ARRAYS: &str = include_str!("../../../server/worlds/arrays.md");
const TEXTS: &str = include_str!("../../../server/worlds/texts.md");
const NUMBERS: &str = include_str!("../../../server/worlds/numbers.md");
const ASKING: &str = include_str!("../../../server/worlds/asking.md");
const DOORS: &str = include_str!("../../../server/worlds/doors.md");
const THINGS: &str = include_str!("../../../server/worlds/things.md");
const GROUPS: &str = include_str!("../../../server/worlds/groups.md");
const FIELDS: &str = include_str!("../../../server/worlds/fields.md");
const SIGHT: &str = include_str!("../../../server/worlds/sight.md");
const PLANES: &str = include_str!("../../../server/worlds/planes.md");
const LAYERS: &str = include_str!("../../../server/worlds/layers.md");
const USAGE: &str = include_str!("../../../server/worlds/usage.md");
const SHARED: &str = include_str!("../../../server/worlds/shared.md");

const README: &str = include_str!("../../../README.md");

/// The blocks of a language in the guide.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    blocks_of(GUIDE, language)
}

fn blocks_of(document: &'static str, language: &str) -> impl Iterator<Item = &'static str> {
    let fence = format!("```{language}\n");
    let parts: Vec<&str> = document.split(&fence).skip(1).collect();
    parts
        .into_iter()
        .map(|part| part.split("```").next().unwrap())
}

/// A block as a text: statements stand in a command.
fn text(block: &str) -> String {
    let is_item = |line: &str| {
        ["fn ", "const ", "#["]
            .iter()
            .any(|item| line.starts_with(item))
    };
    if block.lines().any(is_item) {
        return block.to_owned();
    }
    format!(
        "#[command(clients)] fn example(me: Entity, other: Entity, n: i32, at: Point) {{\n{block}}}"
    )
}

#[test]
fn examples_of_what_the_world_shares_compile() {
    let file = blocks_of(SHARED, "toml").next().unwrap();
    let schema = world_file::parse(file, "test").unwrap().schema;
    assert_eq!(schema.constants.len(), 1);
    let texts = blocks_of(SHARED, "rust").map(|block| Text::new("test.rs", block));
    let texts: Vec<Text> = texts.collect();
    let logic = common::compile_for(&schema, &texts, &Constants::default()).unwrap();
    let rules = logic.commands.iter().filter(|c| c.schema.senders.rules);
    let named = |name: &str| SHARED.contains(&format!("`command = {name:?}`"));
    assert!(rules.clone().count() > 0 && rules.clone().all(|c| named(&c.schema.name)));
}

#[test]
fn examples_of_arrays_and_maps_compile() {
    let file = blocks_of(ARRAYS, "toml").next().unwrap();
    let config = world_file::parse(file, "test").unwrap();
    let texts = blocks_of(ARRAYS, "rust").map(|block| Text::new("test.rs", block));
    let texts: Vec<Text> = texts.collect();
    let logic = common::compile_for(&config.schema, &texts, &Constants::default()).unwrap();
    assert_eq!(logic.commands.len(), 2);
}

#[test]
fn examples_of_doors_compile() {
    let file = blocks_of(DOORS, "toml").next().unwrap();
    let schema = world_file::parse(file, "test").unwrap().schema;
    assert_eq!(schema.doors.len(), 2);
    let texts = blocks_of(DOORS, "rust").map(|block| Text::new("test.rs", block));
    let texts: Vec<Text> = texts.collect();
    let logic = common::compile_for(&schema, &texts, &Constants::default()).unwrap();
    assert_eq!(logic.commands.len(), 3);
}

#[test]
fn examples_of_fields_compile() {
    let file = blocks_of(FIELDS, "toml").next().unwrap();
    let schema = world_file::parse(file, "test").unwrap().schema;
    assert_eq!(schema.fields.len(), 2);
    let texts = blocks_of(FIELDS, "rust").map(|block| Text::new("test.rs", block));
    let texts: Vec<Text> = texts.collect();
    let logic = common::compile_for(&schema, &texts, &Constants::default()).unwrap();
    assert_eq!(logic.commands.len(), 1);
    assert!(FIELDS.contains(&format!("| 1 to {REFRESH_TICKS_MAX} |")));
    assert!(FIELDS.contains(&format!("numbers from 1 to {COST_MAX} ")));
    assert!(FIELDS.contains(&format!(
        "at most {FIELDS_MAX} fields and {FIELD_CELLS_MAX} cells"
    )));
}

#[test]
fn examples_of_planes_compile() {
    let file = blocks_of(PLANES, "toml").next().unwrap();
    let schema = world_file::parse(file, "test").unwrap().schema;
    assert_eq!(schema.atlas.count(), 11);
    let texts = blocks_of(PLANES, "rust").map(|block| Text::new("test.rs", block));
    let texts: Vec<Text> = texts.collect();
    let logic = common::compile_for(&schema, &texts, &Constants::default()).unwrap();
    assert_eq!(logic.commands.len(), 5);
    assert!(PLANES.contains(&format!("at most {PLANES_MAX} planes")));
    assert!(PLANES.contains(&format!("{PLANE_NAMES_MAX} `[[plane]]`")));
}

#[test]
fn examples_of_who_sees_whom_compile() {
    let file = blocks_of(SIGHT, "toml").next().unwrap();
    let schema = world_file::parse(file, "test").unwrap().schema;
    assert!(schema.visibility.line_of_sight && schema.visibility.reveals.is_some());
    let texts = blocks_of(SIGHT, "rust").map(|block| Text::new("test.rs", block));
    let texts: Vec<Text> = texts.collect();
    let logic = common::compile_for(&schema, &texts, &Constants::default()).unwrap();
    assert_eq!(logic.commands.len(), 4);
}

#[test]
fn examples_of_things_compile() {
    let file = blocks_of(THINGS, "toml").next().unwrap();
    let schema = world_file::parse(file, "test").unwrap().schema;
    let things = (0..schema.kinds.len() as u16).filter(|&kind| schema.is_thing(kind));
    assert_eq!(things.count(), 3);
    assert!(THINGS.contains("2,048") && THINGS_MAX == 2048);
    assert!(THINGS.contains(&format!("and {THINGS_OF_OTHERS_MAX} of each other")));
    let texts = blocks_of(THINGS, "rust").map(|block| Text::new("test.rs", block));
    let texts: Vec<Text> = texts.collect();
    let logic = common::compile_for(&schema, &texts, &Constants::default()).unwrap();
    assert_eq!(logic.commands.len(), 7);
}

#[test]
fn examples_of_groups_compile() {
    let file = blocks_of(GROUPS, "toml").next().unwrap();
    let schema = world_file::parse(file, "test").unwrap().schema;
    assert_eq!(schema.groups.len(), 2);
    assert!(GROUPS.contains(&format!("at most {GROUPS_MAX} attributes")));
    assert!(GROUPS.contains(&format!("At most {MEMBERS_SENT_MAX} members")));
    let texts = blocks_of(GROUPS, "rust").map(|block| Text::new("test.rs", block));
    let texts: Vec<Text> = texts.collect();
    let logic = common::compile_for(&schema, &texts, &Constants::default()).unwrap();
    assert_eq!(logic.commands.len(), 4);
}

#[test]
fn examples_of_numbers_of_64_bits_compile() {
    let file = blocks_of(NUMBERS, "toml").next().unwrap();
    let config = world_file::parse(file, "test").unwrap();
    let texts = blocks_of(NUMBERS, "rust").map(|block| Text::new("test.rs", block));
    let texts: Vec<Text> = texts.collect();
    let logic = common::compile_for(&config.schema, &texts, &Constants::default()).unwrap();
    assert_eq!(logic.commands.len(), 1);
}

#[test]
fn examples_of_texts_compile() {
    let file = blocks_of(TEXTS, "toml").next().unwrap();
    let config = world_file::parse(file, "test").unwrap();
    let texts = blocks_of(TEXTS, "rust").map(|block| Text::new("test.rs", block));
    let texts: Vec<Text> = texts.collect();
    let logic = common::compile_for(&config.schema, &texts, &Constants::default()).unwrap();
    assert_eq!(logic.commands.len(), 2);
}

#[test]
fn examples_of_asking_everywhere_compile() {
    let file: String = blocks_of(ASKING, "toml").collect();
    let config = world_file::parse(&file, "test").unwrap();
    let texts = blocks_of(ASKING, "rust").map(|block| Text::new("test.rs", block));
    let texts: Vec<Text> = texts.collect();
    let logic = common::compile_for(&config.schema, &texts, &Constants::default()).unwrap();
    assert_eq!(logic.commands.len(), 5);
    assert!(ASKING.contains(&format!("at most {ALL_MAX}")));
    assert!(ASKING.contains(&format!("at most {RANKINGS_MAX} rankings")));
}

#[test]
fn examples_of_layers_compile() {
    let layers = blocks_of(LAYERS, "toml").next().unwrap();
    // The kinds of the guide's other examples, in the world of the layers.
    let kinds = &common::WORLD[common::WORLD.find("[[kind]]").unwrap()..];
    let kinds = kinds.split("[[zone]]").next().unwrap();
    let schema = world_file::parse(&format!("{layers}{kinds}"), "test")
        .unwrap()
        .schema;
    for block in blocks_of(LAYERS, "rust") {
        let texts = [Text::new("test.rs", text(block))];
        if let Err(problems) = common::compile_for(&schema, &texts, &Constants::default()) {
            panic!("{}\n{block}", problems[0]);
        }
    }
}

#[test]
fn examples_compile() {
    // The attributes of examples, too.
    let joy = "\n    { name = \"joy\", type = \"i32\", audience = \"state\" },\
               { name = \"fuse\", type = \"i32\", merge = \"last\", audience = \"state\" },";
    let world = common::WORLD.replacen("attributes = [", &format!("attributes = [{joy}"), 1);
    let schema = world_file::parse(&world, "test").unwrap().schema;
    let compile = |block: &str| {
        let texts = [Text::new("test.rs", text(block))];
        common::compile_for(&schema, &texts, &Constants::default())
    };
    assert!(blocks("rust").count() > 10);
    let others = blocks_of(README, "rust").chain(blocks_of(LAG, "text"));
    let others = others.chain(blocks_of(TESTING, "rust"));
    let others = others.chain(blocks_of(ATOMIC, "rust"));
    let others = others.chain(blocks_of(HOOKS, "rust"));
    let others = others.chain(blocks_of(USAGE, "rust"));
    for block in blocks("rust").chain(others) {
        if let Err(problems) = compile(block) {
            panic!("{}:\n{block}", problems[0]);
        }
    }
    assert!(blocks("rust,fails").count() > 2);
    for block in blocks("rust,fails") {
        let problems = compile(block).expect_err(block);
        let [problem] = &problems[..] else {
            panic!("{problems:?}");
        };
        let (_, message) = block.split_once("// ").unwrap();
        let message = message.lines().next().unwrap();
        assert_eq!(problem.diagnostic().unwrap().message, message);
    }
}

#[test]
fn every_warning_has_its_row_and_the_tests_of_the_guide_compile() {
    for name in script::lint::NAMES {
        let cell = format!("`{name}`");
        let rows = TESTING.lines().filter(|line| line.starts_with("| `"));
        assert!(rows.into_iter().any(|row| row.contains(&cell)), "{name}");
    }
    let text = blocks_of(TESTING, "rust").find(|block| block.contains("#[test]"));
    let config = common::world_of(text.unwrap());
    let tests = script::testing::tests(&config).unwrap();
    assert_eq!(tests.len(), 1);
}

#[test]
fn every_built_in_function_has_an_example() {
    for (name, _) in BUILTINS {
        let call = format!("{name}(");
        let all = [LAYERS, DOORS, FIELDS, PLANES, THINGS, GROUPS, ASKING, USAGE]
            .into_iter()
            .flat_map(|page| blocks_of(page, "rust"));
        let mut all = blocks("rust").chain(all);
        assert!(all.any(|block| block.contains(&call)), "{name}");
    }
}

#[test]
fn limits_are_as_the_guide_says() {
    let Budget { steps, visits } = Budget::default();
    assert!(GUIDE.contains(&format!("{steps} steps and {visits} visits")));
    assert!(GUIDE.lines().count() <= 326);
    assert!(ATOMIC.contains(&format!("A run can write {WRITES_MAX} times")));
    assert!(ATOMIC.contains(&format!("at most {KEYS_MAX} entities")));
    assert!(HOOKS.contains(&format!("at most {ZONES_MAX} zones")));
    assert!(HOOKS.contains(&format!("{HOOKS_MAX} occasions")));
    assert!(HOOKS.contains(&format!("at most {CARRIED_EDGE_MAX} times `aoi`")));
}

#[test]
fn every_row_of_an_occasion_is_one() {
    let schema = common::schema();
    let rows = HOOKS.lines().filter_map(|line| line.strip_prefix("| `"));
    let occasions: Vec<&str> = rows
        .filter_map(|row| row.split_once('`'))
        .map(|row| row.0)
        .collect();
    let first = occasions.iter().position(|&cell| cell == "birth").unwrap();
    let mut found = 0;
    for occasion in &occasions[first..first + 7] {
        let parameters = if *occasion == "reload" {
            ""
        } else {
            "me: Entity"
        };
        let on = occasion.replace("\"zone\"", "\"shrine\"");
        let text = format!("#[on({on})]\nfn hook({parameters}) {{ log(\"it\"); }}");
        let texts = [Text::new("test.rs", text)];
        let logic = common::compile_for(&schema, &texts, &Constants::default());
        found += logic
            .unwrap_or_else(|problems| panic!("{occasion}: {}", problems[0]))
            .hooks
            .len();
    }
    assert_eq!(found, 7);
}

#[test]
fn settings_are_as_the_guide_says() {
    let strike = [builtin::text("strike").unwrap()];
    let set = |damage| {
        let settings = [("damage".to_owned(), Constant::Int(damage))].into();
        let constants = Constants::from([("strike".to_owned(), settings)]);
        common::compile_all(&strike, &constants)
    };
    assert!(GUIDE.contains("[commands.strike]\ndamage = 7"));
    assert!(set(7).is_ok());
    assert!(set(-7).is_err());
}
