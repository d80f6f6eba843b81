//! World files with their scripts.

use std::path::{Path, PathBuf};

use shared::file::{Checked, Chosen, Compiler, Declared, LogicError, UncheckedWorld};
use shared::world::logic::{LogicConfig, Numbers, Text};
use shared::world::symbols::Symbols;
use shared::{CommandKind, ConfigError, Schema, WorldConfig};

use crate::builtin;
use crate::diagnostic::draw;
use crate::ir::{After, Inst};
use crate::logic::{Logic, Problem, TEXTS_MAX};
use crate::parse::TEXT_BYTES_MAX;

/// Reads and checks a world file and its scripts.
pub fn load(path: &Path) -> Result<WorldConfig, ConfigError> {
    Reader::default().load(path).map(|checked| checked.config)
}

/// Checks the text of a world file. `file` is its name in errors; a folder of scripts is
/// relative to that file's.
pub fn parse(text: &str, file: &str) -> Result<WorldConfig, ConfigError> {
    let checked = Reader::default().parse(text, file);
    checked.map(|checked| checked.config)
}

/// How world files are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reader {
    /// The folder of the scripts, whatever the file says. If the file names no texts, the
    /// usual ones come with it, except those that have the name of a text of the folder.
    pub folder: Option<PathBuf>,
    /// Whether problems of scripts are drawn in colours.
    pub colours: bool,
}

impl Reader {
    /// Like [`load`].
    pub fn load(&self, path: &Path) -> Result<Checked, ConfigError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => self.parse(&text, &file),
            Err(error) => Err(ConfigError::Unreadable { file, error }),
        }
    }

    /// Like [`parse`].
    pub fn parse(&self, text: &str, file: &str) -> Result<Checked, ConfigError> {
        let beside = Path::new(file).parent().unwrap_or(Path::new(""));
        let compiler = FileCompiler {
            beside: beside.to_owned(),
            reader: self,
        };
        WorldConfig::parse(text, file, &compiler)
    }
}

/// Checks a world that was read from somewhere, as that of a world file is. `file` is its
/// name in errors.
pub fn check(world: UncheckedWorld, file: &str) -> Result<WorldConfig, ConfigError> {
    let compiler = FileCompiler {
        beside: PathBuf::new(),
        reader: &Reader::default(),
    };
    world.check(file, &compiler)
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

struct FileCompiler<'a> {
    /// The world file's folder.
    beside: PathBuf,
    reader: &'a Reader,
}

impl Compiler for FileCompiler<'_> {
    fn builtin_names(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        (builtin::names().collect(), builtin::USUAL.to_vec())
    }

    fn chosen(&self, own: Chosen) -> Chosen {
        let Some(folder) = &self.reader.folder else {
            return own;
        };
        let is_missing = |name: &&str| !folder.join(format!("{name}.rs")).exists();
        let usual = builtin::USUAL.iter().copied().filter(is_missing);
        let builtin = match &own.folder {
            Some(_) => own.builtin,
            None => Some(own.builtin.unwrap_or(usual.map(str::to_owned).collect())),
        };
        Chosen {
            folder: Some(folder.display().to_string()),
            builtin,
        }
    }

    fn builtin(&self, name: &str) -> Option<Text> {
        builtin::text(name)
    }

    fn builtin_numbers(&self) -> Numbers {
        builtin::numbers()
    }

    fn folder(&self, folder: &str) -> Result<Vec<Text>, String> {
        match &self.reader.folder {
            Some(folder) => read_folder(folder),
            None => read_folder(&self.beside.join(folder)),
        }
    }

    fn compile(
        &self,
        schema: &Schema,
        symbols: &Symbols,
        logic: &mut LogicConfig,
    ) -> Result<Declared, LogicError> {
        let colours = self.reader.colours;
        let compiled = Logic::compile_with(schema, symbols, logic);
        let compiled = compiled.map_err(|problems| error(problems, logic, colours))?;
        let spawns = spawned(&compiled);
        logic.numbers = compiled.numbers;
        let insts = compiled.commands.iter().flat_map(|c| &c.code.insts);
        Ok(Declared {
            puts_off: compiled
                .commands
                .iter()
                .any(|c| c.schema.is_given() && c.code.afters().next().is_some()),
            spawns,
            rewinds: compiled.commands.iter().any(|c| c.rewinds()),
            updates: insts.fold(0, |bits, inst| match inst {
                Inst::Update(_, column, _) => bits | 1 << column,
                _ => bits,
            }),
            left_out: compiled.left_out,
            word_columns: compiled
                .commands
                .iter()
                .map(|c| c.word_columns.clone())
                .collect(),
            commands: compiled.commands.into_iter().map(|c| c.schema).collect(),
            notifications: compiled.notifications,
        })
    }
}

/// The kinds that commands spawn.
fn spawned(logic: &Logic) -> Vec<u16> {
    let afters = logic.commands.iter().flat_map(|c| c.code.afters());
    let spawns = afters.filter(|after| after.command == CommandKind::SPAWN.id());
    let kind = |after: &After| u16::try_from(after.words.first()?.constant()?).ok();
    spawns.filter_map(kind).collect()
}

/// Problems as one error: those of the world file, and those of texts, drawn.
fn error(problems: Vec<Problem>, logic: &LogicConfig, colours: bool) -> LogicError {
    let mut error = LogicError::default();
    for problem in &problems {
        if let Problem::Setting { key, message } = problem {
            error.keys.push((key.clone(), message.clone()));
        }
    }
    let diagnostics: Vec<_> = problems.iter().filter_map(Problem::diagnostic).collect();
    error.drawn = draw(&diagnostics, &logic.texts, colours);
    error
}
