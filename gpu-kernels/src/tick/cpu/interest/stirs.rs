//! Which entities a tick that changes little leaves alone: whoever follows them sees what it
//! saw before.

use std::sync::atomic::{AtomicBool, Ordering};

use device::cpu::lanes::{Ball, Words};
use device::cpu::{Workers, ranges, take};
use shared::{InterestMode, Slot, Tick};

use super::gather::Viewpoint;
use super::{Input, Interest};
use crate::tick::frame::{Observer, Target};

#[derive(Default)]
pub struct Stirs {
    /// By slot: where its entity was after a tick, or [`NOWHERE`].
    last: Vec<[i32; 3]>,
    /// The tick after that one.
    next: Option<Tick>,
    /// Few entities changed in this tick.
    is_quiet: bool,
    /// By slot: something changed within reach of where its entity is, or it died.
    near: Vec<AtomicBool>,
    /// Where entities changed, came or went, by part of the slots.
    places: Vec<Vec<[i32; 3]>>,
}

impl Stirs {
    /// Known sets are no longer what follows from where entities were.
    pub fn forget(&mut self) {
        self.next = None;
    }

    /// Whether a client without subscriptions, which was up to date before the tick, surely
    /// still is.
    #[inline]
    pub fn leave_alone(&self, observers: &[Option<Observer>]) -> bool {
        self.is_quiet
            && observers
                .iter()
                .flatten()
                .all(|observer| match observer.target {
                    Target::Entity(entity) => self
                        .near
                        .get(entity.slot.index())
                        .is_none_or(|near| !near.load(Ordering::Relaxed)),
                    Target::Point(_) => false,
                })
    }

    /// Finds out where something changed, unless that is in many places.
    fn find(&mut self, workers: &Workers, input: Input<'_>, dimensions: usize) {
        let (state, merge) = (input.state, input.merge);
        let most = state.slots.live() / QUIET_SHARE;
        self.is_quiet = false;
        if merge.changed_entities() > most {
            self.next = None;
            return;
        }
        let used = state.slots.used();
        if self.last.len() < used {
            self.last.resize(used, NOWHERE);
            self.near.resize_with(used, AtomicBool::default);
        }
        self.places.resize_with(workers.parts(used), Vec::new);
        let (mut last, mut near) = (&mut self.last[..], &mut self.near[..]);
        let tasks = ranges(used, self.places.len())
            .zip(&mut self.places)
            .map(|(range, places)| {
                let n = range.len();
                (range, take(&mut last, n), take(&mut near, n), places)
            });
        workers.run(tasks.collect(), |(range, last, near, places)| {
            places.clear();
            for ((slot, last), near) in range.zip(last).zip(near) {
                let is_live = state.slots.is_live(slot);
                let slot = Slot(slot as u32);
                let here = match is_live {
                    true => state.position(slot, dimensions),
                    false => NOWHERE,
                };
                let there = std::mem::replace(last, here);
                let has_moved = here != there;
                *near.get_mut() = has_moved;
                if is_live && (has_moved || merge.has_changed(slot.0)) {
                    places.push(here);
                }
                if has_moved && there != NOWHERE {
                    places.push(there);
                }
            }
        });
        let total: usize = self.places.iter().map(Vec::len).sum();
        self.is_quiet = self.next == Some(state.tick) && total <= 2 * most;
        self.next = Some(state.tick.next());
    }
}

impl Interest {
    /// Finds the entities near which something changed.
    pub(super) fn find_stirs(&mut self, workers: &Workers, input: Input<'_>) {
        self.stirs.find(workers, input, self.dimensions);
        if self.stirs.is_quiet {
            workers.run(self.stirs.places.iter().collect(), |places| {
                let mut found = Words::new(NEAR_MAX);
                for &place in places {
                    match self.dimensions {
                        2 => self.mark_near::<2>(place, input, &mut found),
                        _ => self.mark_near::<3>(place, input, &mut found),
                    }
                }
            });
        }
    }

    fn mark_near<const AXES: usize>(&self, place: [i32; 3], input: Input<'_>, found: &mut Words) {
        let (index, reach) = (input.index, self.aoi + self.margin);
        let view = Viewpoint {
            center: place,
            radius: self.aoi,
            margin: self.margin,
            followed: None,
        };
        let mut center = [0; AXES];
        center.copy_from_slice(&place[..AXES]);
        let ball = Ball {
            center,
            radius: match self.mode {
                InterestMode::Exact => i64::from(reach) * i64::from(reach),
                InterestMode::Buckets => i64::MAX,
            },
            shells: [i64::MAX; 3],
        };
        index.each_range(view.block(index, self.mode), |row| {
            found.clear();
            let slots = &index.slots()[row.clone()];
            // In a crowd, those beyond reach are marked, too.
            let slots = match found.add_near(index.points::<AXES>(row, slots), &ball) {
                true => found.as_slice(),
                false => slots,
            };
            for &slot in slots {
                self.stirs.near[slot as usize].store(true, Ordering::Relaxed);
            }
        });
    }
}

/// Where the entity of an empty slot is.
const NOWHERE: [i32; 3] = [-1; 3];
/// A tick is quiet if at most one entity in so many changed.
const QUIET_SHARE: usize = 16;
/// Entities within reach of a place, in one row of buckets.
const NEAR_MAX: usize = 256;
