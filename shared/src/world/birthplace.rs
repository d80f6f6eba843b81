//! Where the entities of one kind are born.

use super::config::WorldConfig;
use super::id::{EntityId, Tick};
use super::mix::Random;
use super::spawn::{SpawnArea, spawn_seed};

/// The area in which entities of a kind are born.
#[derive(Clone, Debug)]
pub struct Birthplace {
    pub kind: u16,
    area: Option<SpawnArea>,
    seed: u64,
    dimensions: usize,
    size: [i32; 3],
}

impl Birthplace {
    pub fn of(config: &WorldConfig, kind: u16) -> Birthplace {
        Birthplace {
            kind,
            area: config.spawns[usize::from(kind)],
            // Places must not follow from the numbers by which the engine chooses others.
            seed: spawn_seed(config.seed),
            dimensions: config.dimensions(),
            size: config.size_raw(),
        }
    }

    /// The words of a spawn command: kind, token, and a place if the kind has an area. The
    /// place depends on tick and number.
    pub fn words(&self, token: u32, tick: Tick, number: u32) -> Vec<i32> {
        let mut words = vec![i32::from(self.kind), token as i32];
        words.extend(self.place(tick, number));
        words
    }

    /// A place in the kind's area: none where it has no area.
    pub fn place(&self, tick: Tick, number: u32) -> Vec<i32> {
        let Some(area) = &self.area else {
            return vec![];
        };
        let birth = EntityId::new(number, u32::from(self.kind));
        let mut random = Random::new(self.seed, tick, birth);
        let place = area.place(self.dimensions, &mut random);
        let axes = place.iter().zip(self.size).take(self.dimensions);
        axes.map(|(&axis, size)| axis.clamp(0, size - 1)).collect()
    }
}
