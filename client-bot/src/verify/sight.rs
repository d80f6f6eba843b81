//! The range of sight of a world's clients, by its schema.

use client_core::Region;
use shared::Schema;
use shared::world::schema::KindRegions;

/// The range of sight in a world.
pub struct Sight {
    dimensions: usize,
    /// The radius of the area of interest, in raw units.
    radius: i64,
    /// By how much entities in view count as nearer, in raw units.
    margin: i64,
    /// By kind: the regions that its entities carry.
    carried: Vec<KindRegions>,
}

/// An entity's kind and place.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    pub kind: u16,
    pub place: &'a [i32],
}

/// A half-open box: low and high corner by axis.
type Corners = [[i64; 2]; 3];

impl Sight {
    pub fn new(schema: &Schema) -> Sight {
        Sight {
            dimensions: schema.dimensions(),
            radius: i64::from(schema.world.aoi.raw()),
            margin: i64::from(schema.world.leave_margin()),
            carried: schema.kinds.iter().map(|kind| kind.regions).collect(),
        }
    }

    /// Whether clients of any kind of entity subscribe to a box around it.
    pub fn any_subscribes(&self) -> bool {
        self.carried.iter().any(|kind| kind.subscribes.is_some())
    }

    /// How far clients see.
    pub fn radius(&self) -> i64 {
        self.radius
    }

    /// Whether entities in view count as nearer, so that room in a view depends on the past.
    pub fn has_margin(&self) -> bool {
        self.margin > 0
    }

    /// Whether an entity stays in view once it is: it leaves farther away than it enters.
    pub fn may_stay(&self, radius: i64, own: &[i32], other: &[i32]) -> bool {
        let reach = radius + self.margin;
        self.has_margin() && squared_distance(own, other) <= reach * reach
    }

    /// The square of the distance as which that of an entity in view counts, where entities
    /// compete for room. Rounded down.
    pub fn counted(&self, squared_distance: i64) -> i64 {
        let counts = squared_distance.max(0).isqrt() - self.margin;
        match self.margin {
            0 => squared_distance,
            _ => counts.max(0).pow(2),
        }
    }

    /// Whether the client of an entity, or a spectator, which has no kind, sees another entity:
    /// within this radius, or published in one of the client's regions, or in the one that its
    /// entity carries. Each region comes with the place of the entity that it follows.
    pub fn sees(
        &self,
        own: Placed<'_>,
        radius: i64,
        regions: &[(Region, Option<&[i32]>)],
        other: Placed<'_>,
    ) -> bool {
        let subscribed = regions
            .iter()
            .map(|(region, at)| self.corners(region.low, region.high, *at));
        let carried = self.carried(own, |kind| kind.subscribes);
        let position = self.corners([0; 3], [1; 3], Some(other.place));
        let publication = self.carried(other, |kind| kind.publishes);
        squared_distance(own.place, other.place) <= radius * radius
            || subscribed.chain(carried).any(|subscription| {
                overlap(&subscription, &position)
                    || publication.is_some_and(|box_| overlap(&subscription, &box_))
            })
    }

    /// A box that an entity carries.
    fn carried(
        &self,
        entity: Placed<'_>,
        which: impl Fn(&KindRegions) -> Option<[i32; 3]>,
    ) -> Option<Corners> {
        let edges = which(self.carried.get(usize::from(entity.kind))?)?;
        let low = edges.map(|edge| -(edge / 2));
        let high = edges.map(|edge| edge - edge / 2);
        Some(self.corners(low, high, Some(entity.place)))
    }

    fn corners(&self, low: [i32; 3], high: [i32; 3], at: Option<&[i32]>) -> Corners {
        let mut corners = [[0, 1]; 3];
        for (axis, corners) in corners.iter_mut().enumerate().take(self.dimensions) {
            let at = at.map_or(0, |at| i64::from(at[axis]));
            *corners = [low[axis], high[axis]].map(|corner| i64::from(corner) + at);
        }
        corners
    }
}

/// Whether boxes overlap. Boxes that only touch don't.
fn overlap(a: &Corners, b: &Corners) -> bool {
    a.iter().zip(b).all(|(a, b)| a[0] < b[1] && b[0] < a[1])
}

pub fn squared_distance(a: &[i32], b: &[i32]) -> i64 {
    let along = |(a, b): (&i32, &i32)| (i64::from(*a) - i64::from(*b)).pow(2);
    a.iter().zip(b).map(along).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(text: &str) -> Sight {
        Sight::new(&world_file::parse(text, "a test's world").unwrap().schema)
    }

    fn at(kind: u16, place: &[i32]) -> Placed<'_> {
        Placed { kind, place }
    }

    const UNIT: i32 = 4096;

    #[test]
    fn what_is_published_where_a_client_subscribes_is_seen() {
        let sight = sight(
            "[world]\nsize = [100, 100]\naoi = 10\n\
             [[kind]]\nname = \"owl\"\nsubscribes = [60, 60]\n\
             [[kind]]\nname = \"tower\"\npublishes = [21, 1]\n\
             [[kind]]\nname = \"mouse\"",
        );
        let place = |x: i32| [x * UNIT, 50 * UNIT];
        let (own, radius) = (place(50), sight.radius());
        let seen =
            |own_kind, kind, x| sight.sees(at(own_kind, &own), radius, &[], at(kind, &place(x)));
        // The owl's box goes up to 80; the tower's goes 10.5 to both sides.
        assert!(seen(0, 2, 79) && !seen(0, 2, 80));
        assert!(seen(0, 1, 90) && !seen(0, 1, 91));
        assert!(!seen(2, 1, 65), "nothing is subscribed to");
        let region = Region::fixed(&place(70), &[75 * UNIT, 51 * UNIT]);
        let regions = [(region, None)];
        let mouse = |x| sight.sees(at(2, &own), radius, &regions, at(1, &place(x)));
        assert!(mouse(85) && !mouse(86));
    }
}
