//! The world file: TOML text in, a checked [`WorldConfig`] out.
//!
//! Every size that the server allocates follows from the result. A bad file is rejected with
//! all its problems: each with file, line, key, what was expected and what was found.
//!
//! | module | part of the file |
//! | --- | --- |
//! | `raw` | the keys and their TOML types, before any check |
//! | `syntax` | what is wrong with a file before it has keys |
//! | `overrides` | what a command line sets in place of a file |
//! | `read` | reads the keys, part by part |
//! | `lines` | where the file has its keys |
//! | `shape` | what is wrong with a value's type, without the names of Rust's |
//! | `mend` | goes on behind keys that have problems |
//! | `build` | the order of the checks; `[world]` |
//! | `kinds` | `[[kind]]`: kinds and attributes |
//! | `names` | names of attributes |
//! | `logic` | `[logic]`, `[commands]`: scripts, and what the file sets for them |
//! | `initial` | `default` of an attribute that is a choice of several values |
//! | `commands` | `[[every]]`, and the engine's own notifications |
//! | `engine` | the keys by which the engine itself uses attributes: falls and owners |
//! | `regions` | the regions of `[[kind]]`, and their limits |
//! | `motion` | the keys of `[world]` that say how movement is told |
//! | `spawn` | `spawn` of `[[kind]]` |
//! | `limits` | `[limits]` |
//! | `remarks` | what is allowed, but hardly meant |
//! | `check` | checks that several keys share |
//! | `unchecked` | definitions that did not come from a file, by the same checks |

// A number that does not fit is a problem of the file, and not another number.
#![deny(clippy::cast_possible_truncation)]

mod build;
mod check;
mod commands;
mod engine;
mod initial;
mod interest;
mod kinds;
mod limits;
mod lines;
mod logic;
mod mend;
mod motion;
mod names;
mod overrides;
mod raw;
mod read;
mod regions;
mod remarks;
mod shape;
mod spawn;
mod syntax;
mod unchecked;
mod wire_step;

use std::fmt;

use thiserror::Error;

use crate::world::config::WorldConfig;
use build::{Built, Rejected};
use check::Problem;
use lines::Lines;
pub use logic::{Chosen, Compiler, Declared, LogicError, Reasons};
pub use overrides::Overrides;
pub use shape::{Format, plain};
pub use unchecked::UncheckedWorld;

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

/// A checked world, and what its author may want to know.
#[derive(Clone, Debug)]
pub struct Checked {
    pub config: WorldConfig,
    /// What is allowed, but hardly meant.
    pub warnings: Vec<Remark>,
    /// Commands that the world lacks, which may be meant.
    pub notes: Vec<Remark>,
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

impl WorldConfig {
    /// Checks the text of a world file, in which some keys have other values. `file` is its name
    /// in errors; the compiler is that of
    /// the crate `script`, whose `world` calls this.
    pub fn parse(
        text: &str,
        file: &str,
        overrides: Overrides,
        compiler: &dyn Compiler,
    ) -> Result<Checked, ConfigError> {
        let (table, errors) = toml::de::DeTable::parse_recoverable(text);
        let table = table.into_inner();
        let lines = Lines::new(text, &table);
        let remarks = |problems: Vec<Problem>| {
            let problems = problems.into_iter();
            let mut remarks: Vec<Remark> = problems
                .map(|problem| Remark {
                    file: file.to_owned(),
                    line: match problem.place {
                        Some(place) => Some(lines.line_at(place)),
                        None => lines.line(&problem.key),
                    },
                    column: problem.place.map(|place| lines.column_at(place)),
                    key: problem.key,
                    message: problem.message,
                })
                .collect();
            remarks.sort_by_key(|remark| (remark.line, remark.column));
            remarks
        };
        let syntax = syntax::problems(text, errors, &lines);
        if !syntax.are_of_keys {
            return Err(ConfigError::Rejected {
                remarks: remarks(syntax.problems),
                drawn: String::new(),
            });
        }
        let (mut raw, mut problems) = read::read(table, &lines);
        overrides.apply(&mut raw);
        problems.0.extend(syntax.problems);
        let rejected = Rejected {
            problems,
            ..Rejected::default()
        };
        match build::build(&raw, compiler, rejected) {
            Ok(Built {
                config,
                warnings,
                notes,
            }) => Ok(Checked {
                config,
                warnings: remarks(warnings),
                notes: remarks(notes),
            }),
            Err(Rejected { problems, drawn }) => Err(ConfigError::Rejected {
                remarks: remarks(problems.0),
                drawn,
            }),
        }
    }
}
