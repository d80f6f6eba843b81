use shared::world::attribute::bits_for;
use shared::world::schema::ATTRIBUTES_MAX;
use shared::{Audience, MergeRule, Slot, WorldConfig};

use super::left::Left;
use super::reciprocal::Reciprocal;
use super::{RadixSorter, State, Updates};
use crate::tick::counts::Counts;
use crate::tick::output::Changes;
use crate::tick::state::{attribute, part};
use device::cpu::{Workers, grow, take};

/// Merges each (entity, attribute)'s updates into one change, and applies it.
pub struct Merge {
    sorter: RadixSorter<(u32, u32)>,
    key_bits: u32,
    columns: Columns,
    /// The merged changes, part after part, before they are packed together.
    keys: Vec<u32>,
    values: Vec<i32>,
    /// By slot: the stamp of the last change that clients may see.
    changed: Vec<u32>,
    /// Counts the ticks run here, whatever the tick's number.
    stamp: u32,
    /// The number of living entities among this tick's `changed`.
    changed_entities: usize,
}

/// Properties of the columns.
struct Columns {
    rules: Vec<MergeRule>,
    /// By kind and column.
    bounds: Vec<(i32, i32)>,
    /// By column: whether clients are sent its changes.
    visible: Vec<bool>,
}

/// One thread's share: whole entities.
struct Share<'a> {
    updates: &'a [(u32, u32)],
    first_slot: usize,
    rows: &'a mut [i32],
    changed: &'a mut [u32],
    merged_keys: &'a mut [u32],
    merged_values: &'a mut [i32],
    result: &'a mut ShareResult,
}

#[derive(Clone, Copy)]
struct ShareResult {
    changes: usize,
    entities: usize,
    /// The number of entities with a change that clients may see.
    visible: usize,
    /// The difference that the changes make to the hash, by column.
    hash: [u64; ATTRIBUTES_MAX],
}

impl Merge {
    pub fn new(config: &WorldConfig) -> Merge {
        let schema = &config.schema;
        let keys = u64::from(schema.world.capacity) * schema.attributes.len() as u64;
        Merge {
            sorter: RadixSorter::new(0),
            key_bits: bits_for(keys - 1),
            columns: Columns {
                rules: schema.attributes.iter().map(|a| a.merge).collect(),
                bounds: (0..schema.kinds.len())
                    .flat_map(|kind| schema.bounds(kind))
                    .collect(),
                visible: schema
                    .attributes
                    .iter()
                    .enumerate()
                    .map(|(column, a)| {
                        // Where movement is sent as courses, these show what has moved.
                        let is_course = config.motion.is_some() && column < config.dimensions();
                        a.audience != Audience::Hidden && !is_course
                    })
                    .collect(),
            },
            keys: vec![],
            values: vec![],
            changed: vec![0; schema.world.capacity as usize],
            stamp: 0,
            changed_entities: 0,
        }
    }

    /// Whether an entity changed in this tick, or was born in it.
    pub fn has_changed(&self, slot: u32) -> bool {
        self.changed[slot as usize] == self.stamp
    }

    /// The number of living entities that changed in this tick, or were born in it.
    pub fn changed_entities(&self) -> usize {
        self.changed_entities
    }

    /// Whether every living entity changed in this tick, or was born in it.
    pub fn all_changed(&self, state: &State) -> bool {
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

    /// Sorts the updates, marks the end of each (entity, attribute), folds each interval by
    /// its merge rule, clamps and applies the result (thesis 3.4).
    pub fn merge(
        &mut self,
        workers: &Workers,
        state: &mut State,
        updates: &mut Updates,
        changes: &mut Changes,
        counts: &mut Counts,
    ) {
        self.next_stamp();
        let n = updates.len;
        self.sorter
            .sort(workers, &mut updates.pairs, n, 0..self.key_bits);
        let parts = workers.parts_of(n, UPDATES_GRAIN);
        let cuts = cuts(&updates.pairs[..n], state.columns, parts);
        grow(&mut self.keys, n);
        grow(&mut self.values, n);
        let mut results = vec![ShareResult::NONE; cuts.len() - 1];
        let fold = Fold {
            stamp: self.stamp,
            width: Reciprocal::of(state.columns as u32),
            columns: &self.columns,
            kinds: state.slots.kinds(),
        };
        let mut buffers = Buffers {
            rows: &mut state.rows,
            changed: &mut self.changed,
            keys: &mut self.keys,
            values: &mut self.values,
        };
        let shares = buffers.share(updates, state.columns, &cuts, &mut results);
        workers.run(shares, |share| fold.run(share));

        self.changed_entities = results.iter().map(|r| r.visible).sum();
        for result in &results {
            for column in 0..state.columns {
                let sum = &mut state.hash.parts[part::COLUMNS + column];
                *sum = sum.wrapping_add(result.hash[column]);
            }
        }
        self.pack(workers, state.columns, &cuts, &results, changes);
        counts.changes = changes.values.len() as u64;
    }

    /// Takes in what atomic commands left in the rows.
    pub fn leave(&mut self, state: &mut State, left: &[Left]) {
        for &Left {
            key, before, now, ..
        } in left
        {
            let (slot, column) = (key / state.columns as u32, key as usize % state.columns);
            if self.columns.visible[column] {
                let changed = &mut self.changed[slot as usize];
                self.changed_entities += usize::from(*changed != self.stamp);
                *changed = self.stamp;
            }
            state.subtract(part::COLUMNS + column, attribute(slot, before));
            state.add(part::COLUMNS + column, attribute(slot, now));
        }
    }

    /// Packs the parts' changes into a CSR by entity.
    fn pack(
        &self,
        workers: &Workers,
        columns: usize,
        cuts: &[usize],
        results: &[ShareResult],
        out: &mut Changes,
    ) {
        let changes = results.iter().map(|r| r.changes).sum::<usize>();
        let entities = results.iter().map(|r| r.entities).sum::<usize>();
        out.slots.resize(entities, 0);
        out.offsets.resize(entities + 1, 0);
        out.columns.resize(changes, 0);
        out.values.resize(changes, 0);
        let (mut slots, mut offsets) = (&mut out.slots[..], &mut out.offsets[..]);
        let (mut out_columns, mut out_values) = (&mut out.columns[..], &mut out.values[..]);
        let width = Reciprocal::of(columns as u32);
        let mut first = 0;
        let mut tasks = Vec::with_capacity(results.len());
        for (&cut, result) in cuts.iter().zip(results) {
            tasks.push((
                &self.keys[cut..cut + result.changes],
                &self.values[cut..cut + result.changes],
                take(&mut slots, result.entities),
                take(&mut offsets, result.entities),
                take(&mut out_columns, result.changes),
                take(&mut out_values, result.changes),
                first,
            ));
            first += result.changes as u32;
        }
        offsets[0] = changes as u32;
        workers.run(
            tasks,
            |(keys, values, slots, offsets, out_columns, out_values, first)| {
                out_values.copy_from_slice(values);
                let mut entity = 0;
                for (i, &key) in keys.iter().enumerate() {
                    let (slot, column) = width.divide_with_rest(key);
                    if i == 0 || slots[entity - 1] != slot {
                        slots[entity] = slot;
                        offsets[entity] = first + i as u32;
                        entity += 1;
                    }
                    out_columns[i] = column as u16;
                }
            },
        );
    }
}

/// The buffers that are split into shares.
struct Buffers<'a> {
    rows: &'a mut [i32],
    changed: &'a mut [u32],
    keys: &'a mut [u32],
    values: &'a mut [i32],
}

impl<'a> Buffers<'a> {
    fn share(
        &mut self,
        updates: &'a Updates,
        width: usize,
        cuts: &[usize],
        results: &'a mut [ShareResult],
    ) -> Vec<Share<'a>> {
        let mut slot = 0;
        let mut shares = Vec::with_capacity(results.len());
        for (cut, result) in cuts.windows(2).zip(results) {
            let updates = &updates.pairs[cut[0]..cut[1]];
            let end = updates
                .last()
                .map_or(slot, |&(key, _)| key as usize / width + 1);
            shares.push(Share {
                updates,
                first_slot: slot,
                rows: take(&mut self.rows, (end - slot) * width),
                changed: take(&mut self.changed, end - slot),
                merged_keys: take(&mut self.keys, updates.len()),
                merged_values: take(&mut self.values, updates.len()),
                result,
            });
            slot = end;
        }
        shares
    }
}

struct Fold<'a> {
    stamp: u32,
    width: Reciprocal,
    columns: &'a Columns,
    kinds: &'a [u16],
}

impl Fold<'_> {
    fn run(&self, share: Share<'_>) {
        let mut result = ShareResult::NONE;
        let width = self.columns.rules.len();
        let first = share.first_slot * width;
        let mut start = 0;
        let mut last_slot = usize::MAX;
        while start < share.updates.len() {
            let (key, _) = share.updates[start];
            // The separation mark: where the next (entity, attribute) begins.
            let same = share.updates[start..].iter().take_while(|u| u.0 == key);
            let end = start + same.count();
            let (slot, column) = self.width.divide_with_rest(key);
            let (slot, column) = (slot as usize, column as usize);
            let place = key as usize - first;
            let before = share.rows[place];
            let folded = fold(
                self.columns.rules[column],
                before,
                &share.updates[start..end],
            );
            let (min, max) = self.columns.bounds[usize::from(self.kinds[slot]) * width + column];
            let after = folded.clamp(i64::from(min), i64::from(max)) as i32;
            if after != before {
                share.rows[place] = after;
                share.merged_keys[result.changes] = key;
                share.merged_values[result.changes] = after;
                result.changes += 1;
                result.entities += usize::from(slot != last_slot);
                last_slot = slot;
                if self.columns.visible[column] {
                    let changed = &mut share.changed[slot - share.first_slot];
                    result.visible += usize::from(*changed != self.stamp);
                    *changed = self.stamp;
                }
                let difference =
                    attribute(slot as u32, after).wrapping_sub(attribute(slot as u32, before));
                result.hash[column] = result.hash[column].wrapping_add(difference);
            }
            start = end;
        }
        *share.result = result;
    }
}

impl ShareResult {
    const NONE: ShareResult = ShareResult {
        changes: 0,
        entities: 0,
        visible: 0,
        hash: [0; ATTRIBUTES_MAX],
    };
}

/// One interval's value, before clamping.
fn fold(rule: MergeRule, before: i32, updates: &[(u32, u32)]) -> i64 {
    // Usually there is only one.
    if let &[(_, value)] = updates {
        let base = if rule == MergeRule::Sum { before } else { 0 };
        return i64::from(base) + i64::from(value as i32);
    }
    let mut values = updates.iter().map(|&(_, value)| i64::from(value as i32));
    match rule {
        MergeRule::Sum => i64::from(before) + values.sum::<i64>(),
        MergeRule::Min => values.min().unwrap_or(i64::from(before)),
        MergeRule::Max => values.max().unwrap_or(i64::from(before)),
        MergeRule::First => values.next().unwrap_or(i64::from(before)),
        MergeRule::Last => values.next_back().unwrap_or(i64::from(before)),
    }
}

/// Splits sorted keys into roughly even parts, never inside an entity.
fn cuts(updates: &[(u32, u32)], columns: usize, parts: usize) -> Vec<usize> {
    let slot = |i: usize| updates[i].0 / columns as u32;
    let mut cuts = Vec::with_capacity(parts + 1);
    cuts.push(0);
    for part in 1..parts {
        let mut cut = (updates.len() * part / parts).max(cuts[part - 1]);
        if cut > 0 && cut < updates.len() {
            let before = slot(cut - 1);
            cut += updates[cut..].partition_point(|u| u.0 / columns as u32 == before);
        }
        cuts.push(cut);
    }
    cuts.push(updates.len());
    cuts
}

/// The minimum number of updates that is worth a second thread.
const UPDATES_GRAIN: usize = 4096;
