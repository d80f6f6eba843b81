//! Live clients at gateways: a tick host on some cores, each gateway and the bots on others.

pub mod process;

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::{Args, value_parser};
use client_bot::BehaviourKind;
use client_bot::SwarmOptions;
use client_bot::report::SwarmReport;
use gateway::places::LinkTotals;
use peer::trust::LinkKey;
use platform::metrics::machine;
use platform::metrics::stats::Figures;
use platform::metrics::steps::Step;
use program::note;
use server::commands::demo::world::demo_world;
use server::host::GatewayPlaces;
use server::{Server, ServerOptions};
use tick::backend::BackendOptions;
use world_file::Overrides;

use super::bots::{self, Bots};
use super::cores::{self, stay_on};
use super::swarm::table;
use crate::bench::Bench;
use crate::options::{not_zero, threads};
use crate::report::markdown::title;
use crate::report::{Recorder, Report, Row};
use process::GatewayProcess;

/// A tick host with gateways, and the same clients at one server.
pub struct Gateways;

/// Live clients at gateways, beside the same at one server that has as many cores
///
/// The first cores are the tick host's, then each gateway has its own, and the bots have the rest.
/// The baseline has the cores of tick host and gateways together.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of clients, a run of each way for each
    #[arg(long, default_value = "2000", value_delimiter = ',', value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 20))]
    clients: Vec<u32>,
    /// Ticks a second
    #[arg(long, default_value = "10", value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    tick_hz: u32,
    /// Behaviour of the bots
    #[arg(long, value_enum, default_value_t)]
    behaviour: BehaviourKind,
    /// Gateways
    #[arg(long, default_value = "2", value_name = "N", value_parser = threads)]
    gateways: usize,
    /// Cores of the tick host
    #[arg(long, default_value = "1", value_name = "N", value_parser = threads)]
    tick_cores: usize,
    /// Cores of each gateway
    #[arg(long, default_value = "1", value_name = "N", value_parser = threads)]
    gateway_cores: usize,
    /// Without the baseline
    #[arg(long)]
    alone: bool,
    /// After the measurement, end a gateway as `kill -9` does, so many times: each time one with all
    /// clients
    #[arg(long, default_value = "0", value_name = "N")]
    kills: usize,
    /// One bot of so many keeps a view of all that it receives, and is verified
    #[arg(long, default_value = "1", value_name = "N", value_parser = not_zero)]
    view_every: NonZeroUsize,
    /// Seconds of play that are measured
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = value_parser!(u32).range(1..=3600))]
    seconds: u32,
    #[command(flatten)]
    backend: BackendOptions,
}

impl Bench for Gateways {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        let all = cores::own()?;
        let cores = Cores::share(&all, options);
        for &clients in &options.clients {
            if !options.alone {
                let measured = measure_one_server(options, clients, &cores);
                recorder.add([measured.with_context(|| format!("{clients} clients"))?])?;
            }
            let measured = measure_gateways(options, clients, &cores);
            recorder.add([measured.with_context(|| format!("{clients} clients"))?])?;
        }
        stay_on(&all)
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        title(
            out,
            &format!("Live clients at gateways on {}", report.place()),
        )?;
        table(report, NAME, &COLUMNS, out)
    }
}

/// See [`table`].
const COLUMNS: [(&str, &str, bool); 20] = [
    ("backend", "backend", false),
    ("clients at", "approach", false),
    ("clients", "clients", true),
    ("cores of the tick host", "tick_cores", true),
    ("of a gateway", "gateway_cores", true),
    ("joined in, s", "join_seconds", false),
    ("lost", "lost", true),
    ("checks", "verify_checked", true),
    ("errors", "verify_errors", true),
    ("latency p50, ms", "latency_ms_p50", false),
    ("p99", "latency_ms_p99", false),
    ("µs per client-tick", "server_us", false),
    ("of the tick host", "host_us", false),
    ("bytes down", "bytes_down", false),
    ("up", "bytes_up", false),
    ("ticks late", "ticks_late", true),
    ("deferred, %", "deferred_percent", false),
    ("kills", "kills", true),
    ("back p50, s", "back_s_p50", false),
    ("slowest", "back_s_max", false),
];

/// The cores of this process, shared out.
struct Cores {
    host: Vec<usize>,
    gateways: Vec<Vec<usize>>,
    bots: Vec<usize>,
}

impl Cores {
    /// Where there are too few, all share them.
    fn share(all: &[usize], options: &Options) -> Cores {
        let mut cores = all.iter().copied().cycle();
        let mut take = |count: usize| {
            cores
                .by_ref()
                .take(count.min(all.len()))
                .collect::<Vec<_>>()
        };
        let host = take(options.tick_cores);
        let gateways = (0..options.gateways).map(|_| take(options.gateway_cores));
        let gateways: Vec<_> = gateways.collect();
        let used = host.len() + gateways.iter().map(Vec::len).sum::<usize>();
        let bots = match all.get(used..) {
            Some([_, ..]) => all[used..].to_vec(),
            _ => all.to_vec(),
        };
        Cores {
            host,
            gateways,
            bots,
        }
    }

    /// Of tick host and gateways.
    fn servers(&self) -> Vec<usize> {
        let mut all = [self.host.clone(), self.gateways.concat()].concat();
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn world(options: &Options, clients: u32) -> anyhow::Result<shared::WorldConfig> {
    let overrides = Overrides {
        tick_hz: Some(options.tick_hz),
        ..Overrides::default()
    };
    demo_world(clients, 0, options.behaviour, overrides)
}

/// The baseline.
fn measure_one_server(options: &Options, clients: u32, cores: &Cores) -> anyhow::Result<Row> {
    let world = world(options, clients)?;
    let own = cores.servers();
    stay_on(&own)?;
    let server = Server::start(ServerOptions {
        backend: options.backend,
        shards: own.len(),
        threads: own.len(),
        ..ServerOptions::local(world.clone())
    })?;
    stay_on(&cores.bots)?;
    let sockets = SwarmOptions::sockets_for(clients as usize, own.len());
    let crowd = Crowd {
        at: server.address(),
        clients: clients as usize,
        threads: cores.bots.len(),
        sockets,
        seed: world.seed,
    };
    let mut run = Run::start(options, &server, clients, vec![crowd])?;
    run.play(&server, options.seconds, || 0.0)?;
    let measured = run.finish()?;
    let backend = server.backend();
    server.stop()?;
    Ok(measured.row(options, backend, "one server", clients))
}

fn measure_gateways(options: &Options, clients: u32, cores: &Cores) -> anyhow::Result<Row> {
    let world = world(options, clients)?;
    let key = KeyFile::create()?;
    stay_on(&cores.host)?;
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::start(ServerOptions {
        backend: options.backend,
        // For clients of its own, of which there are none.
        shards: 1,
        threads: cores.host.len(),
        gateways: Some(GatewayPlaces::new(any, Arc::new(LinkKey::load(&key.0)?))),
        ..ServerOptions::local(world.clone())
    })?;
    let port = server.gateways().context("no port for gateways")?;
    let start = |number: usize| {
        stay_on(&cores.gateways[number])?;
        GatewayProcess::start(port, &key.0, free_address()?, options.gateway_cores)
    };
    let mut gateways = (0..options.gateways)
        .map(start)
        .collect::<anyhow::Result<Vec<_>>>()?;
    stay_on(&cores.bots)?;
    let share = (clients as usize).div_ceil(options.gateways);
    let mut left = clients as usize;
    let mut crowds = vec![];
    for gateway in &gateways {
        let clients = share.min(left);
        left -= clients;
        crowds.push(Crowd {
            at: gateway.address(),
            clients,
            threads: (cores.bots.len() / options.gateways).max(1),
            sockets: SwarmOptions::sockets_for(clients.max(1), options.gateway_cores),
            seed: world.seed + crowds.len() as u64,
        });
    }
    let mut run = Run::start(options, &server, clients, crowds)?;
    let seconds = || gateways.iter().map(GatewayProcess::seconds).sum();
    run.play(&server, options.seconds, seconds)?;
    for kill in 0..options.kills {
        // All clients go to the other gateways. Of two, that is one.
        let at = kill % gateways.len();
        let address = gateways[at].address();
        gateways.remove(at).kill()?;
        let begun = Instant::now();
        let at_others = || {
            let sessions = server.gateway_totals().sessions.into_iter();
            let others = sessions.filter(|(at, _)| *at != address.to_string());
            others.map(|(_, sessions)| sessions).sum::<usize>()
        };
        while at_others() < clients as usize {
            let elapsed = begun.elapsed();
            ensure!(elapsed < BACK_WAIT, "only {} came back", at_others());
            std::thread::sleep(Duration::from_millis(5));
        }
        run.back.push(begun.elapsed());
        let seconds = begun.elapsed().as_secs_f64();
        note!(
            "kill {} of {}: all are back after {seconds:.2} s",
            kill + 1,
            options.kills
        );
        stay_on(&cores.gateways[at])?;
        let again = GatewayProcess::start(port, &key.0, address, options.gateway_cores)?;
        gateways.insert(at, again);
        stay_on(&cores.bots)?;
        std::thread::sleep(BETWEEN_KILLS);
    }
    let measured = run.finish()?;
    drop(gateways);
    let backend = server.backend();
    server.stop()?;
    let way = format!("{} gateways", options.gateways);
    Ok(measured.row(options, backend, &way, clients))
}

/// Bots at one address.
struct Crowd {
    at: SocketAddr,
    clients: usize,
    threads: usize,
    sockets: usize,
    seed: u64,
}

/// Bots that play.
struct Run {
    bots: Vec<Bots>,
    joined: Duration,
    figures: Option<Figures>,
    host_seconds: f64,
    gateway_seconds: f64,
    totals: LinkTotals,
    /// From each kill until all clients were back.
    back: Vec<Duration>,
}

/// What was measured.
struct Measured {
    joined: Duration,
    figures: Figures,
    host_seconds: f64,
    gateway_seconds: f64,
    totals: LinkTotals,
    reports: Vec<SwarmReport>,
    back: Vec<Duration>,
}

impl Run {
    fn start(
        options: &Options,
        server: &Server,
        clients: u32,
        crowds: Vec<Crowd>,
    ) -> anyhow::Result<Run> {
        let begun = Instant::now();
        let mut bots = vec![];
        for crowd in crowds {
            bots.push(Bots::start(&bots::Options {
                server: crowd.at,
                clients: crowd.clients,
                behaviour: options.behaviour,
                threads: crowd.threads,
                sockets: crowd.sockets,
                view_every: options.view_every,
                seed: crowd.seed,
                come_back: options.kills > 0,
            })?);
        }
        for bots in &bots {
            while !bots.is_settled()? {
                if begun.elapsed() > JOIN_WAIT || !server.is_running() {
                    let joined = server.stats().figures().clients;
                    bail!("only {joined} of {clients} joined");
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        let joined = begun.elapsed();
        note!("{clients} clients after {:.1} s", joined.as_secs_f64());
        for bots in &mut bots {
            bots.play()?;
        }
        Ok(Run {
            bots,
            joined,
            figures: None,
            host_seconds: 0.0,
            gateway_seconds: 0.0,
            totals: LinkTotals::default(),
            back: vec![],
        })
    }

    /// Measures some seconds of play.
    fn play(
        &mut self,
        server: &Server,
        seconds: u32,
        gateway_seconds: impl Fn() -> f64,
    ) -> anyhow::Result<()> {
        std::thread::sleep(WARM_UP);
        server.stats().restart();
        let host = machine::thread_seconds(is_of_server);
        let (gateways, before) = (gateway_seconds(), server.gateway_totals());
        std::thread::sleep(Duration::from_secs(u64::from(seconds)));
        self.host_seconds = machine::thread_seconds(is_of_server) - host;
        self.gateway_seconds = gateway_seconds() - gateways;
        let after = server.gateway_totals();
        self.totals = LinkTotals {
            bytes_down: after.bytes_down - before.bytes_down,
            bytes_up: after.bytes_up - before.bytes_up,
            sessions: after.sessions,
        };
        self.figures = Some(server.stats().figures());
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<Measured> {
        for bots in &mut self.bots {
            bots.rest()?;
        }
        std::thread::sleep(REST);
        let reports = self.bots.into_iter().map(Bots::finish);
        Ok(Measured {
            joined: self.joined,
            figures: self.figures.context("nothing was measured")?,
            host_seconds: self.host_seconds,
            gateway_seconds: self.gateway_seconds,
            totals: self.totals,
            reports: reports.collect::<anyhow::Result<Vec<_>>>()?,
            back: self.back,
        })
    }
}

impl Measured {
    fn row(&self, options: &Options, backend: &'static str, way: &str, clients: u32) -> Row {
        let figures = &self.figures;
        let client_ticks = (u64::from(clients) * figures.ticks).max(1) as f64;
        let of_reports = |get: fn(&SwarmReport) -> u64| self.reports.iter().map(get).sum::<u64>();
        // The crowd that has it worst.
        let worst = |get: fn(&SwarmReport) -> f64| self.reports.iter().map(get).fold(0.0, f64::max);
        let p50 = worst(|report| report.latency_ms_p50);
        let mut row = Row::new(NAME, backend, way, [Duration::from_secs_f64(p50 / 1e3)]);
        row.put("clients", clients);
        row.put("tick_hz", options.tick_hz);
        row.put("behaviour", options.behaviour.name());
        let is_alone = self.totals.bytes_down == 0;
        let servers = options.tick_cores + options.gateways * options.gateway_cores;
        row.put(
            "tick_cores",
            if is_alone {
                servers
            } else {
                options.tick_cores
            },
        );
        row.put(
            "gateway_cores",
            if is_alone { 0 } else { options.gateway_cores },
        );
        row.put("view_every", options.view_every.get() as u64);
        row.put("join_seconds", self.joined.as_secs_f64());
        let absent = u64::from(clients).saturating_sub(of_reports(|r| r.clients_connected));
        row.put("lost", of_reports(|r| r.sessions_lost) + absent);
        row.put("verify_checked", of_reports(|r| r.verify_checked));
        row.put("verify_errors", of_reports(|r| r.verify_errors));
        row.put("latency_ms_p50", p50);
        row.put("latency_ms_p99", worst(|report| report.latency_ms_p99));
        row.put("bots_late_ms_p99", worst(|report| report.bots_late_ms_p99));
        let seconds = self.host_seconds + self.gateway_seconds;
        row.put("server_us", seconds * 1e6 / client_ticks);
        row.put("host_us", self.host_seconds * 1e6 / client_ticks);
        row.put("bytes_down", self.totals.bytes_down as f64 / client_ticks);
        row.put("bytes_up", self.totals.bytes_up as f64 / client_ticks);
        row.put("ticks", figures.ticks);
        row.put("ticks_late", figures.ticks_late);
        row.put("tick_ms_p50", figures.tick_ms(0.5));
        row.put("tick_ms_p99", figures.tick_ms(0.99));
        for step in Step::ALL {
            let name = step.name();
            row.put(&format!("{name}_ms_p50"), figures.step_ms(step, 0.5));
            row.put(&format!("{name}_ms_p99"), figures.step_ms(step, 0.99));
        }
        row.put(
            "deferred_percent",
            100.0 * figures.deferred as f64 / client_ticks,
        );
        if !self.back.is_empty() {
            let mut back = self.back.clone();
            back.sort_unstable();
            row.put("kills", back.len());
            row.put("back_s_p50", back[back.len() / 2].as_secs_f64());
            row.put("back_s_max", back[back.len() - 1].as_secs_f64());
        }
        row.work = u64::from(clients) * figures.ticks;
        row
    }
}

/// The file by which tick host and gateways know each other, until this is dropped.
struct KeyFile(PathBuf);

impl KeyFile {
    fn create() -> anyhow::Result<KeyFile> {
        let name = format!("myriad-gateways-{}.pem", std::process::id());
        let path = std::env::temp_dir().join(name);
        // One of an earlier process with this number.
        let _ = fs::remove_file(&path);
        LinkKey::create(&path)?;
        Ok(KeyFile(path))
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Another program may take it, but hardly does.
fn free_address() -> anyhow::Result<SocketAddr> {
    let socket = UdpSocket::bind("127.0.0.1:0").context("no free port")?;
    Ok(socket.local_addr()?)
}

/// Whether a thread of this process belongs to the server, not to the bench itself.
fn is_of_server(name: &str) -> bool {
    !name.starts_with("benches")
}

const NAME: &str = "gateways";
const JOIN_WAIT: Duration = Duration::from_secs(120);
const BACK_WAIT: Duration = Duration::from_secs(60);
const BETWEEN_KILLS: Duration = Duration::from_secs(1);
const WARM_UP: Duration = Duration::from_secs(2);
const REST: Duration = Duration::from_secs(3);
