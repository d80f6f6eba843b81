//! Hearings: the notifications whose areas overlap the range of a client's observers or one
//! of its subscriptions.

use shared::InterestMode;

use super::cover::Cover;
use super::gather::Viewpoint;
use super::{CLIENTS_GRAIN, Interest};
use crate::logic::within_distance;
use crate::notification::Notification;
use crate::space::Aabb;
use crate::tick::cpu::{Index, State};
use crate::tick::output::TickOutput;
use device::cpu::{Workers, ranges, take};

/// The hearings of one part of the clients.
#[derive(Default)]
pub struct HearingScratch {
    /// One client's notifications, with repetitions.
    found: Vec<u32>,
    cover: Cover,
    /// All clients' notifications, client after client.
    all: Vec<u32>,
    dropped: u64,
}

impl Interest {
    /// Finds each client's hearings. If there are more than a client may get, the last of them
    /// are dropped.
    pub fn hear(&mut self, workers: &Workers, state: &State, index: &Index, out: &mut TickOutput) {
        let (out, notifications, counts) = (&mut out.hearings, &out.notifications, &mut out.counts);
        self.cut(out);
        if notifications.is_empty() {
            return;
        }
        let areas = notifications.iter().zip(0..);
        let areas = areas.filter_map(|(notification, number)| Some((number, area(notification)?)));
        self.areas.build(workers, areas);
        let parts = workers.parts_of(self.used, CLIENTS_GRAIN);
        if self.hearings.len() < parts {
            self.hearings.resize_with(parts, HearingScratch::default);
        }
        let mut scratch = std::mem::take(&mut self.hearings);
        let mut lengths = std::mem::take(&mut self.hearing_lengths);
        lengths.resize(self.used, 0);
        let shared = &*self;
        let mut rest = &mut lengths[..];
        let tasks = ranges(self.used, parts)
            .zip(&mut scratch)
            .map(|(range, scratch)| {
                let n = range.len();
                (range, scratch, take(&mut rest, n))
            });
        workers.run(tasks.collect(), |(range, scratch, counts)| {
            scratch.all.clear();
            scratch.dropped = 0;
            for (client, count) in range.zip(counts) {
                *count = shared.find_hearings(client, state, index, notifications, scratch);
            }
        });
        let mut rest = scratch[..parts].iter().map(|scratch| &scratch.all[..]);
        let mut numbers = rest.next().unwrap_or_default();
        let clients = self.cuts.ranges(self.used as u32);
        for (segment, clients) in out.segments.iter_mut().zip(clients) {
            let lengths = &lengths[clients.start as usize..clients.end as usize];
            let mut end = 0;
            segment.offsets.push(0);
            segment.offsets.extend(lengths.iter().map(|&length| {
                end += length;
                end
            }));
            segment.items.clear();
            let mut missing = end as usize;
            while missing > 0 {
                let (own, others) = numbers.split_at(missing.min(numbers.len()));
                segment.items.extend_from_slice(own);
                missing -= own.len();
                numbers = others;
                if missing > 0 {
                    numbers = rest.next().unwrap_or_default();
                }
            }
            counts.hearings += u64::from(end);
        }
        counts.hearings_dropped = scratch[..parts].iter().map(|scratch| scratch.dropped).sum();
        self.hearing_lengths = lengths;
        self.hearings = scratch;
    }

    /// Appends one client's hearings, and returns their number.
    fn find_hearings(
        &self,
        client: usize,
        state: &State,
        index: &Index,
        notifications: &[Notification],
        scratch: &mut HearingScratch,
    ) -> u32 {
        let found = &mut scratch.found;
        found.clear();
        // Remove repetitions, so that the list never holds a notification more than twice.
        let unite = |found: &mut Vec<u32>| {
            if found.len() > notifications.len() {
                found.sort_unstable();
                found.dedup();
            }
        };
        for place in self.places(client, state) {
            self.areas
                .each_overlapping(&self.box_of(&place, index), |number| {
                    let area = area(&notifications[number as usize]);
                    if self.mode == InterestMode::Buckets
                        || area.is_some_and(|area| place.touches(&area))
                    {
                        found.push(number);
                    }
                });
            unite(found);
        }
        if self.with_regions {
            scratch.cover.set(self.subscriptions(client, state));
            scratch.cover.simplify();
            scratch
                .cover
                .overlapping(&self.areas, notifications.len(), |number| {
                    found.push(number)
                });
        }
        found.sort_unstable();
        found.dedup();
        if let Some(eyes) = self.eyes(client, state) {
            found.retain(|&number| {
                let source = notifications[number as usize].source;
                !state.slots.has(source) || !eyes.miss(source.slot.0)
            });
        }
        let kept = found.len().min(self.hearings_max);
        scratch.dropped += (found.len() - kept) as u64;
        scratch.all.extend_from_slice(&found[..kept]);
        kept as u32
    }

    /// The bounding box of an observer's range.
    fn box_of(&self, place: &Viewpoint, index: &Index) -> Aabb<3> {
        match self.mode {
            InterestMode::Exact => Aabb {
                low: place.center.map(|p| p - place.radius),
                high: place.center.map(|p| p + place.radius + 1),
            },
            InterestMode::Buckets => index.box_of_block(&place.block(index, self.mode)),
        }
    }
}

impl Viewpoint {
    /// Whether any point of a box is within its radius.
    fn touches(&self, aabb: &Aabb<3>) -> bool {
        let nearest = std::array::from_fn(|axis| {
            self.center[axis].clamp(aabb.low[axis], aabb.high[axis] - 1)
        });
        within_distance(nearest, self.center, self.radius)
    }
}

fn area(notification: &Notification) -> Option<Aabb<3>> {
    let area = notification.area()?;
    Some(Aabb {
        low: area.low,
        high: area.high,
    })
}
