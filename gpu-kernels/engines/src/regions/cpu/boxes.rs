use gpu_kernels::space::Aabb;

use crate::regions::Pair;

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
    /// Whether all regions count as new.
    pub all_new: bool,
    /// The numbers of the updated regions, in order.
    pub updated: &'a [u32],
    /// Stamps by number, and the step: regions with its stamp are updated. `None`: all
    /// are.
    pub stamps: Option<(&'a [u32], u32)>,
    /// How many regions exist and are not updated.
    pub still: usize,
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
