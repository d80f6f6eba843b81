//! `myriad check`: all problems of a world file and its scripts.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use program::say;
use world_file::Reader;

use super::warnings;

#[derive(Debug, Args)]
pub struct CheckArguments {
    /// World file
    file: PathBuf,
    /// Fail if there are warnings
    #[arg(long)]
    deny_warnings: bool,
}

/// Checks a world file. False if something is wrong with it.
pub fn run(arguments: &CheckArguments) -> Result<bool> {
    file(&arguments.file, arguments.deny_warnings)
}

/// The same, for a file.
pub fn file(path: &Path, deny_warnings: bool) -> Result<bool> {
    let reader = Reader {
        colours: std::io::stdout().is_terminal(),
        ..Reader::default()
    };
    let checked = match reader.load(path) {
        Ok(checked) => checked,
        Err(problems) => {
            say!("{problems}");
            return Ok(false);
        }
    };
    let warnings = warnings::print(&checked);
    if warnings::are_denied(warnings, deny_warnings) {
        return Ok(false);
    }
    let schema = &checked.config.schema;
    say!(
        "{} is valid: {} kinds, {} attributes, {} commands, {} notifications",
        path.display(),
        schema.kinds.len(),
        schema.attributes.len(),
        schema.commands.len(),
        schema.notifications.len(),
    );
    Ok(true)
}
