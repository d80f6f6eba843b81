//! What most clients see: all entities near a single observer, fewer than they may see.

use device::cpu::lanes::{Ball, Words};
use shared::InterestMode;

use super::gather::Viewpoint;
use super::{Input, Interest};
use crate::tick::cpu::{Index, prefetch_item};

/// A client's observer, and where the entities near it are in the index.
pub struct Sight {
    pub(super) place: Viewpoint,
    /// Start and end of each row of buckets.
    rows: [(u32, u32); ROWS_MAX],
}

impl Interest {
    /// Looks where a client looks, some clients before it is its turn; `None` if it takes more
    /// than this to find out what it sees.
    pub(super) fn sight(&self, client: usize, input: Input<'_>) -> Option<Sight> {
        let place = self.only_place(client, input)?;
        let mut rows = [(0, 0); ROWS_MAX];
        let mut next = rows.iter_mut();
        let index = input.index;
        index.each_range(place.block(index, self.mode), |range| {
            // The same for all ranges: a branch would wait for where they are.
            let last = range.end.wrapping_sub(1);
            for line in [range.start, range.start + LINE, last] {
                for axis in 0..self.dimensions {
                    prefetch_item(index.positions(axis), line);
                }
                prefetch_item(&self.words, line);
            }
            let row = next
                .next()
                .expect("an observer reaches no farther than a bucket");
            *row = (range.start as u32, range.end as u32);
        });
        Some(Sight { place, rows })
    }

    /// The place of a client's only observer, if the client sees what is near it, and no more.
    pub(super) fn only_place(&self, client: usize, input: Input<'_>) -> Option<Viewpoint> {
        let mut places = self.places(client, input.state);
        let place = places.next()?;
        let is_single = places.next().is_none() && self.margin == 0;
        Some(place).filter(|_| is_single && !self.subscribes(client, input.state))
    }

    /// Finds the words of all entities in sight. False if there are more than the client may
    /// see.
    #[inline]
    pub(super) fn look(&self, sight: &Sight, index: &Index, found: &mut Words) -> bool {
        found.clear();
        match self.dimensions {
            2 => self.look_along::<2>(sight, index, found),
            _ => self.look_along::<3>(sight, index, found),
        }
    }

    fn look_along<const AXES: usize>(
        &self,
        sight: &Sight,
        index: &Index,
        found: &mut Words,
    ) -> bool {
        let radius = i64::from(sight.place.radius);
        let mut center = [0; AXES];
        center.copy_from_slice(&sight.place.center[..AXES]);
        let ball = Ball {
            center,
            radius: match self.mode {
                InterestMode::Exact => radius * radius,
                InterestMode::Buckets => i64::MAX,
            },
            shells: self.tiers,
        };
        let rows = sight
            .rows
            .iter()
            .map(|&(start, end)| start as usize..end as usize);
        for row in rows.filter(|row| !row.is_empty()) {
            let points = index.points::<AXES>(row.clone(), &self.words[row]);
            if !found.add_near(points, &ball) {
                return false;
            }
        }
        true
    }
}

/// The numbers in a line of the cache.
const LINE: usize = 16;
/// An observer reaches no farther than the edge of a bucket, so it touches three along each axis.
const ROWS_MAX: usize = 9;
