//! World files: the examples are valid, and the tables of keys match the program.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::docs::markdown::{Document, Row, documents, read, root};

/// A part of an example may need the rest of it, so parts of the arena are not parsed alone. Those
/// of the tutorial are put together by its own test.
#[test]
fn every_example_of_a_world_file_is_valid() {
    let arena = std::fs::read_to_string(root().join("server/worlds/arena.toml")).unwrap();
    world_file::parse(&arena, "arena.toml").unwrap();
    let is_alone = |document: &Document| document.name != "server/tutorial.md";
    for document in documents().into_iter().filter(is_alone) {
        for block in document.blocks("toml") {
            if !arena.contains(block) {
                let parsed = world_file::parse(block, document.name);
                assert!(parsed.is_ok(), "{:?}:\n{block}", parsed.err());
            }
        }
    }
}

#[test]
fn every_key_of_a_world_file_is_in_a_table() {
    for table in TABLES {
        let document = read(page_of(table));
        let rows = rows(&document, table);
        let found: BTreeSet<&str> = rows.iter().flat_map(|row| row.code(0)).collect();
        let expected = keys_of(table);
        let expected = expected.iter().map(String::as_str).collect();
        assert_eq!(found, expected, "{table}");
    }
}

#[test]
fn defaults_in_the_tables_are_those_of_an_empty_file() {
    let document = read("server/worlds/README.md");
    let world = serde_json::to_value(world_file::default()).unwrap();
    let constants = constants();
    let mut compared = 0;
    for table in ["world", "limits", "commands", "logic"] {
        for row in rows(&document, table) {
            let key = row.code(0).next().unwrap();
            let Ok(documented) = row.cell(1).parse::<i64>() else {
                continue;
            };
            let found = match table {
                "limits" => &world["limits"][key],
                "commands" => &constants[key],
                "logic" => &world["logic"]["budget"][key],
                _ if world[key].is_null() => &world["schema"]["world"][key],
                _ => &world[key],
            };
            // Lengths are kept in steps of 1/4096, or written as `2.0`.
            let expected = [
                Value::from(documented),
                Value::from(documented * 4096),
                Value::from(documented as f64),
            ];
            assert!(expected.contains(found), "{table}.{key}: {found}");
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn bounds_in_the_tables_are_those_of_the_program() {
    let mut compared = 0;
    for table in TABLES {
        let document = read(page_of(table));
        for row in rows(&document, table) {
            let key = row.code(0).next().unwrap();
            let Some((min, max)) = range(row.cell(2)) else {
                continue;
            };
            let expected = format!("expected {min} to {max}, found");
            let errors = [min - 1, max + 1].map(|value| error(table, key, value));
            let is_named = errors.iter().any(|error| error.contains(&expected));
            assert!(is_named, "{table}.{key}: {errors:?}");
            compared += 1;
        }
    }
    assert!(compared > 35, "{compared}");
}

/// A row of a limit is what its declaration says.
#[test]
fn the_table_of_limits_is_the_one_of_the_program() {
    let document = read("server/worlds/README.md");
    let heading = "| key of `[limits]` |";
    let lines = document
        .prose()
        .skip_while(|line| !line.starts_with(heading));
    let rows: Vec<&str> = lines
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .collect();
    let declared = shared::Limits::declared();
    let declared: Vec<String> = declared
        .iter()
        .map(|limit| {
            let (default, range) = (&limit.default, &limit.range);
            format!(
                "| `{}` | {default} | {range} | {} |",
                limit.key, limit.meaning
            )
        })
        .collect();
    assert!(
        rows == declared,
        "the table of limits must be\n{}",
        declared.join("\n")
    );
}

/// The constants of the usual built-in scripts as the world file names them.
fn constants() -> Value {
    let mut all = serde_json::Map::new();
    for script in script::builtin::USUAL {
        let text = script::builtin::text(script).unwrap().text;
        for line in text.lines().filter_map(|line| line.strip_prefix("const ")) {
            let (name, rest) = line.split_once(':').unwrap();
            let (_, value) = rest.trim_end_matches(';').split_once("= ").unwrap();
            let key = format!("{script}.{}", name.to_lowercase());
            all.insert(key, serde_json::from_str(value).unwrap());
        }
    }
    Value::Object(all)
}

/// The keys that the program reads in a table of a world file.
pub fn keys_of(table: &str) -> BTreeSet<String> {
    let expected = |error: String| -> Vec<String> {
        let (_, names) = error.split_once("expected ").expect(&error);
        names
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    if table == "commands" {
        let constants = constants();
        return constants.as_object().unwrap().keys().cloned().collect();
    }
    expected(error(table, "no_such_key", 1))
        .into_iter()
        .collect()
}

/// The program's answer to a key of a table.
fn error(table: &str, key: &str, value: i128) -> String {
    const HP: &str = "{ name = 'hp', type = 'i32', default = 1, min = 0, audience = 'state' }";
    let text = match table {
        "[kind]" => format!("[[kind]]\nname = 'a'\nattributes = [{HP}]\n{key} = {value}"),
        "[every]" => format!("[[every]]\nkind = 'player'\ncommand = 'roam'\n{key} = {value}"),
        "[zone]" => format!("[[zone]]\nname = 'a'\ncenter = [1, 1]\n{key} = {value}"),
        "[ranking]" => format!("[[ranking]]\nkind = 'player'\nby = 'hp'\n{key} = {value}"),
        "[layer]" => {
            format!("[[layer]]\nname = 'height'\ncell = 1024\ndrawing = '1'\n{key} = {value}")
        }
        // Without walls, that is the problem.
        "[field]" => format!(
            "[world]\nsize = [1, 1]\n[[layer]]\nname = 'blocked'\ndrawing = '.'\n\
             [[field]]\nname = 'a'\nkind = 'player'\n{key} = {value}"
        ),
        "[plane]" => format!("[[plane]]\nname = 'a'\nsize = [8, 8]\n{key} = {value}"),
        "attribute" => format!("[[kind]]\nname = 'a'\nattributes = [{{ {key} = {value} }}]"),
        "spectators" => format!("[{table}]\nallowed = true\n{key} = {value}"),
        _ => format!("[{table}]\n{key} = {value}"),
    };
    let parsed = world_file::parse(&text, "w.toml");
    parsed.map_or_else(|error| error.to_string(), |_| String::new())
}

/// The page with the table of these keys.
fn page_of(table: &str) -> &'static str {
    match table {
        "spectators" => "server/worlds/interest.md",
        "visibility" => "server/worlds/sight.md",
        "[zone]" => "server/worlds/hooks.md",
        "[layer]" => "server/worlds/layers.md",
        "[field]" => "server/worlds/fields.md",
        "[plane]" => "server/worlds/planes.md",
        "[ranking]" => "server/worlds/asking.md",
        _ => "server/worlds/README.md",
    }
}

fn rows<'a>(document: &'a Document, table: &str) -> Vec<Row<'a>> {
    let heading = match table {
        "attribute" => "| key of an attribute |".to_owned(),
        table => format!("| key of `[{table}]` |"),
    };
    let rows = document.table(&heading);
    assert!(!rows.is_empty(), "no table of {table}");
    rows
}

/// The numbers of `1 to 64`, if a cell is this or begins so. Larger ones than TOML's are
/// left out.
fn range(cell: &str) -> Option<(i128, i128)> {
    let (min, max) = cell.split(';').next()?.split_once(" to ")?;
    let (min, max) = (min.parse().ok()?, max.parse().ok()?);
    (max < i128::from(i64::MAX)).then_some((min, max))
}

/// `[[kind]]` is a table of tables.
const TABLES: [&str; 14] = [
    "logic",
    "world",
    "limits",
    "commands",
    "spectators",
    "visibility",
    "[kind]",
    "[every]",
    "[zone]",
    "[layer]",
    "[field]",
    "[plane]",
    "[ranking]",
    "attribute",
];
