//! The command lines of the documents.
//!
//! Those of `myriad` are run, with changes that make them short and let several servers
//! run at once. Those of `myriad-bot` are only parsed: they need a server on another
//! machine. Those of cargo name packages and tests that must exist. Clients and benches
//! have tests of their own.

use crate::common::free_address;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clap::{CommandFactory, Parser};
use server::commands::cli::Arguments;

use crate::docs::markdown::{read, root};

#[test]
fn the_commands_of_the_readme_work() {
    check("README.md");
}

#[test]
fn the_commands_of_the_architecture_work() {
    check("ARCHITECTURE.md");
}

#[test]
fn the_commands_for_operators_work() {
    check("server/README.md");
}

#[test]
fn the_commands_for_a_first_game_work() {
    check("server/game.md");
}

#[test]
fn the_commands_of_operations_work() {
    check("server/operations.md");
    check("server/capacity.md");
    check("server/packages.md");
}

#[test]
fn the_commands_for_persistent_worlds_work() {
    check("server/durability.md");
    check("server/standby.md");
    check("server/gateways.md");
    check("server/migration.md");
    check("server/characters.md");
    check("server/export.md");
}

#[test]
fn the_commands_for_accounts_and_talk_work() {
    check("server/accounts.md");
    check("server/talk.md");
}

#[test]
fn the_commands_for_the_dashboard_work() {
    check("server/dashboard.md");
    check("server/replay.md");
}

#[test]
fn the_commands_for_designers_work() {
    check("server/worlds/README.md");
}

#[test]
fn the_commands_for_bindings_work() {
    check("client-bot/bindings.md");
}

#[test]
fn the_commands_for_the_page_work() {
    check("client-bot/web/README.md");
}

#[test]
fn every_command_of_myriad_is_shown_to_operators() {
    let documents = OPERATORS.map(read);
    let blocks = documents.iter().flat_map(|document| document.blocks("sh"));
    let blocks = blocks.collect::<Vec<_>>().join("\n");
    for (name, _) in all() {
        let name = format!("myriad {name}");
        assert!(blocks.lines().any(|line| line.starts_with(&name)), "{name}");
    }
}

/// The commands of `myriad`, those of `myriad logic` each for itself.
pub fn all() -> Vec<(String, clap::Command)> {
    let mut all = vec![];
    for command in Arguments::command().get_subcommands() {
        let name = command.get_name().to_owned();
        if name == "admin" {
            // Its requests share one table.
            let inner = command
                .get_subcommands()
                .flat_map(clap::Command::get_arguments);
            let mut arguments: Vec<clap::Arg> =
                command.get_arguments().chain(inner).cloned().collect();
            arguments.sort_by_key(|argument| argument.get_id().to_string());
            arguments.dedup_by_key(|argument| argument.get_id().to_string());
            all.push((name, clap::Command::new("admin").args(arguments)));
            continue;
        }
        if !command.has_subcommands() {
            all.push((name, command.clone()));
            continue;
        }
        for inner in command.get_subcommands() {
            all.push((format!("{name} {}", inner.get_name()), inner.clone()));
        }
    }
    all
}

/// The documents for operators.
pub const OPERATORS: [&str; 15] = [
    "server/worlds/maps.md",
    "server/README.md",
    "server/game.md",
    "server/operations.md",
    "server/durability.md",
    "server/standby.md",
    "server/gateways.md",
    "server/lease.md",
    "server/migration.md",
    "server/characters.md",
    "server/audit.md",
    "server/export.md",
    "server/accounts.md",
    "server/talk.md",
    "client-bot/bindings.md",
];

fn check(name: &str) {
    let document = read(name);
    let folder = Folder::new(name);
    let lines: Vec<&str> = document
        .blocks("sh")
        .iter()
        .flat_map(|b| b.lines())
        .collect();
    assert!(!lines.is_empty());
    for line in lines {
        let words = line.split(' ').skip_while(|word| word.contains('='));
        let words: Vec<&str> = words.collect();
        match words[..] {
            // It needs a server that runs.
            ["myriad", "admin" | "promote", ..] => {
                let quoted = words.join(" ");
                let parts = quoted.split('"').enumerate();
                let words = parts.flat_map(|(i, part)| match i % 2 {
                    0 => part.split_whitespace().collect(),
                    _ => vec![part],
                });
                let parsed = Arguments::try_parse_from(words);
                assert!(parsed.is_ok(), "{line}: {:?}", parsed.err());
            }
            // It ends with Ctrl-C.
            ["myriad", "replay", .., "--web"] | ["myriad", "replay", _, "--web", ..] => {
                let parsed = Arguments::try_parse_from(&words);
                assert!(parsed.is_ok(), "{line}: {:?}", parsed.err());
            }
            ["cargo", "run", "--release", "--", "dev", ..] => {
                let parsed = Arguments::try_parse_from(&words[3..]);
                assert!(parsed.is_ok(), "{line}: {:?}", parsed.err());
            }
            ["myriad", "dev", ..] => {
                let parsed = Arguments::try_parse_from(&words);
                assert!(parsed.is_ok(), "{line}: {:?}", parsed.err());
            }
            ["myriad", ..] => folder.run(&words),
            ["cargo", "run", "--release", "--", ..] => folder.run(&words[3..]),
            ["cargo", ..] => check_cargo(&words),
            ["myriad-bot", ..] => {
                let words = words.iter().map(|word| word.trim_matches('\''));
                let parsed = client_bot::cli::Arguments::try_parse_from(words);
                assert!(parsed.is_ok(), "{line}: {:?}", parsed.err());
            }
            ["python3", script, ..] => assert!(root().join(script).exists(), "{line}"),
            _ => panic!("nothing checks this command: {line}"),
        }
    }
}

fn check_cargo(words: &[&str]) {
    let line = words.join(" ");
    let package = value(words, "-p").unwrap_or("server");
    assert!(
        ["build", "test", "run", "bench", "install"].contains(&words[1]),
        "{line}"
    );
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let is_member = |form: String| manifest.contains(&form);
    let (plain, nested) = (format!("{package:?}"), format!("/{package}\""));
    assert!(is_member(plain) || is_member(nested), "{line}");
    if let Some(test) = value(words, "--test") {
        let tests = root().join(package).join("tests");
        let file = tests.join(format!("{test}.rs"));
        assert!(file.exists() || tests.join(test).exists(), "{line}");
    }
}

/// A folder of one document's commands, with the files that they name.
struct Folder(PathBuf);

impl Folder {
    fn new(document: &str) -> Folder {
        let name = format!("docs-{}", document.replace('/', "-"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // An earlier run's files could hide that one is missing.
        let _ = fs::remove_dir_all(&folder);
        for files in ["server/worlds", "server/worlds/hollow"] {
            fs::create_dir_all(folder.join(files)).unwrap();
            let entries = fs::read_dir(root().join(files)).unwrap().flatten();
            for entry in entries.filter(|entry| entry.path().is_file()) {
                fs::copy(entry.path(), folder.join(files).join(entry.file_name())).unwrap();
            }
        }
        let names = vec!["game.example".to_owned()];
        let identity = rcgen::generate_simple_self_signed(names).unwrap();
        fs::write(folder.join("token.txt"), "open sesame").unwrap();
        fs::create_dir_all(folder.join("site")).unwrap();
        fs::write(folder.join("words.txt"), "darn\n").unwrap();
        let character = r#"{"account":"bob","character":{"gold":7}}"#;
        fs::write(folder.join("accounts.json"), character).unwrap();
        fs::write(folder.join("account.key"), "0".repeat(64)).unwrap();
        let x = "A".repeat(43);
        let keys = format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}]}}"#);
        fs::write(folder.join("keys.json"), keys).unwrap();
        fs::write(folder.join("cert.pem"), identity.cert.pem()).unwrap();
        fs::write(folder.join("key.pem"), identity.signing_key.serialize_pem()).unwrap();
        Folder(folder)
    }

    /// Runs a command line of `myriad`. The doctor may suggest fixes, and may miss a GPU.
    fn run(&self, words: &[&str]) {
        let line = words.join(" ");
        let parsed = Arguments::try_parse_from(words);
        assert!(parsed.is_ok(), "{line}: {:?}", parsed.err());
        let output = Command::new(env!("CARGO_BIN_EXE_myriad"))
            .args(shortened(&words[1..]))
            .current_dir(&self.0)
            .output()
            .expect("the binary runs");
        let is_fine = output.status.success() || words[1] == "doctor" && is_advice(&output);
        let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        // A build without features names the one that an option needs.
        let is_left_out = !cfg!(feature = "full") && err.contains("build with `--features");
        assert!(
            is_fine || is_left_out,
            "{line}: {}\n{out}{err}",
            output.status
        );
    }
}

fn is_advice(output: &Output) -> bool {
    let has = |text: &[u8], part: &str| String::from_utf8_lossy(text).contains(part);
    output.status.code() == Some(1)
        && (has(&output.stdout, "→") || has(&output.stderr, "no CUDA driver"))
}

/// The same command, but done soon and on ports of its own.
fn shortened(words: &[&str]) -> Vec<String> {
    let mut words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    if let Some(place) = words.iter().position(|word| word == "--web") {
        let has_address = words
            .get(place + 1)
            .is_some_and(|word| !word.starts_with('-'));
        words.drain(place..place + 1 + usize::from(has_address));
        words.push("--web=127.0.0.1:0".to_owned());
    }
    match words[0].as_str() {
        "demo" => {
            set(&mut words, "--clients", "20");
            set(&mut words, "--seconds", "1");
        }
        "serve" => {
            set(&mut words, "--listen", "127.0.0.1:0");
            set(&mut words, "--stop-after", "0.5");
            if words.iter().any(|word| word == "--gateways") {
                set(&mut words, "--gateways", "127.0.0.1:0");
            }
            if words.iter().any(|word| word == "--metrics") {
                set(&mut words, "--metrics", &free_address().to_string());
            }
        }
        "gateway" => {
            set(&mut words, "--listen", "127.0.0.1:0");
            // No tick host runs any more.
            set(&mut words, "--stop-after", "0.5");
        }
        "test" => set(&mut words, "--seconds", "1"),
        "logic" if words[1] == "check" => set(&mut words, "--seconds", "0.2"),
        "doctor" if words.iter().any(|word| word == "--parity") => {
            set(&mut words, "--worlds", "1");
            set(&mut words, "--ticks", "5");
        }
        _ => {}
    }
    words
}

/// Gives an option this value, instead of its own if it has one.
fn set(words: &mut Vec<String>, option: &str, value: &str) {
    if let Some(place) = words.iter().position(|word| word == option) {
        words.drain(place..place + 2);
    }
    words.extend([option.to_owned(), value.to_owned()]);
}

fn value<'a>(words: &[&'a str], option: &str) -> Option<&'a str> {
    let place = words.iter().position(|&word| word == option)?;
    words.get(place + 1).copied()
}
