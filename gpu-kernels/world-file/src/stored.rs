//! Worlds in checkpoints and recordings: as the text of their file, with the scripts and numbers
//! that they had. What is read passes through the checks of a file.

use script::Problem;
use script::diagnostic::draw;
use script::logic::restore_with;
use serde::{Deserialize, Serialize};
use shared::WorldConfig;
use shared::world::logic::LogicConfig;
use shared::world::source::Source;

use super::error::{ConfigError, Remark};
use super::logic::Texts;
use super::parse::parse;

/// A world as it is written, and as it was read from somewhere. [`StoredWorld::restore`] makes the
/// world again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredWorld {
    source: Source,
    /// The scripts that it has now; `None`: still those of its source.
    logic: Option<LogicConfig>,
}

impl StoredWorld {
    pub fn of(world: &WorldConfig) -> StoredWorld {
        let source = Source::clone(&world.source.0);
        StoredWorld {
            logic: (source.logic != world.logic).then(|| world.logic.clone()),
            source,
        }
    }

    /// The world. `file` is where it was read from, for errors.
    pub fn restore(self, file: &str) -> Result<WorldConfig, ConfigError> {
        let StoredWorld { source, logic } = self;
        let texts = Texts::Recorded(&source.logic);
        let checked = parse(&source.text, file, source.overrides, &texts, false)?;
        match logic {
            None => Ok(checked.config),
            Some(logic) => restore_with(&checked.config, &logic)
                .map_err(|problems| rejected(&problems, &logic, file)),
        }
    }
}

/// A world at another rate of ticks, with what follows from it, as its file gives it at that rate.
/// `file` is its name in errors.
pub fn at_rate(world: &WorldConfig, tick_hz: u32, file: &str) -> Result<WorldConfig, ConfigError> {
    let mut stored = StoredWorld::of(world);
    stored.source.overrides.tick_hz = Some(tick_hz);
    stored.restore(file)
}

fn rejected(problems: &[Problem], logic: &LogicConfig, file: &str) -> ConfigError {
    let remark = |problem: &Problem| match problem {
        Problem::Setting { key, message } => Some(Remark {
            file: file.to_owned(),
            line: None,
            column: None,
            key: key.clone(),
            message: message.clone(),
        }),
        Problem::Text(_) => None,
    };
    let diagnostics: Vec<_> = problems.iter().filter_map(Problem::diagnostic).collect();
    ConfigError::Rejected {
        remarks: problems.iter().filter_map(remark).collect(),
        drawn: draw(&diagnostics, &logic.texts, false),
    }
}
