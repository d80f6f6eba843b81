//! The documents, and the parts of Markdown that the tests look at.

use std::path::{Path, PathBuf};

/// One Markdown file.
pub struct Document {
    /// The path from the repository.
    pub name: &'static str,
    pub text: String,
    /// The most lines that it may have.
    pub lines_max: usize,
}

/// A row of a table, by cell.
pub struct Row<'a>(Vec<&'a str>);

const DOCUMENTS: &[(&str, usize)] = &[
    ("README.md", 200),
    ("ARCHITECTURE.md", 535),
    ("SECURITY.md", 125),
    ("shared/PROTOCOL.md", 887),
    ("server/README.md", 310),
    ("server/game.md", 75),
    ("server/tutorial.md", 385),
    ("server/operations.md", 226),
    ("server/gateways.md", 120),
    ("server/audit.md", 70),
    ("server/durability.md", 180),
    ("server/standby.md", 110),
    ("server/lease.md", 95),
    ("server/migration.md", 100),
    ("server/characters.md", 150),
    ("server/export.md", 60),
    ("server/accounts.md", 150),
    ("server/dashboard.md", 120),
    ("server/replay.md", 70),
    ("server/capacity.md", 75),
    ("server/kubernetes.md", 85),
    ("server/packages.md", 80),
    ("server/talk.md", 70),
    ("server/worlds/README.md", 326),
    ("server/worlds/arrays.md", 60),
    ("server/worlds/numbers.md", 60),
    ("server/worlds/texts.md", 84),
    ("server/worlds/asking.md", 120),
    ("server/worlds/atomic.md", 90),
    ("server/worlds/hooks.md", 120),
    ("server/worlds/shared.md", 70),
    ("server/worlds/layers.md", 146),
    ("server/worlds/doors.md", 90),
    ("server/worlds/fields.md", 100),
    ("server/worlds/planes.md", 136),
    ("server/worlds/things.md", 159),
    ("server/worlds/groups.md", 120),
    ("server/worlds/maps.md", 40),
    ("server/worlds/motion.md", 60),
    ("server/worlds/usage.md", 100),
    ("server/worlds/testing.md", 120),
    ("server/worlds/lag.md", 70),
    ("server/worlds/interest.md", 140),
    ("server/worlds/sight.md", 120),
    ("client-bot/README.md", 216),
    ("client-bot/bindings.md", 144),
    ("client-bot/load-tests.md", 190),
    ("client-bot/losses.md", 60),
    ("client-bot/networks.md", 125),
    ("client-bot/ffi/README.md", 130),
    ("client-bot/python/README.md", 60),
    ("client-bot/web/README.md", 125),
    ("benches/README.md", 372),
];

pub fn documents() -> Vec<Document> {
    DOCUMENTS.iter().map(|&(name, _)| read(name)).collect()
}

/// One of the documents.
pub fn read(name: &str) -> Document {
    let (name, lines_max) = *DOCUMENTS
        .iter()
        .find(|document| document.0 == name)
        .expect("a document");
    let text = std::fs::read_to_string(root().join(name)).expect(name);
    Document {
        name,
        text,
        lines_max,
    }
}

/// The repository.
pub fn root() -> PathBuf {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("a test that cargo runs");
    Path::new(&package).parent().expect("a folder").into()
}

impl Document {
    pub fn folder(&self) -> PathBuf {
        root().join(self.name).parent().expect("a folder").into()
    }

    /// The lines outside of fenced blocks.
    pub fn prose(&self) -> impl Iterator<Item = &str> {
        let mut in_block = false;
        self.text.lines().filter(move |line| {
            let is_fence = line.starts_with("```");
            in_block ^= is_fence;
            !in_block && !is_fence
        })
    }

    /// The texts in backquotes, outside of fenced blocks.
    pub fn code(&self) -> impl Iterator<Item = &str> {
        self.prose().flat_map(code)
    }

    /// The fenced blocks of a language.
    pub fn blocks(&self, language: &str) -> Vec<&str> {
        let fence = format!("\n```{language}\n");
        let starts = self.text.split(fence.as_str()).skip(1);
        starts
            .filter_map(|rest| rest.split("\n```").next())
            .collect()
    }

    /// The targets of links and pictures.
    pub fn links(&self) -> impl Iterator<Item = &str> {
        let links = self.prose().flat_map(|line| line.split("](").skip(1));
        links.filter_map(|rest| rest.split(')').next())
    }

    /// The rows below the heading row that begins so; empty if there is none.
    pub fn table(&self, heading: &str) -> Vec<Row<'_>> {
        let lines = self.prose().skip_while(|line| !line.starts_with(heading));
        let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
        rows.map(|line| Row(line.trim_matches('|').split('|').map(str::trim).collect()))
            .collect()
    }

    /// The headings, as links name them.
    pub fn anchors(&self) -> impl Iterator<Item = String> {
        let headings = self.prose().filter(|line| line.starts_with('#'));
        headings.map(|line| {
            let text = line.trim_start_matches('#').trim().to_lowercase();
            let kept = text
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
    }
}

impl<'a> Row<'a> {
    pub fn cell(&self, column: usize) -> &'a str {
        self.0.get(column).copied().unwrap_or_default()
    }

    /// The texts in backquotes of a cell.
    pub fn code(&self, column: usize) -> impl Iterator<Item = &'a str> {
        code(self.cell(column))
    }
}

/// The texts in backquotes of a line.
pub fn code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}
