//! `[logic]` and `[commands]`: the scripts of a world, and what the file sets for them.

use std::collections::BTreeMap;

use super::check::{Problem, in_range, problem, unexpected};
use super::raw;
use crate::world::command::CommandSchema;
use crate::world::logic::{Budget, Constant, Constants, LogicConfig, Numbers, Text};
use crate::world::notification::NotificationSchema;
use crate::world::schema::Schema;
use crate::world::symbols::Symbols;

/// Reads and compiles scripts. The crate `script` has the only one; this crate knows just
/// what comes out, so that clients need no compiler.
pub trait Compiler {
    /// The names of the built-in texts, and of those that a world has by itself.
    fn builtin_names(&self) -> (Vec<&'static str>, Vec<&'static str>);

    /// What a world chooses: as its file says, unless other scripts are tried in it.
    fn chosen(&self, own: Chosen) -> Chosen {
        own
    }

    /// A built-in text.
    fn builtin(&self, name: &str) -> Option<Text>;

    /// The numbers of the built-in set's names.
    fn builtin_numbers(&self) -> Numbers;

    /// The texts of a folder, by name. The world file names the folder relative to its own.
    fn folder(&self, folder: &str) -> Result<Vec<Text>, String>;

    /// The commands and notifications of a world whose attributes, kinds and symbols are
    /// known. New names get numbers.
    fn compile(
        &self,
        schema: &Schema,
        symbols: &Symbols,
        logic: &mut LogicConfig,
    ) -> Result<Declared, LogicError>;
}

/// The texts that `[logic]` chooses; `None`: the key is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    pub folder: Option<String>,
    pub builtin: Option<Vec<String>>,
}

/// What scripts declare.
pub struct Declared {
    /// By number.
    pub commands: Vec<CommandSchema>,
    /// Those that can happen, by number.
    pub notifications: Vec<NotificationSchema>,
    /// By command, as `commands`, and by word: the attribute of which it is a symbol, if the
    /// script says so.
    pub word_columns: Vec<Vec<Option<u16>>>,
    /// Whether any command puts commands off.
    pub puts_off: bool,
    /// Whether any command asks where entities were, or is told what its client saw.
    pub rewinds: bool,
    /// What in the texts needs limits above 0.
    pub reasons: Reasons,
    /// The kinds that commands spawn.
    pub spawns: Vec<u16>,
    /// The columns that commands update, as bits.
    pub updates: u64,
    /// Built-in commands that the world can't have, and why.
    pub left_out: Vec<(String, String)>,
}

/// What in the texts of a world needs limits, as in "`hit` of hit.rs uses `was_within`".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    pub timed_commands: Option<String>,
    pub rewind_ticks: Option<String>,
    pub notifications_per_tick: Option<String>,
}

/// Why scripts were rejected.
#[derive(Default)]
pub struct LogicError {
    /// Problems of texts, drawn for people; may be empty.
    pub drawn: String,
    /// Problems of the world file: keys and messages.
    pub keys: Vec<(String, String)>,
}

pub(super) fn logic(
    raw: &raw::Logic,
    commands: &raw::Commands,
    compiler: &dyn Compiler,
) -> Result<LogicConfig, Problem> {
    let (known, usual) = compiler.builtin_names();
    let chosen = compiler.chosen(Chosen {
        folder: raw.folder.clone(),
        builtin: raw.builtin.clone(),
    });
    let names = match (&chosen.builtin, &chosen.folder) {
        (Some(names), _) => names.iter().map(String::as_str).collect(),
        (None, None) => usual,
        (None, Some(_)) => vec![],
    };
    let mut texts = vec![];
    for name in names {
        match compiler.builtin(name) {
            Some(text) if !texts.contains(&text) => texts.push(text),
            Some(_) => return problem("logic.builtin", format!("{name:?} is there twice")),
            None => {
                let found = format!("{name:?}");
                return unexpected("logic.builtin", found, format!("some of {known:?}"));
            }
        }
    }
    if let Some(folder) = &chosen.folder {
        match compiler.folder(folder) {
            Ok(own) => texts.extend(own),
            Err(message) => return problem("logic.folder", message),
        }
    }
    Ok(LogicConfig {
        folder: chosen.folder,
        texts,
        constants: constants(commands)?,
        budget: Budget {
            steps: in_range("logic.steps", raw.steps, 1, Budget::STEPS_MAX)?,
            visits: in_range("logic.visits", raw.visits, 1, Budget::VISITS_MAX)?,
        },
        numbers: compiler.builtin_numbers(),
    })
}

fn constants(raw: &raw::Commands) -> Result<Constants, Problem> {
    let mut constants = Constants::new();
    for (stem, settings) in raw {
        let mut own = BTreeMap::new();
        for (key, value) in settings {
            let value = match value {
                toml::Value::Integer(number) => Constant::Int(*number),
                toml::Value::Float(number) if number.is_finite() => Constant::Float(*number),
                toml::Value::Boolean(truth) => Constant::Bool(*truth),
                toml::Value::String(text) => Constant::Text(text.clone()),
                other => {
                    let key = format!("commands.{stem}.{key}");
                    return unexpected(key, other, "a number, true, false or a text");
                }
            };
            own.insert(key.clone(), value);
        }
        constants.insert(stem.clone(), own);
    }
    Ok(constants)
}
