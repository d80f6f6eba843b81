//! The things of a world by holder, and likewise the members of groups by group.

use shared::Slot;

/// The slots of the things of each holder, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// By slot of a holder, and at last: where its things begin in `slots`. Empty if they were not
    /// found yet.
    starts: Vec<u32>,
    slots: Vec<u32>,
}

impl Holdings {
    /// Of slots below `slots_max`: pairs of a holder and a thing, in any order.
    pub fn of(slots_max: usize, pairs: impl IntoIterator<Item = (u32, u32)>) -> Holdings {
        let mut pairs: Vec<(u32, u32)> = pairs.into_iter().collect();
        pairs.sort_unstable();
        let mut holdings = Holdings::default();
        holdings.fill(slots_max, [&pairs[..]].into_iter());
        holdings
    }

    /// Adds pairs of a holder and a thing by part: things that ascend, and those of later parts
    /// are greater. Holders are below `slots_max`.
    pub fn fill<'a>(
        &mut self,
        slots_max: usize,
        parts: impl Iterator<Item = &'a [(u32, u32)]> + Clone,
    ) {
        // A counting sort: how many each holder has, then where the next one of each goes.
        self.starts.clear();
        self.starts.resize(slots_max + 1, 0);
        for &(holder, _) in parts.clone().flatten() {
            self.starts[holder as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += std::mem::replace(start, sum);
        }
        self.slots.clear();
        self.slots.resize(sum as usize, 0);
        for &(holder, thing) in parts.flatten() {
            let next = &mut self.starts[holder as usize];
            self.slots[*next as usize] = thing;
            *next += 1;
        }
        // Each start has become the next one.
        self.starts.copy_within(..slots_max, 1);
        self.starts[0] = 0;
    }

    /// The slot of a thing of a holder, by its place among all of them.
    pub fn nth(&self, holder: Slot, place: u32) -> Option<Slot> {
        let holder = holder.index();
        let &[start, end] = self.starts.get(holder..holder + 2)? else {
            return None;
        };
        let own = &self.slots[start as usize..end as usize];
        own.get(place as usize).copied().map(Slot)
    }

    /// By slot of a holder and at last, where its things begin among the slots; the slots.
    pub fn parts(&self) -> (&[u32], &[u32]) {
        (&self.starts, &self.slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_found_by_holder_in_the_order_of_their_slots() {
        let holdings = Holdings::of(5, [(3, 9), (0, 7), (3, 2), (4, 1)]);
        let of = |holder: u32| -> Vec<u32> {
            let own = (0..).map_while(|place| holdings.nth(Slot(holder), place));
            own.map(|slot| slot.0).collect()
        };
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(of),
            [vec![7], vec![], vec![], vec![2, 9], vec![1], vec![]]
        );
    }
}
