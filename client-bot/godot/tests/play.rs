//! Godot plays in a real world: the program in `GODOT`, or else `godot`, without a window.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[path = "../../tests/served/mod.rs"]
mod served;
use served::serve;

const WORLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/world.toml");

#[test]
fn a_scene_walks_among_others() {
    let project = project("walk");
    let server = serve(WORLD);
    let output = godot(&project, &["--", &server.address, &server.fingerprint, "3"]);
    let text = text_of(&output);
    let line = text.lines().find(|line| line.contains("in view"));
    let line = line.unwrap_or_else(|| panic!("the scene prints what it saw: {text}"));
    let numbers: Vec<f64> = line
        .split([' ', ','])
        .filter_map(|word| word.parse().ok())
        .collect();
    let &[entered, in_view, standing, steps, x, y] = &numbers[..] else {
        panic!("expected six numbers: {line}");
    };
    assert_eq!((entered, in_view, standing), (8.0, 8.0, 8.0), "{line}");
    assert!(steps > 10.0, "{line}");
    assert!(
        (0.0..=100.0).contains(&x) && (0.0..=100.0).contains(&y),
        "{line}"
    );
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("ERROR"), "{text}");
}

#[test]
fn a_scene_gets_the_error() {
    let project = project("refused");
    let output = godot(&project, &["--", "127.0.0.1:1", "12"]);
    let text = text_of(&output);
    assert!(text.contains("64 hexadecimal digits"), "{text}");
    assert_eq!(output.status.code(), Some(1), "{text}");
}

/// The example with the library, in a folder of its own, as after a first start of the editor.
fn project(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("project");
    // It is not there the first time.
    let _ = fs::remove_dir_all(&folder);
    copy(&sources, &folder);
    let bin = folder.join("addons/myriad/bin");
    fs::create_dir_all(&bin).expect("a folder");
    let library = format!(
        "{}godot_myriad{}",
        env::consts::DLL_PREFIX,
        env::consts::DLL_SUFFIX
    );
    let built = env::current_exe().expect("a test is a program");
    let built = built.parent().expect("a folder").join(&library);
    fs::copy(&built, bin.join(&library)).expect("the library is built with its tests");
    // A first import without a window finds the extension, and crashes at its end:
    // godotengine/godot#111048. Without the library, the scene fails.
    let _ = godot(&folder, &["--import"]);
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let copied = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &copied),
            false => drop(fs::copy(&path, &copied).expect("a file")),
        }
    }
}

fn godot(project: &Path, arguments: &[&str]) -> Output {
    let program = env::var_os("GODOT").unwrap_or_else(|| "godot".into());
    Command::new(&program)
        .args(["--headless", "--path"])
        .arg(project)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| {
            panic!("cannot start {program:?}: {error}; GODOT names Godot 4.4 or newer")
        })
}

fn text_of(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}
