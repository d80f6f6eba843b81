//! `myriad logic cost`: the costs of the commands of scripts.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use program::say;
use script::ir::{Code, Inst};
use script::{Command, Logic};
use shared::world::edit::EDIT_KIND;

use super::{place, table};
use crate::commands::columns;

#[derive(Debug, Args)]
pub struct CostArguments {
    /// Folder of the scripts
    folder: PathBuf,
    /// World file [default: the only one beside the folder, else a plain default world]
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
}

/// Prints a table by command. False if the scripts have problems.
pub fn run(arguments: &CostArguments) -> Result<bool> {
    let world = arguments.world.as_deref();
    let Some(checked) = place::world(Some(&arguments.folder), world)? else {
        return Ok(false);
    };
    let logic = match Logic::of(&checked.config) {
        Ok(logic) => logic,
        Err(problems) => {
            problems.iter().for_each(|problem| say!("{problem}"));
            return Ok(false);
        }
    };
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(logic.commands.iter().map(row));
    table::print(&rows);
    say!(
        "A run may take {} steps and visit {} entities.",
        logic.budget.steps,
        logic.budget.visits
    );
    say!("The world has {}.", columns::shown(&checked.config.schema));
    Ok(true)
}

const HEADINGS: [&str; 6] = [
    "command",
    "instructions",
    "registers",
    "updates at most",
    "steps",
    "does",
];

fn row(command: &Command) -> [String; 6] {
    let code = &command.code;
    [
        command.schema.name.clone(),
        code.insts.len().to_string(),
        code.registers.to_string(),
        command.updates_max.to_string(),
        steps(code).to_owned(),
        traits(command),
    ]
}

/// How a run's steps keep within the budget.
fn steps(code: &Code) -> &'static str {
    let is_step = |inst: &Inst| matches!(inst, Inst::After(_) | Inst::Notify(_));
    if code.insts.contains(&Inst::Overrun) {
        "counted"
    } else if loops(code) || code.insts.iter().any(is_step) {
        "bounded"
    } else {
        "none"
    }
}

/// Whether it has loops, besides those over nearby entities.
fn loops(code: &Code) -> bool {
    let insts = code.insts.iter().enumerate();
    let mut back = insts.filter_map(|(i, inst)| inst.target().filter(|&to| to as usize <= i));
    back.any(|to| !matches!(code.insts[to as usize], Inst::NearNext(..)))
}

/// Whether it looks at cells of layers or fields.
fn reads_layers(code: &Code) -> bool {
    let reads = |inst: &Inst| matches!(inst, Inst::Layer(..) | Inst::Field(..));
    code.insts.iter().any(reads)
}

fn traits(command: &Command) -> String {
    let code = &command.code;
    let all = [
        (loops(code), "loops"),
        (code.loops > 0, "visits"),
        (code.draws(), "draws"),
        (reads_layers(code), "cells"),
        (code.asks(), "asks"),
        (code.afters().next().is_some(), "defers"),
        (code.notifications().any(|n| n.kind != EDIT_KIND.0), "tells"),
        (code.edits(), "edits"),
        (command.atomic.is_some(), "atomic"),
    ];
    let own = all.iter().filter(|(has, _)| *has);
    own.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}
