//! The simulated time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use accounts::authenticator::UnixTime;
use accounts::moment::Moment;

/// Microseconds since a simulation began.
pub type Micros = u64;

/// The time of a simulation, shared by its parts.
#[derive(Clone, Debug)]
pub struct Clock {
    now: Arc<AtomicU64>,
    /// The moment zero, on the process's clock, which the parts of a server use.
    began: Instant,
}

impl Clock {
    pub fn new() -> Clock {
        Clock {
            now: Arc::default(),
            began: Instant::now(),
        }
    }

    pub fn set(&self, now: Micros) {
        self.now.store(now, Ordering::Relaxed);
    }

    pub fn now(&self) -> Micros {
        self.now.load(Ordering::Relaxed)
    }

    /// As games have it.
    pub fn span(&self) -> Duration {
        Duration::from_micros(self.now())
    }

    /// As servers have it.
    pub fn instant(&self) -> Instant {
        self.began + self.span()
    }

    pub fn moment(&self) -> Moment {
        Moment {
            steady: self.instant(),
            date: UnixTime(DATE),
        }
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

/// Any date: no token of a simulation expires.
const DATE: u64 = 1_700_000_000;
pub const SECOND: Micros = 1_000_000;
pub const MILLISECOND: Micros = 1000;
