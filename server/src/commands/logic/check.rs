//! `myriad logic check`: the problems of scripts; then a try with random commands on
//! every backend of this machine.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use platform::metrics::stats::counts_text;
use program::say;
use script::{Command, Logic};
use shared::{Hook, WorldConfig};
use testkit::trial;

use super::backends::backends;
use super::{effects, place, table, test};
use crate::commands::arguments::seconds;
use crate::commands::warnings;

#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Folder of the scripts
    folder: PathBuf,
    /// World file [default: the only one beside the folder, else a plain default world]
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    /// Seconds of random commands
    #[arg(long, default_value_t = 3.0, value_parser = seconds)]
    seconds: f64,
    /// Seed of the random commands
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fail if there are warnings
    #[arg(long)]
    deny_warnings: bool,
}

/// Checks scripts. False if something is wrong with them.
pub fn run(arguments: &CheckArguments) -> Result<bool> {
    let world = arguments.world.as_deref();
    let Some(checked) = place::world(Some(&arguments.folder), world)? else {
        return Ok(false);
    };
    let warnings = warnings::print(&checked);
    if warnings::are_denied(warnings, arguments.deny_warnings) {
        return Ok(false);
    }
    let logic = match Logic::of(&checked.config) {
        Ok(logic) => logic,
        Err(problems) => {
            problems.iter().for_each(|problem| say!("{problem}"));
            return Ok(false);
        }
    };
    if test::compiled(&checked.config).is_none() {
        return Ok(false);
    }
    let rows: Vec<[String; 4]> = logic
        .commands
        .iter()
        .map(|command| row(&checked.config, command))
        .collect();
    table::print(&rows);
    try_out(&checked.config, arguments)
}

fn row(config: &WorldConfig, command: &Command) -> [String; 4] {
    let senders = command.schema.senders;
    let is_hook = |hook: &Hook| hook.command == command.schema.kind;
    let senders = match (senders.clients, senders.rules) {
        (true, true) => "clients, rules",
        (true, false) => "clients",
        (false, true) => "rules",
        (false, false) if config.hooks.iter().any(is_hook) => "the world",
        (false, false) => "other commands",
    };
    [
        command.schema.name.clone(),
        senders.to_owned(),
        effects::parameters(config, command),
        command.file.clone(),
    ]
}

/// Gives random commands. False if backends differ.
fn try_out(config: &WorldConfig, arguments: &CheckArguments) -> Result<bool> {
    let backends = backends(config);
    let end = Instant::now() + Duration::from_secs_f64(arguments.seconds);
    let is_over = |tried: &trial::Tried| tried.ticks == TICKS_MAX || Instant::now() >= end;
    let tried = match trial::run(config, &backends, arguments.seed, is_over) {
        Ok(tried) => tried,
        Err(error) => {
            say!("backends differ, seed {}, {error}", arguments.seed);
            say!("this is a defect of Myriad; please report it with the scripts");
            return Ok(false);
        }
    };
    let labels: Vec<&str> = backends.iter().map(|b| b.label.as_str()).collect();
    say!(
        "{} agree: {} ticks, {} commands, {} changes",
        labels.join(", "),
        tried.ticks,
        tried.commands,
        tried.changes,
    );
    if !tried.over_budget.is_empty() {
        let name = |kind| config.logic.numbers.command_name(kind).unwrap_or_default();
        let runs = tried.over_budget.iter();
        let runs = runs.map(|(&kind, &runs)| (name(kind).to_owned(), runs));
        say!(
            "runs that used up their budget and had no effect: {}; `logic.steps` and \
             `logic.visits` of the world file set it",
            counts_text(&runs.collect())
        );
    }
    Ok(true)
}

/// The frames of a try are kept until it is over.
const TICKS_MAX: u32 = 10_000;
