//! Messages with a length in front, cut out of a stream's bytes.

use shared::wire::{DecodeError, length};

/// Collects a stream's bytes until they make whole messages.
#[derive(Debug)]
pub struct FrameReader {
    bytes: Vec<u8>,
    /// Where the next message begins, its length included.
    start: usize,
    limit: usize,
}

impl FrameReader {
    /// A reader of messages of at most `limit` bytes each, their lengths apart.
    pub fn new(limit: usize) -> FrameReader {
        FrameReader {
            bytes: vec![],
            start: 0,
            limit,
        }
    }

    /// From now on messages may have so many bytes.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Appends bytes in the order in which they arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message without its length; `None` until more has arrived.
    ///
    /// A length beyond the limit is an error, after which the stream cannot be read on.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, DecodeError> {
        let rest = &self.bytes[self.start..];
        let Some((length, behind)) = length::split(rest, self.limit)? else {
            return Ok(None);
        };
        let Some(frame) = behind.get(..length) else {
            return Ok(None);
        };
        self.start += rest.len() - behind.len() + length;
        Ok(Some(frame))
    }

    /// The bytes behind the last message that was given out.
    pub fn into_rest(mut self) -> Vec<u8> {
        self.bytes.split_off(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_the_same_however_the_stream_is_cut() {
        let stream = b"\x03one\0\x05three";
        for cut in 1..=stream.len() {
            let mut reader = FrameReader::new(5);
            let mut frames = vec![];
            for bytes in stream.chunks(cut) {
                reader.push(bytes);
                while let Some(frame) = reader.next_frame().unwrap() {
                    frames.push(frame.to_vec());
                }
            }
            assert_eq!(
                frames,
                [&b"one"[..], b"", b"three"],
                "cut every {cut} bytes"
            );
        }
    }

    #[test]
    fn a_message_longer_than_the_limit_is_an_error_before_it_arrives() {
        let mut reader = FrameReader::new(5);
        reader.push(&[6]);
        let too_long = DecodeError::TooLong { found: 6, limit: 5 };
        assert_eq!(reader.next_frame(), Err(too_long));
    }

    #[test]
    fn bytes_behind_the_last_message_are_the_rest() {
        let mut reader = FrameReader::new(5);
        reader.push(b"\x01abc");
        assert_eq!(reader.next_frame(), Ok(Some(&b"a"[..])));
        assert_eq!(reader.into_rest(), b"bc");
    }
}
