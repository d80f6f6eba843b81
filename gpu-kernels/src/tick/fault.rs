//! Failures on purpose, for tests of what follows them.

use shared::Tick;

use crate::tick::output::Stage;

/// A part of a backend that fails in a stage of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// From 0.
    pub part: usize,
    pub stage: Stage,
    pub tick: Tick,
}

impl Fault {
    /// What the error says.
    pub const MESSAGE: &str = "it should, for a test";
}
