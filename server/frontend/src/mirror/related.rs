//! Entities that belong to others: things to their holders, members to their groups.

use std::collections::BTreeSet;

use shared::Slot;

/// What belongs to what, by slot. Each entity belongs to one other at most.
pub struct Related {
    /// An owner, and what belongs to it.
    pairs: BTreeSet<(u32, u32)>,
    /// By slot: the owner, or [`NOBODY`].
    owners: Vec<u32>,
}

impl Related {
    /// Nothing belongs to anything, in a world of so many slots.
    pub fn new(capacity: u32) -> Related {
        Related {
            pairs: BTreeSet::new(),
            owners: vec![NOBODY; capacity as usize],
        }
    }

    /// What an entity belongs to.
    pub fn owner(&self, own: Slot) -> Option<Slot> {
        let owner = self.owners.get(own.index()).copied();
        owner.filter(|&owner| owner != NOBODY).map(Slot)
    }

    /// What belongs to an entity, by slot.
    pub fn of(&self, owner: Slot) -> impl Iterator<Item = Slot> + '_ {
        let pairs = self.pairs.range((owner.0, 0)..=(owner.0, u32::MAX));
        pairs.map(|&(_, own)| Slot(own))
    }

    /// An entity that belonged to none belongs to another one.
    pub fn link(&mut self, owner: Slot, own: Slot) {
        self.owners[own.index()] = owner.0;
        self.pairs.insert((owner.0, own.0));
    }

    /// An entity belongs to none any more. Returns what it belonged to.
    pub fn unlink(&mut self, own: Slot) -> Option<Slot> {
        let owner = self.owner(own)?;
        self.owners[own.index()] = NOBODY;
        self.pairs.remove(&(owner.0, own.0));
        Some(owner)
    }

    /// All pairs of an owner and what belongs to it, in place of those before.
    pub fn replace(&mut self, pairs: Vec<(u32, u32)>) {
        self.owners.fill(NOBODY);
        for &(owner, own) in &pairs {
            self.owners[own as usize] = owner;
        }
        self.pairs = pairs.into_iter().collect();
    }
}

/// No slot.
const NOBODY: u32 = u32::MAX;
