//! World files with their scripts.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use shared::file::{
    Checked, Chosen, Compiler, Declared, LogicError, Overrides, Reasons, Remark, UncheckedWorld,
};
use shared::world::logic::{LogicConfig, Numbers, Text};
use shared::world::symbols::Symbols;
use shared::{CommandKind, ConfigError, Schema, WorldConfig};

use crate::builtin;
use crate::diagnostic::draw;
use crate::folder::{self, Scripts};
use crate::ir::{After, Inst};
use crate::logic::{Command, Logic, Problem};

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
    /// Keys that have other values than in the file.
    pub overrides: Overrides,
}

impl Reader {
    /// Like [`load`].
    pub fn load(&self, path: &Path) -> Result<Checked, ConfigError> {
        let file = path.display().to_string();
        match read_file(path) {
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
            skipped: RefCell::default(),
        };
        let mut checked = WorldConfig::parse(text, file, self.overrides, &compiler)?;
        let skipped = compiler.skipped.into_inner().into_iter();
        checked.warnings.extend(skipped.map(|message| Remark {
            file: file.to_owned(),
            line: None,
            column: None,
            key: "logic.folder".to_owned(),
            message,
        }));
        Ok(checked)
    }
}

/// The text of a world file, which may come through a pipe.
pub fn read_file(path: &Path) -> io::Result<String> {
    folder::read_bounded(File::open(path)?, FILE_BYTES_MAX)
}

/// Checks a world that was read from somewhere, as that of a world file is. `file` is its
/// name in errors.
pub fn check(world: UncheckedWorld, file: &str) -> Result<WorldConfig, ConfigError> {
    let compiler = FileCompiler {
        beside: PathBuf::new(),
        reader: &Reader::default(),
        skipped: RefCell::default(),
    };
    world.check(file, &compiler)
}

/// A world at another rate of ticks, with what follows from it, as its file would give it at
/// that rate. `file` is its name in errors.
pub fn at_rate(world: &WorldConfig, tick_hz: u32, file: &str) -> Result<WorldConfig, ConfigError> {
    let compiler = FileCompiler {
        beside: PathBuf::new(),
        reader: &Reader::default(),
        skipped: RefCell::default(),
    };
    UncheckedWorld::from(world.clone()).check_at_rate(tick_hz, file, &compiler)
}

/// The world of an empty file.
pub fn default() -> WorldConfig {
    parse("", "the default world").expect("the default world is valid")
}

/// The texts of a folder, by name; an error if one of them can't be read.
pub fn read_folder(folder: &Path) -> Result<Vec<Text>, String> {
    all_of(folder::read(folder)?)
}

fn all_of(scripts: Scripts) -> Result<Vec<Text>, String> {
    match scripts.unreadable.is_empty() {
        true => Ok(scripts.texts),
        false => {
            let messages: Vec<String> = scripts.unreadable.into_values().collect();
            Err(messages.join("; "))
        }
    }
}

/// The most bytes of a world file.
const FILE_BYTES_MAX: usize = 16 << 20;

struct FileCompiler<'a> {
    /// The world file's folder.
    beside: PathBuf,
    reader: &'a Reader,
    /// What has the name of a script and is none.
    skipped: RefCell<Vec<String>>,
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
        let scripts = match &self.reader.folder {
            Some(folder) => folder::read(folder),
            None => folder::read(&self.beside.join(folder)),
        };
        let scripts = scripts?;
        self.skipped.borrow_mut().extend(scripts.skipped.clone());
        all_of(scripts)
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
        let reasons = reasons(&compiled);
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
            reasons,
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

/// What in the texts needs limits.
fn reasons(logic: &Logic) -> Reasons {
    let first = |is_reason: &dyn Fn(&&Command) -> bool, what: &str| {
        let command = logic.commands.iter().find(is_reason)?;
        let (name, file) = (&command.schema.name, &command.file);
        Some(format!("`{name}` of {file} {what}"))
    };
    let asks = |c: &&Command| c.code.insts.iter().any(|i| matches!(i, Inst::Past(..)));
    let puts_off = |c: &&Command| c.schema.is_given() && c.code.afters().next().is_some();
    let tells = |c: &&Command| c.code.notifications().next().is_some();
    Reasons {
        timed_commands: first(
            &puts_off,
            "puts a command off by `after`, `spawn` or `despawn`",
        ),
        rewind_ticks: first(&asks, "uses `was_within`")
            .or_else(|| first(&|c| c.rewinds(), "has a parameter `seen`")),
        notifications_per_tick: first(&tells, "tells clients of something by `tell`"),
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
