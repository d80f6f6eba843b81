//! `myriad completions` and `myriad man`: shell completions and manual pages.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_complete::Shell;
use program::console::files::sync;
use program::console::output::output;

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
pub fn complete(arguments: &CompletionsArguments, mut command: Command) -> Result<()> {
    let name = command.get_name().to_owned();
    // Into memory first: the generator panics where it can't write.
    let mut script = vec![];
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    output()
        .write_all(&script)
        .context("cannot write to standard output")
}

/// Writes `myriad.1`, `myriad-serve.1` and so on.
pub fn write_pages(arguments: &ManArguments, command: Command) -> Result<()> {
    let folder = &arguments.folder;
    let to = || format!("cannot write to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(to)?;
    clap_mangen::generate_to(command, folder).with_context(to)?;
    for page in std::fs::read_dir(folder).with_context(to)? {
        let page = page.with_context(to)?.path();
        if page.extension().is_some_and(|ending| ending == "1") {
            File::open(&page)
                .and_then(|page| sync(&page))
                .with_context(to)?;
        }
    }
    Ok(())
}
