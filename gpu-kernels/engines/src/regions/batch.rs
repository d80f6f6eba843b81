use std::fmt;

use thiserror::Error;

use super::{Bounds, BoundsError, RegionsConfig, Space};
use device::HostVec;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    Publication,
    Subscription,
}

/// A region by its number, which the caller chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region {
    pub side: Side,
    pub number: u32,
}

impl Region {
    /// How many numbers one side has.
    pub const NUMBERS: u32 = 1 << NUMBER_BITS;

    pub const fn publication(number: u32) -> Region {
        Region {
            side: Side::Publication,
            number,
        }
    }

    pub const fn subscription(number: u32) -> Region {
        Region {
            side: Side::Subscription,
            number,
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.side {
            Side::Publication => write!(f, "publication {}", self.number),
            Side::Subscription => write!(f, "subscription {}", self.number),
        }
    }
}

/// The updates of one step, in any order, each region at most once.
///
/// It has the layout in which it is sent to a GPU: per update a word of side, kind and
/// number, then `low` of each dimension, then `high`; 20 bytes in two dimensions. It
/// has room for a fixed number of updates, so that its memory can be locked in place.
pub struct Batch {
    words: HostVec<i32>,
    space: Space,
    capacity: u32,
    updates_max: usize,
    /// By side: how many updates there are, and how many of them are additions.
    updated: [u32; 2],
    added: [u32; 2],
}

/// Why a batch refuses an update.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BatchError {
    #[error("{region}: {error}")]
    Bounds { region: Region, error: BoundsError },
    #[error("{region}: numbers go from 0 to {max}", max = capacity - 1)]
    Number { region: Region, capacity: u32 },
    #[error("{region}: the batch is full with {updates_max} updates")]
    Full { region: Region, updates_max: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Add = 0,
    Modify = 1,
    Remove = 2,
}

impl Batch {
    /// An empty batch with room for so many updates.
    pub fn new(config: &RegionsConfig, updates_max: usize) -> Batch {
        let stride = 1 + 2 * config.space.dimensions().len();
        Batch {
            words: HostVec::from(Vec::with_capacity(updates_max * stride)),
            space: config.space.clone(),
            capacity: config.capacity,
            updates_max,
            updated: [0; 2],
            added: [0; 2],
        }
    }

    /// Adds a new region.
    pub fn add(&mut self, region: Region, bounds: &Bounds) -> Result<(), BatchError> {
        self.push(Kind::Add, region, bounds)
    }

    /// Gives a region another box.
    pub fn modify(&mut self, region: Region, bounds: &Bounds) -> Result<(), BatchError> {
        self.push(Kind::Modify, region, bounds)
    }

    pub fn remove(&mut self, region: Region) -> Result<(), BatchError> {
        self.check(region)?;
        let axes = self.space.dimensions().len();
        self.updated[region.side as usize] += 1;
        self.words.push(header(Kind::Remove, region));
        // The box of a region that is nowhere: no box overlaps it.
        self.words.extend_from_slice(&[i32::MAX; 3][..axes]);
        self.words.extend_from_slice(&[i32::MIN; 3][..axes]);
        Ok(())
    }

    pub fn clear(&mut self) {
        self.words.clear();
        self.updated = [0; 2];
        self.added = [0; 2];
    }

    /// How many updates are in it.
    pub fn len(&self) -> usize {
        self.words.len() / self.stride()
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    fn push(&mut self, kind: Kind, region: Region, bounds: &Bounds) -> Result<(), BatchError> {
        self.check(region)?;
        if let Err(error) = self.space.check(bounds) {
            return Err(BatchError::Bounds { region, error });
        }
        let axes = self.space.dimensions().len();
        self.updated[region.side as usize] += 1;
        self.added[region.side as usize] += u32::from(kind == Kind::Add);
        self.words.push(header(kind, region));
        self.words.extend_from_slice(&bounds.low[..axes]);
        self.words.extend_from_slice(&bounds.high[..axes]);
        Ok(())
    }

    fn check(&self, region: Region) -> Result<(), BatchError> {
        if region.number >= self.capacity {
            let capacity = self.capacity;
            return Err(BatchError::Number { region, capacity });
        }
        if self.len() == self.updates_max {
            let updates_max = self.updates_max;
            return Err(BatchError::Full {
                region,
                updates_max,
            });
        }
        Ok(())
    }

    fn stride(&self) -> usize {
        1 + 2 * self.space.dimensions().len()
    }

    pub(super) fn words(&self) -> &HostVec<i32> {
        &self.words
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(super) fn updated(&self) -> [u32; 2] {
        self.updated
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(super) fn added(&self) -> [u32; 2] {
        self.added
    }

    pub(super) fn is_for(&self, config: &RegionsConfig) -> bool {
        self.space == config.space && self.capacity <= config.capacity
    }
}

fn header(kind: Kind, region: Region) -> i32 {
    let side = (region.side as u32) << 31;
    (side | (kind as u32) << NUMBER_BITS | region.number) as i32
}

/// The kind and the region of an update's first word.
pub(super) fn parse(header: i32) -> (Kind, Region) {
    let bits = header as u32;
    let kind = match bits >> NUMBER_BITS & 3 {
        0 => Kind::Add,
        1 => Kind::Modify,
        _ => Kind::Remove,
    };
    let side = match bits >> 31 {
        0 => Side::Publication,
        _ => Side::Subscription,
    };
    let number = bits & (Region::NUMBERS - 1);
    (kind, Region { side, number })
}

const NUMBER_BITS: u32 = 29;
