//! The README: its commands and links exist, and no bench is missing.

use std::path::Path;

use benches::cli;

#[test]
fn every_command_of_the_readme_is_valid() {
    let readme = readme();
    let words: Vec<Vec<&str>> = commands(&readme).collect();
    assert!(!words.is_empty());
    for words in &words {
        let line = std::iter::once("benches").chain(words.iter().copied());
        if let Err(error) = cli::command().try_get_matches_from(line) {
            panic!("{words:?}: {error}");
        }
    }
    for bench in cli::BENCHES {
        let is_shown = words.iter().any(|words| words[0] == bench.name());
        assert!(is_shown, "no command of {}", bench.name());
    }
}

#[test]
fn every_link_of_the_readme_leads_somewhere() {
    let readme = readme();
    let headings = readme.lines().filter(|line| line.starts_with('#'));
    let headings: Vec<&str> = headings.map(|line| line.trim_matches(['#', ' '])).collect();
    let links = readme.split("](").skip(1);
    for link in links.map(|rest| rest.split(')').next().unwrap_or_default()) {
        match link.strip_prefix('#') {
            Some(heading) => assert!(headings.contains(&heading), "no heading {heading}"),
            None => assert!(root().join(link).exists(), "no file {link}"),
        }
    }
}

/// The words after `benches --` of each command, without redirections.
fn commands(readme: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = readme.lines();
    let commands = lines.filter_map(|line| {
        let (_, words) = line
            .strip_prefix("cargo run --")?
            .split_once(" -p benches -- ")?;
        Some(words)
    });
    commands.map(|line| {
        line.split_whitespace()
            .take_while(|word| *word != ">")
            .collect()
    })
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
