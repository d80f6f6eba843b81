//! Scripts: what a command costs, how long compiling takes, and what it costs a running
//! world to get other scripts.
//!
//! | module | holds |
//! | --- | --- |
//! | `world` | a frozen world with its grid, and the commands that are run over it |
//! | `baseline` | the commands as functions in Rust, as they were before there were scripts |
//! | `ways` | machine code, interpreter and baseline: the same commands to the same updates |
//! | `compiling` | from text to instructions to machine code; starting a world |
//! | `reload` | other scripts for a world that runs |
//! | `table` | the tables |

mod baseline;
mod compiling;
mod reload;
mod table;
mod ways;
mod world;

use std::io::Write;

use anyhow::Context;
use clap::{Args, value_parser};

use crate::bench::Bench;
use crate::options::{SeedOption, at_least_one};
use crate::report::{Recorder, Report};

/// Scripts. Fails where two ways to run commands differ in an update, or a world with other
/// scripts in its state.
pub struct Logic;

/// Scripts: a command's cost as machine code, compiling, and reloads
///
/// Commands of a fight run over a frozen world on one thread: as machine code, by the
/// interpreter, and as functions that are written in Rust. The bench fails if two of them
/// emit different updates. Then scripts are compiled, and a world that ticks at its rate
/// gets other ones; the bench fails if its state differs from that of a world in which
/// they are compiled on the spot.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Players of the frozen world, each with one command of each kind
    #[arg(long, default_value = "65536", value_name = "N", value_parser = value_parser!(u32).range(8..=1 << 20))]
    clients: u32,
    /// Timed runs of all commands, and of each compilation
    #[arg(long, default_value = "30", value_name = "N", value_parser = at_least_one)]
    runs: usize,
    /// Times that one of 32 commands is changed while a world runs
    #[arg(long, default_value = "100", value_name = "N", value_parser = at_least_one)]
    reloads: usize,
    /// Clients of that world
    #[arg(long, default_value = "4096", value_name = "N", value_parser = value_parser!(u32).range(8..=1 << 20))]
    reload_clients: u32,
    /// Ticks per second of that world
    #[arg(long, default_value = "20", value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    tick_hz: u32,
    #[command(flatten)]
    random: SeedOption,
}

impl Bench for Logic {
    const NAME: &'static str = "logic";

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        recorder.add(ways::measure(options).context("running commands")?)?;
        recorder.add(compiling::measure(options).context("compiling")?)?;
        recorder.add(reload::measure(options).context("reloads")?)
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(table::write(report, out)?)
    }
}

/// The scenarios of the rows.
const COMMANDS: &str = "logic commands";
const COMPILING: &str = "logic compiling";
const RELOADS: &str = "logic reloads";
