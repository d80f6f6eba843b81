//! Random regions.

use engines::regions::{Bounds, Dimension, Region, RegionsConfig, Side, Space};

use crate::regions::oracle::{Oracle, Update};
use testkit::dice::Dice;

/// How the regions of a random world are spread.
pub struct Field {
    pub config: RegionsConfig,
    /// Corners lie on multiples of this, so that edges touch and boxes are equal.
    lattice: i32,
    extent_max: i32,
    /// Where most regions are, if they crowd.
    crowd: Option<i32>,
}

impl Field {
    pub fn random(dice: &mut Dice, dimensions: usize, capacity: u32) -> Field {
        let whole = dice.once_in(8);
        let dimensions = (0..dimensions).map(|axis| {
            let (low, high) = match whole {
                true => (i32::MIN, i32::MAX),
                false => {
                    let low = dice.within(-5000..=5000);
                    (low, low + dice.within(1..=20_000))
                }
            };
            Dimension::new(["x", "y", "z"][axis], low, high)
        });
        let space = Space::new(dimensions.collect()).expect("a space");
        Field {
            config: RegionsConfig {
                cell_edge: dice.once_in(2).then(|| dice.within(1..=4000) as u32),
                ..RegionsConfig::new(space, capacity, 1 << 20)
            },
            lattice: dice.pick(&[1, 1, 16, 500]),
            extent_max: dice.pick(&[2, 40, 1500, 60_000, i32::MAX]),
            crowd: dice.once_in(3).then(|| dice.within(0..=3000)),
        }
    }

    /// Many small regions in a plane.
    pub fn dust(capacity: u32) -> Field {
        let axis = |name| Dimension::new(name, -1_000_000, 1_000_000);
        let space = Space::new(vec![axis("x"), axis("y")]).expect("a space");
        Field {
            config: RegionsConfig::new(space, capacity, 1 << 20),
            lattice: 100,
            extent_max: 60_000,
            crowd: None,
        }
    }

    /// Updates of this share of all regions: added, moved, resized, thrown far, removed.
    pub fn updates(&self, dice: &mut Dice, oracle: &Oracle, share: usize) -> Vec<Update> {
        let mut updates = vec![];
        for side in [Side::Publication, Side::Subscription] {
            for number in 0..self.config.capacity {
                if dice.below(100) >= share {
                    continue;
                }
                let region = Region { side, number };
                updates.push(match oracle.regions.get(&region) {
                    None => Update::Add(region, self.bounds(dice)),
                    Some(_) if dice.once_in(5) => Update::Remove(region),
                    Some(_) if dice.once_in(4) => Update::Modify(region, self.bounds(dice)),
                    Some(bounds) => Update::Modify(region, self.moved(dice, bounds)),
                });
            }
        }
        dice.shuffle(&mut updates);
        updates
    }

    fn bounds(&self, dice: &mut Dice) -> Bounds {
        let mut bounds = Bounds {
            low: [0; 3],
            high: [0; 3],
        };
        let whole = dice.below(30);
        for (axis, dimension) in self.config.space.dimensions().iter().enumerate() {
            let (low, high) = (i64::from(dimension.low), i64::from(dimension.high));
            let room = match self.crowd {
                Some(crowd) if !dice.once_in(10) => (high - low).min(crowd.into()),
                _ => high - low,
            };
            let at = |dice: &mut Dice, n: i64| (dice.any() as u32 as i64) % n.max(1);
            let lattice = i64::from(self.lattice);
            let from = low + at(dice, room) / lattice * lattice;
            // Sizes over several orders of magnitude.
            let longest = i64::from(self.extent_max) >> dice.below(12);
            let length = (at(dice, longest) / lattice + 1) * lattice;
            let (from, to) = match whole == axis {
                true => (low, high),
                false => (from, (from + length).min(high)),
            };
            bounds.low[axis] = from as i32;
            bounds.high[axis] = to as i32;
        }
        bounds
    }

    fn moved(&self, dice: &mut Dice, bounds: &Bounds) -> Bounds {
        let mut moved = *bounds;
        let axis = dice.below(self.config.space.dimensions().len());
        let dimension = &self.config.space.dimensions()[axis];
        let (low, high) = (i64::from(bounds.low[axis]), i64::from(bounds.high[axis]));
        let half = (high - low) / 2;
        let by = if dice.once_in(2) { half } else { -half };
        let by = by.clamp(
            i64::from(dimension.low) - low,
            i64::from(dimension.high) - high,
        );
        moved.low[axis] = (low + by) as i32;
        moved.high[axis] = (high + by) as i32;
        moved
    }
}
