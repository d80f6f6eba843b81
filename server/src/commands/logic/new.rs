//! `myriad logic new`: a script to start from.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use client_bot::console::files::sync;
use client_bot::say;
use script::{Logic, builtin};
use shared::world::logic::{LogicConfig, Text};

#[derive(Debug, Args)]
pub struct NewArguments {
    /// Name of the command; that of a built-in text gives this text
    name: String,
    /// Folder of the scripts, which is made if it is missing
    #[arg(long, default_value = "logic")]
    folder: PathBuf,
}

/// Writes the script, and says what to do next.
pub fn run(arguments: &NewArguments) -> Result<()> {
    let NewArguments { name, folder } = arguments;
    let text = match builtin::text(name) {
        Some(builtin) => builtin.text,
        None => {
            let text = TEMPLATE.replace("NAME", name);
            check_name(name, &text)?;
            text
        }
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join(format!("{name}.rs"));
    let show = path.display();
    let file = OpenOptions::new().write(true).create_new(true).open(&path);
    match file {
        Ok(mut file) => file
            .write_all(text.as_bytes())
            .and_then(|()| sync(&file))
            .with_context(|| format!("cannot write {show}"))?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{show} is there already; it is not replaced")
        }
        Err(error) => return Err(error).with_context(|| format!("cannot write {show}")),
    }
    let folder = folder.display();
    say!("wrote {show}");
    say!("Change it, and check it:");
    say!("    myriad logic check {folder}");
    say!("A world has the scripts of a folder beside its file if that says:");
    say!("    [logic]");
    say!("    folder = \"{}\"", file_name(arguments));
    say!("    builtin = [\"move\"]    # and other built-in texts that it should have");
    Ok(())
}

/// The folder as the world file beside it names it.
fn file_name(arguments: &NewArguments) -> String {
    let name = arguments.folder.file_name();
    name.map_or("logic".into(), |name| name.to_string_lossy().into_owned())
}

fn check_name(name: &str, text: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_plain) {
        bail!("{name:?} can't name a command: expected a-z, 0-9 and _, with a letter first");
    }
    let logic = LogicConfig {
        texts: vec![Text::new(format!("{name}.rs"), text)],
        numbers: builtin::numbers(),
        ..LogicConfig::default()
    };
    match Logic::compile(&script::world::default().schema, &logic) {
        Ok(_) => Ok(()),
        Err(problems) => bail!("{name:?} can't name a command: {}", problems[0]),
    }
}

const TEMPLATE: &str = include_str!("new/template.rs");
