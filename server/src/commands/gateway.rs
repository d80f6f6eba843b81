//! `myriad gateway`: holds clients of a world that runs elsewhere. And the options of its tick host.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use client_bot::cli::threads;
use client_bot::connect::resolve;
use gateway::host_link::HostOptions;
use host::gateway_server::Gateway;
use host::{GATEWAYS_MAX, GatewayPlaces, ServerOptions, WebServing};
use peer::trust::LinkKey;
use platform::audit::Audit;
use platform::log::LogFormat;
use platform::metrics::machine;
use platform::renewal::Renewals;
use platform::waits::StopDeadline;
use program::console::output::write_in_background;
use program::say;
use program::signals::{self, Endings};
use shared::wire::close::is_update_url;
use shared::wire::control::ADDRESS_BYTES_MAX;

use super::accounts::AccountArguments;
use super::arguments::{fingerprint_text, seconds, update_url};
use super::follow::host_and_port;
use super::web::WebArguments;

/// The options of a tick host.
#[derive(Debug, Args)]
pub struct GatewayPortArguments {
    /// Let gateways hold clients, and connect at this address: see `myriad gateway`
    #[arg(long, value_name = "ADDRESS", requires = "link_key", value_parser = resolve)]
    gateways: Option<SocketAddr>,
    /// The most gateways at a time
    #[arg(long, value_name = "N", requires = "gateways", default_value_t = GATEWAYS_MAX,
          value_parser = gateway_count)]
    gateways_max: usize,
    /// How long a gateway may send nothing to its clients before they are lost, and may come back
    /// by another one
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "gateways",
          default_value = "1")]
    gateway_silence: f64,
}

impl GatewayPortArguments {
    pub fn options(&self, key: Option<Arc<LinkKey>>) -> Result<Option<GatewayPlaces>> {
        let Some(listen) = self.gateways else {
            return Ok(None);
        };
        Ok(Some(GatewayPlaces {
            listen,
            key: key.context("--link-key is missing")?,
            count: self.gateways_max,
            silence_max: Duration::from_secs_f64(self.gateway_silence),
        }))
    }
}

fn gateway_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=PLACES_MAX).contains(&count) => Ok(count),
        _ => Err(format!("expected a number from 1 to {PLACES_MAX}")),
    }
}

#[derive(Debug, Args)]
pub struct GatewayArguments {
    /// Port for gateways of the tick host, as HOST:PORT, which `myriad serve --gateways` prints;
    /// may be given several times: of its standby, too
    #[arg(long, value_name = "HOST:PORT", required = true, value_parser = host_and_port)]
    world: Vec<String>,
    /// File with which the servers of a world authenticate each other, see `myriad link-key`
    #[arg(long, value_name = "FILE", required = true)]
    link_key: PathBuf,
    /// Address to listen on for clients, as HOST:PORT; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:4433", value_parser = resolve)]
    listen: SocketAddr,
    /// Where clients reach this gateway, as HOST:PORT: other gateways name it [default: the address
    /// from which it connects, and the port of --listen]
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    clients_at: Option<String>,
    /// Address of this gateway's page for browsers, as a URL that ends with a slash: others name it to
    /// their pages
    #[arg(long, value_name = "URL", requires = "web", value_parser = page_url)]
    page_at: Option<String>,
    /// The most clients of this gateway: others are sent on to other gateways [default: those of
    /// the world]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    clients_max: Option<u32>,
    /// Number of this gateway, which stands in the ids of its connections, for balancers that read
    /// them (draft-ietf-quic-load-balancers, in plain text)
    #[arg(long, value_name = "N")]
    server_id: Option<u16>,
    /// PEM file of the certificate; without one, that of the tick host
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// PEM file of the certificate's private key
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Threads for connections [default: all cores]
    #[arg(long, value_parser = threads)]
    shards: Option<usize>,
    /// Threads that bring the world up to date [default: all cores]
    #[arg(long, value_parser = threads)]
    threads: Option<usize>,
    /// Serve Prometheus metrics on http://ADDRESS/metrics, and health on /healthz and /readyz
    #[arg(long, value_name = "ADDRESS", value_parser = resolve)]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    web: WebArguments,
    /// Serve the page by https, with the certificate of --certificate
    #[arg(long, requires_all = ["web", "certificate"])]
    web_tls: bool,
    /// Form of the log, which goes to standard error
    #[arg(long, value_enum, default_value_t)]
    pub log_format: LogFormat,
    /// Stop after this many seconds [default: at Ctrl-C]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    stop_after: Option<f64>,
    #[command(flatten)]
    accounts: AccountArguments,
    /// Append joins, leaves and refusals to this file, without exception: no client is admitted
    /// while it can't be written
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// Where players of another version of the game get the right one: sent to clients whose
    /// protocol version is not the gateway's
    #[arg(long, value_name = "URL", value_parser = update_url)]
    update_url: Option<String>,
}

fn page_url(text: &str) -> Result<String, String> {
    let is_short = text.len() <= ADDRESS_BYTES_MAX;
    match is_update_url(text) && is_short && text.ends_with('/') {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "expected http or https, and a slash at the end, such as https://two.example/, in at most {ADDRESS_BYTES_MAX} bytes"
        )),
    }
}

/// Runs a gateway until Ctrl-C, the end of its time, or an error.
pub fn run(arguments: GatewayArguments) -> Result<()> {
    signals::set_exit_code(Some(0));
    write_in_background().context("cannot start the thread of the output")?;
    let run_time = arguments.stop_after.map(Duration::from_secs_f64);
    let renewals = Renewals::default();
    renewals.watch(signals::hangups())?;
    let port = arguments.listen.port();
    let host = HostOptions {
        hosts: arguments.world,
        key: Arc::new(LinkKey::watched(&renewals, &arguments.link_key)?),
        clients_at: match (arguments.clients_at, port) {
            (Some(address), _) => address,
            // Nobody can know it, so others do not name it.
            (None, 0) => String::new(),
            (None, port) => format!(":{port}"),
        },
        page_at: arguments.page_at.unwrap_or_default(),
        name: machine::name(),
    };
    let cores = machine::cores();
    let web = arguments.web.serving(&renewals)?.map(|web| WebServing {
        tls: arguments.web_tls,
        ..web
    });
    let audit = match &arguments.audit {
        Some(path) => Audit::open(path)?,
        None => Audit::default(),
    };
    let authenticator = arguments.accounts.authenticator(&renewals)?;
    let revocations = arguments.accounts.revocations(&renewals)?;
    let clients_per_network = arguments.accounts.clients_per_network.unwrap_or(u32::MAX);
    let stop: Arc<AtomicBool> = Arc::default();
    if let Some(run_time) = run_time {
        let stop = stop.clone();
        // Also while there is no world. It ends with the process.
        std::thread::spawn(move || {
            std::thread::sleep(run_time);
            stop.store(true, Ordering::Relaxed);
        });
    }
    say!("waiting for the world at {}", host.hosts.join(", "));
    let started = Gateway::start(
        host,
        |first| ServerOptions {
            listen: arguments.listen,
            identity: arguments.certificate.zip(arguments.key),
            shards: arguments.shards.unwrap_or(cores),
            threads: arguments.threads.unwrap_or(cores),
            metrics: arguments.metrics,
            web,
            http_hosts: arguments.web.hosts.names,
            audit,
            authenticator,
            revocations,
            clients_per_network,
            clients_max: arguments.clients_max.map(|most| most as usize),
            server_id: arguments.server_id,
            update_url: arguments.update_url,
            renewals,
            ..ServerOptions::local(first.config.clone())
        },
        stop.clone(),
    )?;
    let Some(gateway) = started else {
        return Ok(());
    };
    // From here on a signal lets it end by itself, in time.
    signals::set_hook(|| std::mem::forget(StopDeadline::start()));
    let endings = Endings::new();
    signals::set_exit_code(None);
    say!("listening on {}", gateway.address());
    say!("fingerprint {}", fingerprint_text(gateway.certificate()));
    if let Some(address) = gateway.metrics() {
        say!("metrics on http://{address}/metrics");
    }
    if let Some(page) = gateway.page() {
        say!("play on {}://{page}", gateway.page_scheme());
    }
    while !endings.wait(WATCH_EVERY) && !stop.load(Ordering::Relaxed) && gateway.is_running() {}
    let deadline = StopDeadline::start();
    stop.store(true, Ordering::Relaxed);
    let stopped = gateway.stop();
    drop(deadline);
    stopped
}

const WATCH_EVERY: Duration = Duration::from_millis(200);
/// Each has a thread.
const PLACES_MAX: usize = 256;
