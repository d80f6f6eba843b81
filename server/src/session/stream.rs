//! The reliable stream to a client: bytes that wait for the transport, and frames that
//! the client has not acknowledged.

use std::collections::VecDeque;

use shared::Tick;
use shared::wire::bits::BitWriter;
use shared::wire::control::Welcome;
use shared::wire::stream::StreamCodec;
use shared::wire::{codec, length};

/// The server's half of a client's stream.
pub struct OutStream {
    unsent: Vec<u8>,
    /// How much of it is the welcome, which comes first and may be longer than all that may
    /// wait behind it.
    unsent_welcome: usize,
    /// For what is behind the welcome.
    unsent_bytes_max: usize,
    /// Unacknowledged ones, ascending.
    frames: VecDeque<Frame>,
}

/// A frame that the client may not have read.
#[derive(Clone, Copy, Debug)]
struct Frame {
    tick: Tick,
    /// The tick in which it could be read first; none: it has not left the server.
    offered: Option<Tick>,
}

impl OutStream {
    pub fn new(unsent_bytes_max: usize) -> OutStream {
        OutStream {
            unsent: vec![],
            unsent_welcome: 0,
            unsent_bytes_max,
            frames: VecDeque::new(),
        }
    }

    pub fn push_welcome(&mut self, welcome: &Welcome) {
        let bytes = codec::to_bytes(welcome);
        let before = self.unsent.len();
        length::put(bytes.len(), &mut self.unsent);
        self.unsent.extend_from_slice(&bytes);
        self.unsent_welcome += self.unsent.len() - before;
    }

    /// Ends a frame and appends it.
    pub fn push_frame(&mut self, tick: Tick, codec: &StreamCodec, writer: &mut BitWriter) {
        codec.finish(writer, &mut self.unsent);
        self.frames.push_back(Frame {
            tick,
            offered: None,
        });
    }

    pub fn unsent(&self) -> &[u8] {
        &self.unsent
    }

    pub fn sent(&mut self, bytes: usize) {
        self.unsent.drain(..bytes);
        self.unsent_welcome = self.unsent_welcome.saturating_sub(bytes);
        if self.unsent.is_empty() {
            // The memory of the welcome, or of a burst of enters, is given back.
            self.unsent.shrink_to(UNSENT_BYTES_KEPT);
        }
    }

    /// The client has taken in the frames up to this tick.
    pub fn acknowledge(&mut self, tick: Tick) {
        while self.frames.front().is_some_and(|frame| frame.tick <= tick) {
            self.frames.pop_front();
        }
    }

    pub fn acked_through(&self) -> Option<Tick> {
        self.unread().map(|tick| tick.before(1))
    }

    /// The tick of the oldest frame that the client has not taken in.
    pub fn unread(&self) -> Option<Tick> {
        self.frames.front().map(|frame| frame.tick)
    }

    /// Whether half as many bytes wait as are allowed: the client should be told less.
    pub fn is_filling(&self) -> bool {
        self.unsent.len() - self.unsent_welcome > self.unsent_bytes_max / 2
    }

    /// The transport has taken what it can in this tick. Whether more bytes wait than are
    /// allowed, or the client has left a frame unread for more than `ticks_max`.
    pub fn is_too_slow(&mut self, tick: Tick, ticks_max: u32) -> bool {
        for frame in self.frames.iter_mut().rev() {
            if frame.offered.is_some() {
                break;
            }
            frame.offered = Some(tick);
        }
        let oldest = self.frames.front().and_then(|frame| frame.offered);
        let is_behind = oldest.is_some_and(|offered| tick.since(offered) > ticks_max);
        let waiting = self.unsent.len() - self.unsent_welcome;
        let is_slow = is_behind || waiting > self.unsent_bytes_max;
        if is_slow {
            self.unsent = vec![];
            self.unsent_welcome = 0;
        }
        is_slow
    }
}

const UNSENT_BYTES_KEPT: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_welcome_may_be_longer_than_what_may_wait_behind_it() {
        let mut stream = OutStream::new(100);
        stream.push_welcome(&Welcome {
            tick: Tick(1),
            entity: shared::EntityId::new(1, 1),
            commands_epoch: 1,
            ticket: [1; 16],
            resumed: false,
            player_kind: 0,
            quotas: Default::default(),
            schema: script::world::default().schema,
            forecast: vec![],
            standby: String::new(),
        });
        let welcome = stream.unsent().len();
        assert!(welcome > 101);
        stream.unsent.extend([0; 100]);
        assert!(!stream.is_too_slow(Tick(1), 10));
        stream.sent(welcome - 1);
        stream.sent(2);
        stream.unsent.extend([0; 2]);
        assert!(stream.is_too_slow(Tick(1), 10));
    }

    #[test]
    fn a_client_is_too_slow_when_too_much_or_too_old_a_frame_waits() {
        let mut stream = OutStream::new(100);
        stream.unsent = vec![0; 100];
        assert!(!stream.is_too_slow(Tick(9), 10) && stream.is_filling());
        stream.unsent.push(0);
        assert!(stream.is_too_slow(Tick(9), 10));
        assert!(stream.unsent().is_empty());

        let frame = |tick| Frame {
            tick: Tick(tick),
            offered: None,
        };
        stream.frames.push_back(frame(3));
        assert!(!stream.is_too_slow(Tick(3), 10));
        stream.frames.push_back(frame(7));
        assert!(!stream.is_too_slow(Tick(7), 10));
        assert_eq!(stream.acked_through(), Some(Tick(2)));
        assert!(!stream.is_too_slow(Tick(13), 10));
        assert!(stream.is_too_slow(Tick(14), 10));
        stream.acknowledge(Tick(6));
        assert!(!stream.is_too_slow(Tick(14), 10));
        stream.acknowledge(Tick(7));
        assert_eq!(stream.acked_through(), None);
    }

    #[test]
    fn a_client_is_not_too_slow_for_what_the_server_had_no_time_to_send() {
        let mut stream = OutStream::new(100);
        stream.frames.push_back(Frame {
            tick: Tick(3),
            offered: None,
        });
        assert!(!stream.is_too_slow(Tick(20), 10));
        assert!(!stream.is_too_slow(Tick(30), 10));
        assert!(stream.is_too_slow(Tick(31), 10));
    }
}
