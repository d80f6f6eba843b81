//! The key of the primary, and the thread that renews its lease.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use durability::elsewhere::Validity;
use durability::epoch::Epoch;
use platform::metrics::table;
use platform::runtime::{Runtime, runtime};
use platform::waits::Wait;
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::Notify;
use tokio::time::timeout;
use tracing::{error, info, warn};

use super::alone::AloneNote;
use super::etcd::{Access, Etcd, Known};
use super::holding::{Holding, NextStep};

/// Where the key is, and this server's description there.
#[derive(Clone, Debug)]
pub struct LeaseOptions {
    pub urls: Vec<String>,
    pub name: String,
    pub lease: Duration,
    pub holder: String,
    /// The server's own name there, which stays the same in its folder.
    pub id: String,
    pub access: Access,
}

/// A server that can take the key.
pub struct Contender {
    options: LeaseOptions,
    etcd: Etcd,
    runtime: Runtime,
}

/// The key. Dropping it revokes the lease.
pub struct HeldLease {
    validity: Arc<LeaseValidity>,
    /// The epoch that has the key.
    pub epoch: Epoch,
    alone: Arc<AloneNote>,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

/// State shared by the thread that renews and the one that publishes ticks.
#[derive(Debug)]
pub struct LeaseValidity {
    /// When it was taken.
    begun: Duration,
    holding: Mutex<Holding>,
}

impl Contender {
    pub fn new(options: LeaseOptions) -> Result<Contender> {
        // Several tries fit into the time for which a lease is valid here.
        let patience = options.lease.mul_f64(PATIENCE).min(PATIENCE_MAX);
        let etcd = Etcd::new(&options.urls, &options.name, patience, &options.access)?;
        Ok(Contender {
            options,
            etcd,
            runtime: runtime()?,
        })
    }

    /// The keys of the world.
    pub fn known(&self) -> Result<Known> {
        let _wait = Wait::new("etcd to name the holder of the lease", REVOKE_PATIENCE);
        self.runtime.block_on(self.etcd.look())
    }

    /// Fails if another server alone has all ticks that clients were sent.
    pub fn check_alone(&self, known: &Known) -> Result<()> {
        match &known.alone {
            Some(alone) if *alone != self.options.id => bail!(
                "the server {alone} has run without a standby, so it alone has all ticks that \
                 clients were sent"
            ),
            _ => Ok(()),
        }
    }

    /// Takes the key for a server that starts in this epoch.
    pub fn take(self, epoch: Epoch) -> Result<HeldLease> {
        let held = self.try_take(false, |known| match known {
            Some(known) if known >= epoch => bail!(
                "the lease {} was held in epoch {known}, and this server has epoch {epoch}: the \
                 world runs elsewhere, follow it with --follow",
                self.options.name
            ),
            _ => Ok(epoch),
        })?;
        self.start(held)
    }

    /// Takes the key for a standby, in the epoch after the last one. Unless it is forced, it fails
    /// if another server has ticks that the standby lacks.
    pub fn succeed(self, is_forced: bool) -> Result<HeldLease> {
        let held = self.try_take(is_forced, |known| known.unwrap_or_default().promoted())?;
        self.start(held)
    }

    fn try_take(
        &self,
        is_forced: bool,
        choose: impl Fn(Option<Epoch>) -> Result<Epoch>,
    ) -> Result<Taken> {
        let (etcd, options) = (&self.etcd, &self.options);
        let take = async {
            let known = etcd.look().await?;
            if let Some(holder) = &known.holder {
                bail!("the lease {} is held by {holder}", options.name);
            }
            if !is_forced {
                self.check_alone(&known)?;
            }
            let epoch = choose(known.epoch)?;
            let begun = now();
            let lease = etcd.grant(options.lease).await?;
            let holding = Holding::taken(Duration::ZERO, options.lease);
            let taken = etcd.take(lease, &known, epoch, &options.holder).await;
            if !matches!(taken, Ok(true)) {
                // Also where the answer is lost: no server may hold the key unawares.
                if let Err(error) = etcd.revoke(lease).await {
                    warn!("a lease that is not needed is left to end: {error:#}");
                }
                taken?;
                bail!(
                    "another server was first to take the lease {}",
                    options.name
                );
            }
            let noted = known.alone.is_some_and(|alone| alone == options.id);
            Ok(Taken {
                lease,
                epoch,
                validity: LeaseValidity {
                    begun,
                    holding: Mutex::new(holding),
                },
                noted: noted.then_some(known.alone_revision),
            })
        };
        let _wait = Wait::new("etcd to give the lease", REVOKE_PATIENCE);
        let taken = self.runtime.block_on(take)?;
        info!(name = options.name, epoch = %taken.epoch, "the lease is acquired");
        Ok(taken)
    }

    fn start(self, taken: Taken) -> Result<HeldLease> {
        let Taken {
            lease,
            epoch,
            validity,
            noted,
        } = taken;
        let validity = Arc::new(validity);
        let (etcd, id) = (self.etcd.clone(), self.options.id.clone());
        let alone = Arc::new(AloneNote::start(etcd, lease, id, validity.clone(), noted)?);
        let stop = Arc::new(Notify::new());
        let (shared, is_over) = (validity.clone(), stop.clone());
        let Contender { etcd, runtime, .. } = self;
        let keep = async move {
            tokio::select! {
                () = is_over.notified() => {}
                () = renew(&etcd, lease, &shared) => {}
            }
            shared.lock().lost();
            table::LEASE_HELD.set(0);
            // Others need not wait for its end.
            let _wait = Wait::new("etcd to take the lease back", REVOKE_PATIENCE);
            match timeout(REVOKE_PATIENCE, etcd.revoke(lease)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    warn!("the lease is not released, and expires: {error:#}");
                }
                Err(_) => warn!("the lease is not released in time, and expires"),
            }
        };
        let thread = std::thread::Builder::new()
            .name("lease".to_owned())
            .spawn(move || runtime.block_on(keep))
            .context("cannot start the thread that renews the lease")?;
        Ok(HeldLease {
            validity,
            epoch,
            alone,
            stop,
            thread: Some(thread),
        })
    }
}

impl HeldLease {
    pub fn validity(&self) -> Arc<LeaseValidity> {
        self.validity.clone()
    }

    /// The note that this server has no standby.
    pub fn alone(&self) -> Arc<AloneNote> {
        self.alone.clone()
    }
}

/// A lease that was taken.
struct Taken {
    lease: i64,
    epoch: Epoch,
    validity: LeaseValidity,
    /// The revision of this server's note that it is alone, from before.
    noted: Option<i64>,
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // The lease ends by itself.
            let _ = thread.join();
        }
    }
}

impl Validity for LeaseValidity {
    fn check(&self) -> Result<()> {
        if self.lock().holds(self.age()) {
            return Ok(());
        }
        table::LEASE_HELD.set(0);
        bail!(
            "the lease could not be renewed in time, so another server may run the world: \
            this server must not continue"
        )
    }
}

impl LeaseValidity {
    /// How long ago the lease was requested.
    fn age(&self) -> Duration {
        now().saturating_sub(self.begun)
    }

    fn lock(&self) -> MutexGuard<'_, Holding> {
        self.holding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Since the machine was started. The clock of [`Instant`](std::time::Instant) stands still while
/// a machine is suspended; leases don't.
fn now() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Renews until it is too late.
async fn renew(etcd: &Etcd, lease: i64, validity: &LeaseValidity) {
    loop {
        // Metrics may be recorded from a later moment on.
        table::LEASE_HELD.set(1);
        let next = validity.lock().next(validity.age());
        match next {
            NextStep::Wait(time) => tokio::time::sleep(time).await,
            NextStep::End => {
                error!("the lease was not renewed in time");
                return;
            }
            NextStep::Renew => {
                let sent = validity.age();
                let answer = etcd.renew(lease).await;
                let now = validity.age();
                match answer {
                    Ok(Some(time)) => {
                        table::LEASE_RENEWALS.add(1);
                        validity.lock().renewed(sent, time, now);
                    }
                    Ok(None) => {
                        error!("the lease has ended at etcd");
                        validity.lock().lost();
                        return;
                    }
                    Err(error) => {
                        table::LEASE_FAILURES.add(1);
                        let mut holding = validity.lock();
                        holding.failed(now);
                        let left = holding.left(now);
                        warn!(?left, "the lease is not renewed: {error:#}");
                    }
                }
            }
        }
    }
}

/// The part of a lease that one request to one server may take.
const PATIENCE: f64 = 0.15;
/// Long leases are no reason to wait long for a server that is gone.
const PATIENCE_MAX: Duration = Duration::from_secs(3);
/// For the last request to etcd.
const REVOKE_PATIENCE: Duration = Duration::from_secs(5);
