//! World files with their scripts.

use std::path::{Path, PathBuf};

use shared::file::{Compiler, Declared, LogicError};
use shared::world::logic::{LogicConfig, Numbers, Text};
use shared::{CommandSchema, ConfigError, Schema, WorldConfig};

use crate::builtin;
use crate::diagnostic::draw;
use crate::logic::TEXTS_MAX;
use crate::logic::{Logic, Problem};
use crate::parse::TEXT_BYTES_MAX;

/// Reads and checks a world file and its scripts.
pub fn load(path: &Path) -> Result<WorldConfig, ConfigError> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, &file),
        Err(error) => Err(ConfigError::Unreadable { file, error }),
    }
}

/// Checks the text of a world file. `file` is its name in errors; a folder of scripts is
/// relative to that file's.
pub fn parse(text: &str, file: &str) -> Result<WorldConfig, ConfigError> {
    let beside = Path::new(file).parent().unwrap_or(Path::new(""));
    let compiler = FileCompiler {
        beside: beside.to_owned(),
    };
    WorldConfig::parse(text, file, &compiler)
}

/// The world of an empty file.
pub fn default() -> WorldConfig {
    parse("", "the default world").expect("the default world is valid")
}

/// The texts of a folder: its files that end in `.rs`, by name.
pub fn read_folder(folder: &Path) -> Result<Vec<Text>, String> {
    let show = folder.display();
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("cannot read {show}: {error}"))?;
    let mut paths = vec![];
    for entry in entries {
        let path = entry
            .map_err(|error| format!("cannot read {show}: {error}"))?
            .path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            paths.push(path);
        }
    }
    if paths.len() > TEXTS_MAX {
        return Err(format!(
            "{show} has {} scripts; at most {TEXTS_MAX} are allowed",
            paths.len()
        ));
    }
    paths.sort();
    paths.iter().map(|path| read_text(path)).collect()
}

fn read_text(path: &Path) -> Result<Text, String> {
    let show = path.display();
    let size = std::fs::metadata(path)
        .map_err(|error| format!("cannot read {show}: {error}"))?
        .len();
    if size > TEXT_BYTES_MAX as u64 {
        return Err(format!(
            "{show} has {size} bytes; at most {TEXT_BYTES_MAX} are allowed"
        ));
    }
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {show}: {error}"))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Text::new(name, text))
}

struct FileCompiler {
    /// The world file's folder.
    beside: PathBuf,
}

impl Compiler for FileCompiler {
    fn builtin_names(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        (builtin::names().collect(), builtin::USUAL.to_vec())
    }

    fn builtin(&self, name: &str) -> Option<Text> {
        builtin::text(name)
    }

    fn builtin_numbers(&self) -> Numbers {
        builtin::numbers()
    }

    fn folder(&self, folder: &str) -> Result<Vec<Text>, String> {
        read_folder(&self.beside.join(folder))
    }

    fn compile(&self, schema: &Schema, logic: &mut LogicConfig) -> Result<Declared, LogicError> {
        let compiled = Logic::compile(schema, logic).map_err(|problems| error(problems, logic))?;
        logic.numbers = compiled.numbers;
        Ok(Declared {
            puts_off: compiled
                .commands
                .iter()
                .any(|c| is_given(&c.schema) && c.code.afters().next().is_some()),
            commands: compiled.commands.into_iter().map(|c| c.schema).collect(),
            notifications: compiled.notifications,
        })
    }
}

/// Whether clients or rules give a command, so that it runs without having been put off.
fn is_given(command: &CommandSchema) -> bool {
    command.senders.clients || command.senders.rules
}

/// Problems as one error: all of the texts, drawn, or the first of the world file.
fn error(problems: Vec<Problem>, logic: &LogicConfig) -> LogicError {
    for problem in &problems {
        if let Problem::Setting { key, message } = problem {
            let (key, message) = (key.clone(), message.clone());
            return LogicError::Key { key, message };
        }
    }
    let diagnostics: Vec<_> = problems.iter().filter_map(Problem::diagnostic).collect();
    LogicError::Texts(draw(&diagnostics, &logic.texts, false))
}
