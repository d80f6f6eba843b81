//! Things that accounts keep: they die with the players who hold them.

use shared::{EntityId, EntityRef, Slot};

use super::deaths::death;
use super::{Merge, State};
use crate::logic::Catalog;
use crate::slot::SlotState;
use crate::tick::output::TickOutput;

/// Ends the things that accounts keep of players who died in this tick, also those in other such
/// things: so nobody can take them afterwards. What holds a thing is of a kind before its own, so this
/// goes kind by kind.
pub fn end_with(
    players: &[EntityId],
    state: &mut State,
    catalog: &Catalog,
    merge: &mut Merge,
    output: &mut TickOutput,
) {
    let kinds = catalog.kept_kinds();
    let Some(column) = state.held.column().filter(|_| !kinds.is_empty()) else {
        return;
    };
    if players.is_empty() {
        return;
    }
    let mut ended = players.to_vec();
    ended.sort_unstable();
    let mut things: Vec<(u16, Slot)> = (0..state.slots.used())
        .filter(|&slot| state.slots.is_live(slot))
        .map(|slot| (state.slots.kinds()[slot], Slot(slot as u32)))
        .filter(|(kind, _)| kinds.contains(kind))
        .collect();
    things.sort_unstable();
    for of_kind in things.chunk_by(|a, b| a.0 == b.0) {
        let holder = |slot: Slot| EntityRef(state.row(slot)[column]);
        let ends = |slot: &Slot| is_of(&ended, holder(*slot));
        let ending: Vec<Slot> = of_kind.iter().map(|(_, slot)| *slot).filter(ends).collect();
        for slot in ending {
            let generation = state.slots.generations()[slot.index()];
            let thing = EntityId { slot, generation };
            death(state, thing, SlotState::Resting, merge, output);
            output.kept.push(thing);
            ended.push(thing);
        }
        ended.sort_unstable();
    }
    output.kept.sort_unstable_by_key(|thing| thing.slot);
}

/// Whether a reference refers to one of some entities, ascending by slot. No two have one slot.
fn is_of(entities: &[EntityId], reference: EntityRef) -> bool {
    let found = entities.binary_search_by_key(&reference.slot(), |entity| entity.slot);
    found.is_ok_and(|place| reference.is_generation(entities[place].generation))
}
