//! Which endpoint of a shared port a packet is for. The system spreads packets over the
//! sockets of a port by their sender; a peer whose address changes may reach another
//! endpoint than before. So the connection ids that a server gives out carry the number of
//! their endpoint, hidden by a keyed hash of the rest: no one else can read it.
//!
//! Balancers in front of several servers need to read an id: those of a server with a number begin
//! with an octet whose upper three bits are zero, and the number in two, the highest first. These are
//! the ids in plain text of draft-ietf-quic-load-balancers, of its configuration 0.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid, RandomConnectionIdGenerator};
use ring::hmac;
use siphasher::sip::SipHasher13;

/// The endpoints of one port, which share it.
#[derive(Clone, Debug)]
pub struct Steering {
    keys: SipHasher13,
    endpoints: u16,
    /// The server's number for balancers.
    server_id: Option<u16>,
}

/// Gives out the connection ids of one endpoint.
struct Ids {
    steering: Steering,
    number: u16,
    random: RandomConnectionIdGenerator,
}

impl Steering {
    /// For endpoints that are numbered from 0. Those with the `reset_key` of endpoints before
    /// them know the ids that those gave out, and can reset their peers' connections.
    pub fn new(endpoints: u16, reset_key: Option<&[u8; 64]>, server_id: Option<u16>) -> Steering {
        let (a, b) = match reset_key {
            Some(key) => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, key);
                let part = |name: &[u8]| {
                    let tag = hmac::sign(&key, name);
                    let bytes = tag.as_ref().first_chunk().copied();
                    u64::from_le_bytes(bytes.unwrap_or_default())
                };
                (part(b"steering: low"), part(b"steering: high"))
            }
            None => {
                let random = RandomState::new();
                (random.hash_one(0), random.hash_one(1))
            }
        };
        Steering {
            keys: SipHasher13::new_with_keys(a, b),
            endpoints,
            server_id,
        }
    }

    /// The endpoint that a packet is for; `None` where it does not say so, as before the end
    /// of the handshake. An answer for a packet of no connection may be any endpoint.
    pub fn owner(&self, packet: &[u8]) -> Option<u16> {
        let (first, rest) = packet.split_first()?;
        let is_long = first & LONG_HEADER != 0;
        let own = rest.get(self.prefix_bytes()..).filter(|_| !is_long)?;
        Some(self.number(own.first_chunk()?)).filter(|&number| number < self.endpoints)
    }

    pub(crate) fn ids(&self, number: u16) -> Box<dyn ConnectionIdGenerator> {
        Box::new(Ids {
            steering: self.clone(),
            number,
            random: RandomConnectionIdGenerator::new(ID_BYTES),
        })
    }

    /// What an id has for balancers.
    fn prefix_bytes(&self) -> usize {
        if self.server_id.is_some() {
            SERVER_BYTES
        } else {
            0
        }
    }

    fn number(&self, &[a, b, ref rest @ ..]: &[u8; ID_BYTES]) -> u16 {
        u16::from_le_bytes([a, b]) ^ self.mask(rest)
    }

    fn mask(&self, rest: &[u8]) -> u16 {
        let mut hasher = self.keys;
        hasher.write(rest);
        let [a, b, ..] = hasher.finish().to_le_bytes();
        u16::from_le_bytes([a, b])
    }
}

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut id = [0; SERVER_BYTES + ID_BYTES];
        let (prefix, own) = id.split_at_mut(SERVER_BYTES);
        own.copy_from_slice(&self.random.generate_cid());
        let number = self.number ^ self.steering.mask(&own[NUMBER_BYTES..]);
        own[..NUMBER_BYTES].copy_from_slice(&number.to_le_bytes());
        let Some(server) = self.steering.server_id else {
            return ConnectionId::new(own);
        };
        // The draft lets the lower five bits have the length of the rest.
        prefix[0] = (SERVER_BYTES + ID_BYTES - 1) as u8;
        prefix[1..].copy_from_slice(&server.to_be_bytes());
        ConnectionId::new(&id)
    }

    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        let own = id.get(self.steering.prefix_bytes()..).ok_or(InvalidCid)?;
        let id: &[u8; ID_BYTES] = own.try_into().map_err(|_| InvalidCid)?;
        match self.steering.number(id) == self.number {
            true => Ok(()),
            false => Err(InvalidCid),
        }
    }

    fn cid_len(&self) -> usize {
        self.steering.prefix_bytes() + ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The bit of a packet's first byte that marks a handshake.
pub(crate) const LONG_HEADER: u8 = 0x80;
const NUMBER_BYTES: usize = 2;
/// The first octet, and the number of the server.
const SERVER_BYTES: usize = 3;
/// 48 bits at random: no two connections of an endpoint have the same.
const ID_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_names_the_endpoint_that_gave_out_its_id() {
        for server in [None, Some(0x0102)] {
            let steering = Steering::new(300, None, server);
            for number in [0, 1, 7, 255, 256, 299] {
                let mut ids = steering.ids(number);
                let id = ids.generate_cid();
                assert_eq!(id.len(), ids.cid_len());
                let packet = [&[0x40], &id[..], &[9; 20]].concat();
                assert_eq!(steering.owner(&packet), Some(number));
                assert!(ids.validate(&id).is_ok());
                assert!(steering.ids(number + 1).validate(&id).is_err());
                // A packet of the handshake has an id of the client's choice.
                assert_eq!(steering.owner(&[&[0xc0], &packet[1..]].concat()), None);
                assert_eq!(steering.owner(&packet[..id.len()]), None);
            }
        }
    }

    #[test]
    fn balancers_read_the_number_of_a_server() {
        let mut ids = Steering::new(4, None, Some(0x0102)).ids(3);
        for _ in 0..8 {
            let id = ids.generate_cid();
            assert_eq!(id[..3], [10, 1, 2]);
        }
    }

    #[test]
    fn endpoints_know_the_ids_of_those_with_the_same_key() {
        let ids = |key| Steering::new(4, Some(&[key; 64]), None).ids(3);
        let all: Vec<_> = (0..8).map(|_| ids(1).generate_cid()).collect();
        assert!(all.iter().all(|id| ids(1).validate(id).is_ok()));
        assert!(all.iter().any(|id| ids(2).validate(id).is_err()));
    }

    #[test]
    fn ids_of_one_endpoint_do_not_look_alike() {
        let mut ids = Steering::new(2, None, None).ids(1);
        let mut starts: Vec<[u8; 2]> = (0..64)
            .map(|_| {
                let id = ids.generate_cid();
                [id[0], id[1]]
            })
            .collect();
        starts.sort_unstable();
        starts.dedup();
        assert!(starts.len() > 32, "{starts:?}");
    }
}
