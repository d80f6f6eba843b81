//! `myriad bindings`: a world as types of a language, for a game's client.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bindings::{Language, World, generate};
use clap::Args;
use program::say;

use super::game;

#[derive(Debug, Args)]
pub struct BindingsArguments {
    /// World file, or the folder of a game
    #[arg(value_name = "WORLD", default_value = ".")]
    world: PathBuf,
    /// Language: rs (Rust), cs (C#), gd (GDScript), ts (TypeScript), py (Python) or c
    #[arg(long, value_name = "NAME", value_parser = language)]
    lang: Language,
    /// File to write; without one, the bindings are printed
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Writes the bindings.
pub fn run(arguments: &BindingsArguments) -> Result<()> {
    let path = match arguments.world.is_dir() {
        true => game::find(&arguments.world)?.world,
        false => arguments.world.clone(),
    };
    let config = match world_file::load(&path) {
        Ok(config) => config,
        Err(problems) => bail!("{problems}"),
    };
    let text = generate(&World::of(&config), arguments.lang)
        .with_context(|| format!("{} can't have bindings", path.display()))?;
    match &arguments.out {
        Some(out) => {
            fs::write(out, text).with_context(|| format!("cannot write {}", out.display()))
        }
        None => {
            say!("{}", text.trim_end());
            Ok(())
        }
    }
}

fn language(name: &str) -> Result<Language, String> {
    Language::named(name).ok_or_else(|| {
        let names = Language::ALL.map(Language::name).join(", ");
        format!("expected a language, one of {names}")
    })
}
