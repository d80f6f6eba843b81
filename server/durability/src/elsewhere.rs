//! Conditions beside the disk for sending a tick to clients: a standby's copy, and a lease.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Result;

/// A second copy of the journal on another machine.
pub trait Replica: Debug + Send + Sync {
    /// The journal continues with this tick.
    fn begin(&self, next: u64);

    /// Sends the newest record. It is in its file, and may not be synced.
    fn push(&self, tick: u64, record: &[u8], begins_segment: bool);

    /// Waits until the copy has a tick, or need not have it. Fails if the world must end instead.
    fn wait(&self, tick: u64, stop: &AtomicBool) -> Result<()>;

    /// Fails if the world must end, as the server of the copy was promoted.
    fn check(&self) -> Result<()>;

    /// The first tick that clients may not be sent yet.
    fn released(&self) -> u64;

    /// Disconnects the copy.
    fn disconnect(&self, reason: &str);

    /// Where clients reach the server with the copy; empty: nowhere.
    fn clients_at(&self, now: Instant) -> Arc<str>;
}

/// The right to run the world, which another server may get.
pub trait Validity: Debug + Send + Sync {
    /// Fails once it may be another server's.
    fn check(&self) -> Result<()>;
}
