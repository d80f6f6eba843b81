//! Regions of random worlds, and random changes of them.

use gpu_kernels::{Frame, Holder, Region, RegionChange};
use shared::{ClientRow, EntityId, InterestMode};

use super::{Play, extreme};
use crate::dice::Dice;
use crate::oracle::Oracle;

/// The regions of a random world file.
#[derive(Default)]
pub struct RegionsFile {
    /// Lines of `[limits]`.
    pub limits: String,
    edge_max: f64,
    axes: usize,
    of_entities: bool,
}

impl RegionsFile {
    pub fn new(
        dice: &mut Dice,
        interest: InterestMode,
        axes: usize,
        size_max: f64,
        aoi: f64,
    ) -> RegionsFile {
        if interest == InterestMode::Buckets || dice.once_in(2) {
            return RegionsFile::default();
        }
        let edge_max = dice.pick(&[0.25, aoi / 2.0, 3.0 * aoi, 20.0 * aoi, size_max]);
        let edge_max = edge_max.min(262_143.0);
        let of_entities = !dice.once_in(3);
        let mut limits = format!(
            "regions_per_client = {}\nregion_edge_max = {edge_max:?}\n",
            dice.pick(&[0, 1, 1, 3]),
        );
        if of_entities {
            limits += "entity_regions = true\n";
        }
        RegionsFile {
            limits,
            edge_max,
            axes,
            of_entities,
        }
    }

    /// Lines of a `[[kind]]`.
    pub fn kind(&self, dice: &mut Dice) -> String {
        let mut lines = String::new();
        for name in ["publishes", "subscribes"] {
            if self.of_entities && dice.once_in(3) {
                let edges: Vec<f64> = (0..self.axes)
                    .map(|_| (self.edge_max / dice.pick(&[1.0, 2.0, 30.0])).max(0.001))
                    .collect();
                lines += &format!("{name} = {edges:?}\n");
            }
        }
        lines
    }
}

impl Play {
    pub(super) fn regions(&self, dice: &mut Dice, oracle: &Oracle, frame: &mut Frame) {
        let limits = &self.config.limits;
        let has_any = limits.regions_per_client > 0 || limits.entity_regions;
        if !has_any && !dice.once_in(10) {
            return;
        }
        let alive = oracle.alive();
        let most = if oracle.tick.0 == 0 { 60 } else { 8 };
        for _ in 0..dice.below(most) {
            let mut holder = match dice.below(3) {
                0 => Holder::Client {
                    client: ClientRow(dice.below(limits.clients as usize) as u32),
                    index: dice.below(limits.regions_per_client.max(1) as usize) as u32,
                },
                1 => Holder::Publication(self.actor(dice, oracle, &alive)),
                _ => Holder::Subscription(self.actor(dice, oracle, &alive)),
            };
            if let Holder::Client { client, index } = &mut holder {
                if dice.once_in(12) {
                    *client = ClientRow(dice.pick(&[limits.clients, u32::MAX]));
                }
                if dice.once_in(12) {
                    *index = dice.pick(&[limits.regions_per_client, u32::MAX]);
                }
            }
            let region = (!dice.once_in(6)).then(|| self.region(dice, oracle, &alive, holder));
            frame.regions.push(RegionChange { holder, region });
        }
    }

    fn region(
        &self,
        dice: &mut Dice,
        oracle: &Oracle,
        alive: &[EntityId],
        holder: Holder,
    ) -> Region {
        let follows = match holder {
            _ if dice.once_in(3) => None,
            Holder::Publication(own) | Holder::Subscription(own) if !dice.once_in(12) => Some(own),
            _ => Some(self.actor(dice, oracle, alive)),
        };
        let center = match follows {
            None => self.point(dice),
            Some(_) => [0; 3],
        };
        let max = self.config.limits.region_edge_max.raw();
        let few = max.min(8);
        let mut region = Region {
            low: [0; 3],
            high: [0; 3],
            follows,
        };
        for (axis, center) in center.into_iter().enumerate() {
            let some = dice.within(1..=max);
            let edge = dice.pick(&[max, max, some, some, few, 1]);
            let part = dice.within(0..=edge);
            let before = dice.pick(&[edge / 2, edge / 2, edge, 0, part]);
            region.low[axis] = center.saturating_sub(before);
            region.high[axis] = region.low[axis].saturating_add(edge);
        }
        if dice.once_in(20) {
            let axis = dice.below(3);
            match dice.once_in(2) {
                true => region.low[axis] = extreme(dice),
                false => region.high[axis] = region.low[axis].saturating_add(dice.pick(&[0, -1])),
            }
        }
        region
    }
}
