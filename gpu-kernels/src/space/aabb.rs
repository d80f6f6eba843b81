use serde::{Deserialize, Serialize};

/// A half-open box in raw units: from `low` to just under `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Aabb<const D: usize> {
    pub low: [i32; D],
    pub high: [i32; D],
}

/// A box of the world: 0 to 1 along axes that the world doesn't have.
pub type Area = Aabb<3>;

impl<const D: usize> Aabb<D> {
    /// The box of something that does not exist. It overlaps no box, and a hull with it is
    /// the other box.
    pub const NOWHERE: Aabb<D> = Aabb {
        low: [i32::MAX; D],
        high: [i32::MIN; D],
    };

    /// Whether this is [`Aabb::NOWHERE`].
    pub fn is_nowhere(&self) -> bool {
        self.low[0] == i32::MAX
    }

    pub fn overlaps(&self, other: &Aabb<D>) -> bool {
        // No early out: the branches would cost more than the comparisons.
        (0..D).fold(true, |all, axis| {
            all & (self.low[axis] < other.high[axis]) & (other.low[axis] < self.high[axis])
        })
    }

    pub fn contains(&self, point: [i32; D]) -> bool {
        (0..D).fold(true, |all, axis| {
            all & (self.low[axis] <= point[axis]) & (point[axis] < self.high[axis])
        })
    }

    /// The smallest box that contains both.
    pub fn hull(&self, other: &Aabb<D>) -> Aabb<D> {
        let mut hull = *self;
        for axis in 0..D {
            hull.low[axis] = hull.low[axis].min(other.low[axis]);
            hull.high[axis] = hull.high[axis].max(other.high[axis]);
        }
        hull
    }

    /// The length along an axis; 0 if it is nowhere.
    pub fn extent(&self, axis: usize) -> u32 {
        match self.is_nowhere() {
            true => 0,
            false => self.high[axis].wrapping_sub(self.low[axis]) as u32,
        }
    }
}

impl Area {
    /// The box of all points within `distance` of a place along each of the first
    /// `dimensions` axes. Coordinates and distance must be below 2^30.
    pub fn around(place: [i32; 3], distance: i32, dimensions: usize) -> Area {
        let along = |axis, at, otherwise| if axis < dimensions { at } else { otherwise };
        Area {
            low: std::array::from_fn(|axis| along(axis, place[axis] - distance, 0)),
            high: std::array::from_fn(|axis| along(axis, place[axis] + distance + 1, 1)),
        }
    }
}

/// An empty box at the origin.
impl<const D: usize> Default for Aabb<D> {
    fn default() -> Aabb<D> {
        Aabb {
            low: [0; D],
            high: [0; D],
        }
    }
}

impl Serialize for Area {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.low, self.high).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Area {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Area, D::Error> {
        <([i32; 3], [i32; 3])>::deserialize(deserializer).map(|(low, high)| Area { low, high })
    }
}
