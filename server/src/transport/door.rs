//! How many may stand before the hello, and for how long. A handshake costs the server
//! some hundred microseconds and 30 KB, and a stranger next to nothing.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Counts the connections of a shard that have not said hello.
#[derive(Debug, Default)]
pub struct Door {
    waiting: usize,
    by_network: HashMap<Network, usize>,
}

/// What to do with somebody who wants to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Enter,
    /// Come again with a proof of the address, so that nobody can use another's.
    Prove,
    /// There is no room.
    Away,
}

/// Addresses that probably belong to one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Network(IpAddr);

impl Door {
    /// Whether somebody may enter, whose address may be proven already.
    pub fn ask(&self, address: SocketAddr, is_proven: bool) -> Answer {
        let network = Network::of(address);
        let own = self.by_network.get(&network).copied().unwrap_or(0);
        match (self.waiting, is_proven) {
            (WAITING_MAX.., _) => Answer::Away,
            _ if own >= WAITING_OF_NETWORK_MAX => Answer::Away,
            (WAITING_UNPROVEN_MAX.., false) => Answer::Prove,
            _ => Answer::Enter,
        }
    }

    pub fn enter(&mut self, address: SocketAddr) {
        self.waiting += 1;
        *self.by_network.entry(Network::of(address)).or_default() += 1;
    }

    /// Somebody has said hello, or is gone. `address` is the one of [`Door::enter`].
    pub fn leave(&mut self, address: SocketAddr) {
        self.waiting -= 1;
        let network = Network::of(address);
        if let Some(own) = self.by_network.get_mut(&network) {
            *own -= 1;
            if *own == 0 {
                self.by_network.remove(&network);
            }
        }
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }
}

impl Network {
    fn of(address: SocketAddr) -> Network {
        match address.ip().to_canonical() {
            IpAddr::V4(address) => Network(address.into()),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Network(IpAddr::from([a, b, c, d, 0, 0, 0, 0]))
            }
        }
    }
}

/// From the first packet to the hello.
pub const HELLO_WAIT: Duration = Duration::from_secs(5);
/// 30 MB a shard.
const WAITING_MAX: usize = 1024;
const WAITING_UNPROVEN_MAX: usize = WAITING_MAX / 4;
/// An address alone cannot shut the door.
const WAITING_OF_NETWORK_MAX: usize = WAITING_MAX / 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_more_wait_the_less_a_stranger_is_believed() {
        let mut door = Door::default();
        for i in 0..WAITING_UNPROVEN_MAX {
            let stranger = address(&format!("10.0.{}.{}:1", i / 256, i % 256));
            assert_eq!(door.ask(stranger, false), Answer::Enter);
            door.enter(stranger);
        }
        assert_eq!(door.ask(address("10.9.9.9:1"), false), Answer::Prove);
        assert_eq!(door.ask(address("10.9.9.9:1"), true), Answer::Enter);
        door.leave(address("10.0.0.0:1"));
        assert_eq!(door.ask(address("10.9.9.9:1"), false), Answer::Enter);
    }

    #[test]
    fn no_network_can_take_all_places() {
        let mut door = Door::default();
        let own = |i: usize| address(&format!("[2001:db8::{i:x}]:{i}"));
        for i in 1..=WAITING_OF_NETWORK_MAX {
            door.enter(own(i));
        }
        assert_eq!(door.ask(own(5000), true), Answer::Away);
        assert_eq!(
            door.ask(address("[2001:db8:0:1::1]:1"), true),
            Answer::Enter
        );
        for i in 1..=WAITING_OF_NETWORK_MAX {
            door.leave(own(i));
        }
        assert_eq!(door.waiting(), 0);
        assert!(door.by_network.is_empty());
    }
}
