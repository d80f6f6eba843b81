//! Live clients on one machine: a server on some of its cores, bots on the others.

use std::io::Write;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::{Args, value_parser};
use client_bot::report::SwarmReport;
use client_bot::{BehaviourKind, SwarmOptions};
use platform::metrics::machine;
use platform::metrics::stats::Figures;
use platform::metrics::steps::Step;
use program::note;
use server::commands::demo::world::demo_world;
use server::{Server, ServerOptions};
use tick::backend::BackendOptions;
use world_file::Overrides;

use super::bots::{self, Bots};
use super::cores::{self, Cores, stay_on};
use super::floor::{self, Traffic};
use crate::bench::Bench;
use crate::options::{not_zero, threads};
use crate::report::markdown::{grouped, head, line, rounded, title};
use crate::report::{Recorder, Report, Row};

/// Live clients over QUIC, and the same packets over plain UDP.
pub struct Swarm;

/// Live clients on one machine, the server's cores and the bots' apart or shared
///
/// Each bot sees about 20 others and gives a command in each tick. Beside each run, the
/// same number of packets of the same size goes over plain UDP: the floor. Figures are
/// those of the server's threads; the bots have the cores that it leaves, or the same.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of clients, a run each
    #[arg(long, default_value = "1000,4000", value_delimiter = ',', value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 20))]
    clients: Vec<u32>,
    /// Ticks a second
    #[arg(long, default_value = "10", value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    tick_hz: u32,
    /// Behaviour of the bots
    #[arg(long, value_enum, default_value_t)]
    behaviour: BehaviourKind,
    /// Send every movement, also that of entities which stay on their courses
    #[arg(long)]
    every_movement: bool,
    /// Cores of the server, which shares them with the bots if these are all [default: half of them]
    #[arg(long, value_name = "N", value_parser = threads)]
    server_cores: Option<usize>,
    /// One bot of so many keeps a view of all that it receives, and is verified
    #[arg(long, default_value = "1", value_name = "N", value_parser = not_zero)]
    view_every: NonZeroUsize,
    /// Seconds of play that are measured
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = value_parser!(u32).range(1..=3600))]
    seconds: u32,
    #[command(flatten)]
    backend: BackendOptions,
}

impl Bench for Swarm {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for &clients in &options.clients {
            let measured = cores::shared(options.server_cores, |cores| {
                measure(options, clients, cores)
            });
            recorder.add([measured.with_context(|| format!("{clients} clients"))?])?;
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        show(report, out)
    }
}

/// Writes the table of a report: a row for each run.
fn show(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    title(out, &format!("Live clients on {}", report.place()))?;
    table(report, NAME, &COLUMNS, out)
}

/// Writes a row for each run of a scenario. A column has a title, a parameter, and whether that is a
/// whole number; `backend` and `approach` are those of the run.
pub(super) fn table<const N: usize>(
    report: &Report,
    scenario: &str,
    columns: &[(&str, &str, bool); N],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    head(out, &columns.map(|column| column.0))?;
    for row in report.rows.iter().filter(|row| row.scenario == scenario) {
        let cell = |(_, name, is_whole): (&str, &str, bool)| match name {
            "backend" => row.backend.clone(),
            "approach" => row.approach.clone(),
            _ if is_whole => row.whole(name).map_or(String::new(), grouped),
            _ => rounded(row.params.get(name).and_then(serde_json::Value::as_f64)),
        };
        line(out, &columns.map(cell))?;
    }
    Ok(())
}

/// See [`table`].
const COLUMNS: [(&str, &str, bool); 22] = [
    ("backend", "backend", false),
    ("bots", "approach", false),
    ("clients", "clients", true),
    ("Hz", "tick_hz", true),
    ("cores", "server_cores", true),
    ("joined in, s", "join_seconds", false),
    ("lost", "lost", true),
    ("views of, 1 in", "view_every", true),
    ("checks", "verify_checked", true),
    ("errors", "verify_errors", true),
    ("latency p50, ms", "latency_ms_p50", false),
    ("p99", "latency_ms_p99", false),
    ("age p99, ms", "age_ms_p99", false),
    ("deferred, %", "deferred_percent", false),
    ("packets out", "packets_out", false),
    ("in", "packets_in", false),
    ("µs per client-tick", "server_us", false),
    ("UDP alone", "floor_us", false),
    ("bots, µs", "bots_us", false),
    ("bots late p99, ms", "bots_late_ms_p99", false),
    (
        "client-ticks per core-second",
        "client_ticks_per_core_second",
        true,
    ),
    ("bytes per client", "server_bytes_per_client", true),
];

fn measure(options: &Options, clients: u32, cores: &Cores) -> anyhow::Result<Row> {
    let overrides = Overrides {
        tick_hz: Some(options.tick_hz),
        motion: options.every_movement.then_some(false),
    };
    let world = demo_world(clients, 0, options.behaviour, overrides)?;
    stay_on(&cores.server)?;
    let server = Server::start(ServerOptions {
        backend: options.backend,
        shards: cores.server.len(),
        threads: cores.server.len(),
        ..ServerOptions::local(world.clone())
    })?;
    stay_on(&cores.bots)?;
    let rss_before = machine::rss_bytes();
    let begun = Instant::now();
    let mut bots = Bots::start(&bots::Options {
        server: server.address(),
        clients: clients as usize,
        behaviour: options.behaviour,
        threads: cores.bots.len(),
        sockets: SwarmOptions::sockets_for(clients as usize, cores.server.len()),
        view_every: options.view_every,
        seed: world.seed,
        come_back: false,
    })?;
    wait_for_bots(&mut bots, &server, clients, begun)?;
    let joined = begun.elapsed();
    bots.play()?;
    std::thread::sleep(WARM_UP);
    server.stats().restart();
    let before = machine::thread_seconds(is_of_server);
    let bots_before = bots.seconds();
    std::thread::sleep(Duration::from_secs(u64::from(options.seconds)));
    let seconds = machine::thread_seconds(is_of_server) - before;
    let bots_seconds = bots.seconds() - bots_before;
    let figures = server.stats().figures();
    let rss = machine::rss_bytes();
    bots.rest()?;
    std::thread::sleep(REST);
    let report = bots.finish()?;
    let backend = server.backend();
    server.stop()?;

    let floor_us = floor::measure(
        Traffic {
            clients: clients as usize,
            tick_hz: options.tick_hz,
            out_bytes: mean(figures.packet_bytes_sent, figures.packets_sent),
            in_bytes: mean(figures.packet_bytes_received, figures.packets_received),
        },
        cores,
        FLOOR_TIME,
    )?;
    let measured = Measured {
        backend,
        figures,
        report,
        joined,
        server_seconds: seconds,
        bots_seconds,
        server_bytes: rss.saturating_sub(rss_before),
        floor_us,
    };
    Ok(measured.row(options, clients, cores))
}

/// Waits until all bots have joined, which began to at `begun`.
fn wait_for_bots(
    bots: &mut Bots,
    server: &Server,
    clients: u32,
    begun: Instant,
) -> anyhow::Result<()> {
    let mut printed = Duration::ZERO;
    while !bots.is_settled()? {
        if begun.elapsed() > JOIN_WAIT || !server.is_running() {
            bail!("only {} joined", server.stats().figures().clients);
        }
        if begun.elapsed() > printed + SAY_PERIOD {
            printed = begun.elapsed();
            let connected = server.stats().figures().clients;
            note!(
                "{connected} of {clients} clients after {:.0} s",
                printed.as_secs_f64()
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A run of a server and its bots.
struct Measured {
    backend: &'static str,
    figures: Figures,
    report: SwarmReport,
    joined: Duration,
    /// Of processors, while it was measured.
    server_seconds: f64,
    bots_seconds: f64,
    /// Memory that the server took.
    server_bytes: u64,
    /// Of a processor for each client and tick, with plain UDP.
    floor_us: f64,
}

impl Measured {
    fn row(&self, options: &Options, clients: u32, cores: &Cores) -> Row {
        let (figures, report) = (&self.figures, &self.report);
        let client_ticks = figures.client_ticks.max(1) as f64;
        let per_client_tick = |number: u64| number as f64 / client_ticks;
        let server_us = self.server_seconds * 1e6 / client_ticks;
        let latency = Duration::from_secs_f64(report.latency_ms_p50 / 1e3);
        let approach = match options.every_movement {
            false => options.behaviour.name().to_owned(),
            true => format!("{}, every movement sent", options.behaviour.name()),
        };
        let mut row = Row::new(NAME, self.backend, &approach, [latency]);
        row.put("clients", clients);
        row.put("tick_hz", options.tick_hz);
        row.put("server_cores", cores.server.len());
        row.put("bots_cores", cores.bots.len());
        row.put("view_every", options.view_every.get() as u64);
        row.put("join_seconds", self.joined.as_secs_f64());
        // Those that were never admitted are lost, too.
        let absent = report.clients.saturating_sub(report.clients_connected);
        let lost = report.sessions_lost.max(figures.sessions_lost);
        row.put("lost", lost + absent);
        row.put("joins_repeated", report.joins_repeated);
        row.put("verify_checked", report.verify_checked);
        row.put("verify_errors", report.verify_errors);
        row.put("visible_mean", report.visible_mean);
        row.put("latency_ms_p50", report.latency_ms_p50);
        row.put("latency_ms_p99", report.latency_ms_p99);
        row.put("latency_ms_p999", report.latency_ms_p999);
        row.put("bots_late_ms_p99", report.bots_late_ms_p99);
        row.put("bots_socket_drops", report.bots_socket_drops);
        row.put("socket_drops", figures.socket_drops);
        row.put("age_ms_p50", figures.age_ms(0.5));
        row.put("age_ms_p99", figures.age_ms(0.99));
        row.put("ticks", figures.ticks);
        row.put("ticks_late", figures.ticks_late);
        row.put("engine_ms_p50", figures.engine_ms(0.5));
        row.put("engine_ms_p99", figures.engine_ms(0.99));
        row.put("host_ms_p50", figures.host_ms(0.5));
        row.put("host_ms_p99", figures.host_ms(0.99));
        let steps = Step::ALL.map(|step| (step.name().to_owned(), figures.step_ms(step, 0.5)));
        row.stages_ms = steps.into();
        row.put("tick_ms_p50", figures.tick_ms(0.5));
        row.put("tick_ms_p99", figures.tick_ms(0.99));
        row.put("deferred_percent", per_client_tick(100 * figures.deferred));
        row.put(
            "out_of_touch_percent",
            per_client_tick(100 * figures.out_of_touch),
        );
        row.put("packets_out", per_client_tick(figures.packets_sent));
        row.put("packets_in", per_client_tick(figures.packets_received));
        row.put(
            "packet_bytes_out",
            mean(figures.packet_bytes_sent, figures.packets_sent),
        );
        row.put(
            "packet_bytes_in",
            mean(figures.packet_bytes_received, figures.packets_received),
        );
        row.put(
            "bytes_per_visible_per_tick",
            report.bytes_per_visible_per_tick,
        );
        row.put("server_us", server_us);
        row.put("bots_us", self.bots_seconds * 1e6 / client_ticks);
        row.put("floor_us", self.floor_us);
        row.put(
            "client_ticks_per_core_second",
            (1e6 / server_us).round() as u64,
        );
        row.put(
            "server_bytes_per_client",
            self.server_bytes / u64::from(clients),
        );
        row.work = figures.client_ticks;
        row
    }
}

/// The mean size of packets.
fn mean(bytes: u64, packets: u64) -> usize {
    bytes.checked_div(packets).unwrap_or(0) as usize
}

/// Whether a thread of this process belongs to the server, not to the bench itself.
fn is_of_server(name: &str) -> bool {
    !name.starts_with("benches")
}

const NAME: &str = "swarm";
/// Long joins say how far they are.
const SAY_PERIOD: Duration = Duration::from_secs(5);
const JOIN_WAIT: Duration = Duration::from_secs(120);
const WARM_UP: Duration = Duration::from_secs(2);
const REST: Duration = Duration::from_secs(3);
const FLOOR_TIME: Duration = Duration::from_secs(3);
