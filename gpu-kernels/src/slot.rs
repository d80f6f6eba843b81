//! What is in a slot.

use serde::{Deserialize, Serialize};

/// The lifecycle state of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum SlotState {
    #[default]
    Free = 0,
    Live = 1,
    /// Its entity died, and some clients may not have received the leave yet.
    Resting = 2,
    /// As `Resting`, but reserved: its entity fell, and is to be born again.
    Fallen = 3,
    /// As `Fallen`, and all clients have received the fall.
    Reserved = 4,
}

impl SlotState {
    /// Whether an entity is to be born again in the slot.
    pub fn is_taken(self) -> bool {
        matches!(self, SlotState::Fallen | SlotState::Reserved)
    }
}
