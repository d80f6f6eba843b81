use std::fmt;
use std::ops::Range;
use std::time::Duration;

use super::Side;

/// A publication and a subscription that overlap. Ordered by publication, then by
/// subscription.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Pair(u64);

device::plain!(Pair { 0: u64 });

impl Pair {
    pub const fn new(publication: u32, subscription: u32) -> Pair {
        Pair((publication as u64) << 32 | subscription as u64)
    }

    pub const fn publication(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub const fn subscription(self) -> u32 {
        self.0 as u32
    }

    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    pub(super) const fn swapped(self) -> Pair {
        Pair(self.0.rotate_left(32))
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.publication(), self.subscription())
    }
}

/// The changes of a step, in order of the pairs.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a> {
    pub gained: &'a [Pair],
    pub lost: &'a [Pair],
    pub metrics: Metrics,
}

/// How pairs are found. All approaches give the same pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approach {
    /// In each step the approach that is expected to be the fastest.
    #[default]
    Auto,
    /// The paper's region-based approach (III.B): each updated region is compared with
    /// all regions of the other side, in tiles.
    Tiles,
    /// The paper's grid-based approach (III.C): regions are recorded in each grid
    /// cell that they touch.
    Cells,
    /// The updated regions are sorted once, each by its low corner, in a grid of
    /// its size class; all others are looked up there.
    Sorted,
}

impl Approach {
    pub const ALL: [Approach; 4] = [
        Approach::Auto,
        Approach::Tiles,
        Approach::Cells,
        Approach::Sorted,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Approach::Auto => "auto",
            Approach::Tiles => "tiles",
            Approach::Cells => "cells",
            Approach::Sorted => "sorted",
        }
    }
}

/// The result of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Updated publications and subscriptions.
    pub updated: [u32; 2],
    /// Publications and subscriptions after the step.
    pub regions: [u32; 2],
    pub gained: u64,
    pub lost: u64,
    /// The approach that was taken; never [`Approach::Auto`].
    pub approach: Approach,
    /// Why it was taken.
    pub reason: &'static str,
    /// In order: take in, match, order, give out.
    pub stages: [Duration; 4],
}

impl Metrics {
    pub const STAGES: [&'static str; 4] = ["take in", "match", "order", "give out"];
}

/// All pairs that overlap: for each number of one side, the numbers of the other side,
/// in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlaps {
    pub from: Side,
    /// One more than there are numbers.
    offsets: Vec<u32>,
    others: Vec<u32>,
}

impl Overlaps {
    /// From pairs in order, in which the numbers of `from` come first.
    pub(super) fn of_sorted(from: Side, numbers: u32, pairs: &[Pair]) -> Overlaps {
        let mut offsets = Vec::with_capacity(numbers as usize + 1);
        offsets.push(0);
        let mut end = 0;
        for number in 0..numbers {
            while end < pairs.len() && pairs[end].publication() == number {
                end += 1;
            }
            offsets.push(end as u32);
        }
        let others = pairs.iter().map(|pair| pair.subscription()).collect();
        Overlaps {
            from,
            offsets,
            others,
        }
    }

    /// The numbers of the regions that a region overlaps.
    pub fn of(&self, number: u32) -> &[u32] {
        let number = number as usize;
        match self.offsets.get(number..number + 2) {
            Some(&[start, end]) => &self.others[start as usize..end as usize],
            _ => &[],
        }
    }

    /// How many numbers the side has.
    pub fn numbers(&self) -> Range<u32> {
        0..self.offsets.len() as u32 - 1
    }

    /// How many pairs overlap.
    pub fn pairs(&self) -> usize {
        self.others.len()
    }
}
