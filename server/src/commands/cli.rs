//! The command line of `myriad`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use client_bot::BehaviourKind;
use client_bot::cli::{at_least_one, percentage};
use client_bot::connect::fingerprint;
use client_bot::say;
use shared::WorldConfig;
use tracing_subscriber::EnvFilter;

use crate::demo::{self, DemoOptions};
use crate::server::{BackendChoice, Server, ServerOptions};
use crate::{doctor, machine, parity, replay};

/// A game server for one large shared world.
#[derive(Debug, Parser)]
#[command(name = "myriad", version)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a server and a swarm of bots on this machine, and say how it went
    Demo(DemoArguments),
    /// Run a server
    Serve(ServeArguments),
    /// Run a recording and compare each tick's state hash
    Replay(ReplayArguments),
    /// Say what this machine offers, and what to change
    Doctor(DoctorArguments),
}

#[derive(Debug, Args)]
struct DemoArguments {
    /// How many bots
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    clients: u32,
    /// How long they play, once all are connected
    #[arg(long, default_value_t = 10.0, value_parser = seconds)]
    seconds: f64,
    /// Ticks per second [default: the world's, which is 10]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    tick_hz: Option<u32>,
    /// What the bots do
    #[arg(long, value_enum, default_value_t)]
    behaviour: BehaviourKind,
    /// A world file, instead of the demo's own world
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    /// What runs the world
    #[arg(long, value_enum, default_value_t)]
    backend: BackendChoice,
    /// Percentage of datagrams that the bots lose on purpose, each way
    #[arg(long, default_value_t = 0.0, value_parser = percentage)]
    loss: f64,
    /// End with one JSON object on standard output
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ServeArguments {
    /// Where to listen, as IP:PORT; port 0 picks a free one
    #[arg(long, default_value = "0.0.0.0:4433")]
    listen: SocketAddr,
    /// The world file; without it a plain default world
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    /// Ticks per second [default: the world file's]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    tick_hz: Option<u32>,
    /// PEM file of the certificate; without it a self-signed one is made
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// PEM file of the certificate's private key
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Threads for clients' connections [default: all cores]
    #[arg(long, value_parser = at_least_one)]
    shards: Option<usize>,
    /// Threads of the cpu backend [default: all cores]
    #[arg(long, value_parser = at_least_one)]
    threads: Option<usize>,
    /// Serve Prometheus metrics on http://ADDRESS/metrics
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// What runs the world
    #[arg(long, value_enum, default_value_t)]
    backend: BackendChoice,
    /// Stop after so many seconds [default: at Ctrl-C]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    stop_after: Option<f64>,
    /// Record every tick's frame and state hash, for `myriad replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// A word that clients must know to come in
    #[arg(long, default_value = "")]
    token: String,
}

#[derive(Debug, Args)]
struct DoctorArguments {
    /// A world file: say what memory it needs on each backend
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    /// Run random worlds on the processor and the GPU, and compare every tick
    #[arg(long)]
    parity: bool,
    /// Random worlds to compare
    #[arg(long, default_value_t = 12, requires = "parity", value_parser = clap::value_parser!(u32).range(1..))]
    worlds: u32,
    /// Ticks of each
    #[arg(long, default_value_t = 60, requires = "parity", value_parser = clap::value_parser!(u32).range(1..))]
    ticks: u32,
    /// Makes other worlds
    #[arg(long, default_value_t = 1, requires = "parity")]
    seed: u64,
}

#[derive(Debug, Args)]
struct ReplayArguments {
    /// A recording made with `myriad serve --record`
    file: PathBuf,
    /// What runs the world
    #[arg(long, value_enum, default_value_t)]
    backend: BackendChoice,
    /// Threads of the cpu backend [default: all cores]
    #[arg(long, value_parser = at_least_one)]
    threads: Option<usize>,
}

/// Does what the command line asks. False if it ran, and something was wrong.
pub fn run(arguments: Arguments) -> Result<bool> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    match arguments.command {
        Command::Demo(arguments) => run_demo(arguments),
        Command::Serve(arguments) => serve(arguments).map(|()| true),
        Command::Replay(arguments) => run_replay(&arguments),
        Command::Doctor(arguments) => examine(&arguments),
    }
}

fn run_demo(arguments: DemoArguments) -> Result<bool> {
    let options = DemoOptions {
        clients: arguments.clients,
        seconds: arguments.seconds,
        tick_hz: arguments.tick_hz,
        behaviour: arguments.behaviour,
        world: arguments.world,
        backend: arguments.backend,
        loss: arguments.loss / 100.0,
    };
    let (report, reasons) = demo::demo(&options)?;
    demo::print(&report, &reasons);
    if arguments.json {
        say!("{}", serde_json::to_string(&report)?);
    }
    Ok(reasons.is_empty())
}

fn serve(arguments: ServeArguments) -> Result<()> {
    let mut world = match &arguments.world {
        Some(path) => WorldConfig::load(path)?,
        None => WorldConfig::default(),
    };
    if let Some(tick_hz) = arguments.tick_hz {
        world.schema.world.tick_hz = tick_hz;
    }
    let cores = machine::cores();
    // Before anything starts, so that no early Ctrl-C goes unheard.
    let (interrupt, interrupted) = channel();
    ctrlc::set_handler(move || {
        // The receiver lives as long as this function, and so the server.
        let _ = interrupt.send(());
    })
    .context("cannot listen for Ctrl-C")?;
    let server = Server::start(ServerOptions {
        listen: arguments.listen,
        world,
        identity: arguments.certificate.zip(arguments.key),
        shards: arguments.shards.unwrap_or(cores),
        threads: arguments.threads.unwrap_or(cores),
        backend: arguments.backend,
        metrics: arguments.metrics,
        record: arguments.record,
        token: arguments.token,
    })?;
    say!("listening on {}", server.address());
    say!("backend {}", server.backend_note());
    let digits = fingerprint(server.certificate()).map(|byte| format!("{byte:02x}"));
    say!("fingerprint {}", digits.concat());
    if let Some(address) = arguments.metrics {
        say!("metrics on http://{address}/metrics");
    }
    let end = arguments
        .stop_after
        .map(|s| Instant::now() + Duration::from_secs_f64(s));
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let wait = left.unwrap_or(WATCH_EVERY).min(WATCH_EVERY);
        match interrupted.recv_timeout(wait) {
            Ok(()) => break,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => bail!("cannot listen for Ctrl-C any more"),
        }
        if left.is_some_and(|left| left <= wait) || !server.is_running() {
            break;
        }
    }
    let figures = server.stats().figures();
    server.stop()?;
    say!(
        "stopped after {} ticks, {} of them late, with {} clients",
        figures.ticks,
        figures.ticks_late,
        figures.clients
    );
    if figures.notices > 0 {
        say!("told clients of {} notices", figures.notices);
    }
    Ok(())
}

fn run_replay(arguments: &ReplayArguments) -> Result<bool> {
    let threads = arguments.threads.unwrap_or_else(machine::cores);
    let replayed = replay::replay(&arguments.file, arguments.backend, threads)?;
    say!(
        "{} ticks replayed, every state hash as recorded",
        replayed.ticks
    );
    if let Some(reason) = &replayed.broken_off {
        say!("the recording breaks off there: {reason}");
    }
    Ok(replayed.broken_off.is_none())
}

fn examine(arguments: &DoctorArguments) -> Result<bool> {
    if arguments.parity {
        let DoctorArguments {
            worlds,
            ticks,
            seed,
            ..
        } = *arguments;
        say!("{}", parity::check(worlds, ticks, machine::cores(), seed)?);
        return Ok(true);
    }
    if let Some(path) = &arguments.world {
        doctor::print_plans(&WorldConfig::load(path)?);
        return Ok(true);
    }
    Ok(doctor::print(&doctor::examine()))
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && number <= 1e7 => Ok(number),
        _ => Err("expected a number above 0".to_owned()),
    }
}

const WATCH_EVERY: Duration = Duration::from_millis(200);
