//! Which checkpoints and segments are not needed any more.

use std::io;

use crate::checkpoint;
use crate::disk::Disk;
use crate::segment;

/// Checkpoints that are known to be good: the one with which the world continued, and those that
/// were written since.
#[derive(Clone, Debug)]
pub struct GoodCheckpoints(Vec<u64>);

impl GoodCheckpoints {
    pub fn new(first: u64) -> GoodCheckpoints {
        GoodCheckpoints(vec![first])
    }

    /// A checkpoint is written.
    pub fn note(&mut self, tick: u64) {
        // The one of a stop may be of the same tick as the one before.
        self.0.retain(|&good| good != tick);
        self.0.push(tick);
        let old = self.0.len().saturating_sub(CHECKPOINTS_KEPT);
        self.0.drain(..old);
    }

    /// Removes the other checkpoints, and the segments that are older than these.
    pub fn remove_others(&self, disk: &impl Disk) -> io::Result<()> {
        let &[first, .., last] = &*self.0 else {
            return Ok(());
        };
        for tick in checkpoint::ticks(disk)? {
            if tick < last && !self.0.contains(&tick) {
                disk.remove(&checkpoint::name_of(tick))?;
            }
        }
        let segments = segment::segments(disk)?;
        for pair in segments.windows(2) {
            if pair[1].first <= first {
                disk.remove(&pair[0].to_string())?;
            }
        }
        Ok(())
    }
}

/// The newest one may be damaged.
const CHECKPOINTS_KEPT: usize = 2;
