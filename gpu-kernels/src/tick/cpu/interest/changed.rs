//! Deliveries where clients remember nothing: the changed entities in range.

use std::ops::Range;

use device::cpu::{Workers, ranges, take};
use device::plain::items_mut;
use shared::InterestMode;

use super::{CLIENTS_GRAIN, Input, Interest, Scratch, client_parts};
use crate::tick::output::{Deliveries, Delivery};

impl Interest {
    /// Counts each client's changed entities in range.
    pub(super) fn count_changed(&mut self, workers: &Workers, input: Input<'_>) {
        if self.sends_whole_neighbourhoods(input) {
            return self.count_neighbours(workers, input);
        }
        let mut owed = std::mem::take(&mut self.owed);
        let mut scratch = std::mem::take(&mut self.scratch);
        let shared = &*self;
        let parts = workers.parts_of(self.used, CLIENTS_GRAIN);
        let parts = parts.min(scratch.len());
        let mut rest = &mut owed[..];
        let tasks = ranges(self.used, parts)
            .zip(&mut scratch)
            .map(|(range, scratch)| {
                let n = range.len();
                (range, scratch, take(&mut rest, n))
            });
        workers.run(tasks.collect(), |(range, scratch, owed)| {
            for (client, owed) in range.zip(owed) {
                let mut count = 0;
                shared.changed(client, input, scratch, |_, run| count += run.len() as u32);
                *owed = count;
            }
        });
        self.scratch = scratch;
        self.owed = owed;
    }

    pub(super) fn enumerate_changed(
        &mut self,
        workers: &Workers,
        input: Input<'_>,
        served: usize,
        out: &mut Deliveries,
    ) {
        if self.sends_whole_neighbourhoods(input) {
            return self.copy_neighbours(workers, served, input, out);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let shared = &*self;
        let parts = workers.parts_of(served, CLIENTS_GRAIN);
        let tasks = client_parts(served, parts, out);
        let tasks = tasks.into_iter().zip(&mut scratch);
        workers.run(tasks.collect(), |((range, entries), scratch)| {
            let entries = items_mut(entries);
            let mut next = 0;
            for client in range {
                shared.changed(client, input, scratch, |slots, run| {
                    let end = next + run.len();
                    copy_run(entries, next, slots, run);
                    next = end;
                });
            }
        });
        self.scratch = scratch;
    }

    /// Passes on the changed entities that a client sees, each once, as runs of lists of
    /// slots: first those that its observers perceive, by observer, bucket and slot, then
    /// those of its subscriptions.
    fn changed(
        &self,
        client: usize,
        input: Input<'_>,
        scratch: &mut Scratch,
        mut visit: impl FnMut(&[u32], Range<usize>),
    ) {
        let Input {
            state,
            index,
            merge,
            ..
        } = input;
        let slots = index.slots();
        for (i, place) in self.places(client, state).enumerate() {
            let block = place.block(index, self.mode);
            if i == 0 && self.mode == InterestMode::Buckets && merge.all_changed(state) {
                index.each_range(block, |run| visit(slots, run));
                continue;
            }
            index.each_range(block, |range| {
                for at in range {
                    let fresh = merge.has_changed(slots[at])
                        && place.perceives(index, self.mode, at)
                        && !self
                            .places(client, state)
                            .take(i)
                            .any(|earlier| earlier.perceives(index, self.mode, at));
                    if fresh {
                        visit(slots, at..at + 1);
                    }
                }
            });
        }
        if self.with_regions {
            let scratch = (&mut scratch.search.cover, &mut scratch.seen);
            self.changed_subscribed(client, input, scratch, |slot| visit(&[slot], 0..1));
        }
    }
}

/// Writes the updates of one run of slots from `next` on: the slots themselves. Runs are short,
/// so they are copied in whole chunks. The next run overwrites what a chunk writes behind the end;
/// the last run has no room there, and its end is copied as it is.
#[inline]
pub(super) fn copy_run(entries: &mut [u32], next: usize, slots: &[u32], run: Range<usize>) {
    const CHUNK: usize = 16;
    const { assert!(Delivery::new(Delivery::UPDATE, 7).0 == 7) };
    let (entries, slots) = (&mut entries[next..], &slots[run.start..]);
    let mut at = 0;
    while at < run.len() {
        let (to, from) = (&mut entries[at..], &slots[at..]);
        let (Some(to), Some(from)) = (to.first_chunk_mut::<CHUNK>(), from.first_chunk()) else {
            return to[..run.len() - at].copy_from_slice(&from[..run.len() - at]);
        };
        *to = *from;
        at += CHUNK;
    }
}
