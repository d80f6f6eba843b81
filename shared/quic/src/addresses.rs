//! Where a server may be reached, and in which order to try that.

use std::fmt;
use std::net::SocketAddr;

/// The addresses of a server, in the order in which to try them. There is at least one.
///
/// They are as the system's resolver has sorted them (RFC 6724: IPv6 first, where this machine
/// has it), but families take turns (RFC 8305, section 4): where one family does not work,
/// the second attempt does not, too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Addresses(Vec<SocketAddr>);

impl Addresses {
    /// Lets families take turns, beginning with that of the first address. `None` of no
    /// addresses.
    pub fn new(sorted: impl IntoIterator<Item = SocketAddr>) -> Option<Addresses> {
        let mut sorted: Vec<SocketAddr> = sorted.into_iter().collect();
        let is_ipv6 = sorted.first()?.is_ipv6();
        let of_first = |address: &mut SocketAddr| address.is_ipv6() == is_ipv6;
        let mut first = sorted
            .extract_if(.., of_first)
            .collect::<Vec<_>>()
            .into_iter();
        let mut second = sorted.into_iter();
        let mut turns = vec![];
        while first.len() + second.len() > 0 {
            let turn = [first.next(), second.next()];
            for address in turn.into_iter().flatten() {
                if !turns.contains(&address) {
                    turns.push(address);
                }
            }
        }
        Some(Addresses(turns))
    }

    /// The one to try first.
    pub fn first(&self) -> SocketAddr {
        self.0[0]
    }

    /// All of them, in the order in which they are tried.
    pub fn iter(&self) -> impl Iterator<Item = SocketAddr> {
        self.0.iter().copied()
    }

    /// Tries one of these addresses first from now on, as it was reached.
    pub fn prefer(&mut self, reached: SocketAddr) {
        if let Some(at) = self.0.iter().position(|&address| address == reached) {
            self.0[..=at].rotate_right(1);
        }
    }

    /// Tries one of these addresses last from now on, as its server has turned the client away.
    pub fn defer(&mut self, refused: SocketAddr) {
        if let Some(at) = self.0.iter().position(|&address| address == refused) {
            self.0[at..].rotate_left(1);
        }
    }
}

impl From<SocketAddr> for Addresses {
    fn from(address: SocketAddr) -> Addresses {
        Addresses(vec![address])
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, address) in self.0.iter().enumerate() {
            let between = if i == 0 { "" } else { ", " };
            write!(f, "{between}{address}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(sorted: &[&str]) -> Option<String> {
        let sorted = sorted.iter().map(|text| text.parse().expect("an address"));
        Addresses::new(sorted).map(|addresses| addresses.to_string())
    }

    #[test]
    fn families_take_turns_and_keep_their_order() {
        let (a, b, c) = ("[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::3]:1");
        let (d, e) = ("192.0.2.1:1", "192.0.2.2:1");
        let expect = |found: &[&str], expected: &[&str]| {
            assert_eq!(ordered(found), Some(expected.join(", ")));
        };
        expect(&[a, b, c, d], &[a, d, b, c]);
        expect(&[b, a, d, e], &[b, d, a, e]);
        // A machine without IPv6 has its addresses sorted like this.
        expect(&[d, e, a], &[d, a, e]);
        expect(&[d], &[d]);
        expect(&[a, a, d, a], &[a, d]);
        assert_eq!(ordered(&[]), None);
    }

    #[test]
    fn an_address_that_was_reached_comes_first_and_one_that_refused_last() {
        let [a, b, c]: [SocketAddr; 3] =
            ["[::1]:1", "127.0.0.1:1", "[::2]:1"].map(|text| text.parse().unwrap());
        let mut addresses = Addresses::new([a, b, c]).unwrap();
        addresses.prefer(c);
        assert_eq!(addresses.iter().collect::<Vec<_>>(), [c, a, b]);
        addresses.prefer("127.0.0.1:2".parse().unwrap());
        assert_eq!(addresses.first(), c);
        addresses.defer(c);
        assert_eq!(addresses.iter().collect::<Vec<_>>(), [a, b, c]);
    }
}
