//! What every backend offers.

use std::sync::Arc;

use shared::Tick;

use crate::tick::error::{RestoreError, TickError};
use crate::tick::frame::Frame;
use crate::tick::output::TickOutput;
use crate::tick::state::{Snapshot, StateHash};

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
