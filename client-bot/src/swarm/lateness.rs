//! Whether the swarm itself is too slow: what it measures is then its own time.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use quic::{Drops, Endpoint};

use super::state::{Phase, SwarmState, Tally};

/// Watches one thread.
pub struct Lateness {
    state: Arc<SwarmState>,
    send_errors: u64,
    drops: Drops,
    /// When the thread should have looked for packets.
    expected: Option<Instant>,
}

impl Lateness {
    pub fn new(state: Arc<SwarmState>) -> Lateness {
        Lateness {
            state,
            send_errors: 0,
            drops: Drops::default(),
            expected: None,
        }
    }

    /// The thread looks for packets. It will do so again at `next` at the latest.
    pub fn note(&mut self, next: Instant, tally: &mut Tally) {
        let now = Instant::now();
        if let Some(expected) = self.expected.replace(next)
            && self.state.phase() == Phase::Play
        {
            let late = now.saturating_duration_since(expected);
            tally.lateness_us.push(late.as_micros() as u64);
        }
    }

    /// Adds what the sockets have not taken.
    pub fn hand_in<S>(&mut self, endpoint: &Endpoint<S>) {
        let drops = self.drops.take(endpoint);
        if drops > 0 {
            self.state.socket_drops.fetch_add(drops, Relaxed);
        }
        let errors = endpoint.counts().send_errors;
        if errors > self.send_errors {
            let new = errors - std::mem::replace(&mut self.send_errors, errors);
            self.state.send_errors.fetch_add(new, Relaxed);
        }
    }
}
