use device::cpu::{Workers, ranges, take};
use shared::world::course::VELOCITY_MAX;
use shared::{Slot, WorldConfig};

use super::{Merge, State, first_axes};
use crate::slot::SlotState;
use crate::tick::output::Courses;
use crate::tick::state::{Snapshot, Track, part, track};

/// Finds the entities that departed from the course that clients were sent: they get a new one.
///
/// Each slot is checked in each tick: an entity that glides, and is not moved, also departs from
/// its course.
pub struct Motion {
    rule: Rule,
    /// By slot: where its entity was before the tick.
    last: Vec<[i32; 3]>,
    /// One for each part of the work.
    parts: Vec<Departed>,
}

struct Rule {
    tolerance: i32,
    /// The columns with an entity's velocity per tick; none, or one for each axis.
    velocity: Vec<u16>,
    dimensions: usize,
    /// The largest coordinates.
    max: [i32; 3],
}

/// The results of one part of the work.
#[derive(Default)]
struct Departed {
    slots: Vec<u32>,
    velocities: Vec<i32>,
    /// Those of them without any other change that clients may see.
    fresh: usize,
    /// The difference that the part makes to the hash.
    hash: u64,
}

/// One part's slots, from `first` on.
struct Share<'a> {
    first: usize,
    states: &'a [SlotState],
    rows: &'a [i32],
    tracks: &'a mut [Track],
    last: &'a mut [[i32; 3]],
    changed: &'a mut [u32],
    departed: &'a mut Departed,
}

impl Motion {
    /// `None` in worlds that send each change of a position.
    pub fn new(config: &WorldConfig) -> Option<Motion> {
        let motion = config.motion.as_ref()?;
        Some(Motion {
            rule: Rule {
                tolerance: motion.tolerance,
                velocity: motion.velocity.clone(),
                dimensions: config.dimensions(),
                max: config.schema.world.edges(),
            },
            last: vec![[0; 3]; config.schema.world.capacity as usize],
            parts: vec![],
        })
    }

    pub fn restore(&mut self, snapshot: &Snapshot, columns: usize) {
        for (last, row) in self
            .last
            .iter_mut()
            .zip(snapshot.rows.chunks_exact(columns))
        {
            *last = self.rule.position(row);
        }
    }

    /// An entity was born here. It is sent to clients as it enters their view.
    pub fn mark_birth(&mut self, slot: Slot, row: &[i32]) {
        self.last[slot.index()] = self.rule.position(row);
    }

    /// Compares where entities are with their tracks, and writes courses of those that differ.
    pub fn tell(
        &mut self,
        workers: &Workers,
        state: &mut State,
        merge: &mut Merge,
        out: &mut Courses,
    ) {
        let (used, columns) = (state.slots.used(), state.columns);
        let count = workers.parts(used);
        if self.parts.len() < count {
            self.parts.resize_with(count, Departed::default);
        }
        let (changed, stamp) = merge.changed_mut();
        let (mut changed, mut last) = (changed, &mut self.last[..]);
        let mut tracks = &mut state.tracks[..];
        let shares = ranges(used, count)
            .zip(&mut self.parts)
            .map(|(range, departed)| Share {
                first: range.start,
                states: &state.slots.states()[range.clone()],
                rows: &state.rows[range.start * columns..range.end * columns],
                tracks: take(&mut tracks, range.len()),
                last: take(&mut last, range.len()),
                changed: take(&mut changed, range.len()),
                departed,
            });
        let rule = &self.rule;
        workers.run(shares.collect(), |share| rule.run(share, columns, stamp));

        let parts = &self.parts[..count];
        let courses = parts.iter().map(|departed| departed.slots.len()).sum();
        out.slots.resize(courses, 0);
        out.velocities.resize(courses * rule.dimensions, 0);
        let (mut slots, mut velocities) = (&mut out.slots[..], &mut out.velocities[..]);
        let copies = parts.iter().map(|departed| {
            let slots = take(&mut slots, departed.slots.len());
            let velocities = take(&mut velocities, departed.velocities.len());
            (departed, slots, velocities)
        });
        workers.run(copies.collect(), |(departed, slots, velocities)| {
            slots.copy_from_slice(&departed.slots);
            velocities.copy_from_slice(&departed.velocities);
        });
        for departed in parts {
            merge.mark_moved(departed.fresh);
            state.add(part::TRACKS, departed.hash);
        }
    }
}

impl Rule {
    fn position(&self, row: &[i32]) -> [i32; 3] {
        first_axes(row, self.dimensions)
    }

    fn run(&self, share: Share<'_>, columns: usize, stamp: u32) {
        let departed = share.departed;
        departed.slots.clear();
        departed.velocities.clear();
        (departed.fresh, departed.hash) = (0, 0);
        for (i, row) in share.rows.chunks_exact(columns).enumerate() {
            let (track, last) = (&mut share.tracks[i], &mut share.last[i]);
            let here = self.position(row);
            let rests = here == *last && *track == Track::default();
            if rests || share.states[i] != SlotState::Live {
                continue;
            }
            let slot = (share.first + i) as u32;
            let before = *track;
            let has_departed = self.advance(track, here, *last, row);
            *last = here;
            if *track != before {
                let difference = self::track(slot, track).wrapping_sub(self::track(slot, &before));
                departed.hash = departed.hash.wrapping_add(difference);
            }
            if has_departed {
                departed.slots.push(slot);
                let velocity = match track.glides {
                    true => track.step,
                    false => [0; 3],
                };
                let velocity = velocity.into_iter().take(self.dimensions);
                departed.velocities.extend(velocity);
                departed.fresh += usize::from(share.changed[i] != stamp);
                share.changed[i] = stamp;
            }
        }
    }

    /// Advances a track by one tick. True if clients need a new course.
    fn advance(&self, track: &mut Track, here: [i32; 3], last: [i32; 3], row: &[i32]) -> bool {
        let mut step = here;
        for (step, last) in step.iter_mut().zip(last) {
            *step -= last;
        }
        let mut has_departed = false;
        let mut offset = [0; 3];
        for axis in 0..self.dimensions {
            let mut expected = i64::from(last[axis]) + i64::from(track.offset[axis]);
            if track.glides {
                expected += i64::from(track.step[axis]);
            }
            let ahead = expected.clamp(0, i64::from(self.max[axis])) - i64::from(here[axis]);
            has_departed |= ahead.abs() > i64::from(self.tolerance);
            offset[axis] = ahead as i32;
        }
        if has_departed {
            let is_steady = self.is_near(step, track.step) || self.is_declared(step, row);
            let can_glide = step.iter().all(|step| step.abs() <= VELOCITY_MAX);
            *track = Track {
                glides: is_steady && can_glide && step != [0; 3],
                step,
                offset: [0; 3],
            };
        } else {
            track.offset = offset;
            if !track.glides {
                track.step = step;
            }
        }
        has_departed
    }

    /// Whether two steps are the same, as far as the tolerance goes.
    fn is_near(&self, a: [i32; 3], b: [i32; 3]) -> bool {
        let mut axes = a.into_iter().zip(b);
        axes.all(|(a, b)| (i64::from(a) - i64::from(b)).abs() <= i64::from(self.tolerance))
    }

    /// Whether the entity's own attributes declare this step.
    fn is_declared(&self, step: [i32; 3], row: &[i32]) -> bool {
        let mut axes = self.velocity.iter().zip(step);
        !self.velocity.is_empty() && axes.all(|(&column, step)| row[usize::from(column)] == step)
    }
}
