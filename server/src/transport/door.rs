//! How many may stand before the hello, for how long, and how often a network may guess the
//! token. A handshake costs the server some hundred microseconds and 30 KB, and a stranger
//! next to nothing.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::accounts::guesses::Guesses;
use crate::accounts::network::Network;

/// Counts the connections of a shard that have not said hello.
#[derive(Debug, Default)]
pub struct Door {
    next: Place,
    /// Who may stay, by network, with the time of their coming, the first at the front.
    staying: HashMap<Network, VecDeque<(Place, Instant)>>,
    stay: usize,
    /// Who has to make room, and is still there.
    going: HashSet<Place>,
    /// When those whose addresses were not proven would have come at an even pace.
    unproven: Option<Instant>,
    guesses: Guesses,
}

/// The number of somebody at the door. Later ones have higher numbers.
pub type Place = u64;

/// What to do with somebody who wants to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Enter(Place),
    /// Come again with a proof of the address, so that nobody can use another's.
    Prove,
    /// There is no room.
    Away,
}

impl Door {
    /// Somebody wants to come in, whose address may be proven already. Where there is no
    /// more room, they take the place of the one who has been silent longest, if that is
    /// long: a client says hello as soon as it can, and a stranger who only keeps others out
    /// never does. Where all have just come, many want to play, and must come again.
    pub fn ask(&mut self, address: SocketAddr, is_proven: bool, now: Instant) -> Answer {
        let network = Network::of(address.ip());
        if self.guesses.are_over(address.ip(), now) {
            return Answer::Away;
        }
        match (self.waiting(), is_proven) {
            (WAITING_MAX.., _) => return Answer::Away,
            (WAITING_UNPROVEN_MAX.., false) => return Answer::Prove,
            (_, false) if !self.believes_one_more(now) => return Answer::Prove,
            _ => {}
        }
        let own = self.staying.get(&network).map_or(0, VecDeque::len);
        let has_room = match (own, self.stay) {
            (STAYING_OF_NETWORK_MAX.., _) => self.make_room(network, now),
            (_, STAYING_MAX..) => self
                .largest()
                .is_some_and(|largest| self.make_room(largest, now)),
            _ => true,
        };
        if !has_room {
            return Answer::Away;
        }
        let place = self.next;
        self.next += 1;
        self.stay += 1;
        let places = self.staying.entry(network).or_default();
        places.push_back((place, now));
        Answer::Enter(place)
    }

    /// Whether fewer have come lately without a proof than a storm would bring. First packets
    /// with made-up addresses cost handshakes, and answers that hit others.
    fn believes_one_more(&mut self, now: Instant) -> bool {
        let next = self.unproven.map_or(now, |paid| paid.max(now)) + UNPROVEN_INTERVAL;
        let believes = next <= now + UNPROVEN_INTERVAL * UNPROVEN_AT_ONCE;
        if believes {
            self.unproven = Some(next);
        }
        believes
    }

    /// The network with the most; of equal ones, that which has been there longest.
    fn largest(&self) -> Option<Network> {
        let largest = self
            .staying
            .iter()
            .max_by_key(|(_, places)| (places.len(), Reverse(places.front())));
        largest.map(|(&network, _)| network)
    }

    /// The first of a network has to go, if it has been there long. False if not.
    fn make_room(&mut self, network: Network, now: Instant) -> bool {
        let first = self.staying.get(&network).and_then(VecDeque::front);
        match first {
            Some(&(first, since)) if now.saturating_duration_since(since) >= HELLO_USUAL => {
                self.remove(first, network);
                self.going.insert(first);
                true
            }
            _ => false,
        }
    }

    /// Somebody has said hello, or is gone. `address` is the one that they asked with.
    pub fn leave(&mut self, place: Place, address: SocketAddr) {
        if self.going.remove(&place) {
            return;
        }
        self.remove(place, Network::of(address.ip()));
    }

    /// Takes one out of those of their network who may stay.
    fn remove(&mut self, place: Place, network: Network) {
        if let Some(places) = self.staying.get_mut(&network)
            && let Ok(at) = places.binary_search_by_key(&place, |(place, _)| *place)
        {
            places.remove(at);
            self.stay -= 1;
            if places.is_empty() {
                self.staying.remove(&network);
            }
        }
    }

    /// Whether this one has to make room for others.
    pub fn must_go(&self, place: Place) -> bool {
        self.going.contains(&place)
    }

    /// How many have to make room for others.
    pub fn going(&self) -> usize {
        self.going.len()
    }

    /// Somebody at this address, which is proven, has shown a wrong token.
    pub fn note_guess(&mut self, address: SocketAddr, now: Instant) {
        self.guesses.note(address.ip(), now);
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.stay + self.going.len()
    }
}

/// From the first packet to the hello.
pub const HELLO_WAIT: Duration = Duration::from_secs(5);
/// After this time without a hello, others may have the place: far more than a client needs,
/// also on a server that is busy with many.
const HELLO_USUAL: Duration = Duration::from_secs(1);
/// Connections of a shard that have not said hello: 30 MB.
pub const WAITING_MAX: usize = 1024;
const WAITING_UNPROVEN_MAX: usize = WAITING_MAX / 4;
/// Without a proof of their address, so many come in at once, and then 500 a second.
const UNPROVEN_AT_ONCE: u32 = 512;
const UNPROVEN_INTERVAL: Duration = Duration::from_millis(2);
/// Beyond this many, one has to go for each that comes. They are closed some milliseconds
/// later, and count until then.
const STAYING_MAX: usize = WAITING_MAX / 4 * 3;
const STAYING_OF_NETWORK_MAX: usize = WAITING_MAX / 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::guesses::{GUESS_INTERVAL, GUESSES_AT_ONCE};

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn enter(door: &mut Door, address: SocketAddr, now: Instant) -> Place {
        match door.ask(address, true, now) {
            Answer::Enter(place) => place,
            answer => panic!("{answer:?}"),
        }
    }

    #[test]
    fn the_more_wait_the_less_a_stranger_is_believed() {
        let (mut door, now) = (Door::default(), Instant::now());
        let stranger = |i: usize| address(&format!("10.0.{}.{}:1", i / 256, i % 256));
        for i in 0..WAITING_UNPROVEN_MAX {
            let place = i as Place;
            assert_eq!(door.ask(stranger(i), false, now), Answer::Enter(place));
        }
        let other = address("10.9.9.9:1");
        assert_eq!(door.ask(other, false, now), Answer::Prove);
        enter(&mut door, other, now);
        door.leave(0, stranger(0));
        assert_eq!(door.ask(other, false, now), Answer::Prove);
        door.leave(1, stranger(1));
        assert!(matches!(door.ask(other, false, now), Answer::Enter(_)));
    }

    #[test]
    fn above_a_rate_a_first_packet_must_come_with_a_proof_however_few_wait() {
        let (mut door, now) = (Door::default(), Instant::now());
        let mut believed = |times: usize, now| {
            let come = (0..times).filter(|i| {
                let stranger = address(&format!("10.0.{}.{}:1", i / 256, i % 256));
                let answer = door.ask(stranger, false, now);
                if let Answer::Enter(place) = answer {
                    door.leave(place, stranger);
                }
                answer != Answer::Prove
            });
            come.count()
        };
        let at_once = UNPROVEN_AT_ONCE as usize;
        assert_eq!(believed(5000, now), at_once);
        assert_eq!(believed(5000, now + UNPROVEN_INTERVAL * 7), 7);
        let later = now + Duration::from_secs(60);
        assert_eq!(believed(5000, later), at_once);
        // With a proof it may come.
        let place = enter(&mut door, address("10.9.9.9:1"), later);
        door.leave(place, address("10.9.9.9:1"));
    }

    #[test]
    fn a_network_that_has_all_its_places_gives_up_the_oldest() {
        let (mut door, mut now) = (Door::default(), Instant::now());
        let own = |i: usize| address(&format!("[2001:db8::{i:x}]:{i}"));
        let mut places: Vec<Place> = (0..STAYING_OF_NETWORK_MAX)
            .map(|i| enter(&mut door, own(i), now))
            .collect();
        now += HELLO_USUAL;
        for i in 0..3 {
            places.push(enter(&mut door, own(STAYING_OF_NETWORK_MAX + i), now));
        }
        let gone: Vec<bool> = places.iter().map(|&place| door.must_go(place)).collect();
        assert_eq!(gone.iter().filter(|&&gone| gone).count(), 3);
        assert_eq!(gone[..3], [true; 3]);
        assert_eq!(door.going(), 3);
        for (i, &place) in places.iter().enumerate() {
            door.leave(place, own(i));
        }
        assert_eq!(door.waiting(), 0);
        assert!(door.staying.is_empty());
    }

    #[test]
    fn of_many_that_come_at_once_the_first_get_in() {
        let (mut door, mut now) = (Door::default(), Instant::now());
        let home = address("10.0.0.1:1");
        for _ in 0..STAYING_OF_NETWORK_MAX {
            enter(&mut door, home, now);
        }
        now += HELLO_USUAL / 2;
        assert_eq!(door.ask(home, true, now), Answer::Away);
        assert_eq!(door.going(), 0);
        door.leave(0, home);
        enter(&mut door, home, now);
    }

    #[test]
    fn the_largest_network_makes_room_for_the_others() {
        let (mut door, mut now) = (Door::default(), Instant::now());
        let large: Vec<Place> = (0..STAYING_OF_NETWORK_MAX)
            .map(|_| enter(&mut door, address("10.0.0.1:1"), now))
            .collect();
        now += HELLO_USUAL;
        for i in STAYING_OF_NETWORK_MAX..STAYING_MAX + 10 {
            let other = address(&format!("10.1.{}.{}:1", i / 256, i % 256));
            let place = enter(&mut door, other, now);
            assert!(!door.must_go(place));
        }
        assert_eq!(door.going(), 10);
        assert!(large[..10].iter().all(|&place| door.must_go(place)));
    }

    #[test]
    fn those_that_have_to_go_count_until_they_are_gone() {
        let (mut door, mut now) = (Door::default(), Instant::now());
        let flood = address("10.0.0.1:1");
        while door.waiting() < WAITING_MAX {
            if door.ask(flood, true, now) == Answer::Away {
                now += HELLO_USUAL;
            }
        }
        now += HELLO_USUAL;
        assert_eq!(door.ask(flood, true, now), Answer::Away);
        door.leave(0, flood);
        enter(&mut door, flood, now);
    }

    #[test]
    fn a_network_may_guess_the_token_a_few_times_and_then_now_and_then() {
        let (mut door, mut now) = (Door::default(), Instant::now());
        let (guesser, other) = (address("10.0.0.1:1"), address("10.0.0.2:1"));
        let mut guess = |times: u32, now| {
            let mut heard = 0;
            for _ in 0..times {
                if let Answer::Enter(place) = door.ask(guesser, true, now) {
                    door.leave(place, guesser);
                    door.note_guess(guesser, now);
                    heard += 1;
                }
                let place = enter(&mut door, other, now);
                door.leave(place, other);
            }
            heard
        };
        assert_eq!(guess(1000, now), GUESSES_AT_ONCE);
        now += GUESS_INTERVAL;
        assert_eq!(guess(1000, now), 1);
        now += GUESS_INTERVAL * 3;
        assert_eq!(guess(1000, now), 3);
        now += GUESS_INTERVAL * 1000;
        assert_eq!(guess(1000, now), GUESSES_AT_ONCE);
    }
}
