//! `[logic]` and `[commands]`: the scripts of a world, and what the file sets for them.

use std::collections::BTreeMap;
use std::path::Path;

use script::builtin;
use shared::world::logic::{Budget, Constant, Constants, LogicConfig, Text};

use super::check::{Problem, in_range, problem, unexpected};
use super::{folder, raw};

/// Where the texts of a world come from.
pub(super) enum Texts<'a> {
    /// From where the file says, or from a folder that is given in its place.
    Named {
        /// The world file's folder.
        beside: &'a Path,
        folder: Option<&'a Path>,
    },
    /// Those that a world had before, with the numbers of their names, whatever its file says.
    Recorded(&'a LogicConfig),
}

impl Texts<'_> {
    /// The world file's folder, where it has files beside it.
    pub fn beside(&self) -> Option<&Path> {
        match self {
            Texts::Named { beside, .. } => Some(beside),
            Texts::Recorded(_) => None,
        }
    }
}

/// The scripts of a world, before they are compiled.
pub(super) struct Found {
    pub logic: LogicConfig,
    /// What has the name of a script and is none.
    pub skipped: Vec<String>,
}

pub(super) fn logic(
    raw: &raw::Logic,
    commands: &raw::Commands,
    texts: &Texts<'_>,
    has_walls: bool,
) -> Result<Found, Problem> {
    let mut found = match *texts {
        Texts::Named { beside, folder } => named(raw, beside, folder, has_walls)?,
        Texts::Recorded(recorded) => Found {
            logic: recorded.clone(),
            skipped: vec![],
        },
    };
    found.logic.constants = constants(commands)?;
    found.logic.budget = Budget {
        steps: in_range("logic.steps", raw.steps, 1, Budget::STEPS_MAX)?,
        visits: in_range("logic.visits", raw.visits, 1, Budget::VISITS_MAX)?,
    };
    Ok(found)
}

/// The texts that a file names: built-in ones, and those of a folder.
fn named(
    raw: &raw::Logic,
    beside: &Path,
    given: Option<&Path>,
    has_walls: bool,
) -> Result<Found, Problem> {
    let mut texts = vec![];
    let text_of = match has_walls {
        true => builtin::text_for_walls,
        false => builtin::text,
    };
    for name in names(raw, given) {
        match text_of(&name) {
            Some(text) if !texts.contains(&text) => texts.push(text),
            Some(_) => return problem("logic.builtin", format!("{name:?} is there twice")),
            None => {
                let known: Vec<_> = builtin::names().collect();
                let found = format!("{name:?}");
                return unexpected("logic.builtin", found, format!("some of {known:?}"));
            }
        }
    }
    let own = match (given, &raw.folder) {
        (Some(folder), _) => Some(folder::read_all(folder)),
        (None, Some(folder)) => Some(folder::read_all(&beside.join(folder))),
        (None, None) => None,
    };
    let mut skipped = vec![];
    match own {
        Some(Ok(own)) => {
            texts.extend(own.texts);
            skipped = own.skipped;
        }
        Some(Err(message)) => return problem("logic.folder", message),
        None => {}
    }
    let given = given.map(|folder| folder.display().to_string());
    Ok(Found {
        logic: LogicConfig {
            folder: given.or(raw.folder.clone()),
            texts,
            numbers: builtin::numbers(),
            ..LogicConfig::default()
        },
        skipped,
    })
}

/// Adds a text that only says what the world has besides its scripts. A stored world has it already.
pub(super) fn add_note(
    texts: &mut Vec<Text>,
    note: Text,
    key: &str,
    what: &str,
) -> Result<(), Problem> {
    match texts.iter().find(|own| own.file == note.file) {
        Some(own) if *own == note => Ok(()),
        Some(_) => {
            let message = format!("expected the {what} that the world was stored with");
            problem(key, message)
        }
        None => {
            let own = texts.iter().position(|text| !text.is_builtin);
            texts.insert(own.unwrap_or(texts.len()), note);
            Ok(())
        }
    }
}

/// The names of the built-in texts that a world has. If its file names no texts, the usual ones
/// come with a folder that is given, except those that have the name of a text of the folder.
fn names(raw: &raw::Logic, given: Option<&Path>) -> Vec<String> {
    let usual = builtin::USUAL.iter().map(|&name| name.to_owned());
    match (&raw.builtin, &raw.folder, given) {
        (Some(names), _, _) => names.clone(),
        (None, Some(_), _) => vec![],
        (None, None, Some(folder)) => {
            let is_missing = |name: &String| !folder.join(format!("{name}.rs")).exists();
            usual.filter(is_missing).collect()
        }
        (None, None, None) => usual.collect(),
    }
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
