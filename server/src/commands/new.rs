//! `myriad new`: a small game to start from.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use program::say;

use super::logic::new::write_new;

#[derive(Debug, Args)]
pub struct NewArguments {
    /// Folder of the game, which is made; its last part is the name of the world
    #[arg(value_name = "NAME")]
    folder: PathBuf,
}

/// Writes the game, and prints the next steps.
pub fn run(arguments: &NewArguments) -> Result<()> {
    let folder = &arguments.folder;
    let show = folder.display();
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    check_name(&name)?;
    let is_empty = |mut entries: fs::ReadDir| entries.next().is_none();
    if folder.exists() && !fs::read_dir(folder).is_ok_and(is_empty) {
        bail!("{show} is there already, and is not an empty folder");
    }
    for (file, text) in FILES {
        let path = folder.join(file);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        write_new(&path, &text.replace("NAME", &name))?;
    }
    say!("{show} is a game: its README.md says what is in it. Run it with");
    say!("    myriad dev {show}");
    Ok(())
}

fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_plain) {
        true => Ok(()),
        false => bail!(
            "{name:?} can't name a world: expected letters, digits, - and _, with a letter first"
        ),
    }
}

/// The files of the game. `NAME` stands for its name.
const FILES: [(&str, &str); 5] = [
    ("world.toml", include_str!("new/world.toml")),
    ("logic/gems.rs", include_str!("new/logic/gems.rs")),
    ("logic/slimes.rs", include_str!("new/logic/slimes.rs")),
    ("plays/gatherer.rs", include_str!("new/plays/gatherer.rs")),
    ("README.md", include_str!("new/README.md")),
];
