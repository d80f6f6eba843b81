//! The time by which proofs of addresses expire.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use quic::proto::TimeSource;

/// A clock that can't be set: proofs are made and read in this process only.
#[derive(Debug)]
pub struct SteadyTime;

impl TimeSource for SteadyTime {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + BEGIN + BEGUN.elapsed()
    }
}

static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
/// Far enough from 1970 that no lifetime leads before it.
const BEGIN: Duration = Duration::from_secs(1 << 30);
