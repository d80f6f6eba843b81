//! Lines of source code.

use std::fmt::Display;

/// Source code that is being written.
pub struct Source {
    text: String,
    depth: usize,
    indent: &'static str,
    /// What begins a line of documentation.
    doc: &'static str,
}

impl Source {
    pub fn new(indent: &'static str, doc: &'static str) -> Source {
        Source {
            text: String::new(),
            depth: 0,
            indent,
            doc,
        }
    }

    /// Lines, each indented as the block that is open.
    pub fn lines(&mut self, lines: impl Display) {
        for line in lines.to_string().lines() {
            if !line.is_empty() {
                self.text += &self.indent.repeat(self.depth);
                self.text += line;
            }
            self.text.push('\n');
        }
    }

    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A comment, broken into lines. None for an empty text.
    pub fn doc(&mut self, text: &str) {
        let width = WIDTH.saturating_sub(self.depth * 4 + self.doc.len() + 1);
        let doc = self.doc;
        for line in wrapped(text, width) {
            // C would take the next line for a part of the comment.
            self.lines(format_args!("{doc} {}", line.trim_end_matches('\\')));
        }
    }

    /// A block: what it begins with, its inside, and its end.
    pub fn block(&mut self, open: impl Display, close: &str, inside: impl FnOnce(&mut Source)) {
        self.lines(open);
        self.inner(inside);
        if !close.is_empty() {
            self.lines(close);
        }
    }

    /// The inside of a block.
    pub fn inner(&mut self, inside: impl FnOnce(&mut Source)) {
        self.depth += 1;
        inside(self);
        self.depth -= 1;
    }

    pub fn finish(self) -> String {
        self.text
    }
}

/// A text in lines of at most so many letters, unless a word is longer.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text as a literal in double quotes, as all six languages read it.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\n' => quoted += "\\n",
            '\r' => quoted += "\\r",
            '\t' => quoted += "\\t",
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

/// The longest line of documentation.
const WIDTH: usize = 99;
