//! Networks: addresses that probably belong to one owner, and ranges that an operator names.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    /// IPv4 addresses as IPv6 addresses; the bits behind the prefix are 0.
    bits: u128,
    prefix: u8,
}

impl Network {
    /// The network of one owner: an IPv4 address, or an IPv6 /64.
    pub fn of(address: IpAddr) -> Network {
        let bits = match address.to_canonical() {
            IpAddr::V4(_) => 128,
            IpAddr::V6(_) => 64,
        };
        Network::new(address, bits)
    }

    fn new(address: IpAddr, prefix: u8) -> Network {
        Network {
            bits: bits_of(address) & mask(prefix),
            prefix,
        }
    }

    /// The first address.
    pub fn address(&self) -> IpAddr {
        IpAddr::from(Ipv6Addr::from_bits(self.bits)).to_canonical()
    }

    pub fn holds(&self, address: IpAddr) -> bool {
        bits_of(address) & mask(self.prefix) == self.bits
    }
}

fn bits_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn mask(prefix: u8) -> u128 {
    let rest = 128 - u32::from(prefix.min(128));
    u128::MAX.checked_shl(rest).unwrap_or(0)
}

/// The bits in front of an IPv4 address that is written as an IPv6 one.
const MAPPED_BITS: u8 = 96;

impl FromStr for Network {
    type Err = String;

    /// An address, or an address with the length of its prefix: `10.1.0.0/16`.
    fn from_str(text: &str) -> Result<Network, String> {
        let expected =
            || format!("expected an address or a network like 10.1.0.0/16, found `{text}`");
        let (address, prefix) = match text.split_once('/') {
            None => (text, None),
            Some((address, prefix)) => (address, Some(prefix)),
        };
        let address: IpAddr = address.parse().map_err(|_| expected())?;
        let (before, longest) = match address {
            IpAddr::V4(_) => (MAPPED_BITS, 32),
            IpAddr::V6(_) => (0, 128),
        };
        let prefix = match prefix {
            None => longest,
            Some(prefix) => prefix.parse().map_err(|_| expected())?,
        };
        match prefix <= longest {
            true => Ok(Network::new(address, before + prefix)),
            false => Err(expected()),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Ipv6Addr::from_bits(self.bits);
        match (address.to_ipv4_mapped(), self.prefix) {
            (Some(address), 128) => write!(f, "{address}"),
            (Some(address), MAPPED_BITS..) => write!(f, "{address}/{}", self.prefix - MAPPED_BITS),
            (_, 128) => write!(f, "{address}"),
            _ => write!(f, "{address}/{}", self.prefix),
        }
    }
}

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Network, String> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> String {
        network.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_holds_the_addresses_that_begin_alike() {
        let office = network("10.1.0.0/16");
        let holds = |net: Network, address: &str| net.holds(address.parse().unwrap());
        assert!(holds(office, "10.1.255.3") && holds(office, "::ffff:10.1.2.3"));
        assert!(!holds(office, "10.2.0.1") && !holds(office, "2001:db8::1"));
        assert!(holds(network("0.0.0.0/0"), "9.9.9.9"));
        assert!(!holds(network("0.0.0.0/0"), "2001:db8::1"));
        assert!(holds(network("2001:db8::/32"), "2001:db8:7::1"));
        assert_eq!(
            Network::of("10.1.2.3".parse().unwrap()),
            network("10.1.2.3")
        );
        assert_eq!(
            Network::of("2001:db8::7".parse().unwrap()),
            network("2001:db8::/64")
        );
    }

    #[test]
    fn a_network_is_written_as_it_is_read() {
        for text in [
            "10.1.2.3",
            "10.1.0.0/16",
            "2001:db8::1",
            "2001:db8::/32",
            "::/0",
        ] {
            assert_eq!(network(text).to_string(), text);
        }
        assert_eq!(network("10.1.2.3/16").to_string(), "10.1.0.0/16");
        for text in [
            "",
            "10.1.2",
            "10.1.2.3/33",
            "10.1.2.3/-1",
            "alice",
            "::1/129",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
