//! `myriad serve`: a server until Ctrl-C.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use accounts::names::NameRule;
use anyhow::{Context, Result, bail};
use clap::Args;
use client_bot::cli::threads;
use client_bot::connect::resolve;
use durability::level::Level;
use durability::recovered::Progress;
use host::{Begin, CHECKPOINT_SECONDS, DataOptions, Server, ServerOptions, WebServing};
use platform::audit::Audit;
use platform::log::LogFormat;
use platform::metrics::machine;
use platform::metrics::stats::{Figures, counts_text};
use platform::renewal::{Renewals, Shared};
use platform::waits::StopDeadline;
use program::console::output::write_in_background;
use program::say;
use program::signals::{self, Endings};
use tick::backend::BackendOptions;
use tick::talk::filter::{NoFilter, TalkFilter, WordList};

use super::accounts::AccountArguments;
use super::arguments::{Loaded, default_world, fingerprint_text, seconds, update_url, world_at};
use super::database::DatabaseArguments;
use super::follow::{StandbyArguments, follow_until_promoted};
use super::gateway::GatewayPortArguments;
use super::lease::LeaseArguments;
use super::pair;
use super::traces::TraceArguments;
use super::web::{WebArguments, say_page};

#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Address to listen on, as HOST:PORT; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:4433", value_parser = resolve)]
    listen: SocketAddr,
    /// World file; without one, a plain default world
    #[arg(long, value_name = "FILE", conflicts_with = "follow")]
    world: Option<PathBuf>,
    /// Ticks per second [default: the world file's; a standby's are its primary's]
    #[arg(long, conflicts_with = "follow", value_parser = clap::value_parser!(u32).range(1..=1000))]
    tick_hz: Option<u32>,
    /// PEM file of the certificate; without one, a self-signed certificate is made
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// PEM file of the certificate's private key
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Threads for connections [default: all cores]
    #[arg(long, value_parser = threads)]
    shards: Option<usize>,
    /// Threads of the cpu backend [default: all cores]
    #[arg(long, value_parser = threads)]
    threads: Option<usize>,
    /// Serve Prometheus metrics on http://ADDRESS/metrics, and health on /healthz and /readyz
    #[arg(long, value_name = "ADDRESS", value_parser = resolve)]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    traces: TraceArguments,
    #[command(flatten)]
    web: WebArguments,
    /// Serve the page and the dashboard by https, with the certificate of --certificate
    #[arg(long, requires_all = ["web", "certificate"])]
    web_tls: bool,
    #[command(flatten)]
    backend: BackendOptions,
    /// Form of the log, which goes to standard error
    #[arg(long, value_enum, default_value_t)]
    pub log_format: LogFormat,
    /// Stop after this many seconds [default: at Ctrl-C]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    stop_after: Option<f64>,
    /// Record the frame and the state hash of every tick, for `myriad replay`
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    record: Option<PathBuf>,
    /// Persist the world in this folder: a server that starts there again continues where this
    /// one ended, however it ended
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Begin a new world in this folder, which must hold none
    #[arg(long, requires = "data", conflicts_with = "follow")]
    new: bool,
    /// Durability level: how much may be lost if the machine fails
    #[arg(long, value_enum, default_value_t, requires = "data")]
    level: Level,
    /// Keep all checkpoints and journal files, not only the newest
    #[arg(long, requires = "data")]
    keep: bool,
    /// Seconds from one checkpoint to the next
    #[arg(long, value_name = "SECONDS", requires = "data", default_value_t = CHECKPOINT_SECONDS,
          value_parser = clap::value_parser!(u32).range(1..=86_400))]
    checkpoint_every: u32,
    #[command(flatten)]
    database: DatabaseArguments,
    #[command(flatten)]
    standby: StandbyArguments,
    #[command(flatten)]
    gateways: GatewayPortArguments,
    #[command(flatten)]
    lease: LeaseArguments,
    #[command(flatten)]
    accounts: AccountArguments,
    /// Append joins, leaves, refusals and requests of operators to this file, without exception: no
    /// client is admitted while it can't be written
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// Open a control socket for `myriad admin` at this path
    #[arg(long, value_name = "PATH")]
    admin: Option<PathBuf>,
    /// File with words, one a line, that are masked in texts of players
    #[arg(long, value_name = "FILE")]
    talk_filter: Option<PathBuf>,
    /// Which names of players and channels count as equal
    #[arg(long, value_enum, value_name = "RULE", default_value_t)]
    names: NameRule,
    /// Where players of another version of the game get the right one: sent to clients whose
    /// protocol version is not the server's
    #[arg(long, value_name = "URL", value_parser = update_url)]
    update_url: Option<String>,
}

/// Runs a server until Ctrl-C, the end of its time, or an error.
pub fn run(arguments: ServeArguments) -> Result<()> {
    let Loaded {
        world,
        scripts,
        file: world_file,
    } = world_at(arguments.world.as_deref(), arguments.tick_hz, default_world)?;
    let cores = machine::cores();
    // There are no clients yet, and files survive any end: a signal ends the start at once.
    signals::set_exit_code(Some(0));
    write_in_background().context("cannot start the thread of the output")?;
    let run_time = arguments.stop_after.map(Duration::from_secs_f64);
    let renewals = Renewals::default();
    renewals.watch(signals::hangups())?;
    let follow = arguments.standby.follow(&renewals)?;
    let pair = arguments.standby.pair(&renewals)?;
    let characters = arguments.database.database()?;
    if characters.is_some() && arguments.data.is_none() {
        bail!("--characters needs the folder of a persistent world: --data DIR");
    }
    let options = ServerOptions {
        listen: arguments.listen,
        world,
        scripts,
        world_file,
        identity: arguments.certificate.zip(arguments.key),
        shared_identity: None,
        shards: arguments.shards.unwrap_or(cores),
        threads: arguments.threads.unwrap_or(cores),
        backend: arguments.backend,
        starter: None,
        metrics: arguments.metrics,
        traces: arguments.traces.options(),
        problems: None,
        web: (arguments.web.serving(&renewals)?).map(|web| WebServing {
            tls: arguments.web_tls,
            ..web
        }),
        http_hosts: arguments.web.hosts.names,
        record: arguments.record,
        data: arguments.data.map(|folder| DataOptions {
            begin: match arguments.new {
                true => Begin::New,
                false => Begin::Continue,
            },
            level: arguments.level,
            keeps_all: arguments.keep,
            checkpoint_seconds: arguments.checkpoint_every,
            characters,
            progress: print_progress,
            ..DataOptions::new(folder)
        }),
        standby: arguments.standby.primary(&renewals)?,
        gateways: arguments
            .gateways
            .options(arguments.standby.link_key(&renewals)?)?,
        lease: arguments.lease.options(arguments.listen, &renewals)?,
        audit: match &arguments.audit {
            Some(path) => Audit::open(path)?,
            None => Audit::default(),
        },
        admin: arguments.admin,
        talk_filter: match &arguments.talk_filter {
            Some(path) => Arc::new(word_list(path, &renewals)?),
            None => Arc::new(NoFilter),
        },
        names: arguments.names,
        authenticator: arguments.accounts.authenticator(&renewals)?,
        revocations: arguments.accounts.revocations(&renewals)?,
        clients_per_network: arguments.accounts.clients_per_network.unwrap_or(u32::MAX),
        clients_max: None,
        server_id: None,
        update_url: arguments.update_url,
        renewals,
    };
    // Once a server has started, a signal lets it end by itself, in time.
    signals::set_hook(|| std::mem::forget(StopDeadline::start()));
    let begun = match (follow, pair) {
        (None, None) => Some((Server::start(options)?, Endings::new())),
        (Some(follow), _) => follow_until_promoted(options, follow, run_time)?,
        (None, Some(pair)) => pair::run(options, &pair, run_time)?,
    };
    let Some((server, endings)) = begun else {
        return Ok(());
    };
    signals::set_exit_code(None);
    say!("listening on {}", server.address());
    say!("backend {}", server.backend_note());
    say!("fingerprint {}", fingerprint_text(server.certificate()));
    if let Some(address) = server.metrics() {
        say!("metrics on http://{address}/metrics");
    }
    if let Some(address) = server.followers() {
        say!("a standby may follow at {address}");
    }
    if let Some(address) = server.gateways() {
        say!("gateways may connect at {address}");
    }
    say_page(&server);
    wait(&server, &endings, run_time);
    let figures = server.stats().figures();
    let deadline = StopDeadline::start();
    let stopped = server.stop();
    drop(deadline);
    print_figures(&figures);
    stopped
}

/// The words in a file, which may be renewed.
fn word_list(path: &Path, renewals: &Renewals) -> Result<Shared<dyn TalkFilter>> {
    let path = path.to_owned();
    renewals.load("list of words", vec![path.clone()], move || {
        Ok(Arc::new(WordList::load(&path)?) as Arc<dyn TalkFilter>)
    })
}

fn print_progress(progress: &Progress) {
    let Progress { from, tick, time } = *progress;
    let seconds = time.as_secs_f64();
    say!("recovering: before tick {tick}, from the checkpoint before tick {from}, {seconds:.1} s");
}

/// Waits until it is time to stop, or the server has failed.
fn wait(server: &Server, endings: &Endings, run_time: Option<Duration>) {
    let end = run_time.map(|run_time| Instant::now() + run_time);
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let wait = left.unwrap_or(WATCH_EVERY).min(WATCH_EVERY);
        let is_over = endings.wait(wait) || left.is_some_and(|left| left <= wait);
        if is_over || !server.is_running() {
            return;
        }
    }
}

fn print_figures(figures: &Figures) {
    say!(
        "stopped after {} ticks, {} of them late, with {} clients",
        figures.ticks,
        figures.ticks_late,
        figures.clients
    );
    if figures.notices > 0 {
        say!("sent clients {} notices", figures.notices);
    }
    if !figures.over_budget.is_empty() {
        say!(
            "runs over their budget: {}",
            counts_text(&figures.over_budget)
        );
    }
}

const WATCH_EVERY: Duration = Duration::from_millis(200);
