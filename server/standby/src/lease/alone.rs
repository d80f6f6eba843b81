//! The note at etcd that a primary runs without a standby. A standby that may lack ticks doesn't
//! take over while it is there, and a primary sends no such tick before it is.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use durability::elsewhere::Validity;
use platform::runtime::{Runtime, runtime};
use platform::waits::{Stopped, Wait};
use tracing::{info, warn};

use super::etcd::Etcd;
use crate::feed::Alone;

/// The note of one server, and the thread that writes it.
pub struct AloneNote {
    to: Sender<Order>,
    validity: Arc<dyn Validity>,
    /// It was there from before.
    was_noted: bool,
}

enum Order {
    Note(Sender<Result<()>>),
    Clear,
}

impl AloneNote {
    /// `noted` is the revision of a note from before.
    pub fn start(
        etcd: Etcd,
        lease: i64,
        id: String,
        validity: Arc<dyn Validity>,
        noted: Option<i64>,
    ) -> Result<AloneNote> {
        let (to, orders) = channel();
        let thread = Thread {
            etcd,
            lease,
            id,
            runtime: runtime()?,
            revision: noted,
        };
        // It ends with the sender.
        std::thread::Builder::new()
            .name("alone".to_owned())
            .spawn(move || thread.run(&orders))
            .context("cannot start the thread that notes whether there is a standby")?;
        Ok(AloneNote {
            to,
            validity,
            was_noted: noted.is_some(),
        })
    }
}

impl Alone for AloneNote {
    fn is_noted(&self) -> bool {
        self.was_noted
    }

    fn note(&self, stop: &AtomicBool) -> Result<()> {
        let _wait = Wait::new("etcd to note that there is no standby", LOOK_PERIOD);
        loop {
            // Without the lease, another server may have taken over.
            self.validity.check()?;
            let (done, is_done) = channel();
            let sent = self.to.send(Order::Note(done));
            sent.map_err(|_| anyhow!("the thread that notes it has failed"))?;
            let noted = loop {
                match is_done.recv_timeout(LOOK_PERIOD) {
                    Ok(noted) => break noted,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => bail!("the thread has failed"),
                }
                if stop.load(Ordering::Relaxed) {
                    bail!(Stopped("etcd to note that there is no standby".to_owned()));
                }
            };
            match noted {
                Ok(()) => return Ok(()),
                Err(error) => warn!("it is not noted that there is no standby: {error:#}"),
            }
            if stop.load(Ordering::Relaxed) {
                bail!(Stopped("etcd to note that there is no standby".to_owned()));
            }
            std::thread::sleep(LOOK_PERIOD);
        }
    }

    fn clear(&self) {
        // A thread that has failed leaves the note, which is safe.
        let _ = self.to.send(Order::Clear);
    }
}

impl fmt::Debug for AloneNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AloneNote").finish_non_exhaustive()
    }
}

struct Thread {
    etcd: Etcd,
    lease: i64,
    id: String,
    runtime: Runtime,
    /// Of the note; `None`: there is none of this server.
    revision: Option<i64>,
}

impl Thread {
    fn run(mut self, orders: &Receiver<Order>) {
        let mut next = orders.recv().ok();
        while let Some(order) = next {
            next = match order {
                Order::Note(done) => {
                    let noted = self.note();
                    // The tick may have given up.
                    let _ = done.send(noted);
                    orders.recv().ok()
                }
                Order::Clear => match self.clear() {
                    Ok(()) => orders.recv().ok(),
                    Err(error) => {
                        warn!("the note that there is no standby is not removed yet: {error:#}");
                        match orders.recv_timeout(RETRY) {
                            Ok(order) => Some(order),
                            Err(RecvTimeoutError::Timeout) => Some(Order::Clear),
                            Err(RecvTimeoutError::Disconnected) => None,
                        }
                    }
                },
            };
        }
    }

    fn note(&mut self) -> Result<()> {
        let noted = self.etcd.note_alone(self.lease, &self.id);
        let Some(revision) = self.runtime.block_on(noted)? else {
            bail!("the lease is not this server's any more");
        };
        self.revision = Some(revision);
        info!("it is noted that this server has no standby");
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        if let Some(revision) = self.revision {
            let cleared = self.etcd.clear_alone(self.lease, revision);
            self.runtime.block_on(cleared)?;
            self.revision = None;
            info!("it is noted that this server has a standby, which may take over");
        }
        Ok(())
    }
}

const LOOK_PERIOD: Duration = Duration::from_millis(100);
const RETRY: Duration = Duration::from_secs(1);
