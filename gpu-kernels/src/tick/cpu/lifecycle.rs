use std::borrow::Cow;

use device::cpu::{Workers, ranges};
use shared::world::command::WAITING_WORDS_MAX;
use shared::world::given::{
    FollowUp, birth, columns, is_follow_up, is_given, is_names, name, since, ticks,
};
use shared::world::mix::Random;
use shared::{CommandKind, EntityId, EntityRef, NotificationKind, Occasion, Slot, Tick};

use super::deaths::{death, hash_row};
use super::kept;
use super::logic::Life;
use super::motion::Motion;
use super::walls::Walls;
use super::{Merge, State};
use crate::logic::Catalog;
use crate::slot::SlotState;
use crate::tick::counts::Counts;
use crate::tick::frame::{Command, POPULATION_TOKEN};
use crate::tick::output::{Birth, TickOutput};
use crate::tick::state::{self, part};
use crate::tick::timed::{TimedCommand, token_of};

/// Applies the tick's births and deaths, in command order. The n-th birth gets the n-th
/// lowest free slot, and its command if its kind has one; a death leaves a resting slot. Then
/// the commands that name newborns are scheduled. Then the fallen of kinds that respawn
/// die too, and keep their slots: once they are due and all clients know of the fall, they
/// are born there again, by slot. So nothing that happens meanwhile can use up their room.
/// What accounts keep dies with the players who hold it. An entity that was despawned in the tick of
/// its fall does not respawn. One whose kind has hooks for it lives for one tick more, in which these
/// run. `actor` is the entity whose command changed a value of the rows.
#[allow(clippy::too_many_arguments)]
pub fn run<'a>(
    workers: &Workers,
    state: &mut State,
    catalog: &Catalog,
    commands: impl Iterator<Item = Life<'a>>,
    merge: &mut Merge,
    (mut motion, mut walls): Places<'_>,
    actor: impl Fn(usize) -> EntityId,
    output: &mut TickOutput,
) {
    let mut given = Given::default();
    let mut follow_ups = FollowUps::default();
    let mut players = vec![];
    for life in commands {
        let Life { command, words, .. } = life;
        let is_full = words.len() == WAITING_WORDS_MAX;
        // An entity born in this tick can't die in it: such a command is stale.
        if command.kind == CommandKind::DESPAWN.id() {
            let kind = death(state, command.entity, SlotState::Resting, merge, output);
            players.extend(
                kind.filter(|&kind| catalog.is_player(kind))
                    .map(|_| command.entity),
            );
        } else if is_given(words[0]) && is_full {
            given.add(life.place, words);
        } else if is_follow_up(words[0]) && is_full && !life.is_given {
            follow_ups.add(&life, &mut output.counts);
        } else if let Some(newborn) = spawn(state, catalog, words, given.before(life.place), output)
        {
            let places = (motion.as_deref_mut(), walls.as_deref_mut());
            let entity = newborn.bear(state, catalog, merge, places, output);
            if !life.is_given {
                follow_ups.born.push((command.sequence, entity));
            }
        }
    }
    for command in follow_ups.due(state.tick) {
        state.schedule(command, &mut output.counts);
    }
    if catalog.has_falls() {
        players.extend(fall(workers, state, catalog, merge, actor, output));
    }
    kept::end_with(&players, state, catalog, merge, output);
    if catalog.has_falls() {
        respawn(state, catalog, merge, (motion, walls), output);
    }
    output.deaths.sort_unstable_by_key(|entity| entity.slot);
    output.counts.deaths = output.deaths.len() as u64;
    output.counts.entities = state.slots.live() as u64;
    output.counts.timed = state.timed.len() as u64;
    output.counts.respawns = state.respawns() as u64;
}

/// What keeps where entities were before the tick.
type Places<'a> = (Option<&'a mut Motion>, Option<&'a mut Walls>);

/// Fills the slot of what the whole world shares.
pub fn begin_shared(state: &mut State, catalog: &Catalog, entity: EntityId, kind: u16) {
    let row = &mut state.rows[entity.slot.index() * state.columns..][..state.columns];
    row.copy_from_slice(catalog.default_row(kind));
    state.change_slot(entity.slot, SlotState::Live, kind, entity.generation);
    hash_row(state, entity.slot, u64::wrapping_add);
}

/// Only changed entities and newborns are checked, and those that fell in the tick before. Returns
/// the players among those that die.
fn fall(
    workers: &Workers,
    state: &mut State,
    catalog: &Catalog,
    merge: &mut Merge,
    actor: impl Fn(usize) -> EntityId,
    output: &mut TickOutput,
) -> Vec<EntityId> {
    let mut players = vec![];
    let mut slots = Cow::Borrowed(&output.changes.slots[..]);
    let is_dying = |slot: &&u32| state.slots.is_live(**slot as usize);
    let dying: Vec<u32> = state.due.keys().filter(is_dying).copied().collect();
    if !output.births.is_empty() || !dying.is_empty() {
        // A birth may say that its entity has fallen.
        let born = output.births.iter().filter_map(|birth| birth.entity);
        slots.to_mut().extend(born.map(|entity| entity.slot.0));
        slots.to_mut().extend(dying);
        slots.to_mut().sort_unstable();
        slots.to_mut().dedup();
    }
    for slot in fallen(workers, state, catalog, &slots) {
        let kind = state.slots.kinds()[slot.index()];
        let generation = state.slots.generations()[slot.index()];
        let entity = EntityId { slot, generation };
        if catalog.has_fall_hooks(kind) && !state.due.contains_key(&slot.0) {
            let by = match (
                output.changes.slots.binary_search(&slot.0),
                catalog.fall_column(kind),
            ) {
                (Ok(_), Some(column)) => actor(slot.index() * state.columns + column),
                _ => EntityId::NONE,
            };
            begin_fall(state, catalog, entity, kind, by, output);
            continue;
        }
        if catalog.has_notification(NotificationKind::FALL) {
            let notification = catalog.fell(entity, kind, state.row(slot));
            output.notify(notification, catalog.notifications_max());
        }
        let Some(ticks) = catalog.respawn_ticks(kind) else {
            death(state, entity, SlotState::Resting, merge, output);
            players.push(entity);
            continue;
        };
        death(state, entity, SlotState::Fallen, merge, output);
        let due = state.tick.after(ticks);
        state.due.insert(slot.0, due);
        state.add(part::SLOTS, state::due(slot.index(), due));
    }
    players
}

/// Schedules the hooks of a fall; the entity dies in the tick in which they run.
fn begin_fall(
    state: &mut State,
    catalog: &Catalog,
    entity: EntityId,
    kind: u16,
    by: EntityId,
    output: &mut TickOutput,
) {
    state.give_hooks(
        catalog,
        (Occasion::Fall, kind),
        entity,
        by,
        &mut output.counts,
    );
    let due = state.tick.next();
    state.due.insert(entity.slot.0, due);
    state.add(part::SLOTS, state::due(entity.slot.index(), due));
}

/// Those of some slots whose living entities have fallen, in the same order.
fn fallen(workers: &Workers, state: &State, catalog: &Catalog, slots: &[u32]) -> Vec<Slot> {
    let parts = workers.parts(slots.len());
    let mut found = vec![vec![]; parts];
    let tasks = ranges(slots.len(), parts).zip(&mut found);
    workers.run(tasks.collect(), |(range, found)| {
        let slots = slots[range].iter().map(|&slot| Slot(slot));
        found.extend(slots.filter(|&slot| {
            let kind = state.slots.kinds()[slot.index()];
            let has_fallen =
                || state.due.contains_key(&slot.0) || catalog.has_fallen(kind, state.row(slot));
            state.slots.is_live(slot.index()) && has_fallen()
        }));
    });
    found.concat()
}

/// Respawns those that are due, in their own slots, once all clients have received the fall.
fn respawn(
    state: &mut State,
    catalog: &Catalog,
    merge: &mut Merge,
    (mut motion, mut walls): Places<'_>,
    output: &mut TickOutput,
) {
    let (tick, slots) = (state.tick, &state.slots);
    let is_reborn = |&(&slot, &due): &(&u32, &Tick)| {
        let is_reserved = slots.states()[slot as usize] == SlotState::Reserved;
        is_reserved && tick >= due
    };
    let reborn: Vec<(u32, Tick)> = state
        .due
        .iter()
        .filter(is_reborn)
        .map(|(&slot, &due)| (slot, due))
        .collect();
    for (slot, due) in reborn {
        state.due.remove(&slot);
        state.subtract(part::SLOTS, state::due(slot as usize, due));
        let kind = state.slots.kinds()[slot as usize];
        let place = catalog.birthplace(kind).place(tick, slot);
        let birth = Newborn {
            slot: Slot(slot),
            kind,
            token: POPULATION_TOKEN,
            joins: false,
            values: &place,
            given: &[],
        };
        let places = (motion.as_deref_mut(), walls.as_deref_mut());
        birth.bear(state, catalog, merge, places, output);
    }
}

/// The entity that a command wants to be born; `None` if there is no slot, or the command is
/// malformed.
fn spawn<'a>(
    state: &mut State,
    catalog: &Catalog,
    words: &'a [i32],
    given: &'a [&'a [i32]],
    output: &mut TickOutput,
) -> Option<Newborn<'a>> {
    let (token, values) = (words[1] as u32, &words[2..]);
    let (token, joins) = token_of(token);
    let is_birth = |&(kind, _): &_| catalog.is_born(kind) && catalog.is_birth(words.len());
    let Some((kind, commands)) = birth(words[0]).filter(is_birth) else {
        refuse(&mut output.counts);
        return None;
    };
    let Some(slot) = state.slots.lowest_free() else {
        output.counts.births_refused += 1;
        output.births.push(Birth {
            token,
            kind,
            entity: None,
        });
        return None;
    };
    Some(Newborn {
        slot,
        kind,
        token,
        joins,
        values,
        given: &given[given.len().saturating_sub(commands)..],
    })
}

/// The commands with values for a birth, and with names, that come one after another.
#[derive(Default)]
struct Given<'a> {
    /// The words of each.
    commands: Vec<&'a [i32]>,
    /// The place of the command after the last.
    next: u32,
}

impl<'a> Given<'a> {
    fn add(&mut self, place: u32, words: &'a [i32]) {
        if place != self.next {
            self.commands.clear();
        }
        self.commands.push(words);
        self.next = place + 1;
    }

    /// Those right before a place.
    fn before(&self, place: u32) -> &[&'a [i32]] {
        match place == self.next {
            true => &self.commands,
            false => &[],
        }
    }
}

/// The commands that name newborns of the tick.
#[derive(Default)]
struct FollowUps<'a> {
    /// Births that waited for the tick, by the sequence of the birth's command, ascending.
    born: Vec<(u32, EntityId)>,
    /// Each with its newborn.
    found: Vec<(&'a Command, &'a [i32], EntityId)>,
}

impl<'a> FollowUps<'a> {
    /// One whose birth was refused or had no room is as stale as one of a dead entity.
    fn add(&mut self, life: &Life<'a>, counts: &mut Counts) {
        let &Life { command, words, .. } = life;
        match self.newborn(command.sequence, words[1]) {
            Some(newborn) => self.found.push((command, words, newborn)),
            None => {
                counts.applied -= 1;
                counts.stale += 1;
            }
        }
    }

    fn newborn(&self, sequence: u32, word: i32) -> Option<EntityId> {
        let since = since(word)?;
        let births = self.born.iter().rev();
        let mut births = births.map(|&(born, entity)| (sequence.wrapping_sub(born), entity));
        let (found, entity) = births.find(|&(ago, _)| ago >= since)?;
        (found == since).then_some(entity)
    }

    fn due(self, tick: Tick) -> impl Iterator<Item = TimedCommand> {
        self.found
            .into_iter()
            .map(move |(command, words, newborn)| {
                let follow_up = FollowUp::of(words[0]);
                let giver = match follow_up.is_giver {
                    true => newborn,
                    false => command.entity,
                };
                let due = tick.after(ticks(words[1]));
                let words = follow_up.fill(&words[2..], newborn.reference());
                TimedCommand::new(due, giver, follow_up.command, &words)
            })
    }
}

/// An entity that is to be born.
struct Newborn<'a> {
    slot: Slot,
    kind: u16,
    token: u32,
    /// Whether it is a client's first entity.
    joins: bool,
    /// Its place, or all its columns; those that it leaves out are chosen.
    values: &'a [i32],
    /// The words of commands with further values of columns, and then with names. Where several have a
    /// column, the first command counts, and in it the last value or name.
    given: &'a [&'a [i32]],
}

impl Newborn<'_> {
    /// Fills the slot. Returns the entity.
    fn bear(
        &self,
        state: &mut State,
        catalog: &Catalog,
        merge: &mut Merge,
        (motion, walls): Places<'_>,
        output: &mut TickOutput,
    ) -> EntityId {
        let &Newborn {
            slot,
            kind,
            token,
            joins,
            values,
            given,
        } = self;
        let generation = state.slots.generations()[slot.index()].wrapping_add(1);
        let entity = EntityId { slot, generation };
        let own = output.births.len();
        output.counts.births += 1;
        output.births.push(Birth {
            token,
            kind,
            entity: Some(entity),
        });
        let row = &mut state.rows[slot.index() * state.columns..][..state.columns];
        row.copy_from_slice(catalog.default_row(kind));
        let mut random = Random::new(catalog.seed(), state.tick, entity);
        // A thing is nowhere.
        if !state.slots.is_thing_kind(kind) {
            for (axis, &size) in catalog.size().iter().take(catalog.dimensions()).enumerate() {
                row[axis] = match values.get(axis) {
                    Some(&position) => position.clamp(0, size - 1),
                    None => random.below(size as u32) as i32,
                };
            }
            let place = state.layers.free_place([row[0], row[1], 0]);
            row[..2].copy_from_slice(&place[..2]);
        }
        let turn = match token {
            POPULATION_TOKEN => slot.0,
            client => client,
        };
        let is_whole = values.len() == row.len();
        for (column, &(min, max)) in catalog.bounds(kind).iter().enumerate() {
            if is_whole && column >= catalog.dimensions() {
                row[column] = values[column].clamp(min, max);
            }
        }
        for initial in catalog.initials(kind).iter().filter(|_| !is_whole) {
            row[usize::from(initial.column)] = initial.choice.draw(turn, &mut random);
        }
        let mut set = |column: u16, value: i32| {
            let column = usize::from(column);
            if (catalog.dimensions()..row.len()).contains(&column) {
                let (min, max) = catalog.bounds(kind)[column];
                row[column] = value.clamp(min, max);
            }
        };
        let of_names = |words: &&&[i32]| is_names(words[0]);
        for words in given.iter().rev().filter(|words| !of_names(words)) {
            for (column, &value) in columns(words[0]).into_iter().zip(&words[1..]) {
                set(column, value);
            }
        }
        let named = given.iter().rev().filter(of_names);
        for words in named.filter(|_| !catalog.kept_kinds().is_empty()) {
            for &word in &words[1..] {
                let (column, ago) = name(word);
                set(column, born(&output.births, own, ago).0);
            }
        }
        output.birth_rows.extend_from_slice(row);
        state.change_slot(slot, SlotState::Live, kind, generation);
        hash_row(state, slot, u64::wrapping_add);
        state.bear_regions(entity, kind);
        merge.mark_birth(slot);
        if let Some(motion) = motion {
            motion.mark_birth(slot, state.row(slot));
        }
        if let Some(walls) = walls {
            walls.mark_birth(slot, state.row(slot));
        }
        let counts = &mut output.counts;
        state.give_hooks(
            catalog,
            (Occasion::Birth, kind),
            entity,
            EntityId::NONE,
            counts,
        );
        if joins {
            state.give_hooks(
                catalog,
                (Occasion::Join, kind),
                entity,
                EntityId::NONE,
                counts,
            );
        }
        entity
    }
}

/// The entity that was born so many births before one.
fn born(births: &[Birth], own: usize, ago: u32) -> EntityRef {
    let birth = own.checked_sub(ago as usize).and_then(|n| births.get(n));
    let entity = birth.and_then(|birth| birth.entity);
    entity.map_or(EntityRef::NONE, EntityId::reference)
}

/// Counts a birth of an unknown kind as malformed.
fn refuse(counts: &mut Counts) {
    counts.applied -= 1;
    counts.malformed += 1;
}
