//! An index after a tick that moved few entities: what stayed is copied in runs, and only what
//! moved into another bucket, came or went is searched for.

use std::ops::Range;

use device::cpu::{NO_BUCKET, Workers, grow, ranges, take};
use shared::Slot;

use super::{Index, key_of, take_axes};
use crate::tick::cpu::State;
use crate::tick::output::Changes;

/// The buffers of a patch.
#[derive(Default)]
pub struct Patch {
    /// The slots whose entities moved, came or went, ascending.
    slots: Vec<u32>,
    /// In the order of the index.
    events: Vec<Event>,
    /// The entities after the patch; the buffers are exchanged with those of the index.
    after: Vec<u32>,
    positions: [Vec<i32>; 3],
}

/// An entity that left a bucket or entered one.
#[derive(Clone, Copy)]
struct Event {
    bucket: u32,
    slot: u32,
    /// Its own place before the patch, or that of the next entity.
    place: u32,
    /// Where it is, if it entered.
    point: Option<[i32; 3]>,
}

/// One part of the entities, as they were and as they are.
struct Part<'a> {
    places: Range<usize>,
    events: &'a [Event],
    slots: &'a mut [u32],
    positions: [&'a mut [i32]; 3],
}

impl Index {
    /// Brings an index with counted buckets up to date. False if that is more than a few entities,
    /// or if it isn't known which ones.
    pub(super) fn patch(&mut self, workers: &Workers, state: &State, changes: &Changes) -> bool {
        let Some(others) = state.slots.changed_since(self.version) else {
            return false;
        };
        let most = self.len / MOVED_SHARE;
        if changes.slots.len() + others.len() > most {
            return false;
        }
        let mut patch = std::mem::take(&mut self.patch);
        let dimensions = self.dimensions as u16;
        let has_moved = |columns: &[u16]| columns.iter().any(|&column| column < dimensions);
        let moved = changes.iter().filter(|(_, columns, _)| has_moved(columns));
        patch.slots.clear();
        patch.slots.extend(moved.map(|(slot, ..)| slot.0));
        patch.slots.extend_from_slice(others);
        patch.slots.sort_unstable();
        patch.slots.dedup();
        self.find_events(state, &mut patch);
        if !patch.events.is_empty() {
            self.move_entities(workers, state.slots.live(), &mut patch);
            self.move_starts(workers, &patch.events);
        }
        self.patch = patch;
        true
    }

    /// Finds what changes its bucket, and moves the others where they are.
    fn find_events(&mut self, state: &State, patch: &mut Patch) {
        if self.keys.len() < state.slots.used() {
            self.keys.resize(state.slots.used(), NO_BUCKET);
        }
        patch.events.clear();
        for &slot in &patch.slots {
            let is_somewhere = state.slots.is_somewhere(slot as usize);
            let point = is_somewhere.then(|| state.position(Slot(slot), self.dimensions));
            let bucket = point.map_or(NO_BUCKET, |point| {
                key_of(self.edge, self.buckets, &point[..self.dimensions]) as u32
            });
            let before = std::mem::replace(&mut self.keys[slot as usize], bucket);
            if let Some(point) = point.filter(|_| bucket == before) {
                let place = self.place_of(bucket, slot);
                for (axis, along) in self.positions.iter_mut().zip(point).take(self.dimensions) {
                    axis[place] = along;
                }
                continue;
            }
            for (bucket, point) in [(before, None), (bucket, point)] {
                if bucket != NO_BUCKET {
                    patch.events.push(Event {
                        bucket,
                        slot,
                        place: self.place_of(bucket, slot) as u32,
                        point,
                    });
                }
            }
        }
        let key = |event: &Event| (event.bucket, event.slot);
        patch.events.sort_unstable_by_key(key);
    }

    /// The place of an entity in its bucket, or of the next one.
    fn place_of(&self, bucket: u32, slot: u32) -> usize {
        let (start, end) = (u64::from(bucket), u64::from(bucket) + 1);
        let (start, end) = (self.lower_bound(start), self.lower_bound(end));
        start + self.slots[start..end].partition_point(|&other| other < slot)
    }

    /// Copies all entities to where they belong.
    fn move_entities(&mut self, workers: &Workers, len: usize, patch: &mut Patch) {
        grow(&mut patch.after, len);
        for axis in &mut patch.positions[..self.dimensions] {
            grow(axis, len);
        }
        let (mut slots, mut events) = (&mut patch.after[..len], &patch.events[..]);
        let mut positions = patch.positions.each_mut().map(|axis| &mut axis[..]);
        let parts = workers.parts(self.len);
        let tasks = ranges(self.len, parts).enumerate().map(|(part, places)| {
            // What enters behind all entities is the last part's.
            let is_before =
                |event: &Event| part + 1 == parts || (event.place as usize) < places.end;
            let (own, rest) = events.split_at(events.partition_point(is_before));
            events = rest;
            let entered = own.iter().filter(|event| event.point.is_some()).count();
            let n = places.len() + 2 * entered - own.len();
            Part {
                places,
                events: own,
                slots: take(&mut slots, n),
                positions: take_axes(&mut positions[..self.dimensions], n),
            }
        });
        let before = &*self;
        workers.run(tasks.collect(), |part| before.copy(part));
        std::mem::swap(&mut self.slots, &mut patch.after);
        std::mem::swap(&mut self.positions, &mut patch.positions);
        self.len = len;
    }

    fn copy(&self, part: Part<'_>) {
        let Part {
            places,
            events,
            slots,
            mut positions,
        } = part;
        let (mut from, mut to) = (places.start, 0);
        let ends = events
            .iter()
            .map(|event| (event.place as usize, Some(event)));
        for (end, event) in ends.chain([(places.end, None)]) {
            let (stayed, after) = (from..end, to..to + (end - from));
            (from, to) = (stayed.end, after.end);
            slots[after.clone()].copy_from_slice(&self.slots[stayed.clone()]);
            let axes = positions.iter_mut().zip(&self.positions);
            for (axis, before) in axes.take(self.dimensions) {
                axis[after.clone()].copy_from_slice(&before[stayed.clone()]);
            }
            let Some(event) = event else {
                break;
            };
            let Some(point) = event.point else {
                from += 1;
                continue;
            };
            slots[to] = event.slot;
            for (axis, along) in positions.iter_mut().zip(point).take(self.dimensions) {
                axis[to] = along;
            }
            to += 1;
        }
    }

    /// Moves where buckets start.
    fn move_starts(&mut self, workers: &Workers, events: &[Event]) {
        let parts = workers.parts(self.directory.len());
        let mut starts = &mut self.directory[..];
        let tasks = ranges(starts.len(), parts).map(|range| {
            let before = events.partition_point(|event| (event.bucket as usize) < range.start);
            (
                range.clone(),
                take(&mut starts, range.len()),
                events.split_at(before),
            )
        });
        workers.run(tasks.collect(), |(range, starts, (before, events))| {
            let mut moved: i32 = before.iter().map(Event::difference).sum();
            let mut next = 0;
            for event in events {
                // The starts behind its bucket are moved.
                let end = (event.bucket as usize + 1 - range.start).min(starts.len());
                add(&mut starts[next..end], moved);
                moved += event.difference();
                next = end;
            }
            add(&mut starts[next..], moved);
        });
    }
}

impl Event {
    /// By how many entities it makes its bucket longer.
    fn difference(&self) -> i32 {
        match self.point {
            Some(_) => 1,
            None => -1,
        }
    }
}

fn add(starts: &mut [u32], moved: i32) {
    if moved != 0 {
        for start in starts {
            *start = start.wrapping_add_signed(moved);
        }
    }
}

/// A patch is for ticks in which at most one entity in so many changed.
const MOVED_SHARE: usize = 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use script::builtin;
    use shared::{CommandKind, EntityId, Tick, WorldConfig};

    use super::*;
    use crate::{Backend, CpuBackend, Frame};

    const ENTITIES: u32 = 700;

    fn world(size: &str) -> WorldConfig {
        let text = format!(
            "[world]\nsize = [{size}]\naoi = 8\ncapacity = 800\n[limits]\nclients = 1\n\
             [commands]\nmove.speed_max = 90\n[[kind]]\nname = \"a\"\npopulation = {ENTITIES}\n"
        );
        world_file::parse(&text, "test").unwrap()
    }

    /// Something happens to an entity: (what, which one, where).
    type Act = (u8, u32, [i32; 3]);

    fn push(frame: &mut Frame, (act, which, place): Act, axes: usize) {
        let slot = which % (ENTITIES + 20);
        let entity = EntityId::new(slot, 1);
        match act {
            // A step, and a leap.
            0 => frame.push(entity, 0, builtin::MOVE, &place.map(|p| p >> 6)[..axes]),
            1 => frame.push(entity, 0, builtin::MOVE, &place[..axes]),
            2 => frame.push(entity, 0, CommandKind::DESPAWN, &[]),
            3 => frame.spawn_at(0, which % 1000, &place.map(i32::abs)[..axes]),
            _ => frame.release.push(Slot(slot)),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn a_patched_index_is_one_that_is_sorted_anew(
            size in prop::sample::select(vec!["90, 90", "40, 40, 40"]),
            threads in 1usize..4,
            ticks in prop::collection::vec(
                prop::collection::vec((0u8..5, any::<u32>(), prop::array::uniform3(-300_000..300_000i32)), 0..45),
                1..12,
            ),
        ) {
            let config = world(size);
            let mut backend = CpuBackend::new(&config, threads, None).unwrap();
            let mut frame = Frame::new(Tick(0));
            frame.populate(&config);
            backend.tick(&frame).unwrap();
            for (tick, acts) in (1..).zip(ticks) {
                frame.reset(Tick(tick));
                acts.into_iter().for_each(|act| push(&mut frame, act, config.dimensions()));
                frame.order(1);
                backend.tick(&frame).unwrap();
                let mut anew = Index::new(&config);
                anew.build(&backend.workers, &backend.state);
                let index = &backend.index;
                prop_assert!(index.is_counted);
                prop_assert_eq!(index.slots(), anew.slots());
                for axis in 0..config.dimensions() {
                    prop_assert_eq!(index.positions(axis), anew.positions(axis));
                }
                prop_assert_eq!(&index.directory, &anew.directory);
                prop_assert_eq!(&index.keys, &anew.keys);
            }
        }
    }
}
