//! For how long a server may rely on its lease.
//!
//! The third party counts a lease from the arrival of the request, which is after its sending. So
//! a holder that counts from the sending, and stops at three quarters of the lease, stops first, as
//! long as the two clocks don't drift apart by more than the rest. Nothing is added up: each
//! renewal counts from its own sending.

use std::time::Duration;

/// The holder's state. Times are of its own monotonic clock, from any start.
#[derive(Clone, Debug)]
pub struct Holding {
    lease: Duration,
    /// The first moment at which the key may be another's.
    until: Duration,
    renew_at: Duration,
    /// It never comes back: another holder may have run ticks meanwhile.
    is_over: bool,
}

/// The next action of a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    Wait(Duration),
    Renew,
    /// The key may be another's.
    End,
}

impl Holding {
    /// The key was taken with a lease that was requested at `sent`.
    pub fn taken(sent: Duration, lease: Duration) -> Holding {
        Holding {
            lease,
            until: sent + lease.mul_f64(VALID),
            renew_at: sent + lease.mul_f64(RENEWAL),
            is_over: false,
        }
    }

    /// Whether the key can't be another's.
    pub fn holds(&mut self, now: Duration) -> bool {
        self.is_over |= now >= self.until;
        !self.is_over
    }

    /// For how long that holds without a renewal.
    pub fn left(&self, now: Duration) -> Duration {
        match self.is_over {
            true => Duration::ZERO,
            false => self.until.saturating_sub(now),
        }
    }

    pub fn next(&mut self, now: Duration) -> NextStep {
        if !self.holds(now) {
            return NextStep::End;
        }
        match self.renew_at.saturating_sub(now) {
            Duration::ZERO => NextStep::Renew,
            wait => NextStep::Wait(wait),
        }
    }

    /// The third party has answered a renewal that was sent then, for so long.
    pub fn renewed(&mut self, sent: Duration, lease: Duration, now: Duration) {
        if self.holds(now) {
            let lease = lease.min(self.lease);
            self.until = self.until.max(sent + lease.mul_f64(VALID));
            self.renew_at = sent + self.lease.mul_f64(RENEWAL);
        }
    }

    /// A renewal has failed: the third party may have received it or not.
    pub fn failed(&mut self, now: Duration) {
        self.renew_at = now + self.lease.mul_f64(RETRY);
    }

    /// The third party has no such lease.
    pub fn lost(&mut self) {
        self.is_over = true;
    }
}

/// The part of a lease for which it is valid here.
const VALID: f64 = 0.75;
/// The part after which it is renewed.
const RENEWAL: f64 = 0.2;
const RETRY: f64 = 0.05;
