//! What a client sees now, compared with what it knew.

use shared::ClientRow;

use super::views::{Views, has_changed, slot_of, tier_of, word};
use crate::tick::output::{Deliveries, Delivery};
use crate::tick::state;
use device::cpu::{Workers, grow, take};

/// The deliveries of one part of the clients, before those of all parts are joined.
#[derive(Default)]
pub struct Compared {
    /// At least `len` long; what is behind that is from earlier ticks.
    deliveries: Vec<Delivery>,
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

    /// Appends a client's deliveries, ascending by slot, and returns their number.
    pub fn compare(
        &mut self,
        client: ClientRow,
        known: &[u32],
        visible: &[u32],
        is_behind: bool,
    ) -> u64 {
        grow(&mut self.deliveries, self.len + known.len() + visible.len());
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
        (self.len - start) as u64
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

/// Copies the deliveries of all parts to the output, which ends where they are full.
pub fn join<'a>(
    workers: &Workers,
    parts: impl Iterator<Item = &'a Compared>,
    out: &mut Deliveries,
) {
    let mut parts = parts.map(Compared::as_slice);
    let mut from: &[Delivery] = &[];
    let mut tasks = vec![];
    for segment in &mut out.segments {
        let n = segment.offsets.last().map_or(0, |&end| end as usize);
        let mut to = &mut segment.items[..n];
        while !to.is_empty() {
            if from.is_empty() {
                from = parts.next().expect("as many deliveries as were counted");
            }
            let (own, rest) = from.split_at(from.len().min(to.len()));
            tasks.push((take(&mut to, own.len()), own));
            from = rest;
        }
    }
    workers.run(tasks, |(to, from)| to.copy_from_slice(from));
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
