//! The options of a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use accounts::authenticator::Authenticator;
use accounts::names::NameRule;
use accounts::revocations::Revocations;
use accounts::shared_word::SharedWord;
use durability::characters::postgres::Database;
use durability::level::Level;
use durability::recovered::Progress;
use peer::trust::LinkKey;
use platform::audit::Audit;
use platform::metrics::machine;
use platform::problems::Problems;
use platform::renewal::{Renewals, Shared};
use platform::trace_options::TraceOptions;
use shared::WorldConfig;
use standby::feed::FeedOptions;
use standby::lease::renewal::LeaseOptions;
use testkit::backends::Starter;
use tick::backend::BackendOptions;
use tick::reload::WorldFile;
use tick::talk::filter::{NoFilter, TalkFilter};

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
    /// The PEM texts of a certificate and its key that another server of the world has made: used
    /// without files.
    pub shared_identity: Option<(String, String)>,
    /// Threads for I/O, each with its own clients.
    pub shards: usize,
    /// Threads of the backend.
    pub threads: usize,
    pub backend: BackendOptions,
    /// Starts another backend in place of these: for tests.
    pub starter: Option<Starter>,
    pub metrics: Option<SocketAddr>,
    /// Where traces of commands are sent; none: they are not traced.
    pub traces: Option<TraceOptions>,
    /// The problems of the game's files, which are also shown on the page; none: they are not.
    pub problems: Option<Problems>,
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
    /// Lets gateways hold clients.
    pub gateways: Option<GatewayPlaces>,
    /// Runs the world only while it holds this lease.
    pub lease: Option<LeaseOptions>,
    /// Authenticates clients by their tokens.
    pub authenticator: Arc<dyn Authenticator>,
    /// Tokens that are refused though they are good; sessions with them end.
    pub revocations: Option<Shared<Revocations>>,
    /// Filters texts of players.
    pub talk_filter: Arc<dyn TalkFilter>,
    /// Which names of players and channels count as equal.
    pub names: NameRule,
    /// Notes joins, leaves, refusals, and requests of operators.
    pub audit: Audit,
    /// The control socket for `myriad admin`: the path of a Unix socket.
    pub admin: Option<PathBuf>,
    /// The most clients from one IPv4 address or IPv6 /64.
    pub clients_per_network: u32,
    /// The most clients of this server, if they are fewer than those of its world.
    pub clients_max: Option<usize>,
    /// By which balancers find it: its number stands in the ids of its connections.
    pub server_id: Option<u16>,
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
            shared_identity: None,
            shards: machine::cores(),
            threads: machine::cores(),
            backend: BackendOptions::default(),
            starter: None,
            metrics: None,
            traces: None,
            problems: None,
            web: None,
            http_hosts: vec![],
            record: None,
            data: None,
            standby: None,
            gateways: None,
            lease: None,
            authenticator: Arc::new(SharedWord::new("")),
            revocations: None,
            talk_filter: Arc::new(NoFilter),
            names: NameRule::default(),
            audit: Audit::default(),
            admin: None,
            clients_per_network: u32::MAX,
            clients_max: None,
            server_id: None,
            update_url: None,
            renewals: Renewals::default(),
        }
    }
}

/// Whether a server continues the world of its folder, or begins one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begin {
    /// There must be a world.
    Continue,
    /// There must be none.
    New,
    /// A folder without a world gets a new one.
    #[default]
    Either,
}

/// The options of a persistent world.
#[derive(Clone, Debug)]
pub struct DataOptions {
    pub folder: PathBuf,
    pub begin: Begin,
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
            begin: Begin::Either,
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

/// The options of a tick host with gateways.
#[derive(Clone, Debug)]
pub struct GatewayPlaces {
    /// Port 0 picks a free one.
    pub listen: SocketAddr,
    pub key: Arc<LinkKey>,
    /// The most gateways at a time.
    pub count: usize,
    /// A gateway that sends nothing to its clients for so long is lost.
    pub silence_max: Duration,
}

impl GatewayPlaces {
    /// The default options for a port.
    pub fn new(listen: SocketAddr, key: Arc<LinkKey>) -> GatewayPlaces {
        GatewayPlaces {
            listen,
            key,
            count: GATEWAYS_MAX,
            silence_max: GATEWAY_SILENCE_MAX,
        }
    }
}

/// The most gateways at a time, unless an option says otherwise.
pub const GATEWAYS_MAX: usize = 8;
/// How long a gateway may be silent, unless an option says otherwise.
pub const GATEWAY_SILENCE_MAX: Duration = Duration::from_secs(1);

/// From one checkpoint to the next.
pub const CHECKPOINT_SECONDS: u32 = 30;
/// The length of the journal's files.
pub const SEGMENT_BYTES: u64 = 64 << 20;

/// The options of the page and the dashboard.
#[derive(Clone, Debug)]
pub struct WebServing {
    /// Where the page is served; port 0 picks a free one.
    pub page: SocketAddr,
    /// It is served by https, with the certificate of `identity`.
    pub tls: bool,
    /// The UDP port that pages connect to, if it is not the server's own.
    pub connect_port: Option<u16>,
    /// Pages of these origins may connect; empty: of all.
    pub origins: Vec<String>,
    /// The tokens of the dashboard, one a line. Without any it is shown to this machine
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
            tls: false,
            connect_port: None,
            origins: vec![],
            dashboard_token: None,
            root: None,
        }
    }
}
