//! A server that follows a primary, until it takes over.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use durability::folder::DataFolder;
use durability::recovery;
use durability::role::{Role, Standing};
use peer::trust::LinkKey;
use standby::closed_port::ClosedPort;
use standby::follower::{FollowOptions, Follower, Progress};
use standby::lease::etcd::Known;
use standby::lease::renewal::{Contender, HeldLease, LeaseOptions};
use standby::runner::RunOptions;
use tracing::info;

use super::options::{DataOptions, ServerOptions};
use super::{Server, Shown};

/// A running standby. Dropping it stops it.
pub struct Standby {
    options: ServerOptions,
    key: Arc<LinkKey>,
    primary: String,
    follower: Follower,
    /// The port at which it refuses clients, before it serves them.
    port: ClosedPort,
    shown: Shown,
    /// The server before is notified after a promotion.
    notifies: bool,
}

/// The primary, and how to follow it.
#[derive(Clone, Debug)]
pub struct Follow {
    /// HOST:PORT of the primary's port for a standby.
    pub primary: String,
    pub key: Arc<LinkKey>,
    /// Where clients will find this server, as HOST:PORT; `None`: at the address from which
    /// it follows, and its own port.
    pub clients_at: Option<String>,
    /// After a promotion, notify the server before, which may still run: where no lease ends it.
    pub notifies: bool,
}

impl Standby {
    /// Starts to follow. `options` are those of the server that it may become; its world is
    /// the primary's.
    pub fn start(mut options: ServerOptions, follow: Follow) -> Result<Standby> {
        let Some(data) = options.data.clone() else {
            bail!("a standby needs a folder");
        };
        let shown = super::show_metrics(&options, Arc::default(), Arc::default())?;
        let folder = DataFolder::open(&data.folder)?;
        if let Some(lease) = &mut options.lease {
            lease.id = folder.server_id()?;
        }
        let identity = options.identity.clone();
        let identity = identity.unwrap_or_else(|| folder.identity_files());
        let port = ClosedPort::open(options.listen, identity, options.renewals.clone())?;
        options.listen = port.address();
        let follower = Follower::start(
            folder,
            &follow.key,
            FollowOptions {
                primary: follow.primary.clone(),
                run: run_options(&options, &data),
                clients_at: (follow.clients_at)
                    .unwrap_or_else(|| format!(":{}", port.address().port())),
            },
        )?;
        Ok(Standby {
            options,
            key: follow.key,
            primary: follow.primary,
            follower,
            port,
            shown,
            notifies: follow.notifies,
        })
    }

    /// The address of the port that refuses clients.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    pub fn progress(&self) -> Progress {
        self.follower.progress()
    }

    /// The options of the server that it may become.
    pub fn options_mut(&mut self) -> &mut ServerOptions {
        &mut self.options
    }

    /// Fails if the standby should not take over, or can't.
    pub fn check(&self, is_forced: bool) -> Result<()> {
        self.follower.check(is_forced)
    }

    /// Fails if the standby should not take over once the lease of its primary has ended. If a
    /// standby is required, the primary has noted whether another server has later ticks.
    pub fn check_takeover(&self, contender: &Contender, known: &Known) -> Result<()> {
        contender.check_alone(known)?;
        let standby = self.options.standby.as_ref();
        let is_required = standby.is_some_and(|standby| standby.feed.is_required);
        self.check(is_required)
    }

    /// Takes the lease with which it may take over, if it needs one.
    pub fn take_lease(&self, is_forced: bool) -> Result<Option<HeldLease>> {
        let lease = self.options.lease.clone();
        let take = |lease| Contender::new(lease)?.succeed(is_forced);
        lease.map(take).transpose()
    }

    /// The lease by which it may take over, if there is one.
    pub fn lease(&self) -> Option<&LeaseOptions> {
        self.options.lease.as_ref()
    }

    /// Where its metrics are, if they are shown.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.shown.1
    }

    /// Takes over.
    pub fn promote(self) -> Result<Server> {
        let lease = self.take_lease(false)?;
        self.promote_with(lease)
    }

    /// Takes over with a lease that was taken for it.
    pub fn promote_with(self, lease: Option<HeldLease>) -> Result<Server> {
        let stopped = self.follower.stop()?;
        // The server takes it over.
        drop(self.port);
        let primary = self.notifies.then_some((self.primary, &*self.key));
        Server::promote(self.options, stopped, primary, (lease, self.shown))
    }
}

/// Makes the folder of a standby that does not run a primary's. The next server that starts
/// there runs its world.
pub fn promote_folder(path: &Path) -> Result<()> {
    let folder = DataFolder::open(path)?;
    let Standing { role, epoch } = Standing::read(path)?;
    if role != Role::Standby {
        bail!("{} is no standby's", path.display());
    }
    let stored = recovery::newest(&folder.disk(), None)?;
    let stored = stored.context("the standby has no world yet")?;
    let epoch = epoch.max(stored.head.epoch).promoted()?;
    info!(%epoch, "promoting a folder");
    let role = Role::Primary;
    Standing { role, epoch }.write(path)
}

fn run_options(options: &ServerOptions, data: &DataOptions) -> RunOptions {
    RunOptions {
        backend: options.backend,
        threads: options.threads,
        checkpoint_seconds: data.checkpoint_seconds,
        keeps_all: data.keeps_all,
    }
}
