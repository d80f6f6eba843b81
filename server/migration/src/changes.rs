//! The changes of a migration, as lines for people.

/// The lines so far.
#[derive(Debug, Default)]
pub struct Changes {
    pub lines: Vec<String>,
}

impl Changes {
    pub fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }
}

/// A number of things.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}
