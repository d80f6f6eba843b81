//! `myriad replay`: runs a recording or a persistent world again, and compares the state hash of
//! each tick.

use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use client_bot::cli::threads;
use console::playback::difference::differing_parts;
use console::web::replay::ReplaySite;
use durability::checkpoint;
use durability::recording::{NextTick, RecordingReader};
use durability::recovered::Progress;
use durability::recovery::{self, Replay};
use gpu_kernels::{Backend, Frame, StateHash, SubmittedTick};
use platform::metrics::machine;
use platform::renewal::Renewals;
use program::printable::Lines;
use program::say;
use program::signals::{self, Endings};
use shared::Schema;
use tick::backend::{BackendOptions, start_backend};

use super::web::{DashboardToken, HttpHosts};

#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// Recording made with `myriad serve --record`, or folder of `myriad serve --data`
    file: PathBuf,
    /// Begin with the newest checkpoint before this tick [default: the oldest checkpoint]
    #[arg(long, value_name = "TICK")]
    from: Option<u64>,
    /// End with this tick [default: the last]
    #[arg(long, value_name = "TICK")]
    to: Option<u64>,
    #[command(flatten)]
    backend: BackendOptions,
    /// Threads of the cpu backend [default: all cores]
    #[arg(long, value_parser = threads)]
    threads: Option<usize>,
    /// Show it to browsers, tick by tick, on http://ADDRESS/replay
    /// [default address: 127.0.0.1:8434]
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:8434",
        conflicts_with_all = ["from", "to"]
    )]
    web: Option<SocketAddr>,
    #[command(flatten)]
    token: DashboardToken,
    #[command(flatten)]
    hosts: HttpHosts,
}

/// The result of a replay.
#[derive(Debug, PartialEq, Eq)]
pub struct Replayed {
    pub ticks: u64,
    /// Why the recording ended early, if it did.
    pub broken_off: Option<String>,
}

/// Replays a recording. False if it is incomplete.
pub fn run(arguments: &ReplayArguments) -> Result<bool> {
    let threads = arguments.threads.unwrap_or_else(machine::cores);
    if let Some(address) = arguments.web {
        return show(arguments, address, threads);
    }
    if arguments.file.is_dir() {
        return replay_persistent(arguments, threads);
    }
    if arguments.from.is_some() || arguments.to.is_some() {
        bail!("--from and --to are for persistent worlds; a recording is replayed as a whole");
    }
    let replayed = replay(&arguments.file, arguments.backend, threads)?;
    say!(
        "{} ticks replayed, every state hash as recorded",
        replayed.ticks
    );
    if let Some(reason) = &replayed.broken_off {
        say!("the recording breaks off there: {}", Lines(reason));
    }
    Ok(replayed.broken_off.is_none())
}

/// Shows a recording or a persistent world to browsers until Ctrl-C.
fn show(arguments: &ReplayArguments, address: SocketAddr, threads: usize) -> Result<bool> {
    let renewals = Renewals::default();
    renewals.watch(signals::hangups())?;
    let token = arguments.token.read(&renewals)?;
    let names = arguments.hosts.names.clone();
    let shown = ReplaySite::start(&arguments.file, address, token, threads, names)?;
    if let Some(reason) = shown.ends_early() {
        say!(
            "it breaks off before tick {}: {}",
            shown.ticks(),
            Lines(&reason)
        );
    }
    say!("see it on http://{}/replay", shown.address());
    Endings::new().wait_long();
    Ok(shown.ends_early().is_none())
}

/// Replays ticks of a persistent world.
fn replay_persistent(arguments: &ReplayArguments, threads: usize) -> Result<bool> {
    let disk = recovery::open(&arguments.file)?;
    let oldest = checkpoint::ticks(&disk)?.first().copied();
    let stored = recovery::newest(&disk, arguments.from.or(oldest))?;
    let stored = stored.context("there is no checkpoint before that tick")?;
    let available = machine::memory_available();
    let world = &stored.body.world;
    let mut backend = start_backend(arguments.backend, world, threads, available)?.backend;
    let replay = Replay {
        backend: &mut *backend,
        until: arguments.to.map(|to| to.saturating_add(1)),
        progress: &mut |progress| say!("before tick {}", progress.tick),
    };
    let (recovered, _) = recovery::replay(&disk, stored, replay)?;
    let Progress { from, tick, time } = recovered.progress;
    let (ticks, seconds) = (tick - from, time.as_secs_f64());
    say!("ticks {from} to {tick}: {ticks} ticks in {seconds:.1} s, every state hash as recorded");
    Ok(true)
}

/// Replays a recording on a backend, with two ticks in flight. An error names the first
/// tick whose state differs from the recorded one, and the differing parts.
pub fn replay(path: &Path, options: BackendOptions, threads: usize) -> Result<Replayed> {
    let recording = RecordingReader::open(path)?;
    replay_recording(recording, options, threads, machine::memory_available())
}

/// Like [`replay`], for a recording from anywhere. The world must fit into `available` bytes,
/// if known.
pub fn replay_recording<R: Read>(
    mut recording: RecordingReader<R>,
    options: BackendOptions,
    threads: usize,
    available: Option<u64>,
) -> Result<Replayed> {
    let mut backend = start_backend(options, &recording.config, threads, available)?.backend;
    let mut ticks = 0;
    let mut in_flight: Option<InFlight> = None;
    let broken_off = loop {
        let (frame, recorded) = match recording.next_tick() {
            NextTick::Tick(next) => (next.frame, next.hash),
            NextTick::End => break None,
            NextTick::BrokenOff(reason) => break Some(reason),
        };
        let submitted = backend.submit(&frame);
        if let Some(earlier) = in_flight.take() {
            earlier.compare(backend.as_mut(), &recording.config.schema)?;
            ticks += 1;
        }
        in_flight = Some(InFlight {
            ticket: submitted.with_context(|| format!("tick {ticks}"))?,
            frame,
            recorded,
        });
    };
    if let Some(last) = in_flight {
        last.compare(backend.as_mut(), &recording.config.schema)?;
        ticks += 1;
    }
    Ok(Replayed { ticks, broken_off })
}

/// A tick that is submitted and not collected.
struct InFlight {
    ticket: SubmittedTick,
    /// The backend may still read it.
    frame: Box<Frame>,
    recorded: StateHash,
}

impl InFlight {
    /// Collects the tick. Fails if its state is not the recorded one.
    fn compare(self, backend: &mut dyn Backend, schema: &Schema) -> Result<()> {
        let output = backend.collect(self.ticket)?;
        if output.hash != self.recorded {
            bail!(
                "tick {}: the {} backend's state differs from the recorded one in {}",
                self.frame.tick,
                backend.name(),
                differing_parts(schema, &self.recorded, &output.hash)
            );
        }
        Ok(())
    }
}
