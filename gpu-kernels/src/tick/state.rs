//! Snapshots, and the hash of the whole state.
//!
//! The hash is a sum: each element of the state is mixed with its place, and the mixes of a
//! part are added, wrapping. So it can be computed in any order and by any number of
//! threads, and updated by subtracting the old element and adding the new one.

mod check;

use serde::{Deserialize, Serialize};
use shared::world::edit::Edit;
use shared::world::logic::LogicConfig;
use shared::world::mix::mix;
use shared::{ClientRow, EntityId, Schema, Slot, Tick};

use crate::slot::SlotState;
use crate::space::field::FieldCells;
use crate::tick::deferred::DeferredCommand;
use crate::tick::frame::{Holder, Observer, Region, Target};
use crate::tick::timed::{TimedCommand, next_sequence_element};

/// An entity's movement as clients extrapolate it, between two ticks. Axes that the world lacks
/// are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Track {
    /// Whether it moves on by `step` each tick. If not, it rests.
    pub glides: bool,
    /// The last displacement; of one that glides, the displacement of each tick.
    pub step: [i32; 3],
    /// From where it is to where clients extrapolate it.
    pub offset: [i32; 3],
}

/// A world's state between two ticks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The tick that comes next.
    pub tick: Tick,
    /// Per slot: its lifecycle state.
    pub states: Vec<SlotState>,
    /// Per slot: the number of times it has been filled.
    pub generations: Vec<u32>,
    /// Per slot; 0 unless it has an entity, or one is to be born in it again.
    pub kinds: Vec<u16>,
    /// Per slot: the first tick in which its entity may be born again; of a living entity that
    /// fell and has hooks for it, the tick that it dies in; else 0.
    pub due: Vec<Tick>,
    /// Per slot, then per column; 0 unless live.
    pub rows: Vec<i32>,
    /// Per slot: its movement as sent to clients. Empty in worlds that send each change of a
    /// position.
    pub tracks: Vec<Track>,
    /// Where entities were after the latest ticks: by the tick's number modulo how many are kept,
    /// by slot, then by axis. Each coordinate plus 1; 0 where a slot's entity was not born yet.
    /// Empty in worlds that keep none.
    pub past: Vec<i32>,
    /// Per slot, then per command that rests, by its number: the first tick in which the entity
    /// may use it again; 0 before its first use.
    pub ready: Vec<Tick>,
    /// Per client, then per observer.
    pub observers: Vec<Option<Observer>>,
    /// Per client, then per region that it may subscribe to.
    pub regions: Vec<Option<Region>>,
    /// Per slot: the region in which its entity is published, beside its position; empty in
    /// worlds whose entities carry no regions.
    pub publications: Vec<Option<Region>>,
    /// Like `publications`: the region that clients that follow the entity subscribe to.
    pub subscriptions: Vec<Option<Region>>,
    /// Per client: the slots of its known set, ascending.
    pub known: Vec<Vec<u32>>,
    /// Clients whose deliveries were deferred, ascending.
    pub behind: Vec<u32>,
    /// The commands that wait for their tick, by sequence.
    pub timed: Vec<TimedCommand>,
    /// The number of commands scheduled since the world began.
    pub next_sequence: u64,
    /// The atomic commands that wait for the next tick, in their order.
    pub deferred: Vec<DeferredCommand>,
    /// By field of the world. Checkpoints have them behind everything else, so that those of worlds
    /// without are as they were.
    #[serde(skip)]
    pub fields: Vec<FieldState>,
    /// The cells of layers that differ from those of the world's file, ascending by layer and cell.
    /// Checkpoints have them as they have `fields`.
    #[serde(skip)]
    pub edits: Vec<Edit>,
    /// The world's scripts, with the numbers of their names.
    pub logic: LogicConfig,
}

/// What a flow field depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldState {
    /// Of the steps that scripts are given.
    pub in_force: FieldCells,
    /// Of those that come into force when the field is taken again.
    pub under_way: FieldCells,
}

impl FieldState {
    /// Its element of the hash, by the number of its field; 0 without any cells.
    pub fn element(&self, number: usize) -> u64 {
        let lists = [
            &self.in_force.goals,
            &self.in_force.closed,
            &self.under_way.goals,
            &self.under_way.closed,
        ];
        let mut sum = 0u64;
        for (list, which) in lists.into_iter().zip(0u64..) {
            for &cell in list {
                let start = 16 << 56 | (number as u64) << 40 | which << 32;
                sum = sum.wrapping_add(mix(start, cell.into()));
            }
        }
        sum
    }
}

/// The state hash, by part: see [`StateHash::part_names`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateHash {
    pub parts: Vec<u64>,
}

impl StateHash {
    /// All zero, with a part for each column.
    pub fn zero(columns: usize) -> StateHash {
        StateHash {
            parts: vec![0; part::COLUMNS + columns],
        }
    }

    /// All parts combined into one number.
    pub fn combined(&self) -> u64 {
        self.parts.iter().fold(0, |hash, &part| mix(hash, part))
    }

    /// Whether two states are the same but for known sets.
    pub fn agrees_but_for_known(&self, other: &StateHash) -> bool {
        let with_other = self.parts.iter().zip(&other.parts).enumerate();
        let mut compared = with_other.filter(|(part, _)| *part != part::KNOWN);
        self.parts.len() == other.parts.len() && compared.all(|(_, (own, other))| own == other)
    }

    /// The name of each part.
    pub fn part_names(schema: &Schema) -> Vec<String> {
        let fixed = [
            "tick and scripts",
            "slots",
            "observers",
            "known",
            "timed",
            "tracks",
        ];
        let columns = schema
            .attributes
            .iter()
            .map(|a| format!("attribute {}", a.name));
        fixed
            .iter()
            .map(|&name| name.to_owned())
            .chain(columns)
            .collect()
    }

    /// The hash of a snapshot by its definition, one element at a time.
    pub fn of(snapshot: &Snapshot, columns: usize, observers_per_client: usize) -> StateHash {
        let mut hash = StateHash::zero(columns);
        hash.parts[part::TICK] = tick(snapshot.tick, snapshot.logic.hash());
        for slot in 0..snapshot.states.len() {
            let (state, kind) = (snapshot.states[slot], snapshot.kinds[slot]);
            let generation = snapshot.generations[slot];
            hash.add(part::SLOTS, self::slot(slot, state, kind, generation));
            if snapshot.due[slot] > Tick(0) {
                hash.add(part::SLOTS, due(slot, snapshot.due[slot]));
            }
            if state == SlotState::Live {
                let row = &snapshot.rows[slot * columns..(slot + 1) * columns];
                for (column, &value) in row.iter().enumerate() {
                    hash.add(part::COLUMNS + column, attribute(slot as u32, value));
                }
            }
        }
        for (slot, track) in snapshot.tracks.iter().enumerate() {
            hash.add(part::TRACKS, self::track(slot as u32, track));
        }
        // With the tracks, so that worlds that keep none have the hashes that they had.
        for (place, &stored) in snapshot.past.iter().enumerate() {
            hash.add(part::TRACKS, past(place, stored));
        }
        for (number, field) in snapshot.fields.iter().enumerate() {
            hash.add(part::TRACKS, field.element(number));
        }
        for edit in &snapshot.edits {
            hash.add(part::TRACKS, edit.element());
        }
        let resting = snapshot.ready.len() / snapshot.states.len().max(1);
        for (i, &ready) in snapshot.ready.iter().enumerate() {
            hash.add(part::SLOTS, self::ready(i / resting, i % resting, ready));
        }
        for (i, observer) in snapshot.observers.iter().enumerate() {
            let (client, index) = (i / observers_per_client, i % observers_per_client);
            let row = ClientRow(client as u32);
            hash.add(part::OBSERVERS, self::observer(row, index as u32, observer));
        }
        hash.add_regions(snapshot);
        for (client, slots) in snapshot.known.iter().enumerate() {
            for &slot in slots {
                hash.add(part::KNOWN, known(ClientRow(client as u32), Slot(slot)));
            }
        }
        for &client in &snapshot.behind {
            hash.add(part::KNOWN, behind(ClientRow(client)));
        }
        for command in &snapshot.timed {
            hash.add(part::TIMED, command.element());
        }
        hash.add(part::TIMED, next_sequence_element(snapshot.next_sequence));
        for (place, command) in snapshot.deferred.iter().enumerate() {
            hash.add(part::TIMED, command.element(place));
        }
        hash
    }

    /// Adds the regions to the observers' part, so that worlds without regions keep their hashes.
    fn add_regions(&mut self, snapshot: &Snapshot) {
        // It is 0 in worlds whose clients have no regions.
        let per_client = snapshot.regions.len() / snapshot.known.len().max(1);
        for (i, held) in snapshot.regions.iter().enumerate() {
            let holder = Holder::Client {
                client: ClientRow((i / per_client) as u32),
                index: (i % per_client) as u32,
            };
            self.add(part::OBSERVERS, region(holder, held));
        }
        let generation = |slot: usize| snapshot.generations[slot];
        for (slot, held) in snapshot.publications.iter().enumerate() {
            let holder = EntityId::new(slot as u32, generation(slot));
            self.add(part::OBSERVERS, region(Holder::Publication(holder), held));
        }
        for (slot, held) in snapshot.subscriptions.iter().enumerate() {
            let holder = EntityId::new(slot as u32, generation(slot));
            self.add(part::OBSERVERS, region(Holder::Subscription(holder), held));
        }
    }

    fn add(&mut self, part: usize, element: u64) {
        self.parts[part] = self.parts[part].wrapping_add(element);
    }
}

/// Indices of the parts in [`StateHash::parts`].
pub mod part {
    pub const TICK: usize = 0;
    pub const SLOTS: usize = 1;
    pub const OBSERVERS: usize = 2;
    pub const KNOWN: usize = 3;
    pub const TIMED: usize = 4;
    pub const TRACKS: usize = 5;
    /// The first column's part; the other columns follow.
    pub const COLUMNS: usize = 6;
}

/// The element of the tick that comes next, and of the scripts that it runs:
/// [`LogicConfig::hash`].
pub fn tick(next: Tick, logic: u64) -> u64 {
    mix(mix(1, next.0), logic)
}

/// The element of a slot; 0 for one that was never filled.
pub fn slot(slot: usize, state: SlotState, kind: u16, generation: u32) -> u64 {
    if generation == 0 && state == SlotState::Free {
        return 0;
    }
    let word = u64::from(generation) | (state as u64) << 32 | u64::from(kind) << 40;
    mix(2 << 56 | slot as u64, word)
}

/// The element of the tick from which on a slot's entity may be born again.
pub fn due(slot: usize, due: Tick) -> u64 {
    mix(13 << 56 | slot as u64, due.0)
}

/// The element of the tick from which on an entity may use a command again, which has this place
/// among those that rest; 0 for one that was never used.
pub fn ready(slot: usize, place: usize, ready: Tick) -> u64 {
    match ready {
        Tick(0) => 0,
        ready => mix(14 << 56 | (place as u64) << 32 | slot as u64, ready.0),
    }
}

/// The element of a live entity's attribute, within its column's part.
pub fn attribute(slot: u32, value: i32) -> u64 {
    mix(3 << 56 | u64::from(slot), u64::from(value as u32))
}

/// The element of an entity's track; 0 for one that rests where clients
/// take it to be, so that it costs nothing.
pub fn track(slot: u32, track: &Track) -> u64 {
    if *track == Track::default() {
        return 0;
    }
    let start = 12 << 56 | u64::from(track.glides) << 32 | u64::from(slot);
    (0..3).fold(start, |element, axis| {
        let (step, offset) = (track.step[axis] as u32, track.offset[axis] as u32);
        mix(element, u64::from(step) << 32 | u64::from(offset))
    })
}

/// The element of a number of [`Snapshot::past`], by its place there; 0 for nowhere.
pub fn past(place: usize, stored: i32) -> u64 {
    match stored {
        0 => 0,
        stored => mix(15 << 56 | place as u64, u64::from(stored as u32)),
    }
}

/// The element of an observer; 0 for one that isn't set.
pub fn observer(client: ClientRow, index: u32, observer: &Option<Observer>) -> u64 {
    let Some(observer) = observer else { return 0 };
    let place = mix(
        4 << 56 | u64::from(client.0) << 8 | u64::from(index),
        u64::from(observer.radius as u32),
    );
    match observer.target {
        Target::Entity(entity) => mix(place, entity.to_bits()),
        Target::Point([x, y, z]) => {
            let xy = u64::from(x as u32) << 32 | u64::from(y as u32);
            mix(mix(place, xy), 1 << 63 | u64::from(z as u32))
        }
    }
}

/// The element of a region; 0 for one that isn't set.
pub fn region(holder: Holder, region: &Option<Region>) -> u64 {
    let Some(Region { low, high, follows }) = region else {
        return 0;
    };
    let place = match holder {
        Holder::Client { client, index } => 9 << 56 | u64::from(client.0) << 8 | u64::from(index),
        Holder::Publication(entity) => 10 << 56 | u64::from(entity.slot.0),
        Holder::Subscription(entity) => 11 << 56 | u64::from(entity.slot.0),
    };
    let follows = match follows {
        None => mix(place, 0),
        Some(entity) => mix(place | 1 << 48, entity.to_bits()),
    };
    (0..3).fold(follows, |element, axis| {
        let range = u64::from(low[axis] as u32) << 32 | u64::from(high[axis] as u32);
        mix(element, range)
    })
}

/// The element of one entity in one client's known set.
pub fn known(client: ClientRow, slot: Slot) -> u64 {
    mix(5 << 56 | u64::from(client.0), u64::from(slot.0))
}

/// The element of a client that was owed deliveries and did not get them.
pub fn behind(client: ClientRow) -> u64 {
    mix(6 << 56, u64::from(client.0))
}
