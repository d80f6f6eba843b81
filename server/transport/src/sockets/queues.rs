//! What waits in either direction of a connection.

use std::collections::VecDeque;

use bytes::Bytes;

use super::message::{FromServer, WINDOW_BYTES};

/// Bytes and datagrams that wait.
#[derive(Debug)]
pub struct Queues {
    /// Bytes of the client's stream that the session has not read, up to `arrived`.
    received: VecDeque<u8>,
    arrived: u64,
    /// The client may send its stream up to here, and knows that up to `granted`.
    allowed: u64,
    granted: u64,
    /// Bytes of the server's stream that are not handed to the system.
    stream: VecDeque<u8>,
    /// The stream has refused bytes since it was full.
    pub has_refused: bool,
    /// After a datagram it is the stream's turn, so that neither waits for all of the other.
    is_streams_turn: bool,
    /// Datagrams of the newest turn that are not handed to the system, oldest first.
    datagrams: VecDeque<Bytes>,
    turn: u64,
    /// Datagrams that a newer turn has replaced.
    pub replaced: u64,
    /// The code and the sentence with which the server closes the connection.
    pub close: Option<(u32, String)>,
}

/// The client sends more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} bytes of the stream ahead of the window; expected none", .0)]
pub struct WindowExceeded(pub u64);

impl Default for Queues {
    fn default() -> Queues {
        Queues {
            received: VecDeque::new(),
            arrived: 0,
            allowed: WINDOW_BYTES,
            granted: WINDOW_BYTES,
            stream: VecDeque::new(),
            has_refused: false,
            is_streams_turn: false,
            datagrams: VecDeque::new(),
            turn: 0,
            replaced: 0,
            close: None,
        }
    }
}

impl Queues {
    /// Bytes of the client's stream have arrived.
    pub fn arrive(&mut self, bytes: &[u8]) -> Result<(), WindowExceeded> {
        self.arrived += bytes.len() as u64;
        match self.arrived.checked_sub(self.allowed) {
            None | Some(0) => {
                self.received.extend(bytes);
                Ok(())
            }
            Some(surplus) => Err(WindowExceeded(surplus)),
        }
    }

    /// Passes up to `bytes_max` of the client's next bytes to `take`, and returns how many.
    pub fn read(&mut self, bytes_max: usize, mut take: impl FnMut(&[u8])) -> usize {
        let count = bytes_max.min(self.received.len());
        if count > 0 {
            take(&self.received.make_contiguous()[..count]);
            self.received.drain(..count);
            self.allowed += count as u64;
        }
        count
    }

    /// Takes as many of the server's bytes as there is room for.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        if self.close.is_some() {
            return bytes.len();
        }
        let taken = bytes.len().min(STREAM_BYTES_MAX - self.stream.len());
        self.has_refused |= taken < bytes.len();
        self.stream.extend(&bytes[..taken]);
        taken
    }

    /// Queues a datagram. The first of a turn replaces those of the turn before.
    pub fn push_datagram(&mut self, turn: u64, datagram: Bytes) {
        if self.close.is_some() {
            return;
        }
        if self.turn != turn {
            self.turn = turn;
            self.replaced += self.datagrams.len() as u64;
            self.datagrams.clear();
        }
        if self.datagrams.len() == DATAGRAMS_MAX {
            self.datagrams.pop_front();
            self.replaced += 1;
        }
        self.datagrams.push_back(datagram);
    }

    /// The next message to be sent: a window, which the client waits for, then a datagram and a
    /// piece of the stream in turn.
    pub fn next_message(&mut self) -> Option<Bytes> {
        if self.close.is_some() {
            return None;
        }
        if self.allowed - self.granted >= WINDOW_BYTES / 2 {
            self.granted = self.allowed;
            return Some(FromServer::Window(self.granted).encode());
        }
        let is_streams_turn = self.is_streams_turn && !self.stream.is_empty();
        self.is_streams_turn = !is_streams_turn;
        if !is_streams_turn && let Some(datagram) = self.datagrams.pop_front() {
            return Some(FromServer::Datagram(&datagram).encode());
        }
        let count = self.stream.len().min(PIECE_BYTES_MAX);
        if count == 0 {
            return None;
        }
        let message = FromServer::Stream(&self.stream.make_contiguous()[..count]).encode();
        self.stream.drain(..count);
        Some(message)
    }

    /// Whether a stream that was full takes bytes again.
    pub fn take_has_room(&mut self) -> bool {
        let has_room = self.has_refused && self.stream.len() <= STREAM_BYTES_MAX / 2;
        self.has_refused &= !has_room;
        has_room
    }
}

/// Of the server's stream. The session keeps the rest, as over QUIC.
const STREAM_BYTES_MAX: usize = 32 * 1024;
/// Datagrams go between pieces of the stream.
const PIECE_BYTES_MAX: usize = 2048;
/// More than a tick has.
const DATAGRAMS_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    fn messages(queues: &mut Queues) -> Vec<Bytes> {
        std::iter::from_fn(|| queues.next_message()).collect()
    }

    #[test]
    fn datagrams_of_a_newer_turn_replace_those_that_wait() {
        let mut queues = Queues::default();
        queues.push_datagram(1, bytes("a"));
        queues.push_datagram(1, bytes("b"));
        assert_eq!(queues.next_message().unwrap(), bytes("\u{1}a"));
        queues.push_datagram(2, bytes("c"));
        queues.push_datagram(2, bytes("d"));
        assert_eq!(messages(&mut queues), [bytes("\u{1}c"), bytes("\u{1}d")]);
        assert_eq!(queues.replaced, 1, "b is lost");
        // A client that reads nothing does not fill the memory by a turn of any size.
        for _ in 0..1000 {
            queues.push_datagram(3, bytes("e"));
        }
        assert_eq!(messages(&mut queues).len(), DATAGRAMS_MAX);
    }

    #[test]
    fn the_stream_is_never_replaced_and_says_when_it_has_room() {
        let mut queues = Queues::default();
        let long = vec![7; STREAM_BYTES_MAX + 1];
        assert_eq!(queues.write(&long), STREAM_BYTES_MAX);
        assert_eq!(queues.write(&long), 0);
        assert!(!queues.take_has_room());
        queues.push_datagram(1, bytes("a"));
        let all = messages(&mut queues);
        assert_eq!(all[0], bytes("\u{1}a"), "datagrams go first");
        let sent: usize = all[1..].iter().map(|message| message.len() - 1).sum();
        assert_eq!(sent, STREAM_BYTES_MAX);
        assert!(queues.take_has_room());
        assert!(!queues.take_has_room(), "once");
    }

    #[test]
    fn a_client_may_be_ahead_by_its_window_and_no_further() {
        let mut queues = Queues::default();
        let window = usize::try_from(WINDOW_BYTES).unwrap();
        queues.arrive(&vec![1; window]).unwrap();
        assert_eq!(queues.arrive(&[1]), Err(WindowExceeded(1)));

        let mut queues = Queues::default();
        queues.arrive(&vec![1; window]).unwrap();
        assert_eq!(queues.read(10, |_| ()), 10);
        assert_eq!(queues.next_message(), None, "a small change is not sent");
        assert_eq!(queues.read(window, |_| ()), window - 10);
        let granted = FromServer::Window(2 * WINDOW_BYTES).encode();
        assert_eq!(queues.next_message(), Some(granted));
        queues.arrive(&vec![1; window]).unwrap();
        assert!(queues.arrive(&[1]).is_err());
    }
}
