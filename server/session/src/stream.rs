//! The reliable stream to a client: bytes that wait for the transport, and frames that
//! the client has not acknowledged.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};
use shared::Tick;
use shared::wire::bits::BitWriter;
use shared::wire::stream::StreamCodec;

/// The server's half of a client's stream.
pub struct OutStream {
    /// The unsent rest of the welcome, which comes first and may be longer than
    /// `unsent_bytes_max`.
    welcome: VecDeque<Bytes>,
    /// The bytes behind the welcome.
    unsent: Vec<u8>,
    /// The limit of `unsent`.
    unsent_bytes_max: usize,
    /// Unacknowledged ones, ascending.
    frames: VecDeque<Frame>,
}

/// Bytes for the transport.
pub enum Unsent<'a> {
    /// Memory that many streams share.
    Shared(Bytes),
    Own(&'a [u8]),
}

/// A frame that the client may not have read.
#[derive(Clone, Copy, Debug)]
struct Frame {
    tick: Tick,
    /// The tick in which it was sent; none: not yet.
    offered: Option<Tick>,
}

impl OutStream {
    pub fn new(unsent_bytes_max: usize) -> OutStream {
        OutStream {
            welcome: VecDeque::new(),
            unsent: vec![],
            unsent_bytes_max,
            frames: VecDeque::new(),
        }
    }

    /// Appends the parts of the welcome, before all frames.
    pub fn push_welcome(&mut self, parts: impl IntoIterator<Item = Bytes>) {
        self.welcome
            .extend(parts.into_iter().filter(|part| !part.is_empty()));
    }

    /// Ends a frame and appends it.
    pub fn push_frame(&mut self, tick: Tick, codec: &StreamCodec, writer: &mut BitWriter) {
        codec.finish(writer, &mut self.unsent);
        self.frames.push_back(Frame {
            tick,
            offered: None,
        });
    }

    /// The number of unsent bytes.
    pub fn unsent(&self) -> usize {
        let welcome = self.welcome.iter().map(Bytes::len);
        welcome.sum::<usize>() + self.unsent.len()
    }

    /// Passes unsent bytes to `write`, oldest first, which returns how many it took. Ends where
    /// it did not take all. Returns the number of bytes taken.
    pub fn send(&mut self, mut write: impl FnMut(Unsent<'_>) -> usize) -> usize {
        let mut sent = 0;
        while let Some(part) = self.welcome.front_mut() {
            let taken = write(Unsent::Shared(part.clone()));
            sent += taken;
            if taken < part.len() {
                part.advance(taken);
                return sent;
            }
            self.welcome.pop_front();
        }
        if !self.unsent.is_empty() {
            let taken = write(Unsent::Own(&self.unsent));
            self.unsent.drain(..taken);
            sent += taken;
            if self.unsent.is_empty() {
                // The memory of a burst of enters is given back.
                self.unsent.shrink_to(UNSENT_BYTES_KEPT);
            }
        }
        sent
    }

    /// Takes all unsent bytes, for the stream of a session that begins anew behind them.
    pub fn take_unsent(&mut self) -> impl Iterator<Item = Bytes> + use<> {
        let welcome = std::mem::take(&mut self.welcome);
        welcome
            .into_iter()
            .chain([std::mem::take(&mut self.unsent).into()])
    }

    /// The client has acknowledged the frames up to this tick.
    pub fn acknowledge(&mut self, tick: Tick) {
        while self.frames.front().is_some_and(|frame| frame.tick <= tick) {
            self.frames.pop_front();
        }
    }

    pub fn acked_through(&self) -> Option<Tick> {
        self.unread().map(|tick| tick.before(1))
    }

    /// The tick of the oldest unacknowledged frame.
    pub fn unread(&self) -> Option<Tick> {
        self.frames.front().map(|frame| frame.tick)
    }

    /// Whether unsent bytes are above half of the limit: the client should be sent less.
    pub fn is_filling(&self) -> bool {
        self.unsent.len() > self.unsent_bytes_max / 2
    }

    /// After the transport has taken what it can in this tick: whether more bytes are unsent than
    /// allowed, or a frame is unacknowledged for more than `ticks_max`.
    pub fn is_too_slow(&mut self, tick: Tick, ticks_max: u32) -> bool {
        for frame in self.frames.iter_mut().rev() {
            if frame.offered.is_some() {
                break;
            }
            frame.offered = Some(tick);
        }
        let oldest = self.frames.front().and_then(|frame| frame.offered);
        let is_behind = oldest.is_some_and(|offered| tick.since(offered) > ticks_max);
        let is_slow = is_behind || self.unsent.len() > self.unsent_bytes_max;
        if is_slow {
            self.unsent = vec![];
            self.welcome.clear();
        }
        is_slow
    }
}

const UNSENT_BYTES_KEPT: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends this many bytes.
    fn take(stream: &mut OutStream, bytes: usize) -> Vec<u8> {
        let mut taken = vec![];
        stream.send(|unsent| {
            let next: &[u8] = match &unsent {
                Unsent::Shared(part) => part,
                Unsent::Own(part) => part,
            };
            let room = next.len().min(bytes - taken.len());
            taken.extend_from_slice(&next[..room]);
            room
        });
        taken
    }

    #[test]
    fn a_welcome_may_be_longer_than_what_may_wait_behind_it() {
        let mut stream = OutStream::new(100);
        stream.push_welcome([Bytes::from(vec![1; 50]), Bytes::from(vec![2; 300])]);
        stream.unsent.extend([3; 100]);
        assert!(!stream.is_too_slow(Tick(1), 10));
        assert_eq!(
            take(&mut stream, 340),
            [[1; 50].as_slice(), &[2; 290]].concat()
        );
        assert_eq!(stream.unsent(), 110);
        assert_eq!(take(&mut stream, 20), [[2; 10], [3; 10]].concat());
        stream.unsent.extend([3; 10]);
        assert!(!stream.is_too_slow(Tick(1), 10));
        stream.unsent.push(3);
        assert!(stream.is_too_slow(Tick(1), 10));
        assert_eq!(stream.unsent(), 0);
    }

    #[test]
    fn the_long_part_of_a_welcome_is_not_copied() {
        let part = Bytes::from(vec![2; 1 << 20]);
        let mut stream = OutStream::new(100);
        stream.push_welcome([part.clone()]);
        assert_eq!(take(&mut stream, 1000).len(), 1000);
        stream.send(|unsent| match unsent {
            Unsent::Shared(rest) => {
                assert_eq!(rest.as_ptr(), part[1000..].as_ptr());
                rest.len()
            }
            Unsent::Own(_) => panic!("a copy"),
        });
        assert_eq!(stream.unsent(), 0);
    }

    #[test]
    fn a_client_is_too_slow_when_too_much_or_too_old_a_frame_waits() {
        let mut stream = OutStream::new(100);
        stream.unsent = vec![0; 100];
        assert!(!stream.is_too_slow(Tick(9), 10) && stream.is_filling());
        stream.unsent.push(0);
        assert!(stream.is_too_slow(Tick(9), 10));
        assert_eq!(stream.unsent(), 0);

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
