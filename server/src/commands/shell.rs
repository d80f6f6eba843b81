//! `myriad completions` and `myriad man`: what shells and `man` know of this program.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_complete::Shell;

#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// Shell to complete in
    shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArguments {
    /// Folder for the pages, one for each command
    folder: PathBuf,
}

/// Prints the script of a shell.
pub fn complete(arguments: &CompletionsArguments, mut command: Command) {
    let name = command.get_name().to_owned();
    // Into memory first: a closed output is no failure.
    let mut script = vec![];
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    let _ = io::stdout().write_all(&script);
}

/// Writes `myriad.1`, `myriad-serve.1` and so on.
pub fn write_pages(arguments: &ManArguments, command: Command) -> Result<()> {
    let folder = &arguments.folder;
    let to = || format!("cannot write to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(to)?;
    clap_mangen::generate_to(command, folder).with_context(to)
}
