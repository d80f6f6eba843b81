//! `myriad completions` and `myriad man`: what shells and `man` know of this program.

use std::io;
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

/// Prints the script of a shell. True, as nothing can be wrong with it.
pub fn complete(arguments: &CompletionsArguments, mut command: Command) -> Result<bool> {
    let name = command.get_name().to_owned();
    // Into memory first: a closed output is no failure.
    let mut script = vec![];
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    let _ = io::Write::write_all(&mut io::stdout(), &script);
    Ok(true)
}

/// Writes `myriad.1`, `myriad-serve.1` and so on. True, as nothing can be wrong with them.
pub fn write_pages(arguments: &ManArguments, command: Command) -> Result<bool> {
    let folder = &arguments.folder;
    let to = || format!("cannot write to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(to)?;
    clap_mangen::generate_to(command, folder).with_context(to)?;
    Ok(true)
}
