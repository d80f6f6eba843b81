use crate::regions::Pair;

/// A half-open box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aabb<const D: usize> {
    pub low: [i32; D],
    pub high: [i32; D],
}

/// A region's boxes before a step and after it.
#[derive(Clone, Copy, Debug)]
pub struct Motion<const D: usize> {
    pub before: Aabb<D>,
    pub now: Aabb<D>,
}

/// Pairs that a step changed, in the order in which they were found.
#[derive(Debug, Default)]
pub struct Hits {
    pub gained: Vec<Pair>,
    pub lost: Vec<Pair>,
}

/// One side of a step.
#[derive(Clone, Copy)]
pub struct SideView<'a, const D: usize> {
    /// By number.
    pub motions: &'a [Motion<D>],
    /// Whether all are taken to have been nowhere before.
    pub all_new: bool,
    /// The numbers of the updated regions, in order.
    pub updated: &'a [u32],
    /// Regions with this stamp are updated; where there is none, all are.
    pub stamps: Option<(&'a [u32], u32)>,
    /// How many regions are there and not updated.
    pub still: usize,
}

impl<const D: usize> Aabb<D> {
    /// The box of a region that isn't there: it overlaps none, and adds nothing to
    /// a hull.
    pub const NOWHERE: Aabb<D> = Aabb {
        low: [i32::MAX; D],
        high: [i32::MIN; D],
    };

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

    pub fn hull(&self, other: &Aabb<D>) -> Aabb<D> {
        let mut hull = *self;
        for axis in 0..D {
            hull.low[axis] = hull.low[axis].min(other.low[axis]);
            hull.high[axis] = hull.high[axis].max(other.high[axis]);
        }
        hull
    }

    /// Its length on one axis; 0 where it is nowhere.
    pub fn extent(&self, axis: usize) -> u32 {
        match self.is_nowhere() {
            true => 0,
            false => self.high[axis].wrapping_sub(self.low[axis]) as u32,
        }
    }
}

impl<const D: usize> Motion<D> {
    pub const NOWHERE: Motion<D> = Motion {
        before: Aabb::NOWHERE,
        now: Aabb::NOWHERE,
    };

    /// Whether the regions overlap now and did not before, or the other way round.
    pub fn change(&self, other: &Motion<D>) -> Option<bool> {
        let now = self.now.overlaps(&other.now);
        (now != self.before.overlaps(&other.before)).then_some(now)
    }
}

impl<const D: usize> SideView<'_, D> {
    pub fn motion(&self, number: u32) -> Motion<D> {
        let mut motion = self.motions[number as usize];
        if self.all_new {
            motion.before = Aabb::NOWHERE;
        }
        motion
    }

    pub fn is_updated(&self, number: u32) -> bool {
        match self.stamps {
            Some((stamps, step)) => stamps[number as usize] == step,
            None => true,
        }
    }

    /// How many regions there are, now or before.
    pub fn regions(&self) -> usize {
        self.updated.len() + self.still
    }
}
