//! `myriad logic new`: a script to start from.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use program::console::files::sync;
use program::say;
use script::{Logic, Problem, builtin};
use shared::Schema;
use shared::world::attribute::{Attribute, AttributeType, MergeRule};
use shared::world::logic::{LogicConfig, Text};

use super::place;

#[derive(Debug, Args)]
pub struct NewArguments {
    /// Name of the command; that of a built-in text gives this text
    name: String,
    /// Folder of the scripts, which is made if it is missing
    #[arg(long, default_value = "logic")]
    folder: PathBuf,
    /// World file whose attributes the script uses [default: the only one beside the folder,
    /// else a plain default world]
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
}

/// Writes the script, and prints the next steps.
pub fn run(arguments: &NewArguments) -> Result<()> {
    let NewArguments { name, folder, .. } = arguments;
    let text = match builtin::text(name) {
        Some(builtin) => builtin.text,
        None => {
            check_name(name)?;
            let schema = schema(folder, arguments.world.as_deref())?;
            schema.map_or_else(|| anywhere(name), |schema| template(name, &schema))
        }
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join(format!("{name}.rs"));
    write_new(&path, &text)?;
    let folder = folder.display();
    say!("wrote {}", path.display());
    say!("Change it, and check it:");
    say!("    myriad logic check {folder}");
    say!("A world has the scripts of a folder beside its file if that says:");
    say!("    [logic]");
    say!("    folder = \"{}\"", file_name(arguments));
    say!("    builtin = [\"move\"]    # and other built-in texts that it should have");
    Ok(())
}

/// Writes a file that is not there yet.
pub fn write_new(path: &Path, text: &str) -> Result<()> {
    let show = path.display();
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    match file {
        Ok(mut file) => file
            .write_all(text.as_bytes())
            .and_then(|()| sync(&file))
            .with_context(|| format!("cannot write {show}")),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{show} is there already; it is not replaced")
        }
        Err(error) => Err(error).with_context(|| format!("cannot write {show}")),
    }
}

/// The folder as the world file beside it names it.
fn file_name(arguments: &NewArguments) -> String {
    let name = arguments.folder.file_name();
    name.map_or("logic".into(), |name| name.to_string_lossy().into_owned())
}

fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_plain) {
        bail!("{name:?} can't name a command: expected a-z, 0-9 and _, with a letter first");
    }
    match compile(name, &anywhere(name), &world_file::default().schema) {
        Ok(_) => Ok(()),
        Err(problems) => bail!("{name:?} can't name a command: {}", problems[0]),
    }
}

fn compile(name: &str, text: &str, schema: &Schema) -> Result<Logic, Vec<Problem>> {
    let logic = LogicConfig {
        texts: vec![Text::new(format!("{name}.rs"), text)],
        numbers: builtin::numbers(),
        ..LogicConfig::default()
    };
    Logic::compile(schema, &logic)
}

/// The schema of the script's world; `None` if its file has problems, which other commands report.
fn schema(folder: &Path, file: Option<&Path>) -> Result<Option<Schema>> {
    if let Some(file) = file {
        return Ok(Some(world_file::load(file)?.schema));
    }
    let files = place::worlds_beside(folder);
    Ok(match &files[..] {
        [] => Some(world_file::default().schema),
        [file] => world_file::load(file).ok().map(|world| world.schema),
        // It may be for any of them.
        _ => None,
    })
}

/// A script that changes an attribute of the world's players, if it has one to add to.
fn template(name: &str, schema: &Schema) -> String {
    let attributes = schema.attributes.iter();
    let is_sum = |a: &&Attribute| a.ty == AttributeType::I32 && a.merge == MergeRule::Sum;
    let mut names: Vec<&str> = attributes.filter(is_sum).map(|a| a.name.as_str()).collect();
    names.sort_by_key(|&name| name != "hp");
    let texts = names.into_iter().map(|attribute| {
        let text = TEMPLATE.replace("NAME", name);
        text.replace("ATTRIBUTE", attribute)
    });
    let mut fitting = texts.filter(|text| compile(name, text, schema).is_ok());
    fitting.next().unwrap_or_else(|| anywhere(name))
}

/// A script for any world: each has places.
fn anywhere(name: &str) -> String {
    ANYWHERE.replace("NAME", name)
}

const TEMPLATE: &str = include_str!("new/template.rs");
const ANYWHERE: &str = include_str!("new/anywhere.rs");
