//! The cost of a persistent world: its ticks at each level, ticks during checkpoints, and the
//! recovery of a fight.

mod checkpoints;
mod folder;
mod levels;
mod recovery;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use durability::level::Level;
use server::offline;
use shared::WorldConfig;
use tick::tick_loop::FanOutMode;

use super::backends::{BackendName, BackendOptions, Candidate};
use super::clients::ClientCounts;
use super::worlds;
use crate::bench::Bench;
use crate::options::{at_least_one, threads};
use crate::report::{Recorder, Report, Row};
use folder::RunFolder;

/// Persistent worlds. Fails where one, or its recovery, comes to another state
/// than one in memory.
pub struct Keep;

/// Persistent worlds, against worlds in memory
///
/// Three parts. Levels: the server's loop at full rate, as in `fan-out`. Checkpoints: the
/// same loop at its rate, without and with checkpoints. Recovery: the frames of `fight` are
/// written on each backend, and recovered on each backend.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Parts to measure
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST",
          default_values_t = [Part::Levels, Part::Checkpoints, Part::Recovery])]
    only: Vec<Part>,
    /// Numbers of clients: FIRST..LAST, doubling, or a list
    #[arg(long, default_value = "65536", value_name = "RANGE")]
    clients: ClientCounts,
    /// Entities beside the clients
    #[arg(long, default_value = "0", value_name = "N")]
    items: u32,
    /// Threads that encode [default: one a core]
    #[arg(long, value_name = "N", value_parser = threads)]
    shards: Option<usize>,
    /// Timed ticks of each run at full rate
    #[arg(long, default_value = "50", value_name = "N", value_parser = at_least_one)]
    ticks: usize,
    /// Runs of each way, by turns
    #[arg(long, default_value = "3", value_name = "N", value_parser = at_least_one)]
    runs: usize,
    /// Ticks a second of runs with checkpoints
    #[arg(long, default_value = "10", value_name = "HZ",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    tick_hz: u32,
    /// Seconds of each run with checkpoints
    #[arg(long, default_value = "20", value_name = "SECONDS", value_parser = at_least_one)]
    seconds: usize,
    /// Seconds from one checkpoint to the next
    #[arg(long, default_value = "5", value_name = "SECONDS",
          value_parser = clap::value_parser!(u32).range(1..=86_400))]
    checkpoint_every: u32,
    /// Ticks of the fight that are recovered: 30 seconds at 10 Hz
    #[arg(long, default_value = "300", value_name = "N", value_parser = at_least_one)]
    recover_ticks: usize,
    /// Backend that writes the fight that is recovered [default: each that is measured]
    #[arg(long, value_enum, value_name = "NAME")]
    written_on: Option<BackendName>,
    /// Folder for the journals, on the disk to measure
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    folder: PathBuf,
    #[command(flatten)]
    backends: BackendOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Ticks at each level
    Levels,
    /// Ticks during checkpoints
    Checkpoints,
    /// Recovery of a fight
    Recovery,
}

impl Bench for Keep {
    const NAME: &'static str = "keep";

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for &clients in &options.clients.0 {
            for part in &options.only {
                let rows = match part {
                    Part::Levels => levels::measure(options, clients),
                    Part::Checkpoints => checkpoints::measure(options, clients),
                    Part::Recovery => recovery::measure(options, clients),
                };
                recorder.add(rows.with_context(|| format!("{clients} clients"))?)?;
            }
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        let parts: [(&str, Table); 3] = [
            (levels::SCENARIO, levels::table),
            (checkpoints::SCENARIO, checkpoints::table),
            (recovery::SCENARIO, recovery::table),
        ];
        for (scenario, table) in parts {
            let rows = report.rows.iter().filter(|row| row.scenario == scenario);
            let rows: Vec<&Row> = rows.collect();
            if !rows.is_empty() {
                table(report, &rows, out)?;
            }
        }
        Ok(())
    }
}

/// Writes the table of a part.
type Table = fn(&Report, &[&Row], &mut dyn Write) -> anyhow::Result<()>;

impl Options {
    fn world(&self, clients: u32) -> anyhow::Result<WorldConfig> {
        worlds::about_20_in_view(clients, self.items, self.tick_hz, self.backends.run.seed())
    }

    /// Runs the server's loop in a world that begins now, and is kept if there is a level.
    fn run(
        &self,
        world: &WorldConfig,
        candidate: &Candidate,
        folder: &RunFolder,
        given: LoopRun,
    ) -> anyhow::Result<offline::Run> {
        let mut backend = candidate.start(world)?;
        let threads = self.backends.run.threads();
        let keep = |level| {
            let seconds = given.checkpoint_seconds;
            folder.begin(world, level, seconds, threads, &mut *backend)
        };
        let kept = given.level.map(keep).transpose()?;
        offline::run(offline::Options {
            world: world.clone(),
            backend,
            shards: self.shards(),
            ticks: given.ticks,
            period: given.period,
            fan_out: given.fan_out,
            threads,
            recording: None,
            kept,
            is_linked: false,
            is_checked: false,
        })
    }

    fn shards(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        self.shards.unwrap_or_else(cores)
    }
}

/// A run of the server's loop.
struct LoopRun {
    level: Option<Level>,
    checkpoint_seconds: u32,
    ticks: usize,
    /// None: at full rate.
    period: Option<Duration>,
    fan_out: FanOutMode,
}
