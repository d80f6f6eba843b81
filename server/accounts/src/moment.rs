//! Now, by both clocks of a machine.

use std::time::{Instant, SystemTime};

use super::authenticator::UnixTime;

/// A point in time. The time of day may jump, so rates, waits and expiry here use the steady
/// clock; the date is for files and users.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub steady: Instant,
    pub date: UnixTime,
}

impl Moment {
    pub fn now() -> Moment {
        Moment {
            steady: Instant::now(),
            date: UnixTime::of(SystemTime::now()),
        }
    }
}

#[cfg(test)]
impl Moment {
    /// The time so many seconds later, by both clocks.
    pub fn after(self, seconds: u64) -> Moment {
        Moment {
            steady: self.steady + std::time::Duration::from_secs(seconds),
            date: UnixTime(self.date.0 + seconds),
        }
    }

    /// The same point in time, after the date was set.
    pub fn dated(self, date: u64) -> Moment {
        Moment {
            date: UnixTime(date),
            ..self
        }
    }
}
