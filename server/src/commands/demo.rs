//! `myriad demo`: a server and a swarm of bots in one process, over real QUIC on
//! loopback.

mod report;
pub mod world;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::{Args, Command, FromArgMatches};
use client_bot::cli::read_play;
use client_bot::network::NetworkArguments;
use client_bot::{BehaviourKind, Network, Swarm, SwarmOptions, SwarmReport, Trust};
use host::{Server, ServerOptions};
use platform::metrics::machine;
use platform::metrics::stats::Figures;
use platform::renewal::Renewals;
use program::console::{ProgressLine, leave_output_to_json, print_json};
use program::say;
use program::signals::Endings;
use quic::relay::{self, Relay, RelayPort};
use shared::WorldConfig;
use shared::world::logic::Text;
use tick::backend::BackendOptions;

use super::arguments::{Loaded, seconds, update_url, world_at};
use super::web::{WebArguments, say_page};
use report::DemoReport;
use world::{demo_world, expected_visible, size_text};

#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Number of bots
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    clients: u32,
    /// Seconds of play, once all bots are connected [default: 10; with --web, until Ctrl-C]
    #[arg(long, value_parser = seconds)]
    seconds: Option<f64>,
    /// Ticks per second [default: the world's, which is 10]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    tick_hz: Option<u32>,
    /// Behaviour of the bots
    #[arg(long, value_enum, default_value_t)]
    behaviour: BehaviourKind,
    /// Script that the bots run in each tick
    #[arg(long, value_name = "FILE", conflicts_with = "behaviour")]
    play: Option<PathBuf>,
    /// World file, instead of the demo's own world
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    #[command(flatten)]
    web: WebArguments,
    #[command(flatten)]
    backend: BackendOptions,
    #[command(flatten)]
    network: NetworkArguments,
    /// Where players of another version of the game get the right one
    #[arg(long, value_name = "URL", value_parser = update_url)]
    update_url: Option<String>,
    /// End with one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the demo and prints its report. False if something was wrong.
pub fn run(arguments: &DemoArguments) -> Result<bool> {
    if arguments.json {
        leave_output_to_json();
    }
    let (report, reasons) = demo(arguments)?;
    report.print(&reasons);
    if arguments.json {
        print_json(&report)?;
    }
    Ok(reasons.is_empty())
}

/// A play that bots run for a while.
pub struct PlayOptions<'a> {
    pub world: &'a Path,
    pub play: &'a Path,
    pub bots: u32,
    pub seconds: f64,
    pub backend: BackendOptions,
}

/// Lets bots run a play in a world, and returns what was wrong.
pub fn try_play(options: PlayOptions<'_>) -> Result<Vec<String>> {
    let usual = DemoArguments::augment_args(Command::new("demo")).try_get_matches_from(["demo"])?;
    let arguments = DemoArguments {
        clients: options.bots,
        seconds: Some(options.seconds),
        play: Some(options.play.to_owned()),
        world: Some(options.world.to_owned()),
        backend: options.backend,
        ..DemoArguments::from_arg_matches(&usual)?
    };
    Ok(demo(&arguments)?.1)
}

/// Runs the demo, and returns its problems.
fn demo(arguments: &DemoArguments) -> Result<(DemoReport, Vec<String>)> {
    let guests = if arguments.web.is_given() { GUESTS } else { 0 };
    let (clients, behaviour) = (arguments.clients, arguments.behaviour);
    let own_world = |overrides| demo_world(clients, guests, behaviour, overrides);
    let Loaded {
        world,
        scripts,
        file: world_file,
    } = world_at(arguments.world.as_deref(), arguments.tick_hz, own_world)?;
    let play = arguments.play.as_deref().map(read_play).transpose()?;
    if let Some(text) = &play {
        client_bot::behaviour::compile(&world.schema, text).map_err(anyhow::Error::msg)?;
    }
    let network = arguments.network.network()?;
    let renewals = Renewals::default();
    let mut options = ServerOptions {
        backend: arguments.backend,
        web: arguments.web.serving(&renewals)?,
        http_hosts: arguments.web.hosts.names.clone(),
        scripts,
        renewals: renewals.clone(),
        world_file,
        update_url: arguments.update_url.clone(),
        ..ServerOptions::local(world.clone())
    };
    let page_port = put_before_pages(&mut options, &network)?;
    let server = Server::start(options)?;
    say!(
        "A world of {}, {} ticks a second; {} bots {}. Backend: {}.",
        size_text(&world),
        world.schema.world.tick_hz,
        arguments.clients,
        play.as_ref()
            .map_or(arguments.behaviour.name(), |text| text.stem()),
        server.backend_note(),
    );
    say_page(&server);
    let relay = page_port
        .map(|port| start_relay(port, &server, &network, world.seed))
        .transpose()?;
    let mut swarm = start_swarm(arguments, play, &server, network, &world)?;
    let mut progress = ProgressLine::new();
    wait_for_bots(arguments, &server, &swarm, &mut progress);
    server.stats().restart();
    let seconds_before = machine::thread_seconds(is_of_server);
    swarm.play();
    let figures = watch(&server, &swarm, arguments, &mut progress);
    let server_seconds = machine::thread_seconds(is_of_server) - seconds_before;
    swarm.rest();
    let rss_bytes = machine::rss_bytes();
    progress.show("at rest: comparing the bots' views");
    std::thread::sleep(REST);
    let bots = swarm.finish()?;
    progress.end();
    let sessions_lost = server.stats().figures().sessions_lost;
    let backend = server.backend();
    server.stop()?;
    relay
        .map_or(Ok(()), Relay::stop)
        .context("the network of the pages has ended early")?;
    let report = DemoReport {
        backend,
        tick_hz: world.schema.world.tick_hz,
        rss_bytes,
        swarm: SwarmReport {
            sessions_lost: bots.sessions_lost.max(sessions_lost),
            ..bots
        },
        ..DemoReport::of_server(figures, server_seconds)
    };
    // Only wanderers are spread evenly.
    let expected = match arguments.behaviour {
        BehaviourKind::Wander | BehaviourKind::Stroll if arguments.play.is_none() => {
            Some(expected_visible(&world, arguments.clients))
        }
        _ => None,
    };
    let reasons = report.shortcomings(expected);
    Ok((report, reasons))
}

/// Takes a port for the network of pages, which have none in their own sockets, and lets them
/// connect to it. `None` if pages need none.
fn put_before_pages(options: &mut ServerOptions, network: &Network) -> Result<Option<RelayPort>> {
    let Some(web) = options.web.as_mut().filter(|_| !network.is_none()) else {
        return Ok(None);
    };
    // The server's own address for pages.
    let address = SocketAddr::new(options.listen.ip(), 0);
    let port = RelayPort::bind(address)
        .with_context(|| format!("cannot listen on {address} for pages"))?;
    web.connect_port = Some(port.address().port());
    Ok(Some(port))
}

/// Lets pages play over a bad network, and prints that.
fn start_relay(port: RelayPort, server: &Server, network: &Network, seed: u64) -> Result<Relay> {
    let relay = port
        .carry(server.address(), network, seed)
        .context("cannot start the network of the pages")?;
    say!(
        "pages play over the network of the bots: each has its own, at UDP port {}",
        relay.address().port()
    );
    Ok(relay)
}

fn start_swarm(
    arguments: &DemoArguments,
    play: Option<Text>,
    server: &Server,
    network: Network,
    world: &WorldConfig,
) -> Result<Swarm> {
    let trust = Trust::Certificates(vec![server.certificate().clone()]);
    let clients = arguments.clients as usize;
    Ok(Swarm::start(SwarmOptions {
        behaviour: arguments.behaviour,
        play,
        threads: machine::cores(),
        sockets: SwarmOptions::sockets_for(clients, machine::cores()),
        seed: world.seed,
        network,
        verify: true,
        visibility: world.schema.visibility,
        ..SwarmOptions::new(server.address(), trust, clients)
    })?)
}

/// Whether a thread belongs to the server: not to the bots, not to the network of pages, and not
/// to the demo itself.
fn is_of_server(name: &str) -> bool {
    let is_of_program = ["errors", "output", "signals", relay::THREAD].contains(&name);
    !name.starts_with("bots-") && !name.starts_with("myriad") && !is_of_program
}

/// Waits until all bots are connected, or some seem unable to.
fn wait_for_bots(
    arguments: &DemoArguments,
    server: &Server,
    swarm: &Swarm,
    progress: &mut ProgressLine,
) {
    let started = Instant::now();
    while !swarm.is_settled() && started.elapsed() < CONNECT_WAIT && server.is_running() {
        std::thread::sleep(Duration::from_millis(100));
        let connected = swarm.progress().connected;
        progress.show(&format!("connecting: {connected} of {}", arguments.clients));
    }
    std::thread::sleep(SETTLE);
}

/// Shows the progress until the time is up, and returns the figures then.
fn watch(
    server: &Server,
    swarm: &Swarm,
    arguments: &DemoArguments,
    progress: &mut ProgressLine,
) -> Figures {
    // Before, a signal ends all at once: there is nothing to report.
    let endings = Endings::new();
    let seconds = match (arguments.seconds, arguments.web.is_given()) {
        (Some(seconds), _) => seconds,
        (None, false) => SECONDS,
        (None, true) => f64::INFINITY,
    };
    let begun = Instant::now();
    let mut last = (begun, 0);
    loop {
        let left = seconds - begun.elapsed().as_secs_f64();
        let is_over = left <= 0.0 || !server.is_running();
        if is_over || endings.wait(Duration::from_secs_f64(left.min(0.5))) {
            return server.stats().figures();
        }
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

/// Seconds of play.
const SECONDS: f64 = 10.0;
/// People who may join the bots of the demo's own world.
const GUESTS: u32 = 32;
const CONNECT_WAIT: Duration = Duration::from_secs(120);
/// Time for the work that handshakes leave behind.
const SETTLE: Duration = Duration::from_secs(1);
/// The rest of the world before views are compared.
const REST: Duration = Duration::from_secs(2);
