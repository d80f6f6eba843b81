//! Errors of starting a backend, running a tick and restoring a snapshot.

use device::NoDevice;
use device::cpu::ThreadError;
use shared::Tick;
use shared::world::config::DELAY_TICKS_MAX;
use thiserror::Error;

use crate::logic::ScriptError;
use crate::tick::timed::TIMED_WORDS_MAX;

/// Why a backend could not start.
#[derive(Debug, Error)]
pub enum StartError {
    #[error("the world needs {needed} bytes of memory where {available} are available")]
    OutOfMemory { needed: u64, available: u64 },
    #[error(transparent)]
    Threads(#[from] ThreadError),
    #[error("clients can't subscribe in this world: {0}")]
    Subscriptions(String),
    #[error("the {0} backend needs {1}")]
    Unsupported(&'static str, &'static str),
    #[error(transparent)]
    NoDevice(#[from] NoDevice),
    #[error(transparent)]
    Scripts(#[from] ScriptError),
}

/// Why a tick could not be run. The state is unchanged, unless the device failed: then the
/// backend runs no further tick.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TickError {
    #[error("the frame is for tick {found}, where tick {expected} is next")]
    WrongTick { expected: Tick, found: Tick },
    #[error("the frame's scripts can't run: {0}")]
    Scripts(String),
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
    #[error("{found} births have all columns; expected at most {most}")]
    TooManyRows { found: usize, most: u32 },
    #[error("GPU {gpu} fails in the {stage} stage: {message}")]
    Device {
        /// Its number on the machine.
        gpu: u32,
        stage: &'static str,
        message: String,
        /// The numbers of the world's GPUs that still work.
        left: Vec<u32>,
    },
}

/// Why a snapshot was rejected. The state is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RestoreError {
    #[error("its scripts can't run: {0}")]
    Scripts(String),
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
