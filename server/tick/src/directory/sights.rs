//! Clients' radii of sight, and the points that spectators watch. Without I/O and without a clock.

use std::collections::{BTreeMap, HashMap};

use durability::roster::Sight;
use shared::world::config::Spectators;
use shared::{ClientRow, WorldConfig};
use thiserror::Error;

/// Deviations from the world's rule, by which a client sees the area of interest around its entity.
pub struct Sights {
    spectators: Option<Spectators>,
    size: [i32; 3],
    /// Where spectators begin.
    middle: [i32; 3],
    aoi: i32,
    /// Clients with a smaller radius.
    radii: HashMap<ClientRow, i32>,
    /// The points of spectators.
    points: HashMap<ClientRow, [i32; 3]>,
    /// The goals of moving points.
    goals: BTreeMap<ClientRow, [i32; 3]>,
}

/// Why a request for sight is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SightError {
    #[error(
        "a sight of {found} raw units; expected 0 to {aoi}, the radius of the area of interest"
    )]
    Radius { found: i32, aoi: i32 },
    #[error("only spectators watch a point; others see from where their entity is")]
    NoSpectator,
}

impl Sights {
    pub fn new(config: &WorldConfig) -> Sights {
        let mut home = config.size_raw();
        if !config.schema.atlas.is_empty() {
            home[..2].copy_from_slice(&config.schema.atlas.size);
        }
        Sights {
            spectators: config.spectators,
            size: config.size_raw(),
            middle: home.map(|size| size / 2),
            aoi: config.schema.world.aoi.raw(),
            radii: HashMap::new(),
            points: HashMap::new(),
            goals: BTreeMap::new(),
        }
    }

    pub fn may_spectate(&self) -> bool {
        self.spectators.is_some()
    }

    /// Adds a spectator: it begins in the middle of the world, without its planes.
    pub fn add_spectator(&mut self, client: ClientRow) {
        self.points.insert(client, self.middle);
    }

    /// The point that a spectator watches; `None` for others.
    pub fn point(&self, client: ClientRow) -> Option<[i32; 3]> {
        self.points.get(&client).copied()
    }

    /// A client's radius of sight.
    pub fn radius(&self, client: ClientRow) -> i32 {
        self.radii.get(&client).copied().unwrap_or(self.aoi)
    }

    pub fn set_radius(&mut self, client: ClientRow, radius: Option<i32>) -> Result<(), SightError> {
        match radius {
            None => self.radii.remove(&client),
            Some(radius) if (0..=self.aoi).contains(&radius) => self.radii.insert(client, radius),
            Some(found) => {
                return Err(SightError::Radius {
                    found,
                    aoi: self.aoi,
                });
            }
        };
        Ok(())
    }

    /// Sets the goal of a spectator's point, clamped to the world.
    pub fn go(&mut self, client: ClientRow, point: [i32; 3]) -> Result<(), SightError> {
        if !self.points.contains_key(&client) {
            return Err(SightError::NoSpectator);
        }
        let goal = [0, 1, 2].map(|axis| point[axis].clamp(0, self.size[axis] - 1));
        self.goals.insert(client, goal);
        Ok(())
    }

    /// Moves all points towards their goals by a tick's step, and returns them.
    pub fn move_points(&mut self) -> Vec<(ClientRow, [i32; 3])> {
        let step_max = self.spectators.and_then(|s| s.step_max);
        let mut moved = vec![];
        let points = &mut self.points;
        self.goals.retain(|client, goal| {
            let Some(point) = points.get_mut(client) else {
                return false;
            };
            *point = match step_max {
                Some(step_max) => step_towards(*point, *goal, step_max),
                None => *goal,
            };
            moved.push((*client, *point));
            *point != *goal
        });
        moved
    }

    /// A client's sight for the journal; a moving point counts as arrived.
    pub fn saved(&self, client: ClientRow) -> Sight {
        let goal = self.goals.get(&client).or(self.points.get(&client));
        Sight {
            radius: self.radii.get(&client).copied(),
            point: goal.copied(),
        }
    }

    /// Restores a client's sight.
    pub fn restore(&mut self, client: ClientRow, sight: &Sight) {
        if let Some(radius) = sight.radius {
            self.radii.insert(client, radius.clamp(0, self.aoi));
        }
        if let Some(point) = sight.point {
            self.points.insert(client, point);
        }
    }

    /// Stops a spectator's point while its client is away.
    pub fn stop(&mut self, client: ClientRow) {
        self.goals.remove(&client);
    }

    pub fn forget(&mut self, client: ClientRow) {
        self.radii.remove(&client);
        self.points.remove(&client);
        self.goals.remove(&client);
    }
}

/// A point that is at most a step nearer to its goal.
fn step_towards(from: [i32; 3], goal: [i32; 3], step_max: i32) -> [i32; 3] {
    let way = [0, 1, 2].map(|axis| i64::from(goal[axis]) - i64::from(from[axis]));
    let square: i128 = way.iter().map(|way| i128::from(*way).pow(2)).sum();
    let step = i128::from(step_max);
    if square <= step * step {
        return goal;
    }
    // Rounded up, so that no step is too long.
    let distance = square.isqrt() + 1;
    [0, 1, 2].map(|axis| {
        let along = i128::from(way[axis]) * step / distance;
        from[axis].saturating_add(i32::try_from(along).unwrap_or(0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: i32 = 4096;

    fn sights(rules: &str) -> Sights {
        let text = format!("[world]\nsize = [100, 60]\naoi = 10\n{rules}");
        Sights::new(&world_file::parse(&text, "test").unwrap())
    }

    #[test]
    fn a_point_goes_no_faster_than_the_world_allows_and_stays_inside() {
        let mut sights = sights("[spectators]\nallowed = true\nspeed_max = 50");
        let client = ClientRow(3);
        sights.add_spectator(client);
        assert_eq!(sights.point(client), Some([50 * UNIT, 30 * UNIT, 0]));
        sights.go(client, [53 * UNIT, 34 * UNIT, 7]).unwrap();
        let moved = sights.move_points();
        assert_eq!(moved, [(client, [53 * UNIT, 34 * UNIT, 0])]);
        assert!(sights.move_points().is_empty());
        sights.go(client, [i32::MIN, 34 * UNIT, 0]).unwrap();
        for tick in 1..=10 {
            let moved = sights.move_points()[0].1[0];
            assert!(moved >= (53 - 5 * tick) * UNIT, "tick {tick}");
        }
        let ticks = std::iter::from_fn(|| sights.move_points().first().copied());
        assert_eq!(ticks.last(), Some((client, [0, 34 * UNIT, 0])));
    }

    #[test]
    fn a_point_without_a_speed_is_anywhere_at_once() {
        let mut sights = sights("[spectators]\nallowed = true");
        sights.add_spectator(ClientRow(0));
        sights.go(ClientRow(0), [i32::MAX; 3]).unwrap();
        let corner = [100 * UNIT - 1, 60 * UNIT - 1, 0];
        assert_eq!(sights.move_points(), [(ClientRow(0), corner)]);
    }

    #[test]
    fn a_sight_is_at_most_the_area_of_interest() {
        let mut sights = sights("");
        let client = ClientRow(1);
        let error = sights.set_radius(client, Some(10 * UNIT + 1));
        assert!(matches!(error, Err(SightError::Radius { .. })));
        sights.set_radius(client, Some(UNIT)).unwrap();
        assert_eq!(sights.radius(client), UNIT);
        sights.set_radius(client, None).unwrap();
        assert_eq!(sights.radius(client), 10 * UNIT);
        assert_eq!(sights.go(client, [0; 3]), Err(SightError::NoSpectator));
        assert!(!sights.may_spectate());
    }
}
