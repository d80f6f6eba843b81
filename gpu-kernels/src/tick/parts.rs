//! Parts: the clients of a world, divided among the GPUs that serve them. Every part has the
//! whole state; interest, hearings and their download are divided.

use std::ops::Range;

use device::cpu::partition_point;
use shared::Tick;

use crate::tick::output::Deliveries;

/// The most parts of a backend.
pub const PARTS_MAX: usize = 16;

/// Where clients are cut into parts: contiguous ranges of client rows, in order.
///
/// They follow what clients saw and were sent in earlier ticks, never the time that this took,
/// and make no difference to what a tick gives back.
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

    /// Whether cuts follow this tick. Not each one: what clients see changes slowly, and costs
    /// the host time to sum up.
    pub fn follow_after(tick: Tick) -> bool {
        (tick.0 + 1).is_multiple_of(FOLLOW_TICKS)
    }

    /// Moves the cuts to where all parts would have had the same work in a tick, unless they
    /// nearly had. `views` are those of the clients in order; empty where none are limited.
    pub fn follow(&mut self, deliveries: &Deliveries, views: &[Views]) {
        let clients = deliveries.clients() as u32;
        if self.inner.is_empty() || clients == 0 {
            return;
        }
        let before = |client: u32| work_before(client, deliveries, views);
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

/// The work of finding what some consecutive clients see, summed up by blocks of them.
#[derive(Clone, Debug)]
pub struct Views {
    /// The first client row.
    first: u32,
    /// The work of all blocks before each one, and of all.
    before: Vec<u64>,
}

impl Views {
    /// `seen` are the numbers of entities that clients see from row `first` on, each at most
    /// `visible_max`.
    pub fn of(first: u32, seen: &[u32], visible_max: u32) -> Views {
        let mut before = Vec::with_capacity(seen.len() / BLOCK + 2);
        before.push(0);
        let mut sum = 0;
        for block in seen.chunks(BLOCK) {
            let all: u32 = block.iter().sum();
            let full: u32 = block.iter().map(|&n| u32::from(n == visible_max)).sum();
            sum += u64::from(all) + FULL_VIEW_WORK * u64::from(full) * u64::from(visible_max);
            before.push(sum);
        }
        Views { first, before }
    }

    /// The work for those before this client; within a block all count alike.
    fn before(&self, client: u32) -> u64 {
        let place = client.saturating_sub(self.first) as usize;
        let (block, inside) = (place / BLOCK, (place % BLOCK) as u64);
        match self.before.get(block..block + 2) {
            Some(work) => work[0] + (work[1] - work[0]) * inside / BLOCK as u64,
            None => self.before.last().copied().unwrap_or(0),
        }
    }
}

/// The work of serving all clients before this one, in deliveries.
fn work_before(client: u32, deliveries: &Deliveries, views: &[Views]) -> u64 {
    let segments = deliveries.segments.iter();
    let delivered: u64 = segments.map(|segment| segment.before(client)).sum();
    let seen: u64 = views.iter().map(|views| views.before(client)).sum();
    delivered + seen + CLIENT_WORK * u64::from(client)
}

/// How many deliveries take as long as the search for a client without any.
const CLIENT_WORK: u64 = 16;
/// How many deliveries take as long as each entity of a full view, which has been chosen of many
/// more. Measured on an H200 without the download: a client that sees 27 of 64 at most takes
/// 3.1 ns (`benches fight`), one with 256 of 50,000 takes 470 ns (`benches crowd`).
const FULL_VIEW_WORK: u64 = 32;
const BLOCK: usize = 256;
const FOLLOW_TICKS: u64 = 8;
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
            cuts.follow(&served(&cuts, &counts), &[]);
            let after = served(&cuts, &counts);
            let work = |part: Range<u32>| {
                work_before(part.end, &after, &[]) - work_before(part.start, &after, &[])
            };
            let work: Vec<u64> = cuts.ranges(10_000).map(work).collect();
            let average = work.iter().sum::<u64>() / parts as u64;
            let most = work.iter().max().copied();
            assert!(most < Some(average + average / 50), "{parts}: {work:?}");
        }
    }

    #[test]
    fn a_crowd_that_stands_still_is_shared_although_nothing_is_delivered() {
        let (clients, visible_max) = (10_000, 256);
        // The last quarter see as much as they can, of many more.
        let seen: Vec<u32> = (0..clients)
            .map(|i| if i < 7500 { 20 } else { visible_max })
            .collect();
        for parts in [2, 3, 8] {
            let mut cuts = Cuts::even(clients, parts);
            let views = |cuts: &Cuts| -> Vec<Views> {
                let of = |range: Range<u32>| {
                    let own = &seen[range.start as usize..range.end as usize];
                    Views::of(range.start, own, visible_max)
                };
                cuts.ranges(clients).map(of).collect()
            };
            let still = served(&cuts, &vec![0; clients as usize]);
            cuts.follow(&still, &views(&cuts));
            let crowded = |range: Range<u32>| range.end.saturating_sub(range.start.max(7500));
            let crowded: Vec<u32> = cuts.ranges(clients).map(crowded).collect();
            let average = 2500 / parts as u32;
            let is_near = |&n: &u32| n.abs_diff(average) <= average / 10;
            assert!(crowded.iter().all(is_near), "{parts}: {crowded:?}");
        }
    }

    #[test]
    fn work_within_a_block_of_views_is_spread_evenly() {
        let views = Views::of(100, &[8; 300], 64);
        let before = [0, 100, 101, 228, 356, 400, 1000].map(|client| views.before(client));
        assert_eq!(before, [0, 0, 8, 1024, 2048, 2108, 2400]);
    }

    #[test]
    fn cuts_stay_where_parts_have_about_the_same_work() {
        let mut cuts = Cuts::even(1000, 2);
        let counts: Vec<u32> = (0..1000).map(|i| if i < 500 { 100 } else { 103 }).collect();
        cuts.follow(&served(&cuts, &counts), &[]);
        assert_eq!(cuts, Cuts::even(1000, 2));
    }

    #[test]
    fn the_first_clients_of_a_large_world_are_shared_although_most_rows_are_unused() {
        let mut cuts = Cuts::even(1_000_000, 4);
        cuts.follow(&served(&cuts, &[7; 1000]), &[]);
        assert_eq!(loads(&cuts, &[7; 1000]), [1750; 4]);
    }

    #[test]
    fn a_tick_without_clients_moves_nothing() {
        let mut cuts = Cuts::even(1000, 3);
        cuts.follow(&Deliveries::default(), &[]);
        assert_eq!(cuts, Cuts::even(1000, 3));
    }
}
