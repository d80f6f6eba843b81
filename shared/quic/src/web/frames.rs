//! The frames of a stream of HTTP/3.

use web_transport_proto as h3;

use crate::rejection::Rejection;

/// Collects a stream's bytes until they make a frame. Frames of unknown types, which a peer
/// may send at any time, are skipped.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// Bytes of an unknown frame that are still to come.
    skip: u64,
}

impl Frames {
    pub fn push(&mut self, bytes: &[u8]) {
        let skipped = usize::try_from(self.skip).map_or(bytes.len(), |skip| skip.min(bytes.len()));
        self.skip -= skipped as u64;
        self.bytes.extend_from_slice(&bytes[skipped..]);
    }

    /// The number of bytes that wait for the rest of their frame.
    #[cfg(any(test, feature = "fuzz"))]
    pub fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// The next frame that is known and complete.
    pub fn next_frame(&mut self) -> Result<Option<(h3::Frame, Vec<u8>)>, Rejection> {
        loop {
            let mut rest = &self.bytes[..];
            let (Ok(kind), Ok(length)) =
                (h3::Frame::decode(&mut rest), h3::VarInt::decode(&mut rest))
            else {
                return Ok(None);
            };
            let length = length.into_inner();
            let head = self.bytes.len() - rest.len();
            if !KNOWN.contains(&kind) {
                let behind = self.bytes.split_off(head);
                self.bytes.clear();
                self.skip = length;
                self.push(&behind);
                continue;
            }
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            if length > FRAME_BYTES_MAX {
                let reason =
                    format!("a frame of {length} bytes, where {FRAME_BYTES_MAX} are allowed");
                return Err(super::rejection(super::EXCESSIVE_LOAD, &reason));
            }
            let Some(payload) = rest.get(..length) else {
                return Ok(None);
            };
            let payload = payload.to_vec();
            self.bytes.drain(..head + length);
            return Ok(Some((kind, payload)));
        }
    }
}

/// A frame as it is sent.
pub fn frame(kind: h3::Frame, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![];
    kind.encode(&mut bytes);
    let length = h3::VarInt::try_from(payload.len()).unwrap_or_default();
    length.encode(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

/// Requests of browsers take some hundred bytes.
pub const FRAME_BYTES_MAX: usize = 4096;
const KNOWN: [h3::Frame; 3] = [h3::Frame::DATA, h3::Frame::HEADERS, h3::Frame::SETTINGS];

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![];
        h3::VarInt::from_u32(kind).encode(&mut bytes);
        h3::VarInt::from_u32(payload.len() as u32).encode(&mut bytes);
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn frames_are_the_same_however_the_stream_is_cut_and_unknown_ones_are_skipped() {
        let unknown = frame(0x21, &[7; 10_000]);
        let stream = [
            frame(0x40, b""),
            frame(1, b"headers"),
            unknown.clone(),
            frame(0, b""),
            unknown,
            frame(4, b"settings"),
        ]
        .concat();
        for cut in [1, 2, 3, 1000, stream.len()] {
            let mut frames = Frames::default();
            let mut found = vec![];
            for bytes in stream.chunks(cut) {
                frames.push(bytes);
                assert!(frames.waiting() <= cut + 16, "skipped bytes are kept");
                while let Some(frame) = frames.next_frame().unwrap() {
                    found.push(frame);
                }
            }
            let expected = [
                (h3::Frame::HEADERS, b"headers".to_vec()),
                (h3::Frame::DATA, vec![]),
                (h3::Frame::SETTINGS, b"settings".to_vec()),
            ];
            assert_eq!(found, expected, "cut every {cut} bytes");
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_rejected_before_it_arrives() {
        let mut frames = Frames::default();
        frames.push(&frame(1, &[0; FRAME_BYTES_MAX + 1])[..4]);
        assert!(frames.next_frame().is_err());
    }
}
