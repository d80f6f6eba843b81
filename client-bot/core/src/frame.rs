//! Messages with a length in front (4 bytes, little-endian), cut out of a stream's bytes.

use shared::wire::DecodeError;

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
        let Some((length, rest)) = rest.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > self.limit {
            return Err(DecodeError::TooLong {
                found: length,
                limit: self.limit,
            });
        }
        let Some(frame) = rest.get(..length) else {
            return Ok(None);
        };
        self.start += 4 + length;
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
        let stream = b"\x03\0\0\0one\0\0\0\0\x05\0\0\0three";
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
        reader.push(&[6, 0, 0, 0]);
        let too_long = DecodeError::TooLong { found: 6, limit: 5 };
        assert_eq!(reader.next_frame(), Err(too_long));
    }

    #[test]
    fn bytes_behind_the_last_message_are_the_rest() {
        let mut reader = FrameReader::new(5);
        reader.push(b"\x01\0\0\0abc");
        assert_eq!(reader.next_frame(), Ok(Some(&b"a"[..])));
        assert_eq!(reader.into_rest(), b"bc");
    }
}
