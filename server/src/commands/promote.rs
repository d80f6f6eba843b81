//! `myriad promote`: makes a standby the primary.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use console::admin::port::ask;
use console::admin::request::{Request, Response};
use host::following::promote_folder;
use program::say;

use super::follow::CONTROL;

#[derive(Debug, Args)]
pub struct PromoteArguments {
    /// Folder of `myriad serve --follow`
    folder: PathBuf,
    /// Take over even if the standby may lack ticks that were sent to clients
    #[arg(long)]
    force: bool,
    /// The standby does not run: the next `myriad serve --data` continues in its folder
    #[arg(long)]
    offline: bool,
}

/// Sends the request to the standby, or changes its folder.
pub fn run(arguments: &PromoteArguments) -> Result<()> {
    let name = arguments.folder.display();
    if arguments.offline {
        promote_folder(&arguments.folder)?;
        say!("{name} is a primary's: start it with `myriad serve --data {name}`");
        return Ok(());
    }
    let is_forced = arguments.force;
    match ask(
        &arguments.folder.join(CONTROL),
        &Request::Promote { is_forced },
    )? {
        Response::Error(reason) => bail!("{reason}"),
        _ => say!("{name} is the primary now"),
    }
    Ok(())
}
