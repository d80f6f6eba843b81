//! Latencies of one thread's bots.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::state::SwarmState;

/// Collects latencies and hands them in together, as all threads share one lock.
pub struct Latencies {
    us: Vec<u64>,
    handed_in: Instant,
    state: Arc<SwarmState>,
}

impl Latencies {
    pub fn new(state: Arc<SwarmState>) -> Latencies {
        Latencies {
            us: vec![],
            handed_in: Instant::now(),
            state,
        }
    }

    pub fn add(&mut self, latency: Duration, now: Instant) {
        self.us.push(latency.as_micros() as u64);
        if self.us.len() >= LATENCIES_MAX || now - self.handed_in >= HAND_IN_PERIOD {
            self.handed_in = now;
            self.hand_in();
        }
    }

    pub fn hand_in(&mut self) {
        self.state.add_latencies(self.us.drain(..));
    }
}

const LATENCIES_MAX: usize = 256;
const HAND_IN_PERIOD: Duration = Duration::from_millis(250);
