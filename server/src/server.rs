//! Starting and stopping a server: the one place that depends on all its parts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use accounts::authenticator::Authenticator;
use accounts::guard::Guard;
use accounts::names::NameRule;
use accounts::shared_word::SharedWord;
use anyhow::{Context, Result, anyhow, bail};
use console::admin::desk::Desk;
use console::admin::port::{self, AdminPort};
use console::web::dashboard::data::Facts;
use console::web::dashboard::{self, Dashboard, watch};
use console::web::page::GamePage;
use console::web::site::WebSite;
use device::cpu::Workers;
use durability::characters::postgres::Database;
use durability::folder::DataFolder;
use durability::level::Level;
use durability::recording::RecordingWriter;
use durability::recovered::{Progress, Recovered};
use durability::role::{Role, Standing};
use frontend::SessionWorld;
use frontend::mirror::{Mirror, SharedMirror};
use gpu_kernels::listen::Listeners;
use platform::metrics::machine;
use platform::metrics::port::{self as metrics_port, Readiness};
use platform::metrics::stats::Stats;
use platform::metrics::window::SharedWindow;
use platform::renewal::{Renewals, Shared};
use rustls::pki_types::CertificateDer;
use script::world::at_rate;
use shared::wire::movement::MovementCodec;
use shared::world::config::VISIBLE_MAX;
use shared::{Tick, WorldConfig};
use standby::feed::{Feed, FeedOptions};
use standby::fence::Fence;
use standby::follower::Stopped;
use standby::lease::renewal::{Contender, HeldLease, LeaseOptions};
use standby::port::{LinkPort, Primary};
use standby::runner::Ran;
use standby::trust::LinkKey;
use tick::backend::{BackendOptions, Started, start_backend};
use tick::reload::{self, WorldFile};
use tick::talk::filter::{NoFilter, TalkFilter};
use tick::tick_loop::{FanOutMode, Kept, Parts, TickLoop};
use tracing::{info, warn};

use serving::Frontend;

mod bans;
pub mod following;
mod serving;
pub mod world_data;

/// The options of a server.
#[derive(Clone)]
pub struct ServerOptions {
    /// Where to listen; port 0 picks a free one.
    pub listen: SocketAddr,
    pub world: WorldConfig,
    /// The world's folder of scripts: saved changes come into force.
    pub scripts: Option<PathBuf>,
    /// The file of the world: changes of it while the world runs are logged.
    pub world_file: Option<WorldFile>,
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
    /// Names by which the HTTP ports are reached, beside those of this machine: of a proxy, for
    /// example. With any, requests under other names are refused at all addresses.
    pub http_hosts: Vec<String>,
    pub record: Option<PathBuf>,
    /// Options of a persistent world; `None`: it lives in memory.
    pub data: Option<DataOptions>,
    /// Lets a standby follow.
    pub standby: Option<StandbyOptions>,
    /// Runs the world only while it holds this lease.
    pub lease: Option<LeaseOptions>,
    /// Authenticates clients by their tokens.
    pub authenticator: Arc<dyn Authenticator>,
    /// Filters texts of players.
    pub talk_filter: Arc<dyn TalkFilter>,
    /// Which names of players and channels count as equal.
    pub names: NameRule,
    /// The control socket for `myriad admin`: the path of a Unix socket.
    pub admin: Option<PathBuf>,
    /// The most clients from one IPv4 address or IPv6 /64.
    pub clients_per_network: u32,
    /// Where players of another version of the game get the right one: an
    /// address that [`is_update_url`](shared::wire::close::is_update_url) accepts.
    pub update_url: Option<String>,
    /// The files that are read again when they change: those of the certificate, and those loaded
    /// with this.
    pub renewals: Renewals,
}

impl ServerOptions {
    /// A server of this world on a free port of this machine, using all of it.
    pub fn local(world: WorldConfig) -> ServerOptions {
        ServerOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            world,
            scripts: None,
            world_file: None,
            identity: None,
            shards: machine::cores(),
            threads: machine::cores(),
            backend: BackendOptions::default(),
            metrics: None,
            web: None,
            http_hosts: vec![],
            record: None,
            data: None,
            standby: None,
            lease: None,
            authenticator: Arc::new(SharedWord::new("")),
            talk_filter: Arc::new(NoFilter),
            names: NameRule::default(),
            admin: None,
            clients_per_network: u32::MAX,
            update_url: None,
            renewals: Renewals::default(),
        }
    }
}

/// The options of a persistent world.
#[derive(Clone, Debug)]
pub struct DataOptions {
    pub folder: PathBuf,
    pub level: Level,
    /// Old checkpoints and segments are not removed.
    pub keeps_all: bool,
    pub checkpoint_seconds: u32,
    pub segment_bytes: u64,
    /// Where accounts keep their characters; none: in the folder.
    pub characters: Option<Database>,
    /// Called now and then while the world is recovered.
    pub progress: fn(&Progress),
}

impl DataOptions {
    /// The default options for a folder.
    pub fn new(folder: impl Into<PathBuf>) -> DataOptions {
        DataOptions {
            folder: folder.into(),
            level: Level::default(),
            keeps_all: false,
            checkpoint_seconds: CHECKPOINT_SECONDS,
            segment_bytes: SEGMENT_BYTES,
            characters: None,
            progress: |_| (),
        }
    }
}

/// The options of a primary with a standby.
#[derive(Clone, Debug)]
pub struct StandbyOptions {
    /// Port 0 picks a free one.
    pub listen: SocketAddr,
    pub key: Arc<LinkKey>,
    pub feed: FeedOptions,
}

/// From one checkpoint to the next.
pub const CHECKPOINT_SECONDS: u32 = 30;
/// The length of the journal's files.
pub const SEGMENT_BYTES: u64 = 64 << 20;

/// The options of the page and the dashboard.
#[derive(Clone, Debug)]
pub struct WebServing {
    /// Where the page is served; port 0 picks a free one.
    pub page: SocketAddr,
    /// The UDP port that pages connect to, if it is not the server's own.
    pub connect_port: Option<u16>,
    /// Pages of these origins may connect; empty: of all.
    pub origins: Vec<String>,
    /// The token of the dashboard. Without one it is shown to this machine
    /// only, at an address of this machine only.
    pub dashboard_token: Option<Shared<str>>,
    /// A folder with the files of a custom page. They replace those of the page that is part of
    /// the server.
    pub root: Option<PathBuf>,
}

impl WebServing {
    /// For all pages, and a dashboard without a token.
    pub fn at(page: SocketAddr) -> WebServing {
        WebServing {
            page,
            connect_port: None,
            origins: vec![],
            dashboard_token: None,
            root: None,
        }
    }
}

/// A running server. Dropping it stops it.
pub struct Server {
    address: SocketAddr,
    /// Where the page for browsers is.
    page: Option<SocketAddr>,
    metrics: Option<SocketAddr>,
    certificate: CertificateDer<'static>,
    backend: &'static str,
    backend_note: String,
    stats: Arc<Stats>,
    stop: Arc<AtomicBool>,
    tick_thread: Option<JoinHandle<Result<()>>>,
    shards: Vec<JoinHandle<()>>,
    /// Closes with the server.
    _admin: Option<AdminPort>,
    standby: Option<Followed>,
    _fence: Option<Fence>,
    /// Watched while this lives.
    _renewals: Renewals,
    /// Released once nothing is sent to clients any more.
    _lease: Option<HeldLease>,
}

/// Where a standby gets records from.
struct Followed {
    feed: Arc<Feed>,
    port: LinkPort,
}

/// The durability of a world: its worker, the feed of its standby, and its lease.
struct Durability {
    kept: Kept,
    standby: Option<Followed>,
    lease: Option<HeldLease>,
}

/// A world whose state is known, and its frontend.
struct Prepared {
    started: Started,
    frontend: Frontend,
    guard: Arc<Guard>,
    readiness: Readiness,
    metrics: Option<SocketAddr>,
    kept: Option<Durability>,
    fence: Option<Fence>,
}

impl Server {
    /// Starts a server; it admits clients when this returns. While a persistent world is
    /// recovered, clients are closed with `Starting`.
    pub fn start(mut options: ServerOptions) -> Result<Server> {
        if options.world.schema.world.visible_max == 0 {
            bail!("world.visible_max: 0 is not allowed in a server; expected 1 to {VISIBLE_MAX}");
        }
        let token = options
            .web
            .as_ref()
            .and_then(|web| web.dashboard_token.as_ref());
        if token.is_some_and(|token| token.get().is_empty()) {
            bail!("an empty token would show the dashboard to everyone: expected a token or none");
        }
        let available = machine::memory_available();
        let stored = match &options.data {
            Some(data) => Some(world_data::open(data, &mut options.world)?),
            None => None,
        };
        let start =
            |world: &WorldConfig| start_backend(options.backend, world, options.threads, available);
        if options.data.is_none() && !options.world.persists.is_empty() {
            warn!("accounts keep nothing (`persist`): the world is in memory, not in a folder");
        }
        let guard = start_guard(&options, stored.as_ref().map(|stored| &stored.folder))?;
        // The port answers as soon as its certificate is known.
        let (readiness, metrics) = show_metrics(&options)?;
        let is_open = &readiness.is_open;
        let (started, frontend, kept) = match (stored, &options.data) {
            (Some(stored), Some(data)) => {
                let frontend = Frontend::start(&options, Some(&stored.folder), &guard, is_open)?;
                let mut started = start(&options.world)?;
                let backend = &mut *started.backend;
                let (folder, recovered) =
                    world_data::recover(stored, data, &options.world, backend)?;
                let kept = start_durability(&options, folder, recovered, None)?;
                (started, frontend, Some(kept))
            }
            _ => {
                let started = start(&options.world)?;
                let frontend = Frontend::start(&options, None, &guard, is_open)?;
                (started, frontend, None)
            }
        };
        let fence = match (&options.data, &kept) {
            (Some(data), Some(kept)) => {
                let key = options.standby.as_ref().map(|standby| &*standby.key);
                Fence::again(&data.folder, key, kept.kept.recovered.epoch)?
            }
            _ => None,
        };
        Server::run(
            options,
            Prepared {
                started,
                frontend,
                guard,
                readiness,
                metrics,
                kept,
                fence,
            },
        )
    }

    /// Runs the world of a standby, in an epoch above all that were seen. `primary` is the port of
    /// the server before, which is notified. `lease` was taken for this server.
    pub fn promote(
        mut options: ServerOptions,
        stopped: Stopped,
        primary: Option<(String, &LinkKey)>,
        lease: Option<HeldLease>,
    ) -> Result<Server> {
        let Stopped {
            folder,
            ran: Ran {
                started,
                mut recovered,
            },
            epoch,
            tick_hz,
        } = stopped;
        recovered.epoch = recovered.epoch.max(epoch).promoted()?;
        if let Some(lease) = &lease {
            if lease.epoch < recovered.epoch {
                bail!(
                    "the lease was taken for epoch {}, and the records need {}: is its name \
                     another world's?",
                    lease.epoch,
                    recovered.epoch
                );
            }
            recovered.epoch = lease.epoch;
        }
        if tick_hz > 0 && tick_hz != recovered.world.schema.world.tick_hz {
            recovered.world = at_rate(&recovered.world, tick_hz, "the primary's world")?;
        }
        // From here on nothing of the server before is acknowledged.
        let standing = Standing {
            role: Role::Primary,
            epoch: recovered.epoch,
        };
        standing.write(folder.path())?;
        let fence = match primary {
            Some((primary, key)) => {
                Some(Fence::start(folder.path(), primary, key, recovered.epoch)?)
            }
            None => None,
        };
        warn!(epoch = %recovered.epoch, tick = recovered.start.tick, "this standby is the primary now");
        options.world = recovered.world.clone();
        let guard = start_guard(&options, Some(&folder))?;
        let (readiness, metrics) = show_metrics(&options)?;
        let frontend = Frontend::start(&options, Some(&folder), &guard, &readiness.is_open)?;
        let kept = start_durability(&options, folder, recovered, lease)?;
        Server::run(
            options,
            Prepared {
                started,
                frontend,
                guard,
                readiness,
                metrics,
                kept: Some(kept),
                fence,
            },
        )
    }

    /// Runs a world whose state is known.
    fn run(mut options: ServerOptions, prepared: Prepared) -> Result<Server> {
        let Prepared {
            mut started,
            frontend,
            guard,
            readiness: Readiness { is_open, stop },
            metrics,
            kept,
            fence,
        } = prepared;
        let (kept, standby, lease) = match kept {
            Some(durability) => (Some(durability.kept), durability.standby, durability.lease),
            None => (None, None, None),
        };
        if let Some(kept) = &kept {
            options.world = kept.recovered.world.clone();
        }
        let world = &options.world;
        let listeners = start_listeners(&options, &started)?;
        let recording = match &options.record {
            Some(path) => Some(RecordingWriter::create(path, world)?),
            None => None,
        };
        let workers = Workers::new(options.threads)?;
        let mut mirror = Mirror::new(world, MovementCodec::new(&world.schema)?);
        if let Some(kept) = &kept {
            mirror.restore(&workers, &kept.recovered.snapshot);
        }
        let mirror = SharedMirror::new(mirror);
        let reloads = reload::watch(
            reload::Watched {
                folder: options.scripts.clone(),
                file: options.world_file.clone(),
            },
            world.clone(),
            started.backend.logic_compiler(),
            stop.clone(),
        )?;

        let stats = Arc::new(Stats::new());
        let recovered = kept.as_ref().map(|_| Arc::new(SessionWorld::new(world)));
        let Frontend {
            address,
            page,
            certificate,
            session,
            shards,
        } = frontend;
        let (to_tick, orders) = mpsc::channel();
        let has_desk = options.admin.is_some() || page.is_some();
        let desk = Desk::new(to_tick, guard, stats.clone());
        let admin = match &options.admin {
            Some(path) => Some(port::open(path, desk.clone())?),
            None => None,
        };
        let backend = started.backend.name();
        let window = page.is_some().then(SharedWindow::new);
        let page_address = page.as_ref().map(|page| page.address);
        if let (Some(page), Some(window)) = (page, &window) {
            let dashboard = start_dashboard(
                &options,
                page.address,
                backend,
                DashboardOf {
                    window: window.clone(),
                    mirror: mirror.clone(),
                    desk,
                    stop: stop.clone(),
                },
            )?;
            let game = GamePage {
                port: page.connect_port.unwrap_or(address.port()),
                renewed: page.renewed,
                origins: page.origins,
                root: page.root,
            };
            let site = WebSite {
                page: game,
                dashboard,
                names: options.http_hosts,
            };
            site.serve(page.listener, stop.clone())?;
        }
        let tick_loop = TickLoop::new(Parts {
            config: options.world,
            backend: started.backend,
            fan_out: FanOutMode::Overlapped,
            workers,
            listeners,
            mirror,
            inboxes: shards.inboxes,
            shards: shards.senders,
            reports: shards.reports,
            recording,
            kept,
            reloads,
            orders: has_desk.then_some(orders),
            talk_filter: options.talk_filter,
            names: options.names,
            // Its scripts may have changed since the checkpoint.
            session: recovered.unwrap_or(session),
            stats: stats.clone(),
            window,
            stop: stop.clone(),
        });
        is_open.store(true, Ordering::Relaxed);
        let tick_thread = std::thread::Builder::new()
            .name("tick".to_owned())
            .spawn(move || tick_loop.run())
            .context("cannot start the tick thread")?;
        Ok(Server {
            address,
            page: page_address,
            metrics,
            certificate,
            backend,
            backend_note: std::mem::take(&mut started.description),
            stats,
            stop,
            tick_thread: Some(tick_thread),
            shards: shards.threads,
            _admin: admin,
            standby,
            _fence: fence,
            _renewals: options.renewals,
            _lease: lease,
        })
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the page for browsers is, if there is one.
    pub fn page(&self) -> Option<SocketAddr> {
        self.page
    }

    /// Where the metrics are, if they are shown.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// The certificate of its start, which clients must trust if it is self-signed.
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

    /// Where a standby may follow.
    pub fn followers(&self) -> Option<SocketAddr> {
        Some(self.standby.as_ref()?.port.address())
    }

    /// The newest tick that the standby has on disk.
    pub fn acknowledged(&self) -> Option<Tick> {
        let feed = &self.standby.as_ref()?.feed;
        feed.acknowledged().checked_sub(1).map(Tick)
    }

    /// Whether the world still runs. Only an error ends it before [`Server::stop`].
    pub fn is_running(&self) -> bool {
        self.tick_thread.as_ref().is_some_and(|t| !t.is_finished())
    }

    /// Closes all connections with the reason, and ends all threads.
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
        // `Server::stop` returns the result.
        let _ = self.end();
    }
}

/// Starts the durability of a world, and lets a standby follow it.
fn start_durability(
    options: &ServerOptions,
    folder: DataFolder,
    recovered: Recovered,
    lease: Option<HeldLease>,
) -> Result<Durability> {
    let Some(data) = &options.data else {
        bail!("a world without a folder can't be persistent");
    };
    let standing = Standing {
        role: Role::Primary,
        epoch: recovered.epoch,
    };
    let lease = match (lease, &options.lease) {
        (None, Some(lease)) => {
            // First here: an epoch that etcd has must not be used again.
            standing.write(folder.path())?;
            Some(Contender::new(lease.clone())?.take(recovered.epoch)?)
        }
        (lease, _) => lease,
    };
    let validity = lease.as_ref().map(HeldLease::validity);
    let Some(standby) = &options.standby else {
        if data.level == Level::Standby {
            bail!("level standby needs a port for the standby: --followers ADDRESS");
        }
        let kept =
            world_data::start_durability(folder, data, recovered, options.threads, None, validity)?;
        return Ok(Durability {
            kept,
            standby: None,
            lease,
        });
    };
    let feed = Arc::new(Feed::new(standby.feed));
    if data.level == Level::Standby && !standby.feed.is_required {
        warn!("level `told` holds until a standby follows");
    }
    let mut primary = Primary {
        feed: feed.clone(),
        folder: folder.path().to_owned(),
        characters: None,
        first: recovered.start.tick,
        capacity: recovered.world.schema.world.capacity,
        epoch: recovered.epoch,
        tick_hz: recovered.world.schema.world.tick_hz,
        keys: match &options.identity {
            Some(_) => None,
            None => Some(folder.export()?),
        },
    };
    standing.write(folder.path())?;
    let threads = options.threads;
    let kept = world_data::start_durability(
        folder,
        data,
        recovered,
        threads,
        Some(feed.clone()),
        validity,
    )?;
    primary.characters = kept.worker.characters();
    let port = LinkPort::open(standby.listen, &standby.key, primary)?;
    Ok(Durability {
        kept,
        standby: Some(Followed { feed, port }),
        lease,
    })
}

/// The dashboard's access to the running server.
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

/// Serves metrics if that is an option, from before a world is recovered.
/// Gives the address, too: its port may have been 0.
fn show_metrics(options: &ServerOptions) -> Result<(Readiness, Option<SocketAddr>)> {
    let readiness = Readiness::default();
    let Some(address) = options.metrics else {
        return Ok((readiness, None));
    };
    let address = metrics_port::serve(address, readiness.clone(), options.http_hosts.clone())?;
    // The world may take a while to be there.
    info!(%address, "metrics are served");
    Ok((readiness, Some(address)))
}

/// Logs how clients are authenticated. Bans are saved in the folder, if there is one.
fn start_guard(options: &ServerOptions, folder: Option<&DataFolder>) -> Result<Arc<Guard>> {
    let authenticator = options.authenticator.clone();
    let who = authenticator.description();
    match authenticator.is_open() {
        // Others can't reach a server on this machine's own address.
        true if !options.listen.ip().is_loopback() => warn!("the server is {who}"),
        _ => info!("authentication: {who}"),
    }
    let guard = Guard::new(authenticator, options.clients_per_network);
    if let Some(folder) = folder {
        bans::keep(&guard, folder)?;
    }
    Ok(Arc::new(guard))
}

/// Starts matching with subscriptions, if the world has them.
fn start_listeners(options: &ServerOptions, started: &Started) -> Result<Option<Listeners>> {
    // A GPU that runs the world has room for its subscriptions too, or returns why not.
    let listeners = Listeners::new(&options.world, options.threads, started.gpu)?;
    if let Some(reason) = listeners.as_ref().and_then(Listeners::why_no_gpu) {
        warn!(reason, "subscriptions are matched on the processor");
    }
    Ok(listeners)
}
