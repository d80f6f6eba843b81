//! `myriad logic`: tools for writing scripts.
//!
//! | module | holds |
//! | --- | --- |
//! | [`check`] | `myriad logic check` |
//! | [`new`] | `myriad logic new` |
//! | [`cost`] | `myriad logic cost` |
//! | [`run`](mod@run) | `myriad logic run` |
//! | [`mod@test`] | `myriad logic test` |
//! | [`still`] | a world that stands still, for `myriad logic run` |
//! | [`effects`] | the effects of a command, as text |
//! | [`place`] | the world in which scripts are tried |
//! | [`backends`] | the backends on which scripts are tried |
//! | [`table`] | columns of text |

pub mod backends;
pub mod check;
pub mod cost;
pub mod effects;
pub mod new;
pub mod place;
pub mod run;
pub mod still;
pub mod table;
pub mod test;

use anyhow::Result;
use clap::{Args, Subcommand};

use check::CheckArguments;
use cost::CostArguments;
use new::NewArguments;
use run::RunArguments;
use test::TestArguments;

#[derive(Debug, Args)]
pub struct LogicArguments {
    #[command(subcommand)]
    command: LogicCommand,
}

#[derive(Debug, Subcommand)]
enum LogicCommand {
    /// Check the scripts of a folder, and try them with random commands
    Check(CheckArguments),
    /// Write a script to start from
    New(NewArguments),
    /// Show the cost of each command
    Cost(CostArguments),
    /// Run one command, and print its effects
    Run(RunArguments),
    /// Run the tests that stand in scripts
    Test(TestArguments),
}

/// Runs a command. False if it found something wrong.
pub fn run(arguments: &LogicArguments) -> Result<bool> {
    match &arguments.command {
        LogicCommand::Check(arguments) => check::run(arguments),
        LogicCommand::New(arguments) => new::run(arguments).map(|()| true),
        LogicCommand::Cost(arguments) => cost::run(arguments),
        LogicCommand::Run(arguments) => run::run(arguments),
        LogicCommand::Test(arguments) => test::run(arguments),
    }
}
