//! One connection, from its first packet to its last.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use accounts::revocations::ShownToken;
use frontend::inbox::{Join, SessionId};
use quic::Congestion;
use session::Session;
use session::stream::Unsent;
use shared::wire::control::Close;

use super::admission_control::PendingId;
use super::client_link::ClientLink;
use super::handshake::HelloReader;
use super::requests::Requests;

/// A shard's state of a connection.
pub enum Client {
    /// It has not sent its hello.
    Pending(PendingConnection),
    Player(Box<Player>),
}

pub struct PendingConnection {
    pub hello: HelloReader,
    pub address: SocketAddr,
    /// Of admission control.
    pub id: PendingId,
    pub since: Instant,
}

/// A client in the world, or waiting for its entity.
pub struct Player {
    pub id: SessionId,
    /// The origin of its hello.
    pub address: IpAddr,
    /// By which its token may be revoked.
    pub shown: Option<ShownToken>,
    /// How it comes back where its session begins anew.
    pub join: Join,
    /// The hash of the schema that it accepts, if it accepts no other.
    pub schema_hash: Option<u64>,
    /// Why the server closes the connection.
    pub ending: Option<String>,
    pub session: Session,
    pub requests: Requests,
    /// It has sent a valid datagram.
    pub is_confirmed: bool,
    /// It has sent malformed bytes. It may not resume: many such clients would fill the world.
    pub is_malformed: bool,
    /// The congestion counters when its link was judged last.
    pub congestion: Congestion,
}

impl Client {
    pub fn player(&mut self) -> Option<&mut Player> {
        match self {
            Client::Pending(_) => None,
            Client::Player(player) => Some(player),
        }
    }

    /// Prefetches the player.
    pub fn prefetch(&self) {
        if let Client::Player(player) = self {
            quic::prefetch(&**player);
        }
    }
}

impl Player {
    /// Whether packets were marked on the way since the last call.
    pub fn is_marked(&mut self, link: &impl ClientLink) -> bool {
        let congestion = link.congestion();
        let before = std::mem::replace(&mut self.congestion, congestion);
        congestion.is_marked_since(&before)
    }

    /// Closes the connection with a code and a sentence for people.
    pub fn close(&mut self, link: &mut impl ClientLink, code: Close, reason: &str) {
        self.ending.get_or_insert_with(|| reason.to_owned());
        close(link, code, reason);
    }

    /// Gives the transport as much of the stream as it takes now; the rest waits for the
    /// next tick. Returns the number of bytes.
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
