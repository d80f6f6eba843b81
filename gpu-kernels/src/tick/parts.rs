//! Parts: the clients of a world, divided among the GPUs that serve them. Every part has the
//! whole state; interest, hearings and their download are divided.

use std::ops::Range;

use device::cpu::partition_point;

use crate::tick::output::Deliveries;

/// The most parts of a backend.
pub const PARTS_MAX: usize = 16;

/// Where clients are cut into parts: contiguous ranges of client rows, in order.
///
/// They follow the deliveries of earlier ticks, never the time that these took, and make no
/// difference to a tick's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cuts {
    /// The first client row of each part but the first.
    inner: Vec<u32>,
}

impl Cuts {
    /// `parts` is at least one. All clients that there may be are divided evenly.
    pub fn even(clients: u32, parts: usize) -> Cuts {
        let cut = |part: usize| (u64::from(clients) * part as u64 / parts as u64) as u32;
        Cuts {
            inner: (1..parts).map(cut).collect(),
        }
    }

    /// The number of parts.
    pub fn parts(&self) -> usize {
        self.inner.len() + 1
    }

    /// The clients of each part, where rows from `used` on were never used.
    pub fn ranges(&self, used: u32) -> impl Iterator<Item = Range<u32>> + Clone {
        let inner = self.inner.iter().map(move |&cut| cut.min(used));
        let starts = std::iter::once(0).chain(inner.clone());
        let ends = inner.chain(std::iter::once(used));
        starts.zip(ends).map(|(start, end)| start..end)
    }

    /// Moves the cuts to where all parts would have had the same work in a tick, unless they
    /// nearly had.
    pub fn follow(&mut self, deliveries: &Deliveries) {
        let clients = deliveries.clients() as u32;
        if self.inner.is_empty() || clients == 0 {
            return;
        }
        let before = |client: u32| work_before(client, deliveries);
        let (parts, total) = (self.parts() as u64, before(clients));
        let of_part = |range: Range<u32>| before(range.end) - before(range.start);
        let most = self.ranges(clients).map(of_part).max().unwrap_or(0);
        // Each client that moves costs a copy of its known set.
        if most * parts * 100 <= total * (100 + IMBALANCE_PERCENT) {
            return;
        }
        for (part, cut) in (1..).zip(&mut self.inner) {
            let wanted = total * part / parts;
            let is_short = |client| before(client as u32) < wanted;
            *cut = partition_point(clients as usize, is_short) as u32;
        }
    }
}

/// The work of serving all clients before this one, in deliveries.
fn work_before(client: u32, deliveries: &Deliveries) -> u64 {
    let of_segments: u64 = (deliveries.segments.iter())
        .map(|segment| segment.before(client))
        .sum();
    of_segments + CLIENT_WORK * u64::from(client)
}

/// How many deliveries take as long as the search for a client without any.
const CLIENT_WORK: u64 = 16;
/// By how much the part with the most work may exceed the average.
const IMBALANCE_PERCENT: u64 = 4;

#[cfg(test)]
mod tests {
    use device::HostVec;

    use super::*;
    use crate::tick::output::{Delivery, Segment};

    /// The deliveries of a tick in which each client had so many.
    fn served(cuts: &Cuts, counts: &[u32]) -> Deliveries {
        let mut deliveries = Deliveries::default();
        for range in cuts.ranges(counts.len() as u32) {
            let mut offsets = vec![0];
            for client in range.clone() {
                offsets.push(offsets[offsets.len() - 1] + counts[client as usize]);
            }
            let n = offsets[offsets.len() - 1] as usize;
            deliveries.segments.push(Segment {
                first: range.start,
                offsets: offsets.into(),
                items: HostVec::from(vec![Delivery::default(); n]),
            });
        }
        deliveries
    }

    /// The deliveries of each part.
    fn loads(cuts: &Cuts, counts: &[u32]) -> Vec<u32> {
        let parts = cuts.ranges(counts.len() as u32);
        parts
            .map(|part| counts[part.start as usize..part.end as usize].iter().sum())
            .collect()
    }

    #[test]
    fn parts_serve_every_client_once_whatever_the_cuts() {
        for parts in [1, 2, 3, 8] {
            let cuts = Cuts::even(1000, parts);
            for used in [0, 1, 5, 333, 1000] {
                let ranges: Vec<_> = cuts.ranges(used).collect();
                assert_eq!(ranges.len(), parts);
                let clients: Vec<u32> = ranges.into_iter().flatten().collect();
                assert_eq!(clients, (0..used).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_crowd_among_the_last_clients_is_shared_by_all_parts() {
        // A tenth of the clients see a hundred times as much.
        let counts: Vec<u32> = (0..10_000)
            .map(|i| if i < 9000 { 10 } else { 1000 })
            .collect();
        for parts in [2, 3, 8] {
            let mut cuts = Cuts::even(10_000, parts);
            cuts.follow(&served(&cuts, &counts));
            let after = served(&cuts, &counts);
            let work =
                |part: Range<u32>| work_before(part.end, &after) - work_before(part.start, &after);
            let work: Vec<u64> = cuts.ranges(10_000).map(work).collect();
            let average = work.iter().sum::<u64>() / parts as u64;
            let most = work.iter().max().copied();
            assert!(most < Some(average + average / 50), "{parts}: {work:?}");
        }
    }

    #[test]
    fn cuts_stay_where_parts_have_about_the_same_work() {
        let mut cuts = Cuts::even(1000, 2);
        let counts: Vec<u32> = (0..1000).map(|i| if i < 500 { 100 } else { 103 }).collect();
        cuts.follow(&served(&cuts, &counts));
        assert_eq!(cuts, Cuts::even(1000, 2));
    }

    #[test]
    fn the_first_clients_of_a_large_world_are_shared_although_most_rows_are_unused() {
        let mut cuts = Cuts::even(1_000_000, 4);
        cuts.follow(&served(&cuts, &[7; 1000]));
        assert_eq!(loads(&cuts, &[7; 1000]), [1750; 4]);
    }

    #[test]
    fn a_tick_without_clients_moves_nothing() {
        let mut cuts = Cuts::even(1000, 3);
        cuts.follow(&Deliveries::default());
        assert_eq!(cuts, Cuts::even(1000, 3));
    }
}
