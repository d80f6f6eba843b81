//! A bad network on purpose: packets are lost, delayed, overtaken and doubled. What happens
//! to which packet depends on a seed alone.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What happens to packets, each way.
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
}

/// Packets of type `P` on their way.
pub struct FaultyPath<P> {
    faults: Faults,
    random: Xoshiro256PlusPlus,
    /// By arrival; the number makes keys unique.
    travelling: BTreeMap<(Instant, u64), P>,
    number: u64,
}

impl Faults {
    /// Whether packets arrive as they were sent.
    pub fn is_none(&self) -> bool {
        *self == Faults::default()
    }
}

impl<P: Clone> FaultyPath<P> {
    pub fn new(faults: Faults, seed: u64) -> FaultyPath<P> {
        FaultyPath {
            faults,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            travelling: BTreeMap::new(),
            number: 0,
        }
    }

    /// Sends a packet on its way, unless it is lost.
    pub fn push(&mut self, packet: P, now: Instant) {
        if self.unit() < self.faults.loss {
            return;
        }
        if self.unit() < self.faults.duplication {
            self.travel(packet.clone(), now);
        }
        self.travel(packet, now);
    }

    /// The next packet that has arrived by now.
    pub fn pop(&mut self, now: Instant) -> Option<P> {
        let first = self.travelling.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// When the next packet arrives.
    pub fn next(&self) -> Option<Instant> {
        let (&(arrival, _), _) = self.travelling.first_key_value()?;
        Some(arrival)
    }

    fn travel(&mut self, packet: P, now: Instant) {
        let more = self.faults.jitter.mul_f64(self.unit());
        let arrival = now + self.faults.delay + more;
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

    fn arrivals(faults: Faults, seed: u64, count: u32) -> Vec<u32> {
        let start = Instant::now();
        let mut path = FaultyPath::new(faults, seed);
        for packet in 0..count {
            path.push(packet, start + Duration::from_millis(u64::from(packet)));
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
        path.push(7, now);
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
            delay: Duration::from_millis(20),
            jitter: Duration::from_millis(50),
            ..Faults::default()
        };
        let found = arrivals(faults, 1, 100);
        assert_eq!(found.len(), 100);
        assert!(!found.is_sorted());
        let start = Instant::now();
        let mut path = FaultyPath::new(faults, 1);
        path.push(1, start);
        assert_eq!(path.pop(start + Duration::from_millis(19)), None);
        assert_eq!(path.pop(start + Duration::from_millis(70)), Some(1));
    }
}
