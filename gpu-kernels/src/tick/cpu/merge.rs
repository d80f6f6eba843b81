use std::ops::Range;

use shared::world::attribute::{self, joined};
use shared::world::columns::ATTRIBUTES_MAX;
use shared::world::value::words_at;
use shared::{AttributeType, Audience, MergeRule, Slot, WorldConfig};

use super::left::Left;
use super::logic::Pair;
use super::reciprocal::Reciprocal;
use super::{RadixSorter, State, Updates};
use crate::tick::counts::Counts;
use crate::tick::output::Changes;
use crate::tick::state::{attribute as hash_of, part};
use device::cpu::{Workers, grow, take};

/// Merges each (entity, attribute)'s updates into one change, and applies it.
pub struct Merge {
    sorter: RadixSorter<Pair>,
    columns: Columns,
    /// Entities are merged in groups, whose attributes fit a fast cache together.
    group: Group,
    /// The start of each group's updates, and the end.
    starts: Vec<u32>,
    /// One for each part of the work.
    ledgers: Vec<Ledger>,
    /// The merged changes, part after part, before they are packed together.
    merged: MergedBuffers,
    /// By slot: the stamp of the last change that clients may see.
    changed: Vec<u32>,
    /// Counts the ticks run here, whatever the tick's number.
    stamp: u32,
    /// The number of living entities among this tick's `changed`.
    changed_entities: usize,
    /// The slots of entities that several updates moved along an axis, ascending.
    several: Vec<u32>,
}

/// Properties of the columns.
struct Columns {
    forms: Vec<ColumnForm>,
    /// By kind and column.
    bounds: Vec<(i32, i32)>,
    /// How many of the first ones, where several updates in a tick are noted.
    noted: u32,
    /// By column of a low half: the bounds of its number.
    wide_bounds: Vec<(i64, i64)>,
    /// A bit for each attribute of a group whose updates are summed in 32 bits, and not noted.
    sums: Vec<u64>,
}

#[derive(Clone, Copy)]
struct ColumnForm {
    rule: MergeRule,
    half: Half,
    /// Whether clients are sent its changes.
    is_visible: bool,
}

/// Which half of a number of 64 bits a column has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    /// The column has 32 bits by itself.
    None,
    Low,
    High,
}

/// Entities with neighbouring slots.
#[derive(Clone, Copy)]
struct Group {
    slots: usize,
    keys: Reciprocal,
    /// How many of them have all entities.
    count: usize,
}

/// What the updates of one group of entities come to, by attribute. Between groups, no attribute has
/// a value, and sums are 0.
struct Ledger {
    values: Vec<i64>,
    /// A bit for each attribute that has a value.
    is_used: Vec<u64>,
    /// The slots of which a column that is noted has several updates.
    several: Vec<u32>,
    /// The difference that a share's changes make to the hash, by column.
    hash: Vec<u64>,
}

/// One thread's share: whole groups.
struct Share<'a> {
    groups: Range<usize>,
    /// From the first group's start on.
    updates: &'a [Pair],
    first_slot: usize,
    ledger: &'a mut Ledger,
    rows: &'a mut [i32],
    changed: &'a mut [u32],
    merged: Merged<'a>,
    result: &'a mut ShareResult,
}

/// Merged changes, as [`Changes`] has them.
#[derive(Default)]
struct MergedBuffers {
    slots: Vec<u32>,
    starts: Vec<u32>,
    columns: Vec<u16>,
    values: Vec<i32>,
}

/// Those of one share, from its own start on.
struct Merged<'a> {
    slots: &'a mut [u32],
    starts: &'a mut [u32],
    columns: &'a mut [u16],
    values: &'a mut [i32],
}

#[derive(Clone, Copy, Default)]
struct ShareResult {
    changes: usize,
    entities: usize,
    /// The number of entities with a change that clients may see.
    visible: usize,
}

impl Merge {
    pub fn new(config: &WorldConfig) -> Merge {
        let schema = &config.schema;
        let columns = schema.attributes.len();
        let keys = columns * schema.world.capacity as usize;
        let slots = (keys / GROUPS).clamp(GROUP_KEYS_MIN, GROUP_KEYS_MAX) / columns;
        Merge {
            sorter: RadixSorter::new(0),
            group: Group {
                slots,
                keys: Reciprocal::of((slots * columns) as u32),
                count: (schema.world.capacity as usize).div_ceil(slots),
            },
            starts: vec![],
            ledgers: vec![],
            columns: Columns::new(config, slots),
            merged: MergedBuffers::default(),
            changed: vec![0; schema.world.capacity as usize],
            stamp: 0,
            changed_entities: 0,
            several: vec![],
        }
    }

    /// Whether an entity changed in this tick, or was born in it.
    pub fn has_changed(&self, slot: u32) -> bool {
        self.changed[slot as usize] == self.stamp
    }

    /// Whether several updates of this tick moved an entity along `x` or `y`, in worlds with walls.
    pub fn moved_by_several(&self, slot: u32) -> bool {
        self.several.binary_search(&slot).is_ok()
    }

    /// The number of living entities that changed in this tick, or were born in it.
    pub fn changed_entities(&self) -> usize {
        self.changed_entities
    }

    /// Whether every living entity changed in this tick, or was born in it.
    pub fn all_changed(&self, state: &State) -> bool {
        // Among those that changed, things are not distinguished.
        if state.slots.have_things() {
            return false;
        }
        let shared = state
            .slots
            .shared()
            .map(|slot| self.has_changed(slot as u32));
        self.changed_entities - usize::from(shared == Some(true)) == state.slots.live()
    }

    pub fn mark_birth(&mut self, slot: Slot) {
        self.changed[slot.index()] = self.stamp;
        self.changed_entities += 1;
    }

    pub fn mark_death(&mut self, slot: Slot) {
        self.changed_entities -= usize::from(self.has_changed(slot.0));
    }

    /// By slot: the stamp of its last change that clients may see; and this tick's.
    pub fn changed_mut(&mut self) -> (&mut [u32], u32) {
        (&mut self.changed, self.stamp)
    }

    /// So many more entities have a change that clients may see.
    pub fn mark_moved(&mut self, entities: usize) {
        self.changed_entities += entities;
    }

    /// Begins a tick: no entity has changed yet.
    fn next_stamp(&mut self) {
        if self.stamp == u32::MAX {
            self.changed.fill(0);
            self.stamp = 0;
        }
        self.stamp += 1;
    }

    /// Brings the updates of each group of entities together, folds those of each attribute by
    /// its merge rule, clamps and applies the result. The thesis (3.4) sorts them by attribute
    /// instead, as a GPU does.
    pub fn merge(
        &mut self,
        workers: &Workers,
        state: &mut State,
        updates: &Updates,
        changes: &mut Changes,
        counts: &mut Counts,
    ) {
        self.next_stamp();
        let (n, group) = (updates.len, self.group);
        let group_of = |(key, _): Pair| group.keys.divide(key) as usize;
        let lists = updates.lists();
        let grouped = self
            .sorter
            .group(workers, &lists, group.count, group_of, &mut self.starts);
        let parts = workers.parts_of(n, UPDATES_GRAIN);
        let cuts = cuts(&self.starts, parts);
        self.merged.grow(n);
        let mut results = vec![ShareResult::default(); parts];
        while self.ledgers.len() < parts {
            self.ledgers.push(Ledger::new(group.slots, state.columns));
        }
        let fold = Fold {
            stamp: self.stamp,
            width: Reciprocal::of(state.columns as u32),
            columns: &self.columns,
            kinds: state.slots.kinds(),
            group_slots: group.slots,
            starts: &self.starts,
        };
        let mut buffers = Buffers {
            rows: &mut state.rows,
            changed: &mut self.changed,
            merged: self.merged.all(),
        };
        let ledgers = self.ledgers.iter_mut().zip(&mut results);
        let shares = cuts.windows(2).zip(ledgers).map(|(cut, (ledger, result))| {
            buffers.share(grouped, &fold, cut[0]..cut[1], ledger, result)
        });
        workers.run(shares.collect(), |share| fold.run(share));

        self.changed_entities = results.iter().map(|r| r.visible).sum();
        self.several.clear();
        for ledger in &mut self.ledgers[..parts] {
            self.several.append(&mut ledger.several);
            for (column, &difference) in ledger.hash.iter().enumerate() {
                state.add(part::COLUMNS + column, difference);
            }
        }
        self.several.sort_unstable();
        self.several.dedup();
        let firsts = cuts.iter().map(|&group| self.starts[group] as usize);
        self.merged.pack(workers, firsts, &results, changes);
        counts.changes = changes.values.len() as u64;
    }

    /// Merges what atomic commands left in the rows.
    pub fn leave(&mut self, state: &mut State, left: &[Left]) {
        for &Left {
            key, before, now, ..
        } in left
        {
            let (slot, column) = (key / state.columns as u32, key as usize % state.columns);
            if self.columns.forms[column].is_visible {
                let changed = &mut self.changed[slot as usize];
                self.changed_entities += usize::from(*changed != self.stamp);
                *changed = self.stamp;
            }
            state.subtract(part::COLUMNS + column, hash_of(slot, before));
            state.add(part::COLUMNS + column, hash_of(slot, now));
        }
    }
}

impl MergedBuffers {
    /// Makes room for `n` changes.
    fn grow(&mut self, n: usize) {
        grow(&mut self.slots, n);
        grow(&mut self.starts, n);
        grow(&mut self.columns, n);
        grow(&mut self.values, n);
    }

    fn all(&mut self) -> Merged<'_> {
        Merged {
            slots: &mut self.slots,
            starts: &mut self.starts,
            columns: &mut self.columns,
            values: &mut self.values,
        }
    }

    /// Packs the parts' changes, which begin at `firsts`, into a CSR by entity.
    fn pack(
        &self,
        workers: &Workers,
        firsts: impl Iterator<Item = usize>,
        results: &[ShareResult],
        out: &mut Changes,
    ) {
        let changes = results.iter().map(|r| r.changes).sum::<usize>();
        let entities = results.iter().map(|r| r.entities).sum::<usize>();
        out.slots.resize(entities, 0);
        out.offsets.resize(entities + 1, 0);
        out.columns.resize(changes, 0);
        out.values.resize(changes, 0);
        let mut rest = Merged {
            slots: &mut out.slots,
            starts: &mut out.offsets,
            columns: &mut out.columns,
            values: &mut out.values,
        };
        let mut before = 0;
        let mut tasks = Vec::with_capacity(results.len());
        for (first, result) in firsts.zip(results) {
            tasks.push((first, before, rest.take(result.entities, result.changes)));
            before += result.changes as u32;
        }
        rest.starts[0] = changes as u32;
        workers.run(tasks, |(first, before, out)| {
            let entities = first..first + out.slots.len();
            let changes = first..first + out.values.len();
            out.slots.copy_from_slice(&self.slots[entities.clone()]);
            for (to, start) in out.starts.iter_mut().zip(&self.starts[entities]) {
                *to = before + start;
            }
            out.columns.copy_from_slice(&self.columns[changes.clone()]);
            out.values.copy_from_slice(&self.values[changes]);
        });
    }
}

impl<'a> Merged<'a> {
    /// Takes the first ones off.
    fn take(&mut self, entities: usize, changes: usize) -> Merged<'a> {
        Merged {
            slots: take(&mut self.slots, entities),
            starts: take(&mut self.starts, entities),
            columns: take(&mut self.columns, changes),
            values: take(&mut self.values, changes),
        }
    }
}

/// The buffers that are split into shares.
struct Buffers<'a> {
    rows: &'a mut [i32],
    changed: &'a mut [u32],
    merged: Merged<'a>,
}

impl<'a> Buffers<'a> {
    /// Takes the next groups off.
    fn share(
        &mut self,
        updates: &'a [Pair],
        fold: &Fold<'_>,
        groups: Range<usize>,
        ledger: &'a mut Ledger,
        result: &'a mut ShareResult,
    ) -> Share<'a> {
        let first_slot = groups.start * fold.group_slots;
        let slots = (groups.len() * fold.group_slots).min(self.changed.len());
        let start = |group: usize| fold.starts[group] as usize;
        let updates = &updates[start(groups.start)..start(groups.end)];
        Share {
            updates,
            first_slot,
            rows: take(&mut self.rows, slots * fold.columns.forms.len()),
            changed: take(&mut self.changed, slots),
            merged: self.merged.take(updates.len(), updates.len()),
            ledger,
            result,
            groups,
        }
    }
}

impl Ledger {
    fn new(slots: usize, columns: usize) -> Ledger {
        let keys = slots * columns;
        Ledger {
            values: vec![0; keys],
            is_used: vec![0; keys.div_ceil(64)],
            several: vec![],
            hash: vec![0; columns],
        }
    }
}

struct Fold<'a> {
    stamp: u32,
    width: Reciprocal,
    columns: &'a Columns,
    kinds: &'a [u16],
    group_slots: usize,
    /// The start of each group's updates, and the end.
    starts: &'a [u32],
}

impl Fold<'_> {
    fn run(&self, mut share: Share<'_>) {
        let mut result = ShareResult::default();
        let width = self.columns.forms.len();
        let mut updates = share.updates;
        // Not in the ledger, of which another thread's may share the cache line.
        let mut hash = [0; ATTRIBUTES_MAX];
        for group in share.groups.clone() {
            let n = self.starts[group + 1] - self.starts[group];
            let (own, rest) = updates.split_at(n as usize);
            updates = rest;
            if own.is_empty() {
                continue;
            }
            let first_slot = group * self.group_slots;
            self.add(own, first_slot * width, share.ledger);
            self.apply(first_slot, &mut share, &mut result, &mut hash);
        }
        share.ledger.hash.copy_from_slice(&hash[..width]);
        *share.result = result;
    }

    /// Adds the updates of one group, in their order. What attributes had before comes to it when it
    /// is applied: then rows are read one after the other.
    fn add(&self, updates: &[Pair], first_key: usize, ledger: &mut Ledger) {
        for &(key, value) in updates {
            let place = key as usize - first_key;
            let (used, bit) = (&mut ledger.is_used[place / 64], 1 << (place % 64));
            if self.columns.sums[place / 64] & bit != 0 {
                *used |= bit;
                ledger.values[place] += i64::from(value as i32);
                continue;
            }
            let (slot, column) = self.width.divide_with_rest(key);
            let ColumnForm { rule, half, .. } = self.columns.forms[column as usize];
            if half != Half::None {
                let is_first = *used & bit == 0;
                *used |= bit;
                add_half(&mut ledger.values, place, (rule, half), value, is_first);
                continue;
            }
            let value = i64::from(value as i32);
            let sum = &mut ledger.values[place];
            if *used & bit != 0 {
                *sum = fold(rule, *sum, value);
                if column < self.columns.noted {
                    ledger.several.push(slot);
                }
            } else {
                *used |= bit;
                *sum = value;
            }
        }
    }

    /// Applies what a group's updates came to, by entity and attribute, and clears it.
    fn apply(
        &self,
        first_slot: usize,
        share: &mut Share<'_>,
        result: &mut ShareResult,
        hash: &mut [u64; ATTRIBUTES_MAX],
    ) {
        let width = self.columns.forms.len();
        let first_key = first_slot * width;
        let in_share = first_key - share.first_slot * width;
        let mut last_slot = usize::MAX;
        for (word, used) in share.ledger.is_used.iter_mut().enumerate() {
            let mut rest = std::mem::take(used);
            while rest != 0 {
                let place = 64 * word + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let key = (first_key + place) as u32;
                let (slot, column) = self.width.divide_with_rest(key);
                let (slot, column) = (slot as usize, column as usize);
                let form = self.columns.forms[column];
                if form.half == Half::Low {
                    let before = joined(words_at(share.rows, in_share + place));
                    let halves = &mut share.ledger.values[place..place + 2];
                    let bounds = self.columns.wide_bounds[column];
                    settle(halves, form.rule, before, bounds);
                }
                let row = &mut share.rows[in_share + place];
                let before = *row;
                let (min, max) =
                    self.columns.bounds[usize::from(self.kinds[slot]) * width + column];
                let mut folded = std::mem::take(&mut share.ledger.values[place]);
                if form.is_sum() {
                    folded += i64::from(before);
                }
                let after = folded.clamp(i64::from(min), i64::from(max)) as i32;
                if after == before {
                    continue;
                }
                *row = after;
                let merged = &mut share.merged;
                if slot != last_slot {
                    merged.slots[result.entities] = slot as u32;
                    merged.starts[result.entities] = result.changes as u32;
                    result.entities += 1;
                    last_slot = slot;
                }
                merged.columns[result.changes] = column as u16;
                merged.values[result.changes] = after;
                result.changes += 1;
                if form.is_visible {
                    let changed = &mut share.changed[slot - share.first_slot];
                    result.visible += usize::from(*changed != self.stamp);
                    *changed = self.stamp;
                }
                let difference =
                    hash_of(slot as u32, after).wrapping_sub(hash_of(slot as u32, before));
                hash[column] = hash[column].wrapping_add(difference);
            }
        }
    }
}

impl Columns {
    /// For groups of so many entities.
    fn new(config: &WorldConfig, group_slots: usize) -> Columns {
        let schema = &config.schema;
        let forms: Vec<ColumnForm> = (schema.attributes.iter().enumerate())
            .map(|(column, attribute)| {
                // Where movement is sent as courses, these show what has moved.
                let is_course = config.motion.is_some() && column < config.dimensions();
                ColumnForm {
                    rule: attribute.merge,
                    half: Half::of(attribute.ty),
                    is_visible: attribute.audience != Audience::Hidden && !is_course,
                }
            })
            .collect();
        let noted = 2 * u32::from(schema.layers.blocked().is_some());
        let mut sums = vec![0; (group_slots * forms.len()).div_ceil(64)];
        for place in 0..group_slots * forms.len() {
            let column = place % forms.len();
            let is_sum = forms[column].is_sum() && column >= noted as usize;
            sums[place / 64] |= u64::from(is_sum) << (place % 64);
        }
        Columns {
            forms,
            bounds: (0..schema.kinds.len())
                .flat_map(|kind| schema.bounds(kind))
                .collect(),
            noted,
            wide_bounds: schema.wide_bounds(),
            sums,
        }
    }
}

impl ColumnForm {
    /// Whether updates are summed in 32 bits.
    fn is_sum(self) -> bool {
        self.rule == MergeRule::Sum && self.half == Half::None
    }
}

impl Half {
    fn of(ty: AttributeType) -> Half {
        match ty {
            AttributeType::I64 => Half::Low,
            AttributeType::High => Half::High,
            AttributeType::I32
            | AttributeType::Fixed
            | AttributeType::Bool
            | AttributeType::Entity
            | AttributeType::Symbol
            | AttributeType::Text => Half::None,
        }
    }
}

/// What an attribute's updates come to, with one more. Nothing is clamped before the end.
fn fold(rule: MergeRule, before: i64, value: i64) -> i64 {
    match rule {
        MergeRule::Sum => before + value,
        MergeRule::Min => before.min(value),
        MergeRule::Max => before.max(value),
        MergeRule::First => before,
        MergeRule::Last => value,
    }
}

/// Adds an update of half of a number. The low half comes first, in the place before the other.
///
/// The halves of a sum are summed apart: however many there are, neither overflows. Where numbers are
/// compared, the low half waits in its place for the high one, whose place has the number.
fn add_half(
    values: &mut [i64],
    place: usize,
    (rule, half): (MergeRule, Half),
    word: u32,
    is_first: bool,
) {
    let value = match half {
        Half::Low => i64::from(word),
        _ => i64::from(word.cast_signed()),
    };
    let is_compared = matches!(rule, MergeRule::Min | MergeRule::Max);
    let value = match half {
        Half::High if is_compared => value << 32 | values[place - 1],
        _ => value,
    };
    values[place] = match is_first || is_compared && half == Half::Low {
        true => value,
        false => fold(rule, values[place], value),
    };
}

/// Replaces what the updates of a number's halves came to by the halves of the number after them.
fn settle(halves: &mut [i64], rule: MergeRule, before: i64, (min, max): (i64, i64)) {
    let [low, high] = [halves[0], halves[1]].map(i128::from);
    let folded = match rule {
        MergeRule::Sum => i128::from(before) + (high << 32) + low,
        MergeRule::Min | MergeRule::Max => high,
        MergeRule::First | MergeRule::Last => (high << 32) + low,
    };
    let after = folded.clamp(min.into(), max.into()) as i64;
    for (place, half) in halves.iter_mut().zip(attribute::halves(after)) {
        *place = half.into();
    }
}

/// Splits groups into parts of roughly as many updates.
fn cuts(starts: &[u32], parts: usize) -> Vec<usize> {
    let (groups, updates) = (starts.len() - 1, starts[starts.len() - 1] as usize);
    let cut = |part| match part {
        0 => 0,
        _ if part == parts => groups,
        _ => starts.partition_point(|&start| (start as usize) < updates * part / parts),
    };
    (0..=parts).map(|part| cut(part).min(groups)).collect()
}

/// The number of groups where they are neither shorter nor longer than they may be: bringing the
/// updates of each together writes to as many places at a time.
const GROUPS: usize = 128;
/// The attributes of a group of entities: what their updates come to, in 8 bytes each, fits a cache
/// of 32 KiB.
const GROUP_KEYS_MIN: usize = 2048;
/// With their values, it fits a cache of 128 KiB.
const GROUP_KEYS_MAX: usize = 8192;
/// The minimum number of updates that is worth a second thread.
const UPDATES_GRAIN: usize = 4096;
