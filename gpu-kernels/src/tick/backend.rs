//! The interface of every backend.

use std::sync::Arc;

use shared::{CommandKind, Tick};

use crate::logic::{CompiledLogic, LogicCompiler};
use crate::tick::error::{RestoreError, TickError};
use crate::tick::frame::{Command, Frame};
use crate::tick::output::TickOutput;
use crate::tick::state::{Snapshot, StateHash};

/// Commands of a tick that its frame does not have: timed ones, then maybe those of rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct DueCommands<'a> {
    pub commands: &'a [Command],
    pub words: &'a [i32],
    /// Whether those of rules are among them.
    pub has_rules: bool,
    /// Timed commands, of whatever kind, that are not among them, as they were too many.
    pub left_out: u64,
}

impl<'a> DueCommands<'a> {
    /// Each with its words.
    pub fn iter(&self) -> impl Iterator<Item = (Command, &'a [i32])> {
        let words = self.words;
        self.commands.iter().map(move |&command| {
            let start = command.word_start as usize;
            let own = words.get(start..start + usize::from(command.word_count));
            (command, own.unwrap_or_default())
        })
    }
}

/// One world and the machinery that advances it.
///
/// [`submit`](Backend::submit) may return before its tick is done, and a second frame may
/// be submitted before the first is collected, so that one tick's download overlaps the
/// next one's work. Outputs are buffers of the backend. It reuses a buffer once two further
/// ticks have been submitted and nothing else holds its [`Arc`].
pub trait Backend: Send {
    /// Name for the `--backend` option: `"cpu"` or `"cuda"`.
    fn name(&self) -> &'static str;

    /// The compiler of other scripts for this world, beside its ticks.
    fn logic_compiler(&self) -> Box<dyn LogicCompiler>;

    /// Hands over compiled scripts, for the frame that names them.
    fn stage(&mut self, logic: CompiledLogic);

    /// Starts the next tick. At most two may be in flight. If the frame names scripts that
    /// were not handed over, they are compiled first.
    fn submit(&mut self, frame: &Frame) -> Result<SubmittedTick, TickError>;

    /// Waits for a tick and returns its output.
    fn collect(&mut self, ticket: SubmittedTick) -> Result<Arc<TickOutput>, TickError>;

    /// Whether the ticks that are submitted from here on are sent to no client. Then deliveries
    /// and hearings are not found, and known sets stay as they are; all else is the
    /// same. This is how a world that is replayed catches up.
    fn set_quiet(&mut self, is_quiet: bool);

    /// Starts a copy of the state between two ticks, without known sets. No tick may
    /// be in flight. A copy that is under way is dropped.
    fn start_copy(&mut self) -> Result<(), TickError>;

    /// Continues the copy, for a small part of a tick's time; ticks may come between two
    /// calls. Gives the copy once it is complete, and `None` before that, or if there is
    /// none.
    fn continue_copy(&mut self) -> Result<Option<Snapshot>, TickError>;

    /// Returns everything that the next tick depends on.
    fn snapshot(&mut self) -> Result<Snapshot, TickError>;

    /// Continues from a snapshot, of this backend or another.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), RestoreError>;

    /// Returns the hash of the present state, computed from scratch.
    fn state_hash(&mut self) -> Result<StateHash, TickError>;

    /// The commands of the last tick beside those of its frame. Those of kinds that are not wanted
    /// may be missing, and all while a tick is in flight.
    fn due(&mut self, _wants: &dyn Fn(CommandKind) -> bool) -> Result<DueCommands<'_>, TickError> {
        Ok(DueCommands::default())
    }

    /// Runs one tick to its end.
    fn tick(&mut self, frame: &Frame) -> Result<Arc<TickOutput>, TickError> {
        let ticket = self.submit(frame)?;
        self.collect(ticket)
    }
}

/// A tick that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubmittedTick(pub(crate) Tick);
