//! What each client sees, and what of it is news to it.

use std::ops::Range;

use device::cpu::lanes::prefetch;
use device::cpu::{Workers, grow, ranges, take};
use shared::ClientRow;

use super::compare::{Compared, undo};
use super::sight::Sight;
use super::views::word;
use super::{CLIENTS_GRAIN, Input, Interest, Search};
use crate::tick::cpu::State;
use crate::tick::state::part;

/// The clients of one part of the work.
struct Share<'a> {
    clients: Range<usize>,
    search: &'a mut Search,
    compared: &'a mut Compared,
    /// Their places in the known sets.
    known: &'a mut [u32],
    counts: &'a mut [u32],
    is_fresh: &'a mut [bool],
    /// The numbers of their deliveries.
    deliveries: &'a mut [u64],
}

impl Interest {
    /// Replaces each client's known set by what it sees now, and collects the deliveries that
    /// follow from the difference. Returns the number of parts that did it.
    pub(super) fn see(&mut self, workers: &Workers, input: Input<'_>) -> usize {
        self.write_words(workers, input);
        self.find_stirs(workers, input);
        let grain = (VIEWS_GRAIN / self.visible_max).clamp(1, CLIENTS_GRAIN);
        let parts = workers.parts_of(self.used, grain).min(self.scratch.len());
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut known = std::mem::take(&mut self.known);
        let mut offsets = std::mem::take(&mut self.offsets);
        let mut is_fresh = std::mem::take(&mut self.is_fresh);
        let mut words = &mut known.words[..];
        let mut counts = &mut known.counts[..];
        let mut fresh = &mut is_fresh[..];
        let mut rest = &mut offsets[..];
        let shares = ranges(self.used, parts)
            .zip(&mut scratch)
            .map(|(clients, scratch)| Share {
                search: &mut scratch.search,
                compared: &mut scratch.compared,
                known: take(&mut words, clients.len() * self.visible_max),
                counts: take(&mut counts, clients.len()),
                is_fresh: take(&mut fresh, clients.len()),
                deliveries: take(&mut rest, clients.len()),
                clients,
            });
        workers.run(shares.collect(), |share| self.see_share(share, input));
        self.scratch = scratch;
        self.known = known;
        self.offsets = offsets;
        self.is_fresh = is_fresh;
        parts
    }

    /// Writes the words of all entities.
    fn write_words(&mut self, workers: &Workers, input: Input<'_>) {
        let slots = input.index.slots();
        grow(&mut self.words, slots.len());
        let mut rest = &mut self.words[..];
        let tasks = ranges(slots.len(), workers.parts(slots.len()))
            .map(|range| (take(&mut rest, range.len()), &slots[range]));
        workers.run(tasks.collect(), |(words, slots)| {
            for (to, &slot) in words.iter_mut().zip(slots) {
                *to = word(slot, input.merge.has_changed(slot));
            }
        });
    }

    fn see_share(&self, share: Share<'_>, input: Input<'_>) {
        let Share {
            clients,
            search,
            compared,
            known,
            counts,
            is_fresh,
            deliveries,
        } = share;
        compared.clear();
        let mut batch = Vec::with_capacity(BATCH);
        let mut rest = clients.clone();
        let places = |client: usize| (client - clients.start) * self.visible_max;
        loop {
            batch.clear();
            for client in rest.by_ref() {
                let own = client - clients.start;
                deliveries[own] = 0;
                // A subscription that is gone in the next tick is not there to be asked.
                let subscribes = self.subscribes(client, input.state);
                let was_fresh = std::mem::replace(&mut is_fresh[own], subscribes);
                let is_due = was_fresh || subscribes || self.behind[client];
                let observers = self.observers(client, input.state);
                if is_due || !self.stirs.leave_alone(observers) {
                    prefetch(known, places(client));
                    prefetch(known, places(client) + 16);
                    batch.push((client, self.sight(client, input)));
                }
                if batch.len() == BATCH {
                    break;
                }
            }
            if batch.is_empty() {
                break;
            }
            for (client, sight) in &batch {
                let own = client - clients.start;
                let places = &mut known[places(*client)..][..self.visible_max];
                let before = &places[..counts[own] as usize];
                let visible = self.see_one(*client, sight.as_ref(), before, input, search);
                let row = ClientRow(*client as u32);
                let is_behind = self.behind[*client];
                deliveries[own] = compared.compare(row, before, visible, is_behind);
                places[..visible.len()].copy_from_slice(visible);
                counts[own] = visible.len() as u32;
            }
        }
    }

    /// Finds the words of what one client sees, ascending.
    #[inline]
    fn see_one<'a>(
        &self,
        client: usize,
        sight: Option<&Sight>,
        known: &[u32],
        input: Input<'_>,
        search: &'a mut Search,
    ) -> &'a [u32] {
        let Search {
            near,
            candidates,
            cover,
            view,
        } = search;
        if sight.is_some_and(|sight| self.look(sight, input.index, near)) {
            return near.write_sorted(view);
        }
        candidates.begin_client(known);
        for place in self.places(client, input.state) {
            candidates.gather(input.index, self.mode, &place, self.dimensions);
        }
        if self.with_regions {
            self.gather_subscribed(client, input, cover, candidates);
        }
        candidates.end_client(known, input.merge, view)
    }

    /// Notes which clients are behind: those that were not served, unless they were owed
    /// nothing. They know what they knew before.
    pub(super) fn settle(&mut self, served: usize, total: u64, parts: usize, state: &mut State) {
        if served == self.used && self.behind_count == 0 {
            return;
        }
        for client in 0..served {
            self.set_behind(client, false, state);
        }
        let scratch = std::mem::take(&mut self.scratch);
        for (clients, scratch) in ranges(self.used, parts).zip(&scratch) {
            let mut rest = scratch.compared.as_slice();
            for client in clients {
                let next = self.offsets[..self.used].get(client + 1);
                let owed = next.copied().unwrap_or(total) - self.offsets[client];
                let (own, others) = rest.split_at(owed as usize);
                rest = others;
                if client >= served {
                    let hash = undo(&mut self.known, ClientRow(client as u32), own);
                    state.subtract(part::KNOWN, hash);
                    self.set_behind(client, owed > 0, state);
                }
            }
        }
        self.scratch = scratch;
    }
}

/// Clients that are looked at together, so that what is read for one is on its way while
/// others have their turn.
const BATCH: usize = 16;
/// The minimum number of places of known sets that is worth a second thread.
const VIEWS_GRAIN: usize = 64 * 1024;
