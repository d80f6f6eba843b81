use shared::world::initial::Choice;
use shared::world::mix::Random;
use shared::{CommandKind, EntityId, NotificationKind, Slot};

use super::motion::Motion;
use super::{Due, Merge, State, Updates};
use crate::logic::Catalog;
use crate::tick::counts::Counts;
use crate::tick::frame::Command;
use crate::tick::output::{Birth, TickOutput};
use crate::tick::state::{SlotState, attribute, part};
use crate::tick::timed::{POPULATION_TOKEN, TimedCommand, due_after};

/// Applies the tick's births and deaths, in command order. The n-th birth gets the n-th
/// lowest free slot, and its command if its kind has one; a death leaves a resting slot. Then the fallen of kinds that respawn
/// die too, and their respawns are scheduled. An entity that was despawned in the same tick
/// does not respawn.
pub fn run(
    state: &mut State,
    catalog: &Catalog,
    due: &Due,
    updates: &Updates,
    merge: &mut Merge,
    mut motion: Option<&mut Motion>,
    output: &mut TickOutput,
) {
    for (i, command) in due.commands.iter().enumerate() {
        // An entity born in this tick can't die in it: such a command is stale.
        match updates.ran(i) {
            Some(CommandKind::SPAWN) => {
                let born = birth(state, catalog, due, command, merge, output);
                if let (Some(slot), Some(motion)) = (born, &mut motion) {
                    motion.mark_birth(slot, state.row(slot));
                }
            }
            Some(CommandKind::DESPAWN) => death(state, command.entity, merge, output),
            _ => {}
        }
    }
    if catalog.has_falls() {
        respawn(state, catalog, merge, output);
    }
    output.deaths.sort_unstable_by_key(|entity| entity.slot);
    output.counts.deaths = output.deaths.len() as u64;
    output.counts.entities = state.slots.live() as u64;
    output.counts.timed = state.timed.len() as u64;
}

/// Only changed entities are checked: no fallen entity outlives the tick of its fall.
fn respawn(state: &mut State, catalog: &Catalog, merge: &mut Merge, output: &mut TickOutput) {
    for i in 0..output.changes.slots.len() {
        let slot = Slot(output.changes.slots[i]);
        let kind = state.slots.kinds()[slot.index()];
        if !state.slots.is_live(slot.index()) || !catalog.has_fallen(kind, state.row(slot)) {
            continue;
        }
        let generation = state.slots.generations()[slot.index()];
        let entity = EntityId { slot, generation };
        if catalog.tells(NotificationKind::FALL) {
            let notification = catalog.fell(entity, kind, state.row(slot));
            output.notify(notification, catalog.notifications_max());
        }
        death(state, entity, merge, output);
        if let Some(ticks) = catalog.respawn_ticks(kind) {
            let birth = TimedCommand::respawn(due_after(state.tick, ticks), kind);
            state.schedule(birth, &mut output.counts);
        }
    }
}

/// Returns the newborn's slot; `None` if there was none, or the command is malformed.
fn birth(
    state: &mut State,
    catalog: &Catalog,
    due: &Due,
    command: &Command,
    merge: &mut Merge,
    output: &mut TickOutput,
) -> Option<Slot> {
    let words = &due.words[command.word_start as usize..][..usize::from(command.word_count)];
    let (kind, token, place) = (words[0], words[1] as u32, &words[2..]);
    let Some(kind) = u16::try_from(kind).ok().filter(|&k| catalog.is_kind(k)) else {
        refuse(&mut output.counts);
        return None;
    };
    let slot = state.slots.lowest_free();
    let entity = slot.map(|slot| {
        let generation = state.slots.generations()[slot.index()].wrapping_add(1);
        EntityId { slot, generation }
    });
    output.births.push(Birth {
        token,
        kind,
        entity,
    });
    let Some(entity) = entity else {
        output.counts.births_refused += 1;
        return None;
    };
    output.counts.births += 1;
    let row = &mut state.rows[entity.slot.index() * state.columns..][..state.columns];
    row.copy_from_slice(catalog.default_row(kind));
    let mut random = Random::new(catalog.seed(), state.tick, entity);
    for (axis, &size) in catalog.size().iter().take(catalog.dimensions()).enumerate() {
        row[axis] = match place.get(axis) {
            Some(&position) => position.clamp(0, size - 1),
            None => random.below(size as u32) as i32,
        };
    }
    let turn = match token {
        POPULATION_TOKEN => entity.slot.0,
        client => client,
    };
    for initial in catalog.initials(kind) {
        row[usize::from(initial.column)] = choose(&initial.choice, turn, &mut random);
    }
    output.birth_rows.extend_from_slice(row);
    state.change_slot(entity.slot, SlotState::Live, kind, entity.generation);
    hash_row(state, entity.slot, u64::wrapping_add);
    state.bear_regions(entity, kind);
    merge.mark_birth(entity.slot);
    if let Some(command) = catalog.born(kind) {
        let due = due_after(state.tick, 1);
        let first = TimedCommand::new(due, entity, command.id(), &[]);
        state.schedule(first, &mut output.counts);
    }
    Some(entity.slot)
}

fn choose(choice: &Choice, turn: u32, random: &mut Random) -> i32 {
    match choice {
        Choice::Between { low, count } => low.wrapping_add_unsigned(random.below(*count)),
        Choice::OneOf(values) => values[random.below(values.len() as u32) as usize],
        Choice::InTurn(values) => values[turn as usize % values.len()],
    }
}

/// Counts a birth of an unknown kind as malformed.
fn refuse(counts: &mut Counts) {
    counts.applied -= 1;
    counts.malformed += 1;
}

fn death(state: &mut State, entity: EntityId, merge: &mut Merge, output: &mut TickOutput) {
    // An earlier command of this tick has killed it.
    if !state.slots.has(entity) {
        return;
    }
    merge.mark_death(entity.slot);
    hash_row(state, entity.slot, u64::wrapping_sub);
    state.bury_regions(entity);
    state.bury_track(entity.slot);
    state.rows[entity.slot.index() * state.columns..][..state.columns].fill(0);
    state.change_slot(entity.slot, SlotState::Resting, 0, entity.generation);
    output.deaths.push(entity);
}

fn hash_row(state: &mut State, slot: Slot, combine: impl Fn(u64, u64) -> u64) {
    for column in 0..state.columns {
        let value = state.rows[slot.index() * state.columns + column];
        let sum = &mut state.hash.parts[part::COLUMNS + column];
        *sum = combine(*sum, attribute(slot.0, value));
    }
}
