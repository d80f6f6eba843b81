//! Starting and stopping a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use gpu_kernels::content::listen::Listeners;
use gpu_kernels::{Backend, CpuBackend, StartError};
use rustls::pki_types::CertificateDer;
use shared::WorldConfig;
use shared::wire::commands::CommandCodec;
use shared::wire::movement::MovementCodec;
use shared::wire::stream::StreamCodec;
use tokio::sync::mpsc::unbounded_channel;
use tracing::warn;

use crate::inbox::SharedInbox;
use crate::journal::JournalWriter;
use crate::mirror::Mirror;
use crate::quic::{self, Identity};
use crate::shard::{self, Channels, ShardWorld};
use crate::stats::Stats;
use crate::tick_loop::{Parts, TickLoop};
use crate::{machine, telemetry};

/// Which backend runs the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// A GPU if there is one, else the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// An NVIDIA GPU, or nothing.
    Cuda,
}

/// How to run a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where to listen; port 0 picks a free one.
    pub listen: SocketAddr,
    pub world: WorldConfig,
    /// PEM files of certificate and key; without them a self-signed certificate.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Threads for I/O, each with its own clients.
    pub shards: usize,
    /// Threads of the backend.
    pub threads: usize,
    pub backend: BackendChoice,
    pub metrics: Option<SocketAddr>,
    pub record: Option<PathBuf>,
    /// What clients must know to come in; empty lets everyone in.
    pub token: String,
}

impl ServerOptions {
    /// A server of this world on a free port of this machine, using all of it.
    pub fn local(world: WorldConfig) -> ServerOptions {
        ServerOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            world,
            identity: None,
            shards: machine::cores(),
            threads: machine::cores(),
            backend: BackendChoice::Auto,
            metrics: None,
            record: None,
            token: String::new(),
        }
    }
}

/// A running server. Dropping it stops it.
pub struct Server {
    address: SocketAddr,
    certificate: CertificateDer<'static>,
    backend: &'static str,
    backend_note: String,
    stats: Arc<Stats>,
    stop: Arc<AtomicBool>,
    tick_thread: Option<JoinHandle<Result<()>>>,
    shards: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts a server; it takes clients when this returns.
    pub fn start(options: ServerOptions) -> Result<Server> {
        let world = options.world;
        if world.schema.world.visible_max == 0 {
            bail!("world.visible_max: 0 is not allowed in a server; expected 1 to 1024");
        }
        let started = start_backend(
            options.backend,
            &world,
            options.threads,
            machine::memory_available(),
        )?;
        // A GPU that runs the world has room for its subscriptions too, or says why not.
        let may_use_gpu = started.backend.name() == "cuda";
        let listeners = Listeners::new(&world, options.threads, may_use_gpu)?;
        if let Some(reason) = listeners.as_ref().and_then(Listeners::why_no_gpu) {
            warn!(reason, "subscriptions are matched on the processor");
        }
        let identity = match &options.identity {
            Some((certificate, key)) => Identity::load(certificate, key)?,
            None => Identity::self_signed()?,
        };
        let certificate = identity.chain[0].clone();
        let idle = Duration::from_secs(u64::from(world.limits.idle_seconds));
        let config = quic::server_config(identity, idle)?;
        let sockets = quic::bind(options.listen, options.shards.max(1))?;
        let address = sockets[0].local_addr()?;
        if let Some(address) = options.metrics {
            telemetry::serve(address)?;
        }
        let journal = match &options.record {
            Some(path) => Some(JournalWriter::create(path, &world)?),
            None => None,
        };
        let movement = MovementCodec::new(&world.schema)?;
        let mirror = Mirror::new(&world.schema, movement);
        let shard_world = Arc::new(ShardWorld {
            commands: CommandCodec::new(&world.schema, EPOCH),
            stream: StreamCodec::new(&world.schema),
            schema_hash: world.schema.hash(),
            epoch: EPOCH,
            token: options.token,
            config: world.clone(),
        });

        let (done, reports) = mpsc::channel();
        let mut inboxes = vec![];
        let mut senders = vec![];
        let mut shards = vec![];
        for (number, socket) in sockets.into_iter().enumerate() {
            let inbox = SharedInbox::default();
            let (to_shard, from_tick) = unbounded_channel();
            let channels = Channels {
                inbox: inbox.clone(),
                from_tick,
                done: done.clone(),
            };
            let thread = shard::spawn(
                number,
                shard_world.clone(),
                config.clone(),
                socket,
                channels,
            )?;
            inboxes.push(inbox);
            senders.push(to_shard);
            shards.push(thread);
        }
        let stats = Arc::new(Stats::new());
        let stop = Arc::new(AtomicBool::new(false));
        let backend_name = started.backend.name();
        let tick_loop = TickLoop::new(Parts {
            config: world,
            backend: started.backend,
            listeners,
            inboxes,
            shards: senders,
            done: reports,
            journal,
            stats: stats.clone(),
            stop: stop.clone(),
        });
        let tick_thread = std::thread::Builder::new()
            .name("tick".to_owned())
            .spawn(move || tick_loop.run(mirror))
            .context("cannot start the tick thread")?;
        Ok(Server {
            address,
            certificate,
            backend: backend_name,
            backend_note: started.description,
            stats,
            stop,
            tick_thread: Some(tick_thread),
            shards,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What clients must trust when it is self-signed.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Which backend runs the world.
    pub fn backend(&self) -> &'static str {
        self.backend
    }

    /// The same for people: on what, or why not another.
    pub fn backend_note(&self) -> &str {
        &self.backend_note
    }

    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Whether the world still runs; it ends by itself only after an error.
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
        // Whoever wants to know how it ended calls `stop`.
        let _ = self.end();
    }
}

/// A backend that has started.
pub struct Started {
    pub backend: Box<dyn Backend>,
    /// For people: which it is, and why it is not another.
    pub description: String,
}

/// Starts the backend that was asked for.
pub fn start_backend(
    choice: BackendChoice,
    world: &WorldConfig,
    threads: usize,
    memory_available: Option<u64>,
) -> Result<Started, StartError> {
    let cpu = |why: &str| -> Result<Started, StartError> {
        Ok(Started {
            backend: Box::new(CpuBackend::new(world, threads, memory_available)?),
            description: format!("cpu{why}"),
        })
    };
    match choice {
        BackendChoice::Cpu => cpu(""),
        BackendChoice::Cuda => start_cuda(world),
        BackendChoice::Auto => match start_cuda(world) {
            Ok(started) => Ok(started),
            Err(reason) => cpu(&format!(" ({reason})")),
        },
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn start_cuda(world: &WorldConfig) -> Result<Started, StartError> {
    let backend = gpu_kernels::CudaBackend::new(world, None)?;
    Ok(Started {
        description: format!("cuda on {}", backend.gpu().name),
        backend: Box::new(backend),
    })
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn start_cuda(_: &WorldConfig) -> Result<Started, StartError> {
    Err(StartError::Unsupported("cuda", "Linux on x86-64"))
}

/// The schema doesn't change while a server runs, so there is one epoch.
const EPOCH: u8 = 1;
