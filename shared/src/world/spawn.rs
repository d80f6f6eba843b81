//! Where entities are born, if not anywhere. A caller that puts a birth into a frame chooses its
//! place; backends choose that of a rebirth, for which there is no frame.

use serde::{Deserialize, Serialize};

use super::mix::{Random, mix};

/// A part of the world in raw units; 0 along an axis that it lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpawnArea {
    /// All within a radius of a centre.
    Ball { center: [i32; 3], radius: i32 },
    /// From the low corner to the high one, both included.
    Box { low: [i32; 3], high: [i32; 3] },
}

impl SpawnArea {
    pub fn place(&self, dimensions: usize, random: &mut Random) -> [i32; 3] {
        match *self {
            SpawnArea::Box { low, high } => {
                let along = |axis: usize| {
                    let length = (high[axis] - low[axis]) as u32;
                    low[axis] + random.below(length + 1) as i32
                };
                let mut place = [0, 1, 2].map(along);
                place[dimensions..].fill(0);
                place
            }
            SpawnArea::Ball { center, radius } => {
                let within = i64::from(radius) * i64::from(radius);
                // More than half of the box around a ball is in the ball, so this ends soon.
                for _ in 0..SPAWN_TRIES {
                    let mut offset = [0; 3];
                    for axis in &mut offset[..dimensions] {
                        *axis = random.around_zero(radius);
                    }
                    let squares = offset.map(|o| i64::from(o) * i64::from(o));
                    if squares.iter().sum::<i64>() <= within {
                        return std::array::from_fn(|axis| center[axis] + offset[axis]);
                    }
                }
                center
            }
        }
    }
}

/// The seed of the places of births.
pub fn spawn_seed(world_seed: u64) -> u64 {
    mix(world_seed, SALT)
}

const SALT: u64 = 0x0073_7061_776e;
/// How often a place in a ball is tried, before it is the centre.
pub const SPAWN_TRIES: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EntityId, Tick};

    #[test]
    fn births_fill_their_area_and_no_more() {
        let ball = SpawnArea::Ball {
            center: [100, 200, 300],
            radius: 10,
        };
        let cuboid = SpawnArea::Box {
            low: [5, 6, 7],
            high: [5, 9, 8],
        };
        let mut random = Random::new(1, Tick(0), EntityId::new(0, 0));
        let (mut farthest, mut seen) = (0, std::collections::BTreeSet::new());
        for _ in 0..2000 {
            let [x, y, z] = ball.place(3, &mut random);
            let square = (x - 100).pow(2) + (y - 200).pow(2) + (z - 300).pow(2);
            farthest = farthest.max(square);
            seen.insert(cuboid.place(3, &mut random));
            assert_eq!(ball.place(2, &mut random)[2], 300);
        }
        assert!((81..=100).contains(&farthest), "{farthest}");
        assert_eq!(seen.len(), 8);
        assert!(seen.contains(&[5, 6, 7]) && seen.contains(&[5, 9, 8]));
    }
}
