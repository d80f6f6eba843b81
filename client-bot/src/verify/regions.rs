//! Which regions a bot had in which ticks, according to the answers that it received.

use client_core::Region;
use shared::Tick;

/// A bot's regions over time.
#[derive(Clone, Debug, Default)]
pub struct RegionLog {
    /// First tick, index and region (`None`: given up), oldest first. Each holds until the
    /// next of the same index.
    changes: Vec<(Tick, u32, Option<Region>)>,
}

impl RegionLog {
    /// Notes that a region holds from a tick on. Regions that ended more than `kept_ticks`
    /// ago are forgotten.
    pub fn set(&mut self, tick: Tick, index: u32, region: Option<Region>, kept_ticks: u32) {
        self.changes.push((tick, index, region));
        let is_old = |t: Tick| t.after(kept_ticks) < tick;
        let changes = std::mem::take(&mut self.changes);
        for (i, &change) in changes.iter().enumerate() {
            let replaced = changes[i + 1..].iter().find(|later| later.1 == change.1);
            if !replaced.is_some_and(|later| is_old(later.0)) {
                self.changes.push(change);
            }
        }
    }

    /// The regions that held in every tick from `first` to `last`.
    pub fn throughout(&self, first: Tick, last: Tick) -> impl Iterator<Item = Region> + '_ {
        let changes = self.changes.iter().enumerate();
        changes.filter_map(move |(i, &(from, index, region))| {
            let mut later = self.changes[i + 1..].iter();
            let replaced = later.any(|c| c.1 == index && c.0 <= last);
            region.filter(|_| from <= first && !replaced)
        })
    }

    /// The regions that hold at the end.
    pub fn last(&self) -> Vec<Region> {
        self.throughout(Tick::MAX, Tick::MAX).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_holds_from_its_answer_until_another_takes_its_place() {
        let region = |x| Region::fixed(&[x, 0], &[x + 10, 10]);
        let mut log = RegionLog::default();
        log.set(Tick(10), 0, Some(region(1)), 100);
        log.set(Tick(12), 1, Some(region(2)), 100);
        log.set(Tick(20), 0, None, 100);
        log.set(Tick(20), 1, Some(region(3)), 100);
        let during = |first, last| {
            let all = log.throughout(Tick(first), Tick(last));
            all.map(|r| r.low[0]).collect::<Vec<_>>()
        };
        assert!(during(9, 11).is_empty());
        assert_eq!(during(10, 12), [1]);
        assert_eq!(during(12, 19), [1, 2]);
        assert!(during(12, 20).is_empty());
        assert_eq!(during(20, 25), [3]);
        log.set(Tick(500), 0, Some(region(4)), 100);
        assert_eq!(log.last().len(), 2);
        assert_eq!(log.changes.len(), 3);
    }
}
