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
//! | `logic` | `[logic]`, `[commands]`: scripts, and what the file sets for them |
//! | `commands` | `[[every]]`, and the engine's own notifications |
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
mod logic;
mod raw;
mod regions;

use thiserror::Error;

use crate::world::config::WorldConfig;
use build::Rejected;
use check::Problem;
pub use logic::{Compiler, Declared, LogicError};

/// Why a world file was rejected.
#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("{file}: cannot be read: {error}")]
    Unreadable { file: String, error: std::io::Error },
    #[error("{file}: {message}")]
    Syntax { file: String, message: String },
    /// Problems of scripts, as a compiler draws them.
    #[error("{file}: its scripts have problems\n\n{drawn}")]
    Logic { file: String, drawn: String },
    #[error("{file}: {key}: {message}")]
    Value {
        file: String,
        /// The key, with its tables: `kind.player.attributes.hp.min`.
        key: String,
        message: String,
    },
}

impl WorldConfig {
    /// Checks the text of a world file. `file` is its name in errors; the compiler is that of
    /// the crate `script`, whose `world` calls this.
    pub fn parse(
        text: &str,
        file: &str,
        compiler: &dyn Compiler,
    ) -> Result<WorldConfig, ConfigError> {
        let raw: raw::World = toml::from_str(text).map_err(|error| ConfigError::Syntax {
            file: file.to_owned(),
            message: error.to_string().trim_end().to_owned(),
        })?;
        let file = file.to_owned();
        build::build(&raw, compiler).map_err(|rejected| match rejected {
            Rejected::Texts(drawn) => ConfigError::Logic { file, drawn },
            Rejected::Key(Problem { key, message }) => ConfigError::Value { file, key, message },
        })
    }
}
