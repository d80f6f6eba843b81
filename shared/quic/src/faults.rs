//! A bad network on purpose: packets are lost, delayed, overtaken, doubled, held back and
//! queued. The fate of each packet depends on a seed alone.
//!
//! A [`Network`] has a [`Path`] each way. A path has [`Faults`], which may change with time: a
//! trace of a real link. Time is always passed in.

mod network;
mod trace;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub use network::{BUILT_IN, Network, NetworkError};
pub use trace::{Path, TraceError};

/// Faults of packets, one way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// The share that is lost, from 0 to 1.
    pub loss: f64,
    /// The share that arrives twice, from 0 to 1.
    pub duplication: f64,
    /// How long each packet takes at least.
    pub delay: Duration,
    /// Up to this much more, evenly: packets overtake each other.
    pub jitter: Duration,
    /// Packets leave only at multiples of this time, together, as over radio; zero: at once.
    pub bunch: Duration,
    /// Bytes a second that the narrowest part of the path carries; 0: any number.
    pub rate: u32,
    /// How long a packet may wait for that part. One that would wait longer is lost.
    pub buffer: Duration,
    /// A packet that waits longer than this for that part is marked, if its sender reads marks
    /// (ECN), as a router with active queue management does; `None`: no packet is.
    pub marks_after: Option<Duration>,
}

/// Packets of type `P` on their way.
pub struct FaultyPath<P> {
    path: Path,
    random: Xoshiro256PlusPlus,
    /// When the path began, which its changes count from.
    begun: Option<Instant>,
    /// When the narrowest part is through with all that waits for it.
    free: Option<Instant>,
    /// By arrival; the number makes keys unique.
    travelling: BTreeMap<(Instant, u64), P>,
    number: u64,
    /// Marks a packet that has waited long.
    mark: fn(&mut P),
}

impl Faults {
    /// Whether packets arrive as they were sent.
    pub fn is_none(&self) -> bool {
        *self == Faults::default()
    }
}

impl<P: Clone> FaultyPath<P> {
    /// A path for packets that cannot be marked.
    pub fn new(path: impl Into<Path>, seed: u64) -> FaultyPath<P> {
        FaultyPath::marking(path, seed, |_| ())
    }

    /// A path that marks packets that wait long, where its faults say so.
    pub fn marking(path: impl Into<Path>, seed: u64, mark: fn(&mut P)) -> FaultyPath<P> {
        FaultyPath {
            path: path.into(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            begun: None,
            free: None,
            travelling: BTreeMap::new(),
            number: 0,
            mark,
        }
    }

    /// Sends a packet of so many bytes on its way, unless it is lost.
    pub fn push(&mut self, mut packet: P, bytes: usize, now: Instant) {
        let begun = *self.begun.get_or_insert(now);
        let faults = self.path.at(now.saturating_duration_since(begun));
        if self.unit() < faults.loss {
            return;
        }
        let wait = self.wait(&faults, now);
        let Some(sent) = self.wait_for_room(&faults, bytes, begun, now) else {
            return;
        };
        if faults.marks_after.is_some_and(|after| wait > after) {
            (self.mark)(&mut packet);
        }
        if self.unit() < faults.duplication {
            self.travel(packet.clone(), &faults, sent);
        }
        self.travel(packet, &faults, sent);
    }

    /// The next packet that has arrived by now.
    pub fn pop(&mut self, now: Instant) -> Option<P> {
        let first = self.travelling.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// How many packets are on their way.
    pub fn travelling(&self) -> usize {
        self.travelling.len()
    }

    /// When the next packet arrives.
    pub fn next(&self) -> Option<Instant> {
        let (&(arrival, _), _) = self.travelling.first_key_value()?;
        Some(arrival)
    }

    /// How long a packet would wait now for the narrowest part.
    fn wait(&self, faults: &Faults, now: Instant) -> Duration {
        let free = self.free.filter(|_| faults.rate > 0);
        free.map_or(Duration::ZERO, |free| free.saturating_duration_since(now))
    }

    /// When the narrowest part has sent the packet; `None` if that has no room for it.
    fn wait_for_room(
        &mut self,
        faults: &Faults,
        bytes: usize,
        begun: Instant,
        now: Instant,
    ) -> Option<Instant> {
        let mut sent = now;
        if faults.rate > 0 {
            let wait = self.wait(faults, now);
            if wait > faults.buffer {
                return None;
            }
            sent = now + wait + Duration::from_secs_f64(bytes as f64 / f64::from(faults.rate));
            self.free = Some(sent);
        }
        if !faults.bunch.is_zero() {
            let since = sent.saturating_duration_since(begun).as_nanos();
            let bunches = since.div_ceil(faults.bunch.as_nanos());
            let bunches = u32::try_from(bunches).unwrap_or(u32::MAX);
            sent = begun + faults.bunch.saturating_mul(bunches);
        }
        Some(sent)
    }

    fn travel(&mut self, packet: P, faults: &Faults, sent: Instant) {
        let more = faults.jitter.mul_f64(self.unit());
        let arrival = sent + faults.delay + more;
        self.number += 1;
        self.travelling.insert((arrival, self.number), packet);
    }

    /// From 0 to 1, evenly.
    fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn arrivals(faults: Faults, seed: u64, count: u32) -> Vec<u32> {
        let start = Instant::now();
        let mut path = FaultyPath::new(faults, seed);
        for packet in 0..count {
            path.push(packet, 100, start + MS * packet);
        }
        let end = start + Duration::from_secs(3600);
        std::iter::from_fn(|| path.pop(end)).collect()
    }

    #[test]
    fn without_faults_packets_arrive_at_once_and_in_order() {
        let packets: Vec<u32> = (0..50).collect();
        assert_eq!(arrivals(Faults::default(), 1, 50), packets);
        let mut path = FaultyPath::new(Faults::default(), 1);
        let now = Instant::now();
        path.push(7, 100, now);
        assert_eq!(path.pop(now), Some(7));
        assert_eq!(path.next(), None);
    }

    #[test]
    fn a_share_is_lost_and_a_share_arrives_twice_by_the_seed() {
        let faults = Faults {
            loss: 0.1,
            duplication: 0.2,
            ..Faults::default()
        };
        let found = arrivals(faults, 3, 10_000);
        assert_eq!(found, arrivals(faults, 3, 10_000));
        assert_ne!(found, arrivals(faults, 4, 10_000));
        let mut once = found.clone();
        once.dedup();
        assert!((8_800..9_200).contains(&once.len()), "{}", once.len());
        let doubled = found.len() - once.len();
        assert!((1_600..2_000).contains(&doubled), "{doubled}");
    }

    #[test]
    fn packets_take_their_time_and_overtake_each_other() {
        let faults = Faults {
            delay: MS * 20,
            jitter: MS * 50,
            ..Faults::default()
        };
        let found = arrivals(faults, 1, 100);
        assert_eq!(found.len(), 100);
        assert!(!found.is_sorted());
        let start = Instant::now();
        let mut path = FaultyPath::new(faults, 1);
        path.push(1, 100, start);
        assert_eq!(path.pop(start + MS * 19), None);
        assert_eq!(path.pop(start + MS * 70), Some(1));
    }

    #[test]
    fn packets_queue_for_a_narrow_path_and_are_lost_beyond_its_buffer() {
        let faults = Faults {
            rate: 1000,
            buffer: MS * 300,
            ..Faults::default()
        };
        let start = Instant::now();
        let mut path = FaultyPath::new(faults, 1);
        // Each takes 100 ms, and the fifth would wait for 400.
        for packet in 0..5 {
            path.push(packet, 100, start);
        }
        let arrived = |path: &mut FaultyPath<i32>, ms: u32| {
            std::iter::from_fn(|| path.pop(start + MS * ms)).collect::<Vec<_>>()
        };
        assert!(arrived(&mut path, 99).is_empty());
        assert_eq!(arrived(&mut path, 200), [0, 1]);
        assert_eq!(arrived(&mut path, 10_000), [2, 3]);
        path.push(9, 100, start + MS * 10_000);
        assert_eq!(arrived(&mut path, 10_100), [9]);
    }

    #[test]
    fn packets_that_wait_long_are_marked_if_the_path_does_so() {
        let marked = |marks_after| {
            let faults = Faults {
                rate: 1000,
                buffer: MS * 10_000,
                marks_after,
                ..Faults::default()
            };
            let start = Instant::now();
            let mut path = FaultyPath::marking(faults, 1, |packet: &mut (u32, bool)| {
                packet.1 = true;
            });
            // Each takes 100 ms: they wait for 0, 100, 200 and 300.
            for packet in 0..4 {
                path.push((packet, false), 100, start);
            }
            // By then nothing waits.
            path.push((4, false), 100, start + MS * 400);
            let end = start + MS * 10_000;
            let arrived: Vec<_> = std::iter::from_fn(|| path.pop(end)).collect();
            assert_eq!(arrived.len(), 5);
            let marked = arrived.iter().filter(|(_, is_marked)| *is_marked);
            marked.map(|(packet, _)| *packet).collect::<Vec<_>>()
        };
        assert!(marked(None).is_empty());
        assert_eq!(marked(Some(MS * 100)), [2, 3]);
        assert!(marked(Some(MS * 300)).is_empty());
    }

    #[test]
    fn packets_that_are_held_back_arrive_together() {
        let faults = Faults {
            bunch: MS * 40,
            delay: MS * 5,
            ..Faults::default()
        };
        let start = Instant::now();
        let mut path = FaultyPath::new(faults, 1);
        for packet in 0..4 {
            path.push(packet, 100, start + MS * 15 * packet);
        }
        let mut arrived = vec![];
        while let Some(at) = path.next() {
            arrived.push(((at - start).as_millis(), path.pop(at)));
        }
        assert_eq!(
            arrived,
            [(5, Some(0)), (45, Some(1)), (45, Some(2)), (85, Some(3))]
        );
    }
}
