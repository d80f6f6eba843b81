//! `myriad link-key`: makes the file with which a primary and its standby authenticate each other.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use peer::trust::LinkKey;
use program::say;

#[derive(Debug, Args)]
pub struct LinkKeyArguments {
    /// The file to write; both servers need it
    file: PathBuf,
}

/// Writes the file.
pub fn run(arguments: &LinkKeyArguments) -> Result<()> {
    LinkKey::create(&arguments.file)?;
    say!(
        "{} is for the servers of one world only",
        arguments.file.display()
    );
    Ok(())
}
