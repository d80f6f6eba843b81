//! Starting and stopping a server: the one place that knows all its parts.

use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow, bail};
use device::cpu::Workers;
use gpu_kernels::listen::Listeners;
use rustls::pki_types::CertificateDer;
use shared::WorldConfig;
use shared::wire::movement::MovementCodec;
use shared::world::config::VISIBLE_MAX;
use tracing::{info, warn};

use crate::accounts::authenticator::Authenticator;
use crate::accounts::guard::Guard;
use crate::accounts::shared_word::SharedWord;
use crate::admin::desk::Desk;
use crate::admin::port::{self, AdminPort};
use crate::durable::journal::JournalWriter;
use crate::metrics::stats::Stats;
use crate::metrics::window::SharedWindow;
use crate::metrics::{machine, telemetry};
use crate::session::SessionWorld;
use crate::tick::backend::{BackendOptions, Started, start_backend};
use crate::tick::inbox::SharedInbox;
use crate::tick::mirror::{Mirror, SharedMirror};
use crate::tick::publication::FanOutReport;
use crate::tick::reload;
use crate::tick::shards::ShardSender;
use crate::tick::talk::filter::{NoFilter, TalkFilter};
use crate::tick::tick_loop::{FanOutMode, Parts, TickLoop};
use crate::transport::browsers::Renewed;
use crate::transport::handshake::Admission;
use crate::transport::neighbours::Neighbours;
use crate::transport::quic::{self, Clients, Identity};
use crate::transport::shard::ShardWorld;
use crate::transport::shards;
use crate::web::dashboard::data::Facts;
use crate::web::dashboard::{self, Dashboard, watch};
use crate::web::page::GamePage;
use crate::web::site::{self, WebSite};
use ::quic::{Turns, WebOptions};

/// How to run a server.
#[derive(Clone)]
pub struct ServerOptions {
    /// Where to listen; port 0 picks a free one.
    pub listen: SocketAddr,
    pub world: WorldConfig,
    /// The world's folder of scripts: what is saved there comes into force.
    pub scripts: Option<PathBuf>,
    /// PEM files of certificate and key; without them a self-signed certificate.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Threads for I/O, each with its own clients.
    pub shards: usize,
    /// Threads of the backend.
    pub threads: usize,
    pub backend: BackendOptions,
    pub metrics: Option<SocketAddr>,
    /// Lets browsers play, and serves them a page.
    pub web: Option<WebServing>,
    pub record: Option<PathBuf>,
    /// Says who a client is, by its token.
    pub authenticator: Arc<dyn Authenticator>,
    /// Judges what players say.
    pub talk_filter: Arc<dyn TalkFilter>,
    /// Where `myriad admin` speaks to the server: the path of a Unix socket.
    pub admin: Option<PathBuf>,
    /// The most clients from one IPv4 address or IPv6 /64.
    pub clients_per_network: u32,
}

impl ServerOptions {
    /// A server of this world on a free port of this machine, using all of it.
    pub fn local(world: WorldConfig) -> ServerOptions {
        ServerOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            world,
            scripts: None,
            identity: None,
            shards: machine::cores(),
            threads: machine::cores(),
            backend: BackendOptions::default(),
            metrics: None,
            web: None,
            record: None,
            authenticator: Arc::new(SharedWord::new("")),
            talk_filter: Arc::new(NoFilter),
            admin: None,
            clients_per_network: u32::MAX,
        }
    }
}

/// How browsers come to play, and operators to the dashboard.
#[derive(Clone, Debug)]
pub struct WebServing {
    /// Where the page is served; port 0 picks a free one.
    pub page: SocketAddr,
    /// Pages of these origins may connect; empty: of all.
    pub origins: Vec<String>,
    /// What operators must show to see the dashboard. Without one it is shown to this machine
    /// only, at an address of this machine only.
    pub dashboard_token: Option<String>,
}

impl WebServing {
    /// For all pages, and a dashboard without a token.
    pub fn at(page: SocketAddr) -> WebServing {
        WebServing {
            page,
            origins: vec![],
            dashboard_token: None,
        }
    }
}

/// A running server. Dropping it stops it.
pub struct Server {
    address: SocketAddr,
    /// Where the page for browsers is.
    page: Option<SocketAddr>,
    certificate: CertificateDer<'static>,
    backend: &'static str,
    backend_note: String,
    stats: Arc<Stats>,
    stop: Arc<AtomicBool>,
    tick_thread: Option<JoinHandle<Result<()>>>,
    shards: Vec<JoinHandle<()>>,
    /// Closes with the server.
    _admin: Option<AdminPort>,
}

impl Server {
    /// Starts a server; it takes clients when this returns.
    pub fn start(options: ServerOptions) -> Result<Server> {
        let world = &options.world;
        if world.schema.world.visible_max == 0 {
            bail!("world.visible_max: 0 is not allowed in a server; expected 1 to {VISIBLE_MAX}");
        }
        let available = machine::memory_available();
        let started = start_backend(options.backend, world, options.threads, available)?;
        let listeners = start_listeners(&options, &started)?;
        let identity = match &options.identity {
            Some((certificate, key)) => Identity::load(certificate, key)?,
            None => Identity::self_signed()?,
        };
        let certificate = identity.chain[0].clone();
        let sockets = quic::bind(options.listen, options.shards.max(1))?;
        let address = sockets[0].local_addr()?;
        let renewed = match (&options.web, &options.identity) {
            (Some(_), None) => Some(Arc::new(Renewed::new(SystemTime::now())?)),
            _ => None,
        };
        let page = match &options.web {
            Some(web) => Some(site::bind(web.page)?),
            None => None,
        };
        if let Some(address) = options.metrics {
            telemetry::serve(address)?;
        }
        let journal = match &options.record {
            Some(path) => Some(JournalWriter::create(path, world)?),
            None => None,
        };
        let movement = MovementCodec::new(&world.schema)?;
        let mirror = SharedMirror::new(Mirror::new(world, movement));
        let stop = Arc::new(AtomicBool::new(false));
        let guard = start_guard(&options);
        let (to_tick, orders) = mpsc::channel();
        let shard_world = shard_world(&options, guard.clone());
        let session = shard_world.session.clone();
        let browsers = options.web.as_ref().map(|web| WebOptions {
            origins: web.origins.clone(),
        });
        let clients = match browsers {
            Some(_) => Clients::AndBrowsers(renewed.clone()),
            None => Clients::Own,
        };
        let shards = start_shards(shard_world, &identity, &clients, browsers, sockets)?;
        let reloads = match &options.scripts {
            Some(folder) => Some(reload::watch(
                folder,
                world.clone(),
                started.backend.logic_compiler(),
                stop.clone(),
            )?),
            None => None,
        };

        let stats = Arc::new(Stats::new());
        let has_desk = options.admin.is_some() || page.is_some();
        let desk = Desk::new(to_tick, guard, stats.clone());
        let admin = match &options.admin {
            Some(path) => Some(port::open(path, desk.clone())?),
            None => None,
        };
        let backend = started.backend.name();
        let window = page.is_some().then(SharedWindow::new);
        let page_address = page.as_ref().map(|(_, address)| *address);
        if let (Some((listener, page)), Some(window)) = (page, &window) {
            let dashboard = start_dashboard(
                &options,
                page,
                backend,
                DashboardOf {
                    window: window.clone(),
                    mirror: mirror.clone(),
                    desk,
                    stop: stop.clone(),
                },
            )?;
            let port = address.port();
            let page = GamePage { port, renewed };
            WebSite { page, dashboard }.serve(listener, stop.clone())?;
        }
        let tick_loop = TickLoop::new(Parts {
            config: options.world,
            backend: started.backend,
            fan_out: FanOutMode::Overlapped,
            workers: Workers::new(options.threads)?,
            listeners,
            mirror,
            inboxes: shards.inboxes,
            shards: shards.senders,
            reports: shards.reports,
            journal,
            reloads,
            orders: has_desk.then_some(orders),
            talk_filter: options.talk_filter,
            session,
            stats: stats.clone(),
            window,
            stop: stop.clone(),
        });
        let tick_thread = std::thread::Builder::new()
            .name("tick".to_owned())
            .spawn(move || tick_loop.run())
            .context("cannot start the tick thread")?;
        Ok(Server {
            address,
            page: page_address,
            certificate,
            backend,
            backend_note: started.description,
            stats,
            stop,
            tick_thread: Some(tick_thread),
            shards: shards.threads,
            _admin: admin,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the page for browsers is, if there is one.
    pub fn page(&self) -> Option<SocketAddr> {
        self.page
    }

    /// The certificate, which clients must trust if it is self-signed.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The name of the backend that runs the world.
    pub fn backend(&self) -> &'static str {
        self.backend
    }

    /// The same for people: the device, or why a GPU is not used.
    pub fn backend_note(&self) -> &str {
        &self.backend_note
    }

    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Whether the world still runs. Only an error ends it before [`Server::stop`].
    pub fn is_running(&self) -> bool {
        self.tick_thread.as_ref().is_some_and(|t| !t.is_finished())
    }

    /// Tells every client, and ends all threads.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = match self.tick_thread.take() {
            Some(thread) => match thread.join() {
                Ok(result) => result,
                Err(_) => Err(anyhow!("the tick thread has failed")),
            },
            None => Ok(()),
        };
        for shard in self.shards.drain(..) {
            if shard.join().is_err() {
                return ended.and(Err(anyhow!("a shard's thread has failed")));
            }
        }
        ended
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // `Server::stop` tells how it ended.
        let _ = self.end();
    }
}

/// What the dashboard reads of the running server.
struct DashboardOf {
    window: SharedWindow,
    mirror: SharedMirror,
    desk: Desk,
    stop: Arc<AtomicBool>,
}

fn start_dashboard(
    options: &ServerOptions,
    page: SocketAddr,
    backend: &'static str,
    of: DashboardOf,
) -> Result<Arc<Dashboard>> {
    let web = options.web.as_ref();
    let dashboard = Dashboard::start(dashboard::Parts {
        address: page.ip(),
        token: web.and_then(|web| web.dashboard_token.clone()),
        facts: Facts {
            backend,
            version: env!("CARGO_PKG_VERSION"),
            shards: options.shards.max(1),
            clients_max: options.world.limits.clients,
        },
        watch: watch::Parts {
            world: Arc::new(options.world.clone()),
            window: of.window,
            mirror: of.mirror,
        },
        desk: of.desk,
        stop: of.stop,
    })?;
    Ok(Arc::new(dashboard))
}

/// The tick's ends of the channels to the shards, and their threads.
struct RunningShards {
    inboxes: Vec<SharedInbox>,
    senders: Vec<ShardSender>,
    reports: Receiver<FanOutReport>,
    threads: Vec<JoinHandle<()>>,
}

/// Starts a shard for each socket.
fn start_shards(
    world: ShardWorld,
    identity: &Identity,
    clients: &Clients,
    browsers: Option<WebOptions>,
    sockets: Vec<UdpSocket>,
) -> Result<RunningShards> {
    let idle_seconds = world.session.config.limits.idle_seconds;
    let idle = Duration::from_secs(u64::from(idle_seconds));
    let world = Arc::new(world);
    let (to_tick, reports) = mpsc::channel();
    let mut running = RunningShards {
        inboxes: vec![],
        senders: vec![],
        reports,
        threads: vec![],
    };
    let count = u16::try_from(sockets.len()).context("there are too many shards")?;
    let (neighbours, strays) = Neighbours::new(count);
    let shards = sockets.into_iter().zip(strays).enumerate();
    for (number, (socket, strays)) in shards {
        let inbox = SharedInbox::default();
        let turns = Turns::default();
        let config = quic::server_config(identity, clients, idle, turns.clone())?;
        let (sender, thread) = shards::spawn(shards::Parts {
            number,
            world: world.clone(),
            config: Arc::new(config),
            turns,
            web: browsers.clone(),
            socket,
            neighbours: neighbours.clone(),
            strays,
            inbox: inbox.clone(),
            reports: to_tick.clone(),
        })?;
        running.inboxes.push(inbox);
        running.senders.push(sender);
        running.threads.push(thread);
    }
    Ok(running)
}

/// Says in the log who may come in.
fn start_guard(options: &ServerOptions) -> Arc<Guard> {
    let authenticator = options.authenticator.clone();
    let who = authenticator.description();
    match authenticator.is_open() {
        // Nobody else can reach a server on this machine's own address.
        true if !options.listen.ip().is_loopback() => warn!("the server is {who}"),
        _ => info!("who may come in: {who}"),
    }
    Arc::new(Guard::new(authenticator, options.clients_per_network))
}

/// Starts matching with subscriptions, if the world has them.
fn start_listeners(options: &ServerOptions, started: &Started) -> Result<Option<Listeners>> {
    // A GPU that runs the world has room for its subscriptions too, or says why not.
    let listeners = Listeners::new(&options.world, options.threads, started.gpu)?;
    if let Some(reason) = listeners.as_ref().and_then(Listeners::why_no_gpu) {
        warn!(reason, "subscriptions are matched on the processor");
    }
    Ok(listeners)
}

fn shard_world(options: &ServerOptions, guard: Arc<Guard>) -> ShardWorld {
    let world = &options.world;
    let session = SessionWorld::new(world);
    ShardWorld {
        admission: Admission {
            schema_hash: session.schema.hash(),
            guard,
        },
        session: Arc::new(session),
    }
}
