//! Admission control for pending connections to a port, the same as for clients.
//! Addresses are validated first, which costs a Retry packet and no place; then handshakes are
//! limited, in all and per network, and the one that has waited longest is evicted.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quinn::{Connecting, Connection, ConnectionError, Incoming};
use thiserror::Error;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use transport::admission_control::{AdmissionControl, AdmissionDecision, PendingId};

/// The handshakes of a port.
#[derive(Clone, Debug)]
pub struct Arrivals(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    control: AdmissionControl,
    handshakes: HashMap<PendingId, (SocketAddr, AbortHandle)>,
}

/// Why a handshake failed.
#[derive(Debug, Error)]
pub enum Failure {
    /// There is no room for another handshake, or it was evicted.
    #[error("too many connect at once")]
    Crowded,
    #[error("no handshake in time")]
    Silent,
    /// The other side was not accepted, or has gone.
    #[error(transparent)]
    Ended(ConnectionError),
}

impl Failure {
    /// Its name in metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Failure::Crowded => "crowded",
            Failure::Silent => "silent",
            Failure::Ended(_) => "certificate",
        }
    }
}

impl Arrivals {
    /// At most this many handshakes at a time.
    pub fn new(handshakes_max: usize) -> Arrivals {
        Arrivals(Arc::new(Mutex::new(State {
            control: AdmissionControl::new(handshakes_max),
            handshakes: HashMap::new(),
        })))
    }

    /// Admits an incoming connection. `work` gets it once its handshake is complete, or the
    /// reason if it is not in time.
    pub fn take<W: Future<Output = ()> + Send + 'static>(
        &self,
        incoming: Incoming,
        wait: Duration,
        work: impl FnOnce(SocketAddr, Result<Connection, Failure>) -> W + Send + 'static,
    ) {
        let from = incoming.remote_address();
        if !incoming.remote_address_validated() {
            // It can't fail: only a validated address needs no Retry.
            let _ = incoming.retry();
            return;
        }
        let now = Instant::now();
        let mut state = self.state();
        let AdmissionDecision::Accept(id) = state.control.admit(from, true, now) else {
            incoming.refuse();
            drop(state);
            tokio::spawn(work(from, Err(Failure::Crowded)));
            return;
        };
        state.end_evicted();
        let connecting = match incoming.accept() {
            Ok(connecting) => connecting,
            Err(error) => {
                state.control.leave(id, from);
                drop(state);
                tokio::spawn(work(from, Err(Failure::Ended(error))));
                return;
            }
        };
        let arrivals = self.clone();
        let handshake = tokio::spawn(async move {
            let end = shake_hands(connecting, wait).await;
            // Whatever follows has no place here, and is not ended with it.
            if arrivals.state().leave(id) {
                tokio::spawn(work(from, end));
            }
        });
        state
            .handshakes
            .insert(id, (from, handshake.abort_handle()));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is whole, so a panic elsewhere does no harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A handshake is over. False if it was ended before.
    fn leave(&mut self, id: PendingId) -> bool {
        let Some((from, _)) = self.handshakes.remove(&id) else {
            return false;
        };
        self.control.leave(id, from);
        true
    }

    /// Ends the evicted handshakes.
    fn end_evicted(&mut self) {
        if self.control.evicted() == 0 {
            return;
        }
        let ids = self.handshakes.keys().copied();
        let evicted: Vec<PendingId> = ids.filter(|&p| self.control.is_evicted(p)).collect();
        for id in evicted {
            if let Some((from, handshake)) = self.handshakes.remove(&id) {
                handshake.abort();
                self.control.leave(id, from);
            }
        }
    }
}

async fn shake_hands(connecting: Connecting, wait: Duration) -> Result<Connection, Failure> {
    match timeout(wait, connecting).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => Err(Failure::Ended(error)),
        Err(_) => Err(Failure::Silent),
    }
}
