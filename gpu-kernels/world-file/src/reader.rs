//! Reads world files with their scripts.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use shared::WorldConfig;
use shared::world::source::Overrides;

use super::error::ConfigError;
use super::folder;
use super::logic::Texts;
use super::parse::{self, Checked};

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
        let texts = Texts::Named {
            beside: Path::new(file).parent().unwrap_or(Path::new("")),
            folder: self.folder.as_deref(),
        };
        parse::parse(text, file, self.overrides, &texts, self.colours)
    }
}

/// The text of a world file, which may come through a pipe.
pub fn read_file(path: &Path) -> io::Result<String> {
    folder::read_bounded(File::open(path)?, FILE_BYTES_MAX)
}

/// The world of an empty file.
pub fn default() -> WorldConfig {
    parse("", "the default world").expect("the default world is valid")
}

/// The most bytes of a world file.
const FILE_BYTES_MAX: usize = 16 << 20;
