//! Packets that the system dropped because a socket's buffer was full. No other counter shows
//! them: to QUIC they are lost on the way.

use std::time::{Duration, Instant};

use crate::endpoint::Endpoint;
use crate::socket::Socket;

/// Counts the drops of an endpoint's sockets.
#[derive(Debug, Default)]
pub struct Drops {
    counted: u64,
    looked: Option<Instant>,
}

impl Drops {
    /// The drops since the last call. They are looked up once a second.
    pub fn take<S>(&mut self, endpoint: &Endpoint<S>) -> u64 {
        let now = Instant::now();
        if self.looked.is_some_and(|looked| now < looked + PERIOD) {
            return 0;
        }
        self.looked = Some(now);
        let all: u64 = endpoint.sockets().iter().filter_map(Socket::drops).sum();
        all.saturating_sub(std::mem::replace(&mut self.counted, all))
    }
}

const PERIOD: Duration = Duration::from_secs(1);
