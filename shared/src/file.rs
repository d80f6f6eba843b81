//! The world file: TOML text in, a checked [`WorldConfig`] out.
//!
//! Every size that the server allocates follows from the result. A bad value is
//! rejected with the file, the key, what was expected and what was found.
//!
//! | module | part of the file |
//! | --- | --- |
//! | `raw` | the keys and their TOML types, before any check |
//! | `build` | the order of the checks; `[world]` |
//! | `kinds` | `[[kind]]`: kinds and attributes |
//! | `commands` | `[commands]`, `[[every]]`, and the notifications that can happen |
//! | `engine` | the keys by which the engine itself uses attributes: falls and owners |
//! | `regions` | the regions of `[[kind]]`, and their limits |
//! | `limits` | `[limits]` |
//! | `check` | checks that several keys share |

mod build;
mod check;
mod commands;
mod engine;
mod kinds;
mod limits;
mod raw;
mod regions;

use std::path::Path;

use thiserror::Error;

use crate::world::config::WorldConfig;

/// Why a world file was rejected.
#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("{file}: cannot be read: {error}")]
    Unreadable { file: String, error: std::io::Error },
    #[error("{file}: {message}")]
    Syntax { file: String, message: String },
    #[error("{file}: {key}: {message}")]
    Value {
        file: String,
        /// The key, with its tables: `kind.player.attributes.hp.min`.
        key: String,
        message: String,
    },
}

impl WorldConfig {
    /// Reads and checks a world file.
    pub fn load(path: &Path) -> Result<WorldConfig, ConfigError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, &file),
            Err(error) => Err(ConfigError::Unreadable { file, error }),
        }
    }

    /// Checks the text of a world file. `file` is its name in errors.
    pub fn parse(text: &str, file: &str) -> Result<WorldConfig, ConfigError> {
        let raw: raw::World = toml::from_str(text).map_err(|error| ConfigError::Syntax {
            file: file.to_owned(),
            message: error.to_string().trim_end().to_owned(),
        })?;
        build::build(&raw).map_err(|problem| ConfigError::Value {
            file: file.to_owned(),
            key: problem.key,
            message: problem.message,
        })
    }
}

impl Default for WorldConfig {
    /// The world of an empty file.
    fn default() -> WorldConfig {
        Self::parse("", "the default world").expect("the default world is valid")
    }
}

#[cfg(test)]
mod tests;
