//! The living entities of a world by kind.

use shared::Slot;

/// The slots of the living entities of each kind, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// By kind, and at last: where its entities begin in `slots`.
    starts: Vec<u32>,
    slots: Vec<u32>,
}

impl Census {
    /// Of entities by kind and slot, in any order. There are so many kinds; others are left out.
    pub fn of(kinds: usize, entities: impl IntoIterator<Item = (u16, u32)>) -> Census {
        let mut by_kind = vec![vec![]; kinds];
        for (kind, slot) in entities {
            if let Some(slots) = by_kind.get_mut(usize::from(kind)) {
                slots.push(slot);
            }
        }
        by_kind.iter_mut().for_each(|slots| slots.sort_unstable());
        let mut census = Census::default();
        census.fill(&[by_kind]);
        census
    }

    /// Adds entities by part, then by kind: slots that ascend, and those of later parts are
    /// greater. Each part has all kinds.
    pub fn fill(&mut self, parts: &[Vec<Vec<u32>>]) {
        self.starts.clear();
        self.slots.clear();
        let kinds = parts.iter().map(Vec::len).max().unwrap_or(0);
        self.starts.push(0);
        for kind in 0..kinds {
            for slots in parts.iter().filter_map(|part| part.get(kind)) {
                self.slots.extend_from_slice(slots);
            }
            self.starts.push(self.slots.len() as u32);
        }
    }

    /// How many entities of a kind there are.
    pub fn count(&self, kind: u16) -> u32 {
        self.slots_of(kind).len() as u32
    }

    /// The slot of an entity of a kind, by its place among all of them.
    pub fn nth(&self, kind: u16, place: u32) -> Option<Slot> {
        self.slots_of(kind).get(place as usize).copied().map(Slot)
    }

    fn slots_of(&self, kind: u16) -> &[u32] {
        let kind = usize::from(kind);
        match self.starts.get(kind..kind + 2) {
            Some(&[start, end]) => &self.slots[start as usize..end as usize],
            _ => &[],
        }
    }

    /// By kind and at last, where its entities begin among the slots; the slots.
    pub fn parts(&self) -> (&[u32], &[u32]) {
        (&self.starts, &self.slots)
    }
}
