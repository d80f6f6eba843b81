//! `myriad test`: checks a game, runs the tests of its scripts, and lets its plays play.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use program::say;
use tick::backend::BackendOptions;

use super::arguments::seconds;
use super::check;
use super::demo;
use super::game;
use super::logic;

#[derive(Debug, Args)]
pub struct TestArguments {
    /// Folder of the game
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Number of bots for each play
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    bots: u32,
    /// Seconds for each play
    #[arg(long, default_value = "5", value_parser = seconds)]
    seconds: f64,
    #[command(flatten)]
    backend: BackendOptions,
}

/// Tests a game. False if something is wrong with it.
pub fn run(arguments: &TestArguments) -> Result<bool> {
    let game = game::find(&arguments.folder)?;
    if !check::file(&game.world, false)? || !logic::test::world(&game.world)? {
        return Ok(false);
    }
    let mut is_right = true;
    for play in &game.plays {
        let reasons = demo::try_play(demo::PlayOptions {
            world: &game.world,
            play,
            bots: arguments.bots,
            seconds: arguments.seconds,
            backend: arguments.backend,
        })
        .with_context(|| format!("{} cannot play", play.display()))?;
        let name = play.display();
        match &reasons[..] {
            [] => say!("{name}: {} bots played, nothing was wrong", arguments.bots),
            _ => say!("{name}: {}", reasons.join("; ")),
        }
        is_right &= reasons.is_empty();
    }
    Ok(is_right)
}
