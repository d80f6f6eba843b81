//! Messages on a stream: each is its length in 4 bytes, the lowest first, then so many bytes.

use quinn::{ReadError, RecvStream};
use thiserror::Error;

/// Messages that can be read.
pub trait Decode: Sized {
    type Error;

    /// Reads a message without its length.
    fn decode(bytes: &[u8]) -> Result<Self, Self::Error>;
}

/// Why what was received is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError<E> {
    #[error("a message of {found} bytes, where {limit} are allowed")]
    TooLong { found: usize, limit: usize },
    #[error(transparent)]
    Message(E),
}

/// Why there is no next message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NextError<E> {
    #[error(transparent)]
    Malformed(#[from] FrameError<E>),
    #[error("the stream is finished")]
    Finished,
    #[error(transparent)]
    Lost(#[from] ReadError),
}

/// Reassembles messages from the arriving bytes.
#[derive(Debug)]
pub struct FrameReader {
    bytes: Vec<u8>,
    /// Read already.
    used: usize,
    /// The most bytes of a message.
    limit: usize,
}

impl FrameReader {
    /// Of messages of at most so many bytes.
    pub fn new(limit: usize) -> FrameReader {
        FrameReader {
            bytes: vec![],
            used: 0,
            limit,
        }
    }

    /// Reads messages of up to so many bytes from now on.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if self.used > 0 {
            self.bytes.drain(..self.used);
            self.used = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message, if it is complete.
    pub fn message<M: Decode>(&mut self) -> Result<Option<M>, FrameError<M::Error>> {
        let rest = &self.bytes[self.used..];
        let Some((&length, rest)) = rest.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let found = u32::from_le_bytes(length) as usize;
        if found > self.limit {
            let limit = self.limit;
            return Err(FrameError::TooLong { found, limit });
        }
        let Some(message) = rest.get(..found) else {
            return Ok(None);
        };
        let message = M::decode(message).map_err(FrameError::Message)?;
        self.used += LENGTH_BYTES + found;
        Ok(Some(message))
    }

    /// The next message of a stream.
    pub async fn next<M: Decode>(
        &mut self,
        receive: &mut RecvStream,
    ) -> Result<M, NextError<M::Error>> {
        loop {
            if let Some(message) = self.message()? {
                return Ok(message);
            }
            match receive.read_chunk(CHUNK_BYTES_MAX, true).await? {
                Some(chunk) => self.push(&chunk.bytes),
                None => return Err(NextError::Finished),
            }
        }
    }
}

/// Begins a message: append its bytes, then [`end`] it.
pub fn begin() -> Vec<u8> {
    vec![0; LENGTH_BYTES]
}

/// Completes a message. One that is too long is refused by the other side.
pub fn end(message: &mut [u8]) {
    let length = u32::try_from(message.len() - LENGTH_BYTES).unwrap_or(u32::MAX);
    message[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
}

const LENGTH_BYTES: usize = 4;
const CHUNK_BYTES_MAX: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Message(Vec<u8>);

    impl Decode for Message {
        type Error = Infallible;

        fn decode(bytes: &[u8]) -> Result<Message, Infallible> {
            Ok(Message(bytes.to_vec()))
        }
    }

    #[test]
    fn messages_come_back_however_the_transport_cuts_them() {
        let messages = [vec![], vec![7], vec![1, 2, 3], vec![9; 300]];
        let mut bytes = vec![];
        for message in &messages {
            let mut framed = begin();
            framed.extend(message);
            end(&mut framed);
            bytes.extend(framed);
        }
        for step in [1, 7, bytes.len()] {
            let (mut reader, mut read) = (FrameReader::new(300), vec![]);
            for part in bytes.chunks(step) {
                reader.push(part);
                while let Some(Message(message)) = reader.message().unwrap() {
                    read.push(message);
                }
            }
            assert_eq!(read, messages);
        }
    }

    #[test]
    fn a_length_alone_is_enough_to_refuse_a_message() {
        let mut reader = FrameReader::new(5);
        reader.push(&6_u32.to_le_bytes());
        let (found, limit) = (6, 5);
        let refused = reader.message::<Message>();
        assert_eq!(refused, Err(FrameError::TooLong { found, limit }));
        reader.set_limit(6);
        reader.push(&[1; 6]);
        assert_eq!(reader.message(), Ok(Some(Message(vec![1; 6]))));
    }
}
