//! What a client sees now, compared with what it knew.

use shared::ClientRow;

use super::views::{Views, has_changed, slot_of, tier_of, word};
use crate::tick::output::Delivery;
use crate::tick::state;
use device::HostVec;

/// The deliveries of one part of the clients.
#[derive(Default)]
pub struct Compared {
    /// At least `len` long; what is behind that is from earlier ticks.
    deliveries: HostVec<Delivery>,
    len: usize,
    /// The difference that enters and leaves make to the hash.
    hash: u64,
}

impl Compared {
    pub fn clear(&mut self) {
        (self.len, self.hash) = (0, 0);
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }

    pub fn as_slice(&self) -> &[Delivery] {
        &self.deliveries[..self.len]
    }

    /// Gives the deliveries away for the memory of earlier ones.
    pub fn exchange(&mut self, items: &mut HostVec<Delivery>) {
        std::mem::swap(&mut self.deliveries, items);
        self.len = 0;
    }

    /// Appends a client's deliveries, ascending by slot, and returns their number.
    pub fn compare(
        &mut self,
        client: ClientRow,
        known: &[u32],
        visible: &[u32],
        is_behind: bool,
    ) -> u32 {
        self.make_room(known.len() + visible.len());
        let start = self.len;
        let (mut known, mut visible) = (known, visible);
        // Most of what is visible was known.
        loop {
            let same = self.add_same(known, visible, is_behind);
            (known, visible) = (&known[same..], &visible[same..]);
            match (known.split_first(), visible.split_first()) {
                (Some((&old, rest)), new) if new.is_none_or(|(&new, _)| old < new) => {
                    self.add_leave(client, old);
                    known = rest;
                }
                (_, Some((&new, rest))) => {
                    self.add_enter(client, new);
                    visible = rest;
                }
                (_, None) => break,
            }
        }
        (self.len - start) as u32
    }

    /// Changes a known set, which has `count` words, by entities that it has or not from now on:
    /// ascending slots, each with its word. Appends the client's deliveries, and returns their
    /// number.
    pub fn patch(
        &mut self,
        client: ClientRow,
        known: &mut [u32],
        count: &mut u32,
        seen: impl Iterator<Item = (u32, Option<u32>)>,
    ) -> u32 {
        let start = self.len;
        let mut n = *count as usize;
        for (slot, seen) in seen {
            self.make_room(1);
            let place = known[..n].partition_point(|&word| slot_of(word) < slot);
            let is_known = place < n && slot_of(known[place]) == slot;
            match seen {
                Some(word) if is_known => {
                    known[place] = word;
                    if has_changed(word) {
                        let update = Delivery::new(Delivery::UPDATE, slot);
                        self.add(update.in_tier(tier_of(word)));
                    }
                }
                Some(word) => {
                    known.copy_within(place..n, place + 1);
                    known[place] = word;
                    n += 1;
                    self.add_enter(client, word);
                }
                None if is_known => {
                    self.add_leave(client, known[place]);
                    known.copy_within(place + 1..n, place);
                    n -= 1;
                }
                None => {}
            }
        }
        *count = n as u32;
        (self.len - start) as u32
    }

    fn make_room(&mut self, more: usize) {
        let most = self.len + more;
        if self.deliveries.len() < most {
            self.deliveries.resize(most, Delivery::default());
        }
    }

    /// Appends the deliveries of entities that stay in view, up to the first one that does
    /// not, and returns how many stay.
    #[inline]
    fn add_same(&mut self, known: &[u32], visible: &[u32], is_behind: bool) -> usize {
        let most = known.len().min(visible.len());
        let (known, visible) = (&known[..most], &visible[..most]);
        let entries = &mut self.deliveries[self.len..][..most];
        let kind = match is_behind {
            true => Delivery::RENEW,
            false => Delivery::UPDATE,
        };
        let (mut same, mut len) = (0, 0);
        while same < most && slot_of(known[same]) == slot_of(visible[same]) {
            let new = visible[same];
            // Overwritten if it is none.
            entries[len] = Delivery::new(kind, slot_of(new)).in_tier(tier_of(new));
            len += usize::from(is_behind | has_changed(new));
            same += 1;
        }
        self.len += len;
        same
    }

    fn add_enter(&mut self, client: ClientRow, new: u32) {
        let delivery = Delivery::new(Delivery::ENTER, slot_of(new)).in_tier(tier_of(new));
        self.add(delivery);
        self.hash = self.hash.wrapping_add(element(client, delivery));
    }

    fn add_leave(&mut self, client: ClientRow, old: u32) {
        let delivery = Delivery::new(Delivery::LEAVE, slot_of(old));
        self.add(delivery);
        self.hash = self.hash.wrapping_sub(element(client, delivery));
    }

    fn add(&mut self, delivery: Delivery) {
        self.deliveries[self.len] = delivery;
        self.len += 1;
    }
}

/// Puts a client's known set back to what it was before these deliveries. Returns the
/// difference that they made to the hash.
pub fn undo(known: &mut Views, client: ClientRow, deliveries: &[Delivery]) -> u64 {
    let mut hash = 0u64;
    let mut before: Vec<u32> = known.of(client.index()).to_vec();
    for &delivery in deliveries {
        let slot = delivery.slot().0;
        match delivery.kind() {
            Delivery::ENTER => {
                before.retain(|&word| slot_of(word) != slot);
                hash = hash.wrapping_add(element(client, delivery));
            }
            Delivery::LEAVE => {
                before.push(word(slot, false));
                hash = hash.wrapping_sub(element(client, delivery));
            }
            _ => {}
        }
    }
    before.sort_unstable();
    known.set(client.index(), before.into_iter());
    hash
}

fn element(client: ClientRow, delivery: Delivery) -> u64 {
    state::known(client, delivery.slot())
}
