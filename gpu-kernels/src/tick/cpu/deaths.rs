//! The death of an entity.

use shared::{EntityId, Slot};

use super::{Merge, State};
use crate::slot::SlotState;
use crate::tick::output::TickOutput;
use crate::tick::state::{self, attribute, part};

/// Leaves the slot resting, or fallen. A fallen one keeps its kind. Returns that of the entity;
/// `None` if it does not die.
pub fn death(
    state: &mut State,
    entity: EntityId,
    left: SlotState,
    merge: &mut Merge,
    output: &mut TickOutput,
) -> Option<u16> {
    // An earlier command of this tick has killed it, or nothing can.
    if !state.slots.has(entity) || state.slots.shared() == Some(entity.slot.index()) {
        return None;
    }
    let own = state.slots.kinds()[entity.slot.index()];
    merge.mark_death(entity.slot);
    if let Some(due) = state.due.remove(&entity.slot.0) {
        state.subtract(part::SLOTS, state::due(entity.slot.index(), due));
    }
    hash_row(state, entity.slot, u64::wrapping_sub);
    state.bury_regions(entity);
    state.bury_track(entity.slot);
    state.bury_past(entity.slot);
    state.bury_uses(entity.slot);
    state.rows[entity.slot.index() * state.columns..][..state.columns].fill(0);
    let kind = match left {
        SlotState::Fallen => own,
        _ => 0,
    };
    state.change_slot(entity.slot, left, kind, entity.generation);
    output.deaths.push(entity);
    Some(own)
}

/// Combines the row of a slot with the state hash.
pub fn hash_row(state: &mut State, slot: Slot, combine: impl Fn(u64, u64) -> u64) {
    for column in 0..state.columns {
        let value = state.rows[slot.index() * state.columns + column];
        let sum = &mut state.hash.parts[part::COLUMNS + column];
        *sum = combine(*sum, attribute(slot.0, value));
    }
}
