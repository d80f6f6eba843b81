//! The frontend: the port, its certificates, the shards, and the page for browsers.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use ::quic::{Turns, WebOptions};
use accounts::guard::Guard;
use anyhow::{Context, Result};
use console::web::root::WebRoot;
use console::web::site;
use device::cpu::Workers;
use durability::folder::{DataFolder, ResetKey};
use frontend::SessionWorld;
use frontend::inbox::SharedInbox;
use frontend::layers::SharedLayers;
use frontend::publication::FanOutReport;
use frontend::servers::OtherServers;
use frontend::shard_channels::ShardSender;
use gateway::places::{PlaceOptions, Places};
use gateway::port::GatewayPort;
use platform::renewal::Shared;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;
use transport::browsers::Renewed;
use transport::handshake::{AdmissionPolicy, Capacity};
use transport::neighbours::Neighbours;
use transport::quic::{self, Browsers, Identity};
use transport::shard::ShardWorld;
use transport::shard_thread;
use transport::sockets::socket_thread::{self, SocketPort};

use super::options::ServerOptions;

/// The frontend of a server.
pub struct Frontend {
    pub address: SocketAddr,
    /// Where the page for browsers will be, if there is one.
    pub page: Option<Bound>,
    pub certificate: CertificateDer<'static>,
    pub session: Arc<SessionWorld>,
    /// Its sessions are of a world before.
    pub is_held: bool,
    /// Where gateways connect, if they may.
    pub gateways: Option<GatewayPort>,
    pub shards: RunningShards,
}

/// The page's address, taken before it is served.
pub struct Bound {
    pub listener: TcpListener,
    pub address: SocketAddr,
    /// The UDP port that pages connect to; none: the server's own.
    pub connect_port: Option<u16>,
    /// For https.
    pub tls: Option<Arc<ServerConfig>>,
    /// Takes WebSockets over.
    pub sockets: SocketPort,
    /// Its certificate; `None` with one of the operator's own.
    pub renewed: Option<Arc<Renewed>>,
    /// Pages of these origins may connect; empty: of all.
    pub origins: Vec<String>,
    pub others: OtherServers,
    /// The files of a custom page.
    pub root: Option<Arc<WebRoot>>,
    /// The world's layers.
    pub layers: SharedLayers,
}

impl Frontend {
    /// Binds the port and starts the shards, which admit clients once `is_open`. A persistent world
    /// has its certificate in its folder. `others` are the gateways of a tick host, or of its
    /// gateway.
    pub fn start(
        options: &ServerOptions,
        folder: Option<&DataFolder>,
        guard: &Arc<Guard>,
        is_open: &Arc<AtomicBool>,
        others: &OtherServers,
    ) -> Result<Frontend> {
        let (identity, own_identity) = identity(options, folder)?;
        let reset_key = folder.map(DataFolder::reset_key).transpose()?;
        let sockets = quic::bind(options.listen, options.shards.max(1))?;
        let address = sockets[0].local_addr()?;
        // The page requests its hash before each connection, so it may be a new one.
        let renewed = match (&options.web, &options.identity) {
            (Some(_), None) => Some(Arc::new(Renewed::new(SystemTime::now())?)),
            _ => None,
        };
        let bound = match &options.web {
            Some(web) => {
                let root = web.root.as_deref().map(open_root).transpose()?;
                Some((web, site::bind(web.page)?, root))
            }
            None => None,
        };
        let world = shard_world(options, guard.clone(), is_open.clone(), others.clone());
        let certificate = identity.get().end_entity_cert()?.clone().into_owned();
        let session = world.session.clone();
        let credentials = Credentials {
            identity,
            browsers: options.web.as_ref().map(|web| Browsers {
                options: WebOptions {
                    origins: web.origins.clone(),
                },
                renewed: renewed.clone(),
            }),
            reset_key,
            server_id: options.server_id,
        };
        let (to_tick, reports) = mpsc::channel();
        let (mut shards, sockets) =
            start_shards(sockets, world, &credentials, (&to_tick, reports))?;
        let gateways = match &options.gateways {
            Some(gateways) => {
                let places = PlaceOptions {
                    first: shards.inboxes.len(),
                    count: gateways.count,
                    silence_max: gateways.silence_max,
                    config: options.world.clone(),
                    guard: guard.clone(),
                    identity: own_identity,
                    gateways: others.clone(),
                    workers: Workers::new(options.threads)?,
                };
                let (places, running) = Places::start(places, &to_tick)?;
                shards.inboxes.extend(running.inboxes);
                shards.senders.extend(running.senders);
                shards.threads.extend(running.threads);
                Some(GatewayPort::open(gateways.listen, &gateways.key, places)?)
            }
            None => None,
        };
        let page = match (bound, sockets) {
            (Some((web, (listener, address), root)), Some(sockets)) => Some(Bound {
                listener,
                address,
                connect_port: web.connect_port,
                tls: match web.tls {
                    true => Some(quic::https_config(&credentials.identity)?),
                    false => None,
                },
                sockets,
                renewed,
                origins: web.origins.clone(),
                others: others.clone(),
                root,
                layers: session.served_layers.clone(),
            }),
            _ => None,
        };
        Ok(Frontend {
            address,
            page,
            certificate,
            session,
            is_held: false,
            gateways,
            shards,
        })
    }
}

impl Bound {
    /// The same address for the page of another server that takes over its shards.
    pub fn again(&self) -> Result<Bound> {
        Ok(Bound {
            listener: self.listener.try_clone().context("cannot share a port")?,
            address: self.address,
            connect_port: self.connect_port,
            tls: self.tls.clone(),
            sockets: self.sockets.clone(),
            renewed: self.renewed.clone(),
            origins: self.origins.clone(),
            others: self.others.clone(),
            root: self.root.clone(),
            layers: self.layers.clone(),
        })
    }
}

/// The tick's ends of the channels to the shards, and their threads.
pub struct RunningShards {
    pub inboxes: Vec<SharedInbox>,
    pub senders: Vec<ShardSender>,
    pub reports: Receiver<FanOutReport>,
    pub threads: Vec<JoinHandle<()>>,
}

/// A certificate and its key, as PEM texts.
type PemPair = (String, String);

/// The identity towards clients. If the operator has not given it, also its certificate and key as
/// PEM texts, for gateways.
fn identity(
    options: &ServerOptions,
    folder: Option<&DataFolder>,
) -> Result<(Shared<CertifiedKey>, Option<PemPair>)> {
    let watched =
        |certificate: &Path, key: &Path| Identity::watched(&options.renewals, certificate, key);
    if let Some((certificate, key)) = &options.identity {
        return Ok((watched(certificate, key)?, None));
    }
    if let Some(folder) = folder {
        let (certificate, key) = folder.identity(quic::self_signed_pem)?;
        let text = |path: &Path| {
            let text = std::fs::read_to_string(path);
            text.with_context(|| format!("cannot read {}", path.display()))
        };
        let own = (text(&certificate)?, text(&key)?);
        return Ok((watched(&certificate, &key)?, Some(own)));
    }
    let (certificate, key) = match &options.shared_identity {
        Some(shared) => shared.clone(),
        None => quic::self_signed_pem()?,
    };
    let own = (certificate.as_bytes(), "the certificate of the world");
    let identity = Identity::parse(own, (key.as_bytes(), "its key"))?;
    Ok((Shared::new(identity.certified()?), Some((certificate, key))))
}

/// The server's identity, and the settings for browsers.
struct Credentials {
    identity: Shared<CertifiedKey>,
    browsers: Option<Browsers>,
    reset_key: Option<ResetKey>,
    server_id: Option<u16>,
}

/// Starts a shard for each socket; for browsers, also one for WebSockets.
fn start_shards(
    sockets: Vec<UdpSocket>,
    world: ShardWorld,
    credentials: &Credentials,
    (to_tick, reports): (&Sender<FanOutReport>, Receiver<FanOutReport>),
) -> Result<(RunningShards, Option<SocketPort>)> {
    let Credentials {
        identity,
        browsers,
        reset_key,
        server_id,
    } = credentials;
    let idle_seconds = world.session.config.limits.idle_seconds;
    let idle = Duration::from_secs(u64::from(idle_seconds));
    let world = Arc::new(world);
    let mut running = RunningShards {
        inboxes: vec![],
        senders: vec![],
        reports,
        threads: vec![],
    };
    let count = u16::try_from(sockets.len()).context("there are too many shards")?;
    let (neighbours, strays) = Neighbours::new(count, reset_key.as_ref(), *server_id);
    let shards = sockets.into_iter().zip(strays).enumerate();
    for (number, (socket, strays)) in shards {
        let inbox = SharedInbox::default();
        let turns = Turns::default();
        let config = quic::server_config(identity, browsers.as_ref(), idle, turns.clone())?;
        let (sender, thread) = shard_thread::spawn(shard_thread::Parts {
            number,
            world: world.clone(),
            config: Arc::new(config),
            turns,
            web: browsers.as_ref().map(|browsers| browsers.options.clone()),
            socket,
            reset_key: *reset_key,
            neighbours: neighbours.clone(),
            strays,
            count: usize::from(count),
            inbox: inbox.clone(),
            reports: to_tick.clone(),
        })?;
        running.inboxes.push(inbox);
        running.senders.push(sender);
        running.threads.push(thread);
    }
    if browsers.is_none() {
        return Ok((running, None));
    }
    let inbox = SharedInbox::default();
    let (sender, port, thread) = socket_thread::spawn(socket_thread::Parts {
        number: usize::from(count),
        world,
        neighbours,
        inbox: inbox.clone(),
        reports: to_tick.clone(),
        idle,
    })?;
    running.inboxes.push(inbox);
    running.senders.push(sender);
    running.threads.push(thread);
    Ok((running, Some(port)))
}

fn shard_world(
    options: &ServerOptions,
    guard: Arc<Guard>,
    is_open: Arc<AtomicBool>,
    others: OtherServers,
) -> ShardWorld {
    let world = &options.world;
    let session = SessionWorld::new(world);
    ShardWorld {
        admission: AdmissionPolicy {
            schema_hash: session.schema.hash(),
            guard,
            is_open,
            audit: options.audit.clone(),
            update_url: options.update_url.as_deref().map(Arc::from),
            capacity: Capacity::new(options.clients_max.unwrap_or(usize::MAX), others),
        },
        session: Arc::new(session),
    }
}

fn open_root(folder: &Path) -> Result<Arc<WebRoot>> {
    let root = WebRoot::open(folder);
    let root = root.with_context(|| format!("cannot serve the files of {}", folder.display()))?;
    Ok(Arc::new(root))
}
