//! What each client sees, and what of it is news to it.

use std::ops::Range;

use device::cpu::{Workers, grow, ranges, take};
use shared::{ClientRow, InterestMode, Slot};

use super::compare::{Compared, undo};
use super::eyes::Eyes;
use super::gather::Viewpoint;
use super::sight::Sight;
use super::stirs::{Look, NOWHERE, Stir};
use super::views::{slot_of, word};
use super::{CLIENTS_GRAIN, Input, Interest, Search};
use crate::logic::squared_distance;
use crate::tick::cpu::{State, prefetch_item};
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
    deliveries: &'a mut [u32],
}

impl Interest {
    /// Replaces each client's known set by what it sees now, and collects the deliveries that
    /// follow from the difference. Returns the clients of each part of the work.
    pub(super) fn see(&mut self, workers: &Workers, input: Input<'_>) -> Vec<Range<usize>> {
        self.write_words(workers, input);
        self.find_stirs(workers, input);
        let grain = (VIEWS_GRAIN / self.visible_max).clamp(1, CLIENTS_GRAIN);
        let parts: Vec<Range<usize>> = match self.cuts.parts() {
            1 => ranges(self.used, workers.parts_of(self.used, grain)).collect(),
            _ => self.cut_ranges().collect(),
        };
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut known = std::mem::take(&mut self.known);
        let mut owed = std::mem::take(&mut self.owed);
        let mut is_fresh = std::mem::take(&mut self.is_fresh);
        let mut words = &mut known.words[..];
        let mut counts = &mut known.counts[..];
        let mut fresh = &mut is_fresh[..];
        let mut rest = &mut owed[..];
        let shares = parts
            .iter()
            .cloned()
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
        self.owed = owed;
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
                let look = match is_due {
                    true => Look::Everything,
                    false => self.stirs.look(self.observers(client, input.state)),
                };
                let task = match look {
                    Look::Nothing => continue,
                    Look::Changed(pairs) => self.patch(client, counts[own], pairs, input),
                    Look::Everything => None,
                };
                prefetch_item(known, places(client));
                prefetch_item(known, places(client) + 16);
                let task = task.unwrap_or_else(|| Task::Look(self.sight(client, input)));
                batch.push((client, task));
                if batch.len() == BATCH {
                    break;
                }
            }
            if batch.is_empty() {
                break;
            }
            for &(client, ref task) in &batch {
                let own = client - clients.start;
                let row = ClientRow(client as u32);
                let places = &mut known[places(client)..][..self.visible_max];
                let sight = match task {
                    Task::Look(sight) => sight.as_ref(),
                    Task::Patch(place, pairs) => {
                        let eyes = self.eyes(client, input.state);
                        let seen = self.seen(place, eyes, pairs, input);
                        deliveries[own] = compared.patch(row, places, &mut counts[own], seen);
                        continue;
                    }
                };
                let before = &places[..counts[own] as usize];
                let visible = self.see_one(client, sight, before, input, search);
                let is_behind = self.behind[client];
                deliveries[own] = compared.compare(row, before, visible, is_behind);
                places[..visible.len()].copy_from_slice(visible);
                counts[own] = visible.len() as u32;
            }
        }
    }

    /// The task of a client that must look only at these pairs; `None` if it must look at more.
    fn patch<'a>(
        &self,
        client: usize,
        known: u32,
        pairs: &'a [(u32, u32)],
        input: Input<'_>,
    ) -> Option<Task<'a>> {
        // A set that might be full does not have all that is near.
        let is_whole = known as usize + pairs.len() < self.visible_max;
        let is_exact = self.mode == InterestMode::Exact;
        let place = self.only_place(client, input);
        place
            .filter(|_| is_whole && is_exact)
            .map(|place| Task::Patch(place, pairs))
    }

    /// The slots of changed entities near a place, ascending, and the words of those in sight.
    fn seen<'a>(
        &'a self,
        place: &'a Viewpoint,
        eyes: Option<Eyes<'a>>,
        pairs: &'a [(u32, u32)],
        input: Input<'a>,
    ) -> impl Iterator<Item = (u32, Option<u32>)> + 'a {
        let radius = i64::from(place.radius) * i64::from(place.radius);
        // An entity may be near where it is and where it was.
        let different = pairs.chunk_by(|a, b| a.1 == b.1);
        different.map(move |pairs| {
            let &Stir { slot, here, .. } = self.stirs.of(pairs[0]);
            let distance = squared_distance(here, place.center) as i64;
            let is_near = here != NOWHERE && distance <= radius;
            let is_seen = is_near
                && eyes
                    .as_ref()
                    .is_none_or(|eyes| eyes.see(place.center, place.followed, slot, here));
            let tier = self.tiers.iter().filter(|&&tier| distance > tier).count();
            let word = word(slot, input.merge.has_changed(slot)) + tier as u32;
            (slot, Some(word).filter(|_| is_seen))
        })
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
        let eyes = self.eyes(client, input.state);
        if let Some(sight) = sight
            && self.look(sight, input.index, near)
        {
            let all = near.write_sorted(view);
            let Some(eyes) = eyes else {
                return all;
            };
            return keep(all, |word| {
                let slot = slot_of(word);
                let position = input.state.position(Slot(slot), self.dimensions);
                eyes.see(sight.place.center, sight.place.followed, slot, position)
            });
        }
        let eyes = eyes.as_ref();
        candidates.begin_client(known);
        for place in self.places(client, input.state) {
            candidates.gather(input.index, self.mode, &place, eyes, self.dimensions);
        }
        if self.with_regions {
            self.gather_subscribed(client, input, eyes, cover, candidates);
        }
        candidates.end_client(known, input.merge, view)
    }

    /// Notes which clients are behind: those that were not served, unless they were owed
    /// nothing. They know what they knew before.
    pub(super) fn settle(&mut self, served: usize, parts: &[Range<usize>], state: &mut State) {
        if served == self.used && self.behind_count == 0 {
            return;
        }
        for client in 0..served {
            self.set_behind(client, false, state);
        }
        let scratch = std::mem::take(&mut self.scratch);
        for (clients, scratch) in parts.iter().zip(&scratch) {
            let mut rest = scratch.compared.as_slice();
            for client in clients.clone() {
                let owed = self.owed[client];
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

/// Those of the words that are kept, in their order.
fn keep(words: &mut [u32], is_kept: impl Fn(u32) -> bool) -> &[u32] {
    let mut kept = 0;
    for place in 0..words.len() {
        let word = words[place];
        words[kept] = word;
        kept += usize::from(is_kept(word));
    }
    &words[..kept]
}

/// How it is found out what a client sees.
enum Task<'a> {
    /// From all that is in sight; `None` if there is more to it.
    Look(Option<Sight>),
    /// From what it knew, and the entities near it that changed.
    Patch(Viewpoint, &'a [(u32, u32)]),
}

/// Clients that are looked at together, so that what is read for one is on its way while
/// others have their turn.
const BATCH: usize = 16;
/// The minimum number of places of known sets that is worth a second thread.
const VIEWS_GRAIN: usize = 64 * 1024;
