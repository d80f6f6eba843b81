//! What every backend offers.

use std::sync::Arc;

use shared::Tick;
use shared::config::DELAY_TICKS_MAX;
use thiserror::Error;

use crate::frame::Frame;
use crate::output::TickOutput;
use crate::state::{Snapshot, StateHash};
use crate::timed::TIMED_WORDS_MAX;

/// One world and the machinery that advances it.
///
/// [`submit`](Backend::submit) may return before its tick is done, and a second
/// frame may be submitted before the first is collected, so that one tick's
/// download overlaps the next one's work. Outputs are buffers of the backend's:
/// it reuses one when two further ticks have been submitted and every other
/// holder of the [`Arc`] has let go of it.
pub trait Backend: Send {
    /// `"cpu"`, `"cuda"`: what `--backend` calls it.
    fn name(&self) -> &'static str;

    /// Starts the next tick. At most two may be in flight.
    fn submit(&mut self, frame: &Frame) -> Result<Ticket, TickError>;

    /// Waits for a tick and gives its output.
    fn collect(&mut self, ticket: Ticket) -> Result<Arc<TickOutput>, TickError>;

    /// Everything the next tick depends on.
    fn snapshot(&mut self) -> Result<Snapshot, TickError>;

    /// Goes on from a snapshot, of this backend or another.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), RestoreError>;

    /// The hash of the present state, computed afresh.
    fn state_hash(&mut self) -> Result<StateHash, TickError>;

    /// Runs one tick to its end.
    fn tick(&mut self, frame: &Frame) -> Result<Arc<TickOutput>, TickError> {
        let ticket = self.submit(frame)?;
        self.collect(ticket)
    }
}

/// A tick that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(pub(crate) Tick);

/// Why a backend could not start.
#[derive(Debug, Error)]
pub enum StartError {
    #[error("the world needs {needed} bytes of memory where {available} are available")]
    OutOfMemory { needed: u64, available: u64 },
    #[error("cannot start worker threads: {0}")]
    Threads(String),
    #[error("clients can't subscribe in this world: {0}")]
    Subscriptions(String),
    #[error("the {0} backend needs {1}")]
    Unsupported(&'static str, &'static str),
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[error(transparent)]
    NoDevice(#[from] crate::cuda::NoDevice),
}

/// Why a tick could not be run. The state is as it was before, unless the device
/// failed: then the backend runs no further tick.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TickError {
    #[error("the frame is for tick {found}, where tick {expected} is next")]
    WrongTick { expected: Tick, found: Tick },
    #[error("two ticks are in flight already: collect one first")]
    TooManyInFlight,
    #[error("tick {0} was not submitted, or was collected before")]
    NotInFlight(Tick),
    #[error("command {index} names words {start}..{end} of {words}")]
    WordsOutOfRange {
        index: usize,
        start: usize,
        end: usize,
        words: usize,
    },
    #[error("timed command {index} is to run {ticks} ticks later; expected 1 to {DELAY_TICKS_MAX}")]
    DelayOutOfRange { index: usize, ticks: u32 },
    #[error(
        "timed command {index} names words {start}..{end} of {words}; \
         expected at most {TIMED_WORDS_MAX} of them"
    )]
    TimedWordsOutOfRange {
        index: usize,
        start: usize,
        end: usize,
        words: usize,
    },
    #[error("the device fails in the {stage} stage: {message}")]
    Device {
        stage: &'static str,
        message: String,
    },
}

/// Why a snapshot was refused. The state is as it was before.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RestoreError {
    #[error("the snapshot has {found} {what}, where this world has {expected}")]
    WrongSize {
        what: &'static str,
        expected: usize,
        found: usize,
    },
    #[error("the snapshot's {what} holds {found}, which is out of range")]
    OutOfRange { what: &'static str, found: i64 },
    #[error("a tick is in flight")]
    InFlight,
    #[error("the device fails: {0}")]
    Device(String),
}
