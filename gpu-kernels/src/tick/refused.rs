//! Commands without effect.

use shared::{EntityId, Refusal};

/// A client's command that had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefusedCommand {
    pub entity: EntityId,
    pub sequence: u32,
    pub reason: Refusal,
    /// What its script says of that: the number of a reason of the world.
    pub because: Option<u8>,
}
