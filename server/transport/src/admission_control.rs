//! Bounds on connections before their hello: how many, and for how long. A handshake costs the
//! server some hundred microseconds and 30 KB, and the client next to nothing.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use accounts::network::Network;
use platform::rate_limit::RateLimit;

/// The pending connections of a shard, or of another port: those without a hello.
#[derive(Debug)]
pub struct AdmissionControl {
    pending_max: usize,
    next: PendingId,
    /// Those that are not evicted, by network, with the time of their first packet, oldest first.
    staying: HashMap<Network, VecDeque<(PendingId, Instant)>>,
    staying_count: usize,
    /// Evicted ones that are not closed yet.
    evicted: HashSet<PendingId>,
    /// Connections with unvalidated addresses; `None`: none yet.
    unvalidated: Option<RateLimit<Instant>>,
}

/// The number of a pending connection. Later ones have higher numbers.
pub type PendingId = u64;

/// The decision on a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionDecision {
    Accept(PendingId),
    /// Validate the address with a Retry packet first (RFC 9000, section 8.1).
    Retry,
    /// No room.
    Refuse,
}

impl Default for AdmissionControl {
    /// The admission control of a shard.
    fn default() -> AdmissionControl {
        AdmissionControl::new(PENDING_MAX)
    }
}

impl AdmissionControl {
    /// At most this many pending connections, evicted ones included. A quarter may have
    /// unvalidated addresses; half may come from one network; beyond three quarters, each new
    /// one evicts one. Evicted ones are closed some milliseconds later, and count until then.
    pub fn new(pending_max: usize) -> AdmissionControl {
        AdmissionControl {
            pending_max,
            next: 0,
            staying: HashMap::new(),
            staying_count: 0,
            evicted: HashSet::new(),
            unvalidated: None,
        }
    }

    /// Decides on a new connection. When full, evicts the pending connection that has been idle
    /// longest, if idle for at least `HELLO_USUAL`: a client sends its hello as soon as it can.
    /// Refuses the new one if all are younger: then many clients connect at once, and retry.
    pub fn admit(
        &mut self,
        address: SocketAddr,
        is_validated: bool,
        now: Instant,
    ) -> AdmissionDecision {
        let network = Network::of(address.ip());
        let (pending, pending_max) = (self.pending(), self.pending_max);
        if pending >= pending_max {
            return AdmissionDecision::Refuse;
        }
        if !is_validated && (pending >= pending_max / 4 || !self.is_within_rate(now)) {
            return AdmissionDecision::Retry;
        }
        let own = self.staying.get(&network).map_or(0, VecDeque::len);
        let has_room = if own >= pending_max / 2 {
            self.evict_from(network, now)
        } else if self.staying_count >= pending_max / 4 * 3 {
            let largest = self.largest();
            largest.is_some_and(|largest| self.evict_from(largest, now))
        } else {
            true
        };
        if !has_room {
            return AdmissionDecision::Refuse;
        }
        let id = self.next;
        self.next += 1;
        self.staying_count += 1;
        let entries = self.staying.entry(network).or_default();
        entries.push_back((id, now));
        AdmissionDecision::Accept(id)
    }

    /// Whether the rate of connections with unvalidated addresses is below its limit. First packets
    /// with spoofed addresses cost handshakes, and answers that hit others.
    fn is_within_rate(&mut self, now: Instant) -> bool {
        let limit = self.unvalidated.get_or_insert(RateLimit::new(now));
        let at_once = UNVALIDATED_INTERVAL * UNVALIDATED_BURST;
        limit.take(UNVALIDATED_INTERVAL, now, at_once)
    }

    /// The network with the most pending connections; of equal ones, the one with the oldest.
    fn largest(&self) -> Option<Network> {
        let largest = self
            .staying
            .iter()
            .max_by_key(|(_, entries)| (entries.len(), Reverse(entries.front())));
        largest.map(|(&network, _)| network)
    }

    /// Evicts the oldest pending connection of a network; false if that is younger than
    /// `HELLO_USUAL`.
    fn evict_from(&mut self, network: Network, now: Instant) -> bool {
        let first = self.staying.get(&network).and_then(VecDeque::front);
        match first {
            Some(&(first, since)) if now.saturating_duration_since(since) >= HELLO_USUAL => {
                self.remove(first, network);
                self.evicted.insert(first);
                true
            }
            _ => false,
        }
    }

    /// A pending connection has sent its hello, or has ended. `address` is the one that it was
    /// admitted with.
    pub fn leave(&mut self, id: PendingId, address: SocketAddr) {
        if self.evicted.remove(&id) {
            return;
        }
        self.remove(id, Network::of(address.ip()));
    }

    /// Removes one that is not evicted.
    fn remove(&mut self, id: PendingId, network: Network) {
        if let Some(entries) = self.staying.get_mut(&network)
            && let Ok(at) = entries.binary_search_by_key(&id, |(id, _)| *id)
        {
            entries.remove(at);
            self.staying_count -= 1;
            if entries.is_empty() {
                self.staying.remove(&network);
            }
        }
    }

    /// Whether this connection was evicted, and is to be closed.
    pub fn is_evicted(&self, id: PendingId) -> bool {
        self.evicted.contains(&id)
    }

    /// The number of evicted connections that are not closed yet.
    pub fn evicted(&self) -> usize {
        self.evicted.len()
    }

    /// The number of pending connections.
    pub fn pending(&self) -> usize {
        self.staying_count + self.evicted.len()
    }
}

/// From the first packet to the hello.
pub const HELLO_WAIT: Duration = Duration::from_secs(5);
/// After this time without a hello, a connection may be evicted. A client needs far less, even on a
/// busy server.
const HELLO_USUAL: Duration = Duration::from_secs(1);
/// Pending connections of a shard: 30 MB.
pub const PENDING_MAX: usize = 1024;
/// The burst of connections with unvalidated addresses; the rate is 500 a second.
const UNVALIDATED_BURST: u32 = 512;
const UNVALIDATED_INTERVAL: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    const PENDING_UNVALIDATED_MAX: usize = PENDING_MAX / 4;
    const STAYING_MAX: usize = PENDING_MAX / 4 * 3;
    const STAYING_OF_NETWORK_MAX: usize = PENDING_MAX / 2;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn enter(control: &mut AdmissionControl, address: SocketAddr, now: Instant) -> PendingId {
        match control.admit(address, true, now) {
            AdmissionDecision::Accept(id) => id,
            answer => panic!("{answer:?}"),
        }
    }

    #[test]
    fn more_pending_connections_need_validated_addresses() {
        let (mut control, now) = (AdmissionControl::default(), Instant::now());
        let client = |i: usize| address(&format!("10.0.{}.{}:1", i / 256, i % 256));
        for i in 0..PENDING_UNVALIDATED_MAX {
            let id = i as PendingId;
            assert_eq!(
                control.admit(client(i), false, now),
                AdmissionDecision::Accept(id)
            );
        }
        let other = address("10.9.9.9:1");
        assert_eq!(control.admit(other, false, now), AdmissionDecision::Retry);
        enter(&mut control, other, now);
        control.leave(0, client(0));
        assert_eq!(control.admit(other, false, now), AdmissionDecision::Retry);
        control.leave(1, client(1));
        assert!(matches!(
            control.admit(other, false, now),
            AdmissionDecision::Accept(_)
        ));
    }

    #[test]
    fn above_a_rate_addresses_are_validated_however_few_connections_wait() {
        let (mut control, now) = (AdmissionControl::default(), Instant::now());
        let mut admitted = |times: usize, now| {
            let admitted = (0..times).filter(|i| {
                let client = address(&format!("10.0.{}.{}:1", i / 256, i % 256));
                let answer = control.admit(client, false, now);
                if let AdmissionDecision::Accept(id) = answer {
                    control.leave(id, client);
                }
                answer != AdmissionDecision::Retry
            });
            admitted.count()
        };
        let at_once = UNVALIDATED_BURST as usize;
        assert_eq!(admitted(5000, now), at_once);
        assert_eq!(admitted(5000, now + UNVALIDATED_INTERVAL * 7), 7);
        let later = now + Duration::from_secs(60);
        assert_eq!(admitted(5000, later), at_once);
        // With a proof it is admitted.
        let id = enter(&mut control, address("10.9.9.9:1"), later);
        control.leave(id, address("10.9.9.9:1"));
    }

    #[test]
    fn a_network_at_its_limit_evicts_its_oldest_connection() {
        let (mut control, mut now) = (AdmissionControl::default(), Instant::now());
        let own = |i: usize| address(&format!("[2001:db8::{i:x}]:{i}"));
        let mut entries: Vec<PendingId> = (0..STAYING_OF_NETWORK_MAX)
            .map(|i| enter(&mut control, own(i), now))
            .collect();
        now += HELLO_USUAL;
        for i in 0..3 {
            entries.push(enter(&mut control, own(STAYING_OF_NETWORK_MAX + i), now));
        }
        let gone: Vec<bool> = entries.iter().map(|&id| control.is_evicted(id)).collect();
        assert_eq!(gone.iter().filter(|&&gone| gone).count(), 3);
        assert_eq!(gone[..3], [true; 3]);
        assert_eq!(control.evicted(), 3);
        for (i, &id) in entries.iter().enumerate() {
            control.leave(id, own(i));
        }
        assert_eq!(control.pending(), 0);
        assert!(control.staying.is_empty());
    }

    #[test]
    fn of_many_connections_at_once_the_first_are_admitted() {
        let (mut control, mut now) = (AdmissionControl::default(), Instant::now());
        let home = address("10.0.0.1:1");
        for _ in 0..STAYING_OF_NETWORK_MAX {
            enter(&mut control, home, now);
        }
        now += HELLO_USUAL / 2;
        assert_eq!(control.admit(home, true, now), AdmissionDecision::Refuse);
        assert_eq!(control.evicted(), 0);
        control.leave(0, home);
        enter(&mut control, home, now);
    }

    #[test]
    fn the_largest_network_is_evicted_from_for_the_others() {
        let (mut control, mut now) = (AdmissionControl::default(), Instant::now());
        let large: Vec<PendingId> = (0..STAYING_OF_NETWORK_MAX)
            .map(|_| enter(&mut control, address("10.0.0.1:1"), now))
            .collect();
        now += HELLO_USUAL;
        for i in STAYING_OF_NETWORK_MAX..STAYING_MAX + 10 {
            let other = address(&format!("10.1.{}.{}:1", i / 256, i % 256));
            let id = enter(&mut control, other, now);
            assert!(!control.is_evicted(id));
        }
        assert_eq!(control.evicted(), 10);
        assert!(large[..10].iter().all(|&id| control.is_evicted(id)));
    }

    #[test]
    fn evicted_connections_count_until_they_are_closed() {
        let (mut control, mut now) = (AdmissionControl::default(), Instant::now());
        let flood = address("10.0.0.1:1");
        while control.pending() < PENDING_MAX {
            if control.admit(flood, true, now) == AdmissionDecision::Refuse {
                now += HELLO_USUAL;
            }
        }
        now += HELLO_USUAL;
        assert_eq!(control.admit(flood, true, now), AdmissionDecision::Refuse);
        control.leave(0, flood);
        enter(&mut control, flood, now);
    }
}
