//! Bindings of all worlds that come with the project, in all languages.
//!
//! `UPDATE_BINDINGS=1 cargo test -p bindings --test it shipped` writes those that are checked in.

use std::fs;
use std::path::{Path, PathBuf};

use bindings::{Language, World, generate};

/// The bindings that are checked in, for examples and as snapshots: file, world, language.
const CHECKED_IN: &[(&str, &str, Language)] = &[
    ("examples/walk/world.rs", WALK, Language::Rust),
    ("bindings/tests/snapshots/hollow.rs", HOLLOW, Language::Rust),
    ("bindings/tests/snapshots/market.rs", MARKET, Language::Rust),
    ("ffi/csharp/WalkWorld.cs", WALK, Language::CSharp),
    (
        "bindings/tests/snapshots/Hollow.cs",
        HOLLOW,
        Language::CSharp,
    ),
    ("godot/project/walk_world.gd", WALK, Language::GdScript),
    (
        "bindings/tests/snapshots/hollow.gd",
        HOLLOW,
        Language::GdScript,
    ),
    (
        "bindings/tests/snapshots/hollow.ts",
        HOLLOW,
        Language::TypeScript,
    ),
    ("python/walk_world.py", WALK, Language::Python),
    (
        "bindings/tests/snapshots/hollow.py",
        HOLLOW,
        Language::Python,
    ),
    ("ffi/examples/walk_world.h", WALK, Language::C),
    ("bindings/tests/snapshots/hollow.h", HOLLOW, Language::C),
];

const WALK: &str = "client-bot/bindings/walk.toml";
const HOLLOW: &str = "server/worlds/hollow.toml";
/// With things and texts.
const MARKET: &str = "server/worlds/market.toml";

#[test]
fn checked_in_bindings_are_what_myriad_writes() {
    for (file, path, language) in CHECKED_IN {
        let written = generate(&world(&root().join(path)), *language).expect("bindings");
        let file = root().join("client-bot").join(file);
        if std::env::var_os("UPDATE_BINDINGS").is_some() {
            fs::write(&file, &written).expect("a file");
        }
        let found = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            found == written,
            "{} is out of date: UPDATE_BINDINGS=1 cargo test -p bindings --test it shipped",
            file.display()
        );
    }
}

#[test]
fn every_world_has_bindings_in_every_language() {
    for path in shipped() {
        let world = world(&path);
        for language in Language::ALL {
            let place = format!("{} in {}", path.display(), language.name());
            let text =
                generate(&world, language).unwrap_or_else(|error| panic!("{place}: {error}"));
            for command in &world.commands {
                assert!(text.contains(&format!("\"{}\"", command.name)), "{place}");
            }
            let hash = format!("{:016x}", world.outline.hash());
            assert!(text.contains(&hash), "{place}");
        }
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The world files that come with the project, and one with arrays and maps.
pub fn shipped() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("server/worlds")).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut all: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    all.push(root().join("server/src/commands/new/world.toml"));
    all.push(root().join("client-bot/bindings/tests/collections.toml"));
    all.sort();
    assert!(all.len() > 4);
    all
}

pub fn world(path: &Path) -> World {
    let config = world_file::load(path);
    World::of(&config.unwrap_or_else(|problems| panic!("{}: {problems}", path.display())))
}
