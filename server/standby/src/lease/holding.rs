//! How long a server may believe that it has the key.
//!
//! The third party counts a lease from when it hears of it, which is not before it was sent. So
//! a holder that counts from the sending, and stops at three quarters of the lease, stops first, as
//! long as the two clocks don't drift apart by more than the rest. Nothing is added up: each
//! renewal counts from its own sending.

use std::time::Duration;

/// What a holder believes. Times are of its own monotonic clock, from any start.
#[derive(Clone, Debug)]
pub struct Holding {
    lease: Duration,
    /// The first moment at which the key may be another's.
    until: Duration,
    renew_at: Duration,
    /// It never comes back: what was not told meanwhile is not known here.
    is_over: bool,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Wait(Duration),
    Renew,
    /// The key may be another's.
    End,
}

impl Holding {
    /// The key was taken with a lease that was asked for at `sent`.
    pub fn taken(sent: Duration, lease: Duration) -> Holding {
        Holding {
            lease,
            until: sent + lease.mul_f64(BELIEF),
            renew_at: sent + lease.mul_f64(RENEWAL),
            is_over: false,
        }
    }

    /// Whether the key can't be another's.
    pub fn holds(&mut self, now: Duration) -> bool {
        self.is_over |= now >= self.until;
        !self.is_over
    }

    /// How long that will be so without a renewal.
    pub fn left(&self, now: Duration) -> Duration {
        match self.is_over {
            true => Duration::ZERO,
            false => self.until.saturating_sub(now),
        }
    }

    pub fn next(&mut self, now: Duration) -> Next {
        if !self.holds(now) {
            return Next::End;
        }
        match self.renew_at.saturating_sub(now) {
            Duration::ZERO => Next::Renew,
            wait => Next::Wait(wait),
        }
    }

    /// The third party has answered a renewal that was sent then, for so long.
    pub fn renewed(&mut self, sent: Duration, lease: Duration, now: Duration) {
        if self.holds(now) {
            let lease = lease.min(self.lease);
            self.until = self.until.max(sent + lease.mul_f64(BELIEF));
            self.renew_at = sent + self.lease.mul_f64(RENEWAL);
        }
    }

    /// A renewal has failed: whether the third party has heard it is not known.
    pub fn failed(&mut self, now: Duration) {
        self.renew_at = now + self.lease.mul_f64(RETRY);
    }

    /// The third party says that there is no such lease.
    pub fn lost(&mut self) {
        self.is_over = true;
    }
}

/// The part of a lease for which it is believed.
const BELIEF: f64 = 0.75;
/// The part after which it is renewed.
const RENEWAL: f64 = 0.2;
const RETRY: f64 = 0.05;
