//! Region matching again, slow and obvious.

use std::collections::{BTreeMap, BTreeSet};

use engines::regions::{Batch, Bounds, Pair, Region, Side};

/// All regions, and which pairs overlap.
#[derive(Clone, Default)]
pub struct Oracle {
    pub regions: BTreeMap<Region, Bounds>,
    pub pairs: BTreeSet<Pair>,
}

#[derive(Clone, Copy, Debug)]
pub enum Update {
    Add(Region, Bounds),
    Modify(Region, Bounds),
    Remove(Region),
}

impl Oracle {
    /// Pairs gained, and pairs lost, in order.
    pub fn step(&mut self, updates: &[Update]) -> (Vec<Pair>, Vec<Pair>) {
        self.apply(updates);
        let mut pairs = BTreeSet::new();
        for (publication, one) in self.side(Side::Publication) {
            for (subscription, other) in self.side(Side::Subscription) {
                if overlap(one, other) {
                    pairs.insert(Pair::new(publication, subscription));
                }
            }
        }
        let gained = pairs.difference(&self.pairs).copied().collect();
        let lost = self.pairs.difference(&pairs).copied().collect();
        self.pairs = pairs;
        (gained, lost)
    }

    pub fn apply(&mut self, updates: &[Update]) {
        for &update in updates {
            match update {
                Update::Add(region, bounds) => {
                    assert!(self.regions.insert(region, bounds).is_none());
                }
                Update::Modify(region, bounds) => {
                    assert!(self.regions.insert(region, bounds).is_some());
                }
                Update::Remove(region) => assert!(self.regions.remove(&region).is_some()),
            }
        }
    }

    fn side(&self, side: Side) -> impl Iterator<Item = (u32, &Bounds)> {
        let of_side = self
            .regions
            .iter()
            .filter(move |(region, _)| region.side == side);
        of_side.map(|(region, bounds)| (region.number, bounds))
    }

    /// The numbers of the regions that a region overlaps.
    pub fn of(&self, region: Region) -> Vec<u32> {
        let pairs = self.pairs.iter();
        match region.side {
            Side::Publication => pairs
                .filter(|pair| pair.publication() == region.number)
                .map(|pair| pair.subscription())
                .collect(),
            Side::Subscription => pairs
                .filter(|pair| pair.subscription() == region.number)
                .map(|pair| pair.publication())
                .collect(),
        }
    }
}

fn overlap(one: &Bounds, other: &Bounds) -> bool {
    for axis in 0..3 {
        // Axes that the space doesn't have.
        if (one.low[axis], one.high[axis]) == (0, 0) {
            continue;
        }
        if one.high[axis] <= other.low[axis] || other.high[axis] <= one.low[axis] {
            return false;
        }
    }
    true
}

pub fn fill(batch: &mut Batch, updates: &[Update]) {
    batch.clear();
    for update in updates {
        match update {
            Update::Add(region, bounds) => batch.add(*region, bounds),
            Update::Modify(region, bounds) => batch.modify(*region, bounds),
            Update::Remove(region) => batch.remove(*region),
        }
        .expect("the update is sound");
    }
}
