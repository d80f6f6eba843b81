//! `myriad demo`: a server and a swarm of bots in one process, over real QUIC on
//! loopback.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use client_bot::console::ProgressLine;
use client_bot::report::print_lines;
use client_bot::say;
use client_bot::{BehaviourKind, Swarm, SwarmOptions, SwarmReport, Trust};
use serde::Serialize;
use shared::WorldConfig;

use crate::machine;
use crate::server::{BackendChoice, Server, ServerOptions};
use crate::stats::Figures;

/// What to show.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    pub clients: u32,
    pub seconds: f64,
    /// The world's own rate if not given.
    pub tick_hz: Option<u32>,
    pub behaviour: BehaviourKind,
    pub world: Option<PathBuf>,
    pub backend: BackendChoice,
    /// The share of datagrams that the bots' sockets lose, each way.
    pub loss: f64,
}

/// What came of it: the last line of `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct DemoReport {
    #[serde(flatten)]
    pub swarm: SwarmReport,
    pub backend: &'static str,
    pub tick_hz: u32,
    pub ticks: u64,
    pub ticks_late: u64,
    /// The tick thread's work.
    pub engine_ms_p50: f64,
    pub engine_ms_p99: f64,
    /// From the inbox swap to the last client's datagram handed to the transport.
    pub tick_ms_p50: f64,
    pub tick_ms_p99: f64,
    pub commands_applied: u64,
    pub rss_bytes: u64,
}

/// Runs the demo. The reasons say what it didn't live up to.
pub fn demo(options: &DemoOptions) -> Result<(DemoReport, Vec<String>)> {
    let mut world = match &options.world {
        Some(path) => WorldConfig::load(path)?,
        None => demo_world(options.clients, options.behaviour)?,
    };
    if let Some(tick_hz) = options.tick_hz {
        world.schema.world.tick_hz = tick_hz;
    }
    let expected_visible = expected_visible(&world, options.clients);
    let server = Server::start(ServerOptions {
        backend: options.backend,
        ..ServerOptions::local(world.clone())
    })?;
    say!(
        "A world of {}, {} ticks a second; {} bots {}. Backend: {}.",
        size_text(&world),
        world.schema.world.tick_hz,
        options.clients,
        options.behaviour.name(),
        server.backend_note(),
    );
    let mut swarm = Swarm::start(SwarmOptions {
        server: server.address(),
        name: "localhost".to_owned(),
        trust: Trust::Certificate(server.certificate().clone()),
        token: String::new(),
        clients: options.clients as usize,
        behaviour: options.behaviour,
        rate_hz: None,
        threads: machine::cores(),
        sockets: machine::cores() * SOCKETS_PER_SHARD,
        seed: world.seed,
        loss: options.loss,
        verify: true,
    })?;
    let mut progress = ProgressLine::new();
    let started = Instant::now();
    while !swarm.is_settled() && started.elapsed() < CONNECT_WAIT && server.is_running() {
        std::thread::sleep(Duration::from_millis(100));
        let connected = swarm.progress().connected;
        progress.show(&format!("connecting: {connected} of {}", options.clients));
    }
    std::thread::sleep(SETTLE);
    server.stats().restart();
    swarm.play();
    let figures = watch(&server, &swarm, options, &mut progress);
    swarm.rest();
    let rss_bytes = machine::rss_bytes();
    progress.show("at rest: comparing what the bots know");
    std::thread::sleep(REST);
    let report = swarm.finish()?;
    progress.end();
    let sessions_lost = server.stats().figures().sessions_lost;
    let backend = server.backend();
    server.stop()?;
    let report = DemoReport {
        backend,
        tick_hz: world.schema.world.tick_hz,
        ticks: figures.ticks,
        ticks_late: figures.ticks_late,
        engine_ms_p50: figures.engine_ms(0.5),
        engine_ms_p99: figures.engine_ms(0.99),
        tick_ms_p50: figures.tick_ms(0.5),
        tick_ms_p99: figures.tick_ms(0.99),
        commands_applied: figures.commands_applied,
        rss_bytes,
        swarm: SwarmReport {
            sessions_lost: report.sessions_lost.max(sessions_lost),
            ..report
        },
    };
    let reasons = shortcomings(&report, options, expected_visible);
    Ok((report, reasons))
}

/// Shows how it goes until the time is up, and gives the server's figures then.
fn watch(
    server: &Server,
    swarm: &Swarm,
    options: &DemoOptions,
    progress: &mut ProgressLine,
) -> Figures {
    let begun = Instant::now();
    let mut last = (begun, 0);
    loop {
        let left = options.seconds - begun.elapsed().as_secs_f64();
        if left <= 0.0 || !server.is_running() {
            return server.stats().figures();
        }
        std::thread::sleep(Duration::from_secs_f64(left.min(0.5)));
        let (figures, now) = (server.stats().figures(), Instant::now());
        let rate = (figures.deliveries - last.1) as f64 / (now - last.0).as_secs_f64();
        last = (now, figures.deliveries);
        let bots = swarm.progress();
        progress.show(&format!(
            "{:4.1} s  {} clients  tick {:.1}/{:.1} ms p50/p99  {:.0} updates/s  latency {:.0}/{:.0} ms",
            begun.elapsed().as_secs_f64(),
            figures.clients,
            figures.tick_ms(0.5),
            figures.tick_ms(0.99),
            rate,
            bots.latency_ms_p50,
            bots.latency_ms_p99,
        ));
    }
}

fn shortcomings(report: &DemoReport, options: &DemoOptions, expected_visible: f64) -> Vec<String> {
    let swarm = &report.swarm;
    let mut reasons = swarm.examples.clone();
    let mut unless = |holds: bool, reason: String| {
        if !holds {
            reasons.push(reason);
        }
    };
    unless(
        swarm.clients_connected == swarm.clients,
        format!(
            "{} bots did not connect",
            swarm.clients - swarm.clients_connected
        ),
    );
    unless(
        swarm.verify_errors == 0,
        format!(
            "{} of {} checks failed",
            swarm.verify_errors, swarm.verify_checked
        ),
    );
    unless(swarm.verify_checked > 0, "nothing was verified".to_owned());
    let needed = VISIBLE_MIN.min(expected_visible * 0.75);
    unless(
        options.behaviour != BehaviourKind::Wander
            || expected_visible < EXPECTED_MIN
            || swarm.visible_mean >= needed,
        format!(
            "bots saw {:.1} others on average, where {needed:.1} are expected",
            swarm.visible_mean
        ),
    );
    reasons
}

/// The demo's own world: so large that each bot sees about 20 others, however
/// many there are.
pub fn demo_world(clients: u32, behaviour: BehaviourKind) -> Result<WorldConfig> {
    if clients == 0 {
        bail!("a demo needs at least one client");
    }
    let side = 20.0 * f64::from(clients).sqrt();
    // Fighters have something to quarrel about.
    let items = match behaviour {
        BehaviourKind::Fight | BehaviourKind::Listen => clients / 20,
        _ => 0,
    };
    let regions = match behaviour {
        BehaviourKind::Survey => 2,
        _ => 0,
    };
    // Listeners have something to hear, near and far.
    let (subscriptions, sound) = match behaviour {
        BehaviourKind::Listen => (3, 40),
        _ => (0, 0),
    };
    let text = format!(
        r#"
        [world]
        name = "demo"
        size = [{side}, {side}]
        aoi = 50
        capacity = {capacity}

        [limits]
        clients = {clients}
        regions_per_client = {regions}
        subscriptions_per_client = {subscriptions}

        [commands]
        blast = {{ sound = {sound} }}
        shout = {{ radius_max = {sound} }}

        [[kind]]
        name = "player"
        attributes = [
            {{ name = "hp", type = "i32", default = 100, min = 0, max = 100, audience = "state" }},
        ]

        [[kind]]
        name = "item"
        population = {items}
        attributes = [{{ name = "owner", type = "entity", merge = "first", audience = "state" }}]
        "#,
        side = side.max(1.0),
        capacity = clients + items,
    );
    Ok(WorldConfig::parse(&text, "the demo's world")?)
}

/// How many others each sees when all are spread evenly over a square: a disc's
/// share of the area, less what falls beyond the edges.
fn expected_visible(world: &WorldConfig, clients: u32) -> f64 {
    let sizes = &world.schema.world.size;
    let r = world.schema.world.aoi.to_f64() / sizes[0].to_f64();
    let share = if r >= 1.0 {
        1.0
    } else {
        std::f64::consts::PI * r * r - 8.0 / 3.0 * r.powi(3) + r.powi(4) / 2.0
    };
    let others = share * f64::from(clients.saturating_sub(1));
    others.min(f64::from(world.schema.world.visible_max) - 1.0)
}

fn size_text(world: &WorldConfig) -> String {
    let sizes = world.schema.world.size.iter();
    let sizes: Vec<String> = sizes.map(|s| format!("{:.0}", s.to_f64())).collect();
    sizes.join(" × ")
}

/// Prints the report for people.
pub fn print(report: &DemoReport, reasons: &[String]) {
    say!("");
    let mut lines = report.swarm.lines();
    let more = [
        (
            "ticks",
            format!(
                "{} at {} Hz, {} late",
                report.ticks, report.tick_hz, report.ticks_late
            ),
        ),
        (
            "engine",
            format!(
                "{:.2} ms median, {:.2} ms at the 99th percentile",
                report.engine_ms_p50, report.engine_ms_p99
            ),
        ),
        (
            "whole tick",
            format!(
                "{:.2} ms median, {:.2} ms at the 99th percentile",
                report.tick_ms_p50, report.tick_ms_p99
            ),
        ),
        ("commands applied", report.commands_applied.to_string()),
        (
            "memory",
            format!("{:.0} MB, server and bots", report.rss_bytes as f64 / 1e6),
        ),
    ];
    lines.extend(more.map(|(name, value)| (name.to_owned(), value)));
    print_lines(&lines);
    say!("");
    for reason in reasons {
        say!("  ! {reason}");
    }
    if reasons.is_empty() {
        say!("Everything that the bots were told was right.");
    }
}

const SOCKETS_PER_SHARD: usize = 8;
const CONNECT_WAIT: Duration = Duration::from_secs(120);
/// Handshakes leave work behind; play begins when that is done.
const SETTLE: Duration = Duration::from_secs(1);
/// How long the world rests before views are compared.
const REST: Duration = Duration::from_secs(2);
/// Fewer others in view than this is no crowd worth showing.
const VISIBLE_MIN: f64 = 15.0;
/// With fewer than this expected, chance decides.
const EXPECTED_MIN: f64 = 4.0;
