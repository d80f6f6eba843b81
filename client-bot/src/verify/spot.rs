//! From where a spectator sees, as far as it can know.

use shared::{Schema, Tick};

use super::sight::squared_distance;

/// The place and the radius of what a spectator sees, in raw units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub place: [i32; 3],
    pub radius: i64,
}

/// Where a spectator's point goes, and until when it is on its way at the latest.
pub struct SpotLog {
    spot: Spot,
    radius_max: i64,
    arrives: Tick,
    step: Option<i32>,
}

impl SpotLog {
    /// The point begins in the middle of the world, and goes so far in a tick at most.
    pub fn new(schema: &Schema, step: Option<i32>) -> SpotLog {
        let radius_max = i64::from(schema.world.aoi.raw());
        SpotLog {
            spot: Spot {
                place: schema.world.size_raw().map(|size| size / 2),
                radius: radius_max,
            },
            radius_max,
            arrives: Tick(0),
            step,
        }
    }

    /// From this tick on, the point goes to another place.
    pub fn go(&mut self, tick: Tick, goal: [i32; 3]) {
        let ticks = match self.step {
            None => 0,
            // From where it is, the way is no longer than by the last goal.
            Some(step) => {
                let way = squared_distance(&self.spot.place, &goal).isqrt() + 1;
                // Steps are rounded down along each axis.
                let step = i64::from(step).saturating_sub(3).max(1);
                u32::try_from(way / step).unwrap_or(u32::MAX)
            }
        };
        let begins = self.arrives.max(tick);
        self.arrives = begins.after(ticks).after(2);
        self.spot.place = goal;
    }

    pub fn see(&mut self, radius: Option<i32>) {
        self.spot.radius = radius.map_or(self.radius_max, i64::from);
    }

    /// From where the spectator sees; `None` while the point may be on its way.
    pub fn at(&self, now: Tick) -> Option<Spot> {
        (now > self.arrives).then_some(self.spot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_has_arrived_once_the_ways_to_all_goals_are_over() {
        let world = world_file::parse("[world]\nsize = [100, 100]\naoi = 10", "test").unwrap();
        let mut log = SpotLog::new(&world.schema, Some(4096));
        let unit = |x: i32| [x * 4096, 50 * 4096, 0];
        log.go(Tick(10), unit(60));
        log.go(Tick(11), unit(50));
        log.see(Some(4096));
        assert_eq!(log.at(Tick(30)), None);
        let spot = Spot {
            place: unit(50),
            radius: 4096,
        };
        assert_eq!(log.at(Tick(36)), Some(spot));
    }
}
