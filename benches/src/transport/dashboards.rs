//! The cost of open dashboards to the tick: periods with them and without them take turns on one
//! server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::{Args, value_parser};
use client_bot::{BehaviourKind, SwarmOptions};
use platform::metrics::stats::Figures;
use program::note;
use server::commands::demo::world::demo_world;
use server::host::WebServing;
use server::{Server, ServerOptions};
use tick::backend::BackendOptions;
use world_file::Overrides;

use super::bots::{self, Bots};
use super::cores::{self, Cores, stay_on};
use crate::bench::Bench;
use crate::options::threads;
use crate::report::markdown::{head, line, rounded, title};
use crate::report::{Recorder, Report, Row};

/// Ticks while dashboards are open, and while none is.
pub struct Dashboards;

/// Ticks of a server with live clients while dashboards are open, and while none is
///
/// The baseline is the same server in the same run: periods with dashboards and without them
/// take turns. Each dashboard makes the page's requests, as often: health, map with an
/// area, clients, and one client.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Number of clients
    #[arg(long, default_value = "1000", value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 20))]
    clients: u32,
    /// Ticks a second
    #[arg(long, default_value = "20", value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    tick_hz: u32,
    /// Dashboards that are open at once
    #[arg(long, default_value = "10", value_name = "N", value_parser = value_parser!(u64).range(1..=16))]
    dashboards: u64,
    /// Periods with dashboards, and as many without
    #[arg(long, default_value = "5", value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Seconds of each period
    #[arg(long, default_value = "15", value_name = "SECONDS", value_parser = value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Cores of the server [default: half of them]
    #[arg(long, value_name = "N", value_parser = threads)]
    server_cores: Option<usize>,
    #[command(flatten)]
    backend: BackendOptions,
}

impl Bench for Dashboards {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        recorder.add(cores::shared(options.server_cores, |cores| {
            measure(options, cores)
        })?)
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        title(out, &format!("Open dashboards on {}", report.place()))?;
        head(out, &COLUMNS.map(|column| column.0))?;
        for row in report.rows.iter().filter(|row| row.scenario == NAME) {
            let cell = |(_, name): (&str, &str)| match name {
                "dashboards" => row.approach.clone(),
                _ => rounded(row.params.get(name).and_then(serde_json::Value::as_f64)),
            };
            line(out, &COLUMNS.map(cell))?;
        }
        Ok(())
    }
}

/// Title, parameter.
const COLUMNS: [(&str, &str); 8] = [
    ("dashboards", "dashboards"),
    ("clients", "clients"),
    ("Hz", "tick_hz"),
    ("ticks", "ticks"),
    ("tick p50, ms", "tick_ms_p50"),
    ("tick p99, ms", "tick_ms_p99"),
    ("tick thread p99, ms", "engine_ms_p99"),
    ("answers a second", "answers_per_second"),
];

fn measure(options: &Options, cores: &Cores) -> anyhow::Result<[Row; 2]> {
    let overrides = Overrides {
        tick_hz: Some(options.tick_hz),
        ..Overrides::default()
    };
    let world = demo_world(options.clients, 0, BehaviourKind::Wander, overrides)?;
    let seed = world.seed;
    stay_on(&cores.server)?;
    let server = Server::start(ServerOptions {
        backend: options.backend,
        shards: cores.server.len(),
        threads: cores.server.len(),
        web: Some(WebServing::at(SocketAddr::from(([127, 0, 0, 1], 0)))),
        ..ServerOptions::local(world)
    })?;
    stay_on(&cores.bots)?;
    let mut bots = Bots::start(&bots::Options {
        server: server.address(),
        clients: options.clients as usize,
        behaviour: BehaviourKind::Wander,
        threads: cores.bots.len(),
        sockets: SwarmOptions::sockets_for(options.clients as usize, cores.server.len()),
        view_every: NonZeroUsize::MIN,
        seed,
        come_back: false,
    })?;
    let begun = Instant::now();
    while !bots.is_settled()? {
        if begun.elapsed() > JOIN_WAIT || !server.is_running() {
            bail!("only {} joined", server.stats().figures().clients);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    bots.play()?;
    let page = server.page().context("the server has a page")?;
    let (mut without, mut with) = (vec![], vec![]);
    let mut answers = 0;
    for round in 0..options.rounds {
        without.push(period(options, &server));
        let dashboards = Viewing::start(page, options.dashboards);
        with.push(period(options, &server));
        answers += dashboards.end()?;
        note!("round {} of {}", round + 1, options.rounds);
    }
    bots.rest()?;
    let report = bots.finish()?;
    ensure!(
        report.sessions_lost == 0,
        "{} sessions were lost",
        report.sessions_lost
    );
    let backend = server.backend();
    server.stop()?;
    let seconds = f64::from(options.rounds) * (WARM_UP.as_secs_f64() + f64::from(options.seconds));
    let mut rows = [("none", &without), ("open", &with)].map(|(approach, periods)| {
        let approach = match approach {
            "none" => approach.to_owned(),
            _ => options.dashboards.to_string(),
        };
        row(options, backend, &approach, periods)
    });
    rows[0].put("answers_per_second", 0.0);
    rows[1].put("answers_per_second", answers as f64 / seconds);
    Ok(rows)
}

/// The server's work in a period.
fn period(options: &Options, server: &Server) -> Figures {
    std::thread::sleep(WARM_UP);
    server.stats().restart();
    std::thread::sleep(Duration::from_secs(u64::from(options.seconds)));
    server.stats().figures()
}

/// The medians of periods.
fn row(options: &Options, backend: &str, approach: &str, periods: &[Figures]) -> Row {
    let median = |of: &dyn Fn(&Figures) -> f64| {
        let mut numbers: Vec<f64> = periods.iter().map(of).collect();
        numbers.sort_by(f64::total_cmp);
        numbers[numbers.len() / 2]
    };
    let times = periods.iter().map(|figures| figures.tick_ms(0.99) / 1e3);
    let mut row = Row::new(NAME, backend, approach, times.map(Duration::from_secs_f64));
    row.put("clients", options.clients);
    row.put("tick_hz", options.tick_hz);
    row.put(
        "ticks",
        periods.iter().map(|figures| figures.ticks).sum::<u64>(),
    );
    row.put("tick_ms_p50", median(&|figures| figures.tick_ms(0.5)));
    row.put("tick_ms_p99", median(&|figures| figures.tick_ms(0.99)));
    row.put("engine_ms_p99", median(&|figures| figures.engine_ms(0.99)));
    row.work = periods.iter().map(|figures| figures.client_ticks).sum();
    row
}

/// Threads that ask as pages do.
struct Viewing {
    stop: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
    threads: Vec<JoinHandle<anyhow::Result<()>>>,
}

impl Viewing {
    fn start(page: SocketAddr, dashboards: u64) -> Viewing {
        let (stop, answers) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let threads = (1..=dashboards).map(|viewer| {
            let (stop, answers) = (stop.clone(), answers.clone());
            std::thread::spawn(move || view(page, viewer, &stop, &answers))
        });
        Viewing {
            threads: threads.collect(),
            stop,
            answers,
        }
    }

    /// Closes the dashboards, and gives the number of answers.
    fn end(self) -> anyhow::Result<u64> {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            let ended = thread.join();
            ended.map_err(|_| anyhow::anyhow!("a dashboard's thread has failed"))??;
        }
        Ok(self.answers.load(Ordering::Relaxed))
    }
}

/// Requests the data of a page, until it is closed.
fn view(
    page: SocketAddr,
    viewer: u64,
    stop: &AtomicBool,
    answers: &AtomicU64,
) -> anyhow::Result<()> {
    let mut since = 0;
    for step in 0u64.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        // Each shows an area of its own.
        let place = 20 * viewer;
        ask(
            page,
            &format!("map?viewer={viewer}&x={place}&y={place}&edge=200"),
        )?;
        answers.fetch_add(1, Ordering::Relaxed);
        if step.is_multiple_of(2) {
            let health = ask(page, &format!("health?viewer={viewer}&since={since}"))?;
            let health: serde_json::Value = serde_json::from_slice(&health)?;
            since = health["next"].as_u64().context("the next number")?;
            ask(page, &format!("client?viewer={viewer}&number={viewer}"))?;
            answers.fetch_add(2, Ordering::Relaxed);
        }
        if step.is_multiple_of(4) {
            ask(page, &format!("clients?viewer={viewer}"))?;
            answers.fetch_add(1, Ordering::Relaxed);
        }
        std::thread::sleep(ASK_PERIOD);
    }
    Ok(())
}

/// The JSON that the dashboard answers.
fn ask(page: SocketAddr, path: &str) -> anyhow::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(page)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    write!(
        stream,
        "GET /dashboard/data/{path} HTTP/1.1\r\nHost: {page}\r\n\r\n"
    )?;
    let mut answer = vec![];
    stream.read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").context("an answer")?;
    ensure!(head.starts_with("HTTP/1.1 200 "), "{path}: {text:.200}");
    Ok(body.as_bytes().to_vec())
}

const NAME: &str = "dashboards";
const ASK_PERIOD: Duration = Duration::from_millis(500);
const JOIN_WAIT: Duration = Duration::from_secs(120);
/// After dashboards have opened or closed.
const WARM_UP: Duration = Duration::from_secs(4);
