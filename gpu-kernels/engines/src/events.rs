//! Timed events: parallel discrete-event simulation in exact timestamp order
//! (Sang, Lee, Rego and King 2019, "Experiences with implementing parallel
//! discrete-event simulation on GPU").
//!
//! A [`Model`] has processes, each with a state, a handler of events, and a
//! lookahead: an event that another causes comes at least that much later. So events
//! less than one lookahead after the earliest depend on each other only if they
//! happen to the same process, and are handled at once: a *window* (section 3). Each
//! process handles its events in the order of (time, source, number), so a run ends
//! in the same state, to the bit, on one thread with a heap, on many threads and on a
//! GPU.
//!
//! Time is a whole number of ticks from 0. The model decides how long a tick is: with
//! 65,536 ticks a unit, a run may last 65,535 units.
//!
//! | module | holds |
//! | --- | --- |
//! | [`torus`] | the paper's torus queueing network |
//! | [`phold`] | PHOLD: events that hop between processes at random |
//! | [`approximate`] | the older, approximate-time way, to count its causality errors |
//! | [`random`] | draws by (seed, process, number), and the exponential distribution |
//! | [`sequential`] | one event after another, from a heap or any other event set |
//! | [`parallel`] | windows on all threads |
//! | [`cuda`] | windows on a GPU; the kernels are in `kernels/events_….cu` |

pub mod approximate;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod cuda;
pub mod parallel;
pub mod phold;
pub mod random;
pub mod sequential;
pub mod torus;

use std::fmt::Debug;

use shared::world::mix::mix;
use thiserror::Error;

pub use approximate::ApproximateTorus;
pub use parallel::Parallel;
pub use phold::Phold;
pub use sequential::{EventSet, HeapSet, Sequential};
pub use torus::Torus;

/// Something that happens to one process at one time. Events are ordered by
/// (time, source, number), and no two may be equal in all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub struct Event {
    /// In ticks.
    pub time: u32,
    /// The process that caused it.
    pub source: u32,
    /// Distinguishes events of one source at one time: the model may count them, or name
    /// what they are about.
    pub number: u32,
    /// The process that it happens to.
    pub target: u32,
}

/// The time of an event that never happens. Times that would be later become this one.
pub const NEVER: u32 = u32::MAX;

/// A model to simulate.
pub trait Model: Sync {
    /// The state of a process.
    type Process: Copy + Send + Sync + Debug + PartialEq;
    /// The sums of a run, which don't depend on the order of its events.
    type Tally: Tally;

    fn processes(&self) -> u32;

    /// The least time, in ticks, from an event to one that it causes; at least 1.
    fn lookahead(&self) -> u32;

    /// The processes, the first events, and the tally of making them.
    fn start(&self) -> Start<Self>
    where
        Self: Sized;

    /// Lets an event happen to its target, and gives the events that it causes to
    /// `schedule`.
    fn handle(
        &self,
        event: &Event,
        process: &mut Self::Process,
        tally: &mut Self::Tally,
        schedule: impl FnMut(Event),
    );

    /// The whole state of a process, for the state's hash.
    fn process_bits(process: &Self::Process) -> u64;
}

/// Where a run begins.
pub struct Start<M: Model> {
    pub processes: Vec<M::Process>,
    pub events: Vec<Event>,
    pub tally: M::Tally,
}

/// Sums over a run.
pub trait Tally: Copy + Default + Send + Sync + Debug + PartialEq {
    fn add(&mut self, other: &Self);
}

/// A run at one point of its time: every event before `now` has happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<P, T> {
    pub now: u32,
    pub processes: Vec<P>,
    /// The events still to come, in order.
    pub pending: Vec<Event>,
    pub tally: T,
    /// How many events have happened.
    pub events: u64,
}

impl<P, T: Tally> Snapshot<P, T> {
    /// One number for the whole state.
    pub fn hash<M: Model<Process = P, Tally = T>>(&self) -> u64 {
        let processes = self
            .processes
            .iter()
            .enumerate()
            .map(|(i, process)| mix(PROCESS | i as u64, M::process_bits(process)));
        let pending = self.pending.iter().map(|event| {
            let identity = u64::from(event.source) << 32 | u64::from(event.number);
            let what = u64::from(event.time) << 32 | u64::from(event.target);
            mix(mix(PENDING, identity), what)
        });
        let sum = processes.chain(pending).fold(0u64, u64::wrapping_add);
        mix(sum, mix(u64::from(self.now), self.events))
    }
}

/// How far a run went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub events: u64,
    /// Windows that were handled; none in a sequential run.
    pub windows: u64,
}

/// Why a model can't be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelError {
    #[error("expected {what} from {min} to {max}, found {found}")]
    OutOfRange {
        what: &'static str,
        min: u64,
        max: u64,
        found: u64,
    },
}

/// Checks a parameter.
fn within(what: &'static str, found: u32, min: u32, max: u32) -> Result<(), ModelError> {
    if (min..=max).contains(&found) {
        return Ok(());
    }
    Err(ModelError::OutOfRange {
        what,
        min: u64::from(min),
        max: u64::from(max),
        found: u64::from(found),
    })
}

/// Labels of the hash's parts.
const PROCESS: u64 = 1 << 56;
const PENDING: u64 = 2 << 56;
