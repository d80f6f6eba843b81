//! One connection, from its first packet to its last.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use frontend::inbox::SessionId;
use quic::Congestion;
use session::Session;
use session::stream::Unsent;
use shared::wire::control::Close;

use super::admission_control::Place;
use super::client_link::ClientLink;
use super::handshake::HelloReader;
use super::requests::Requests;

/// What a shard keeps of a connection.
pub enum Client {
    /// It has not said hello.
    Pending(PendingConnection),
    Player(Box<Player>),
}

pub struct PendingConnection {
    pub hello: HelloReader,
    pub address: SocketAddr,
    /// Among the connections that wait.
    pub place: Place,
    pub since: Instant,
}

/// A client that is in the world, or waits for its entity.
pub struct Player {
    pub id: SessionId,
    /// Where its hello came from.
    pub address: IpAddr,
    pub session: Session,
    pub requests: Requests,
    /// It has sent a datagram that could be read.
    pub is_heard: bool,
    /// It has sent bytes that could not be read. It doesn't keep its place for a return:
    /// many of its kind would fill the world.
    pub is_malformed: bool,
    /// What the network had done to its packets when its link was judged last.
    pub congestion: Congestion,
}

impl Client {
    pub fn player(&mut self) -> Option<&mut Player> {
        match self {
            Client::Pending(_) => None,
            Client::Player(player) => Some(player),
        }
    }

    /// Prefetches its data.
    pub fn prefetch(&self) {
        if let Client::Player(player) = self {
            quic::prefetch(&**player);
        }
    }
}

impl Player {
    /// Whether packets were marked on the way since the last look.
    pub fn is_marked(&mut self, link: &impl ClientLink) -> bool {
        let congestion = link.congestion();
        let before = std::mem::replace(&mut self.congestion, congestion);
        congestion.is_marked_since(&before)
    }

    /// Gives the transport as much of the stream as it takes now; the rest waits for the
    /// next tick. Gives the number of bytes.
    pub fn flush(&mut self, link: &mut impl ClientLink) -> usize {
        self.session.send(|unsent| match unsent {
            Unsent::Shared(bytes) => link.write_shared(bytes),
            Unsent::Own(bytes) => link.write(bytes),
        })
    }
}

/// Closes a connection with a code and a sentence for people.
pub fn close(link: &mut impl ClientLink, close: Close, reason: &str) {
    link.close(close.code(), reason);
}
