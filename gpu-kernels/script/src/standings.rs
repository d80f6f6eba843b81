//! Where entities stand in a world's rankings.

use shared::Slot;

/// The order of each ranking, both ways: by place, and by slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standings {
    /// Slots of each ranking, from 0 on.
    slots_max: usize,
    /// By ranking: how many entities it has.
    counts: Vec<u32>,
    /// By ranking and place: the slot.
    slots: Vec<u32>,
    /// By ranking and slot: the place, from 1 on; 0 of who has none.
    ranks: Vec<u32>,
}

impl Standings {
    /// Of so many rankings without an entity, for slots below a number.
    pub fn new(rankings: usize, slots_max: usize) -> Standings {
        Standings {
            slots_max,
            counts: vec![0; rankings],
            slots: vec![0; rankings * slots_max],
            ranks: vec![0; rankings * slots_max],
        }
    }

    /// Sets the order of a ranking: slots below the number, each once.
    pub fn set(&mut self, ranking: usize, order: impl IntoIterator<Item = u32>) {
        let own = ranking * self.slots_max..(ranking + 1) * self.slots_max;
        let (slots, ranks) = (&mut self.slots[own.clone()], &mut self.ranks[own]);
        ranks.fill(0);
        let mut count = 0;
        for (place, slot) in slots.iter_mut().zip(order) {
            *place = slot;
            count += 1;
            ranks[slot as usize] = count;
        }
        self.counts[ranking] = count;
    }

    /// The place of an entity, from 1 on; 0 if it has none.
    pub fn rank(&self, ranking: u16, slot: Slot) -> u32 {
        let slot = Some(slot.index()).filter(|&slot| slot < self.slots_max);
        let rank = slot.map(|slot| usize::from(ranking) * self.slots_max + slot);
        let rank = rank.and_then(|rank| self.ranks.get(rank));
        rank.copied().unwrap_or(0)
    }

    /// The slot of the entity at a place, from 0 on.
    pub fn ranked(&self, ranking: u16, place: u32) -> Option<Slot> {
        let ranking = usize::from(ranking);
        let count = *self.counts.get(ranking)?;
        (place < count).then(|| Slot(self.slots[ranking * self.slots_max + place as usize]))
    }

    /// How many slots each ranking has room for; by ranking the number of its entities; the slots;
    /// the ranks.
    pub fn parts(&self) -> (usize, &[u32], &[u32], &[u32]) {
        (self.slots_max, &self.counts, &self.slots, &self.ranks)
    }
}
