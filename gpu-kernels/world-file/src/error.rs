//! Why a world file is rejected, and what its author may want to know.

use std::fmt;

use thiserror::Error;

/// Why a world file was rejected.
#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("{file}: cannot be read: {error}")]
    Unreadable { file: String, error: std::io::Error },
    #[error("{}", show(.remarks, .drawn))]
    Rejected {
        /// At least one, unless there are problems of scripts.
        remarks: Vec<Remark>,
        /// Problems of scripts, as a compiler draws them.
        drawn: String,
    },
}

/// A sentence about a key of a world file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub file: String,
    /// From 1, of the key or of what is around it.
    pub line: Option<usize>,
    /// From 1, in characters: where what is wrong begins, if the place itself is known.
    pub column: Option<usize>,
    /// The key, with its tables: `kind.player.attributes.hp.min`. May be empty.
    pub key: String,
    pub message: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        if let Some(column) = self.column {
            write!(f, "{column}:")?;
        }
        if !self.key.is_empty() {
            write!(f, " {}:", self.key)?;
        }
        write!(f, " {}", self.message)
    }
}

/// Problems of keys by line, then those of scripts.
fn show(remarks: &[Remark], drawn: &str) -> String {
    let lines: Vec<String> = remarks.iter().map(Remark::to_string).collect();
    let parts = [lines.join("\n"), drawn.trim_end().to_owned()];
    let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
    parts.join("\n\n")
}
