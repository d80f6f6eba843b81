//! The tutorial, done as it says: its files are written, and its commands run. After each step the
//! game is valid and passes its tests; at the end bots play it, and its own client follows them.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::folder::TestFolder;
use crate::common::process::start_printing;
use crate::common::python::{Running, interpreter};
use crate::common::{DEADLINE, free_address, myriad_binary, text};
use crate::docs::markdown::{read, root};

/// A block of the tutorial.
enum Block {
    Write(String, String),
    Append(String, String),
    Run(String),
}

#[test]
fn every_step_of_the_tutorial_leaves_a_game_that_works() {
    let folder = TestFolder::new("tutorial");
    let mut appended = 0;
    for step in steps() {
        let is_changed = step.iter().any(|block| !matches!(block, Block::Run(_)));
        for block in step {
            appended += i32::from(matches!(block, Block::Append(..)));
            carry_out(&folder, block);
        }
        if is_changed {
            myriad(&folder, &["check", "flock/world.toml"]);
            myriad(&folder, &["logic", "test", "flock/world.toml"]);
        }
    }
    assert!(appended >= 6, "{appended}");
    let printed = myriad(&folder, &["check", "flock/world.toml", "--deny-warnings"]);
    assert!(!printed.contains("warning"), "{printed}");
    let shown = read("server/tutorial.md");
    let tests = shown.text.matches("#[test]").count();
    let printed = myriad(&folder, &["test", "flock", "--seconds", "1"]);
    assert!(
        printed.contains(&format!("{tests} passed, 0 failed")),
        "{printed}"
    );
    // What the tutorial shows of it, times and backends aside.
    let output = shown.blocks("text");
    let output = output
        .iter()
        .find(|block| block.contains(" is valid: "))
        .expect("the output of `myriad test`");
    for line in output.lines().filter(|line| !line.contains(" passed, ")) {
        assert!(printed.contains(line), "not printed: {line}\n{printed}");
    }
}

#[test]
fn the_client_of_the_tutorial_reports_what_its_bots_do() {
    let Some(python) = interpreter() else { return };
    let folder = TestFolder::new("tutorial-client");
    steps()
        .into_iter()
        .flatten()
        .filter(|block| !matches!(block, Block::Run(line) if line.starts_with("myriad test")))
        .for_each(|block| carry_out(&folder, block));
    let page = free_address().to_string();
    let (child, printed) = start_printing(
        Command::new(myriad_binary())
            .args(["dev", "flock", "--backend", "cpu", "--page", &page])
            .current_dir(&*folder),
    );
    let _dev = Running(child);
    let begun = Instant::now();
    let (address, fingerprint) = loop {
        let printed = printed.lock().expect("no panic with it").clone();
        let line = printed
            .lines()
            .find_map(|line| line.strip_prefix("other clients: "));
        if let Some((address, fingerprint)) = line.and_then(|line| line.split_once(" fingerprint "))
        {
            break (address.to_owned(), fingerprint.to_owned());
        }
        assert!(begun.elapsed() < DEADLINE, "it does not run: {printed}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let output = Command::new(python)
        .arg("-B")
        .args(["flock/radio.py", &address, &fingerprint, "2"])
        .env("PYTHONPATH", root().join("client-bot/python"))
        .current_dir(&*folder)
        .output()
        .expect("Python starts");
    let reported = text(&output);
    assert!(output.status.success(), "{reported}");
    assert!(reported.contains("sheep 2 is in"), "{reported}");
}

/// The blocks below each heading.
fn steps() -> Vec<Vec<Block>> {
    let document = read("server/tutorial.md");
    let steps = document.text.split("\n## ").skip(1);
    steps.map(blocks).collect()
}

/// A fenced block is written to the file that the line before names, or run.
fn blocks(step: &str) -> Vec<Block> {
    let mut blocks = vec![];
    let mut parts = step.split("\n```");
    let mut before = parts.next().expect("the text of a step");
    while let (Some(block), after) = (parts.next(), parts.next()) {
        let (language, content) = block.split_once('\n').expect("a block");
        let content = format!("{content}\n");
        let sentence = before.trim_end().replace('\n', " ");
        let sentence = sentence.rsplit(". ").next().unwrap_or_default();
        let file = sentence.split('`').nth(1).map(str::to_owned);
        match (language, file) {
            ("text", _) => {}
            ("sh", _) => blocks.extend(content.lines().map(|line| Block::Run(line.to_owned()))),
            (_, Some(file)) if sentence.contains("Add to the end of `flock/") => {
                blocks.push(Block::Append(file, content));
            }
            (_, Some(file)) if sentence.contains("Write `flock/") => {
                blocks.push(Block::Write(file, content));
            }
            _ => panic!("where does this belong? {sentence}\n{content}"),
        }
        before = after.unwrap_or_default();
    }
    blocks
}

fn carry_out(folder: &Path, block: Block) {
    match block {
        Block::Write(file, content) => {
            let file = folder.join(file);
            assert!(!file.exists() || file.ends_with("world.toml"), "{file:?}");
            fs::write(file, content).expect("a file of the game");
        }
        Block::Append(file, content) => {
            let file = fs::OpenOptions::new().append(true).open(folder.join(file));
            let mut file = file.expect("a file of an earlier step");
            write!(file, "\n{content}").expect("a file of the game");
        }
        Block::Run(line) => {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                // It ends with Ctrl-C; the other test runs it.
                ["myriad", "dev", "flock"] => {}
                ["myriad", "test", "flock"] => {
                    myriad(folder, &["test", "flock", "--seconds", "1"]);
                }
                ["myriad", ref words @ ..] => {
                    myriad(folder, words);
                }
                _ => {
                    let mut shell = Command::new("sh");
                    let ran = shell.args(["-c", &line]);
                    let ran = ran.current_dir(folder).output().expect("a shell");
                    assert!(ran.status.success(), "{line}: {}", text(&ran));
                }
            }
        }
    }
}

/// What the program prints.
fn myriad(folder: &Path, words: &[&str]) -> String {
    let ran = Command::new(myriad_binary())
        .args(words)
        .current_dir(folder)
        .output()
        .expect("the binary runs");
    let printed = text(&ran);
    assert!(ran.status.success(), "{words:?}: {printed}");
    printed
}
