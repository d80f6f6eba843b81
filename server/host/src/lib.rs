//! Starting and stopping a server: the one place that depends on all its parts.
//!
//! | module | holds |
//! | --- | --- |
//! | `options` | the options of a server |
//! | [`held`] | a server without a world, whose clients stay connected |
//! | `serving` | the port, its certificates, the shards, and the page for browsers |
//! | [`world_data`] | a world in a folder: from its files to a world that runs |
//! | `persistence` | the durability of a world: journal and checkpoints, a standby, and a lease |
//! | `web` | the page and the dashboard of a running server |
//! | `bans` | the bans of a persistent world |
//! | [`gateway_server`] | a server that holds clients of a world elsewhere |
//! | [`following`] | a server that follows a primary, until it takes over |
//! | [`version`] | the versions of this program and of its formats |
#![forbid(unsafe_code)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use accounts::guard::Guard;
use anyhow::{Context, Result, anyhow, bail};
use console::admin::desk::Desk;
use console::admin::port::{self, AdminPort};
use device::cpu::Workers;
use durability::folder::DataFolder;
use durability::recording::RecordingWriter;
use durability::role::{Role, Standing};
use frontend::SessionWorld;
use frontend::mirror::{Mirror, SharedMirror};
use frontend::servers::OtherServers;
use gateway::places::LinkTotals;
use gateway::port::GatewayPort;
use gpu_kernels::listen::Listeners;
use peer::trust::LinkKey;
use platform::audit::{Audit, Entry};
use platform::http::HttpPort;
use platform::log::script_lines::ScriptLines;
use platform::metrics::machine;
use platform::metrics::port::{self as metrics_port, Readiness};
use platform::metrics::stats::Stats;
use platform::metrics::window::SharedWindow;
use platform::renewal::Renewals;
use platform::traces::TraceExporter;
use rustls::pki_types::CertificateDer;
use shared::wire::movement::MovementCodec;
use shared::world::config::VISIBLE_MAX;
use shared::{Tick, WorldConfig};
use standby::fence::Fence;
use standby::follower::Stopped;
use standby::lease::renewal::HeldLease;
use standby::runner::Ran;
use tick::backend::{Started, start_backend};
use tick::reload;
use tick::tick_loop::traces::Traces;
use tick::tick_loop::{FanOutMode, HeldShards, Parts, TickLoop};
use tracing::{info, warn};
use world_file::at_rate;

use held::{Access, HeldServer};
use persistence::{Durability, Followed};
use serving::{Bound, Frontend};
use web::DashboardSources;

mod bans;
pub mod following;
pub mod gateway_server;
pub mod held;
mod lists;
mod mutes;
mod options;
mod persistence;
mod serving;
pub mod version;
mod web;
pub mod world_data;

pub use options::{
    Begin, CHECKPOINT_SECONDS, DataOptions, GATEWAY_SILENCE_MAX, GATEWAYS_MAX, GatewayPlaces,
    SEGMENT_BYTES, ServerOptions, StandbyOptions, WebServing,
};

/// A running server. Dropping it stops it.
pub struct Server {
    address: SocketAddr,
    /// Where the page for browsers is, and whether by https.
    page: Option<(SocketAddr, bool)>,
    page_port: Option<HttpPort>,
    metrics: Option<SocketAddr>,
    certificate: CertificateDer<'static>,
    backend: &'static str,
    backend_note: String,
    stats: Arc<Stats>,
    stop: Arc<AtomicBool>,
    tick_thread: Option<JoinHandle<Result<Option<HeldShards>>>>,
    /// Whether the shards are to outlive the world.
    holds: Arc<AtomicBool>,
    /// What another world would need besides, in the same place.
    access: Access,
    shards: Vec<JoinHandle<()>>,
    /// Until its end.
    audit: Option<Audit>,
    /// Closes with the server.
    _admin: Option<AdminPort>,
    standby: Option<Followed>,
    gateways: Option<GatewayPort>,
    _fence: Option<Fence>,
    /// Watched while this lives.
    _renewals: Renewals,
    /// Released once nothing is sent to clients any more.
    _lease: Option<HeldLease>,
}

/// A world whose state is known, and its frontend.
struct Prepared {
    started: Started,
    frontend: Frontend,
    guard: Arc<Guard>,
    readiness: Readiness,
    metrics: Option<SocketAddr>,
    durability: Option<Durability>,
    fence: Option<Fence>,
}

/// The metrics of a server and whether it admits clients, and where they are shown.
pub type Shown = (Readiness, Option<SocketAddr>);

impl Server {
    /// Starts a server; it admits clients when this returns. While a persistent world is
    /// recovered, clients are closed with `Starting`.
    pub fn start(options: ServerOptions) -> Result<Server> {
        Server::start_with(options, None)
    }

    /// The same with a lease that was taken for it.
    pub fn start_with(options: ServerOptions, lease: Option<HeldLease>) -> Result<Server> {
        Server::start_at(options, lease, None)
    }

    /// The same with the clients of a server before, if there was one.
    fn start_at(
        mut options: ServerOptions,
        lease: Option<HeldLease>,
        held: Option<HeldServer>,
    ) -> Result<Server> {
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
        let start = |world: &WorldConfig| match &options.starter {
            None => start_backend(options.backend, world, options.threads, available),
            Some(starter) => Ok(Started {
                backend: starter.try_start(world)?,
                description: starter.label.clone(),
                gpu: None,
            }),
        };
        if options.data.is_none() && options.world.has_characters() {
            warn!("accounts keep nothing (`persist`): the world is in memory, not in a folder");
        }
        let folder = stored.as_ref().map(|stored| &stored.folder);
        let (guard, is_open) = match &held {
            Some(held) => (held.guard.clone(), held.is_open.clone()),
            None => (start_guard(&options, folder)?, Arc::default()),
        };
        // The port answers as soon as its certificate is known.
        let (readiness, metrics) = show_metrics(&options, is_open, Arc::default())?;
        let is_open = &readiness.is_open;
        let frontend = |folder: Option<&DataFolder>| match held {
            Some(held) => Ok(held.frontend),
            None => Frontend::start(&options, folder, &guard, is_open, &OtherServers::default()),
        };
        let (started, frontend, durability) = match (stored, &options.data) {
            (Some(stored), Some(data)) => {
                let frontend = frontend(Some(&stored.folder))?;
                let mut started = start(&options.world)?;
                let backend = &mut *started.backend;
                let (folder, mut recovered) =
                    world_data::recover(stored, data, &options.world, backend)?;
                if let Some(lease) = &lease {
                    recovered.epoch = recovered.epoch.max(lease.epoch);
                }
                let durability = persistence::start(&options, folder, recovered, lease)?;
                (started, frontend, Some(durability))
            }
            _ => {
                let started = start(&options.world)?;
                let frontend = frontend(None)?;
                (started, frontend, None)
            }
        };
        let fence = match (&options.data, &durability) {
            (Some(data), Some(durability)) => {
                let key = options.standby.as_ref().map(|standby| &*standby.key);
                Fence::again(&data.folder, key, durability.world.recovered.epoch)?
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
                durability,
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
        (lease, (readiness, metrics)): (Option<HeldLease>, Shown),
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
        let (is_open, others) = (&readiness.is_open, OtherServers::default());
        let frontend = Frontend::start(&options, Some(&folder), &guard, is_open, &others)?;
        let durability = persistence::start(&options, folder, recovered, lease)?;
        Server::run(
            options,
            Prepared {
                started,
                frontend,
                guard,
                readiness,
                metrics,
                durability: Some(durability),
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
            readiness: Readiness { is_open, stop, .. },
            metrics,
            durability,
            fence,
        } = prepared;
        let start_tick = match &durability {
            Some(durability) => durability.world.recovered.start.tick,
            None => 0,
        };
        let (persistent, standby, lease) = match durability {
            Some(durability) => (Some(durability.world), durability.standby, durability.lease),
            None => (None, None, None),
        };
        if let Some(persistent) = &persistent {
            options.world = persistent.recovered.world.clone();
        }
        let world = &options.world;
        let listeners = start_listeners(&options, &started)?;
        let recording = match &options.record {
            Some(path) => Some(RecordingWriter::create(path, world)?),
            None => None,
        };
        let workers = Workers::new(options.threads)?;
        let mut mirror = Mirror::new(world, MovementCodec::new(&world.schema)?);
        if let Some(persistent) = &persistent {
            mirror.restore(&workers, &persistent.recovered.snapshot);
        }
        let mirror = SharedMirror::new(mirror);
        let reloads = reload::watch(
            reload::Watched {
                folder: options.scripts.clone(),
                file: options.world_file.clone(),
                problems: options.problems.clone(),
            },
            world.clone(),
            started.backend.logic_compiler(),
            stop.clone(),
        )?;

        let stats = Arc::new(Stats::new());
        let is_resumed = frontend.is_held;
        let session = match (is_resumed, &persistent) {
            (true, _) => Arc::new(frontend.session.followed_by(world)),
            // Its scripts may have changed since the checkpoint.
            (false, Some(_)) => {
                let layers = &frontend.session.served_layers;
                Arc::new(SessionWorld::serving(world, layers))
            }
            (false, None) => frontend.session,
        };
        let Frontend {
            address,
            page,
            certificate,
            shards,
            gateways,
            ..
        } = frontend;
        let (to_tick, orders) = mpsc::channel();
        let has_desk = options.admin.is_some() || page.is_some();
        let audit = options.audit.clone();
        let access = Access {
            page: page.as_ref().map(Bound::again).transpose()?,
            guard: guard.clone(),
            is_open: is_open.clone(),
        };
        let desk = Desk::new(to_tick, guard, stats.clone(), audit.clone());
        let admin = match &options.admin {
            Some(path) => Some(port::open(path, desk.clone())?),
            None => None,
        };
        let backend = started.backend.name();
        let window = page.is_some().then(SharedWindow::new);
        let script_lines = page.is_some().then(ScriptLines::default);
        let page_address = page.as_ref().map(|page| (page.address, page.tls.is_some()));
        let mut page_port = None;
        if let (Some(page), Some(window), Some(lines)) = (page, &window, &script_lines) {
            let dashboard = DashboardSources {
                window: window.clone(),
                script_lines: lines.clone(),
                mirror: mirror.clone(),
                desk,
                stop: stop.clone(),
            };
            let port = address.port();
            page_port = Some(web::serve(&options, page, port, backend, dashboard)?);
        }
        let mut tick_loop = TickLoop::new(Parts {
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
            persistent,
            reloads,
            operator: has_desk.then_some(orders),
            talk_filter: options.talk_filter,
            names: options.names,
            session,
            stats: stats.clone(),
            window,
            script_lines,
            stop: stop.clone(),
        });
        if let Some(traces) = &options.traces {
            let exporter = TraceExporter::start(traces, version::VERSION)?;
            tick_loop.set_traces(Traces::new(exporter, traces));
        }
        audit.note_tick(start_tick);
        audit.note(Entry {
            event: "start",
            address: Some(address.to_string()),
            ..Entry::default()
        });
        if is_resumed {
            tick_loop.restart_sessions()?;
        }
        is_open.store(true, Ordering::Relaxed);
        let holds = Arc::new(AtomicBool::new(false));
        let is_to_hold = holds.clone();
        let tick_thread = std::thread::Builder::new()
            .name("tick".to_owned())
            .spawn(move || tick_loop.run(&is_to_hold))
            .context("cannot start the tick thread")?;
        Ok(Server {
            address,
            page: page_address,
            page_port,
            metrics,
            certificate,
            backend,
            backend_note: std::mem::take(&mut started.description),
            stats,
            stop,
            tick_thread: Some(tick_thread),
            holds,
            access,
            shards: shards.threads,
            audit: Some(audit),
            _admin: admin,
            standby,
            gateways,
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
        self.page.map(|(address, _)| address)
    }

    /// How the page is reached: by `http` or by `https`.
    pub fn page_scheme(&self) -> &'static str {
        match self.page {
            Some((_, true)) => "https",
            _ => "http",
        }
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

    /// Where gateways may connect.
    pub fn gateways(&self) -> Option<SocketAddr> {
        Some(self.gateways.as_ref()?.address())
    }

    /// What has passed between this server and its gateways.
    pub fn gateway_totals(&self) -> LinkTotals {
        let totals = self.gateways.as_ref().map(GatewayPort::totals);
        totals.unwrap_or_default()
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
        let ended = self.end_world().map(drop);
        let mut have_ended = true;
        for shard in self.shards.drain(..) {
            have_ended &= shard.join().is_ok();
        }
        if let Some(audit) = self.audit.take() {
            audit.note(Entry {
                event: "stop",
                reason: ended
                    .as_ref()
                    .err()
                    .map(|error| format!("{error:#}"))
                    .as_deref(),
                ..Entry::default()
            });
            audit.finish();
        }
        match have_ended {
            true => ended,
            false => ended.and(Err(anyhow!("a shard's thread has failed"))),
        }
    }

    /// Ends the world. Returns the shards if they are to be held.
    fn end_world(&mut self) -> Result<Option<HeldShards>> {
        self.stop.store(true, Ordering::Relaxed);
        // Requests wait for the next world, if there is one.
        self.page_port.take();
        match self.tick_thread.take() {
            Some(thread) => match thread.join() {
                Ok(result) => result,
                Err(_) => Err(anyhow!("the tick thread has failed")),
            },
            None => Ok(None),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // `Server::stop` returns the result.
        let _ = self.end();
    }
}

/// Serves metrics if that is an option, from before a world is recovered.
/// Also returns the address: its port may have been 0.
fn show_metrics(
    options: &ServerOptions,
    is_open: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
) -> Result<Shown> {
    let readiness = Readiness {
        is_open,
        stop,
        is_audit_failing: options.audit.failing(),
    };
    let Some(address) = options.metrics else {
        return Ok((readiness, None));
    };
    let shown = metrics_port::Shown {
        readiness: readiness.clone(),
        names: options.http_hosts.clone(),
        build: version::labels(),
        data: options.data.as_ref().map(|data| data.folder.clone()),
    };
    let address = metrics_port::serve(address, shown)?;
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
    let guard = Guard::new(authenticator, options.clients_per_network)
        .revoking(options.revocations.clone());
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
