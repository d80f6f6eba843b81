use engines::regions::{Bounds, Dimension, RegionsConfig, Space};
use shared::Fixed;
use shared::world::mix::mix;

/// A square field with as many publications as subscriptions. In each step, some
/// regions move half their size to the north, south, east or west.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub kind: Kind,
    /// The field's edge.
    pub field: u32,
    /// A region's edge.
    pub side: u32,
    /// Publications and subscriptions together.
    pub regions: u32,
    /// The percentage of regions that move in a step.
    pub updated: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The paper's scenario I.
    Uniform,
    /// The paper's scenario II: 20 % of the regions are near three places.
    Crowded,
    /// Edges from a thousandth of `side` to `side`, all orders of magnitude equally
    /// often.
    Mixed,
    /// Like uniform, and publication 0 covers the field.
    OneOverAll,
    /// In every other step each publication overlaps each subscription; in the others,
    /// none does.
    AllOverAll,
}

/// The places of all regions, step by step.
#[derive(Clone)]
pub struct Motion {
    scenario: Scenario,
    seed: u64,
    pub step: u64,
    /// The publications by number, and the subscriptions.
    pub sides: [Vec<Bounds>; 2],
    /// Numbers of the regions that the last step moved, by side.
    pub moved: [Vec<u32>; 2],
}

impl Scenario {
    pub fn config(&self) -> anyhow::Result<RegionsConfig> {
        let edge = self.field as i32 * UNIT;
        let axis = |name| Dimension::new(name, 0, edge);
        let space = Space::new(vec![axis("x"), axis("y")])?;
        let capacity = self.regions.div_ceil(2);
        let pairs_max = match self.kind {
            Kind::AllOverAll => capacity * capacity,
            Kind::Mixed | Kind::Crowded => 64 * self.regions + (1 << 23),
            Kind::Uniform | Kind::OneOverAll => 16 * self.regions.min(100_000) + 4 * self.regions,
        };
        Ok(RegionsConfig {
            // The paper's cell size; it gives none for other sizes of regions.
            cell_edge: (self.side == 100).then_some(100 * UNIT as u32),
            ..RegionsConfig::new(space, capacity, pairs_max)
        })
    }

    pub fn name(&self) -> String {
        format!(
            "{}: {} regions of {} in {}², {} % updated",
            self.kind.name(),
            self.regions,
            self.side,
            self.field,
            self.updated
        )
    }
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Uniform => "uniform",
            Kind::Crowded => "crowded",
            Kind::Mixed => "mixed sizes",
            Kind::OneOverAll => "one over all",
            Kind::AllOverAll => "all over all",
        }
    }
}

impl Motion {
    /// All regions at their first places; all count as moved.
    pub fn new(scenario: &Scenario, seed: u64) -> Motion {
        let numbers = 0..scenario.regions.div_ceil(2);
        let mut motion = Motion {
            scenario: *scenario,
            seed,
            step: 0,
            sides: [vec![], vec![]],
            moved: [numbers.clone().collect(), numbers.clone().collect()],
        };
        for side in 0..2 {
            motion.sides[side] = numbers.clone().map(|n| motion.birth(side, n)).collect();
        }
        motion
    }

    pub fn advance(&mut self) {
        self.step += 1;
        for side in 0..2 {
            self.moved[side].clear();
            for number in 0..self.sides[side].len() as u32 {
                if self.dice(side, number, 1) % 100 < u64::from(self.scenario.updated) {
                    self.moved[side].push(number);
                    self.sides[side][number as usize] = self.moved_region(side, number);
                }
            }
        }
    }

    fn dice(&self, side: usize, number: u32, salt: u64) -> u64 {
        let region = u64::from(number) << 1 | side as u64;
        mix(mix(self.seed ^ salt << 32, self.step), region) >> 16
    }

    fn birth(&self, side: usize, number: u32) -> Bounds {
        let s = &self.scenario;
        let field = s.field as i32 * UNIT;
        let dice = |salt| self.dice(side, number, salt);
        let edge = match s.kind {
            Kind::OneOverAll if (side, number) == (0, 0) => field,
            Kind::Mixed => {
                // A power of two from 2^0 to 2^9, and uniform below it.
                let longest = (s.side as i32 * UNIT) >> (dice(2) % 10);
                longest / 2 + (dice(3) % (longest as u64 / 2)) as i32
            }
            _ => s.side as i32 * UNIT,
        };
        let room = (field - edge) as u64 + 1;
        let crowded = s.kind == Kind::Crowded && dice(4) % 5 == 0;
        let place = |salt| match (s.kind, crowded) {
            (Kind::AllOverAll, _) => 0,
            (_, true) => {
                // Within a twentieth of the field around 1, 5 and 9 tenths of it.
                let center = (field / 10) * [1, 5, 9][(dice(5) % 3) as usize];
                let off = (dice(salt) % (field as u64 / 10)) as i32 - field / 20;
                (center + off).clamp(0, field - edge)
            }
            _ => (dice(salt) % room) as i32,
        };
        square(place(6), place(7), edge)
    }

    fn moved_region(&self, side: usize, number: u32) -> Bounds {
        let mut bounds = self.sides[side][number as usize];
        let field = self.scenario.field as i32 * UNIT;
        let edge = bounds.high[0] - bounds.low[0];
        if self.scenario.kind == Kind::AllOverAll {
            // Regions of half the field can lie apart.
            let apart = self.step % 2 == 1;
            let narrow = field / 2;
            return match (apart, side) {
                (true, 0) => square(0, 0, narrow),
                (true, _) => square(narrow, narrow, narrow),
                (false, _) => square(0, 0, self.scenario.side as i32 * UNIT),
            };
        }
        let dice = self.dice(side, number, 8);
        let axis = (dice & 1) as usize;
        let by = if dice & 2 == 0 { edge / 2 } else { -(edge / 2) };
        let low = (bounds.low[axis] + by).clamp(0, field - edge);
        bounds.low[axis] = low;
        bounds.high[axis] = low + edge;
        bounds
    }
}

fn square(x: i32, y: i32, edge: i32) -> Bounds {
    Bounds {
        low: [x, y, 0],
        high: [x + edge, y + edge, 0],
    }
}

const UNIT: i32 = Fixed::ONE.raw();
