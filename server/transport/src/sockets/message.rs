//! The messages of a connection over WebSocket. All are binary, and in little-endian order:
//!
//! | bytes | field |
//! | --- | --- |
//! | 1 | kind |
//! | rest | by kind |
//!
//! | kind | from | rest |
//! | --- | --- | --- |
//! | 0 | both | the next bytes of the stream, at least one |
//! | 1 | both | a datagram |
//! | 2 | server | 8 bytes: the client may send its stream up to this offset; at first 4,096 |
//! | 3 | server | the end of the connection: a code of 4 bytes, and a sentence in UTF-8 |
//!
//! A client ends the connection with a close frame of code 4,000 + the code.

use bytes::Bytes;

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromClient {
    Stream(Bytes),
    Datagram(Bytes),
}

/// A message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromServer<'a> {
    Stream(&'a [u8]),
    Datagram(&'a [u8]),
    Window(u64),
    Close { code: u32, reason: &'a str },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error("an empty message; expected its kind")]
    Empty,
    #[error("a message of kind {0}; expected 0 for bytes of the stream, 1 for a datagram")]
    UnknownKind(u8),
    #[error("no bytes of the stream; expected at least one")]
    NoBytes,
}

impl FromClient {
    pub fn decode(mut message: Bytes) -> Result<FromClient, MessageError> {
        let Some(&kind) = message.first() else {
            return Err(MessageError::Empty);
        };
        let rest = message.split_off(1);
        match kind {
            STREAM if rest.is_empty() => Err(MessageError::NoBytes),
            STREAM => Ok(FromClient::Stream(rest)),
            DATAGRAM => Ok(FromClient::Datagram(rest)),
            kind => Err(MessageError::UnknownKind(kind)),
        }
    }
}

impl FromServer<'_> {
    pub fn encode(&self) -> Bytes {
        let with = |kind: u8, rest: &[&[u8]]| [&[&[kind][..]], rest].concat().concat().into();
        match *self {
            FromServer::Stream(bytes) => with(STREAM, &[bytes]),
            FromServer::Datagram(bytes) => with(DATAGRAM, &[bytes]),
            FromServer::Window(to) => with(WINDOW, &[&to.to_le_bytes()]),
            FromServer::Close { code, reason } => {
                with(CLOSE, &[&code.to_le_bytes(), reason.as_bytes()])
            }
        }
    }
}

/// The code of a close frame for a code of the protocol: applications may use 4,000 to 4,999.
pub fn close_frame_code(code: u32) -> u16 {
    u16::try_from(code)
        .ok()
        .filter(|code| *code < 1000)
        .map_or(CLOSE_FRAMES, |code| CLOSE_FRAMES + code)
}

/// The code of the protocol in a close frame; `None`: the browser has closed the connection by
/// itself.
pub fn code_of_close_frame(code: u16) -> Option<u32> {
    (CLOSE_FRAMES..CLOSE_FRAMES + 1000)
        .contains(&code)
        .then(|| u32::from(code - CLOSE_FRAMES))
}

/// How far a client may be ahead of the server with its stream, as over QUIC.
pub const WINDOW_BYTES: u64 = 4096;
/// The longest message of a client: all that its window allows.
#[allow(clippy::cast_possible_truncation, reason = "a small number")]
pub const MESSAGE_BYTES_MAX: usize = 1 + WINDOW_BYTES as usize;
const STREAM: u8 = 0;
const DATAGRAM: u8 = 1;
const WINDOW: u8 = 2;
const CLOSE: u8 = 3;
const CLOSE_FRAMES: u16 = 4000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_clients_are_read_or_rejected() {
        let decode = |bytes: &'static [u8]| FromClient::decode(Bytes::from_static(bytes));
        let bytes = Bytes::from_static;
        assert_eq!(decode(&[0, 7, 8]), Ok(FromClient::Stream(bytes(&[7, 8]))));
        assert_eq!(decode(&[1, 9]), Ok(FromClient::Datagram(bytes(&[9]))));
        assert_eq!(decode(&[1]), Ok(FromClient::Datagram(Bytes::new())));
        assert_eq!(decode(&[]), Err(MessageError::Empty));
        assert_eq!(decode(&[0]), Err(MessageError::NoBytes));
        for kind in 2..=255 {
            let message = Bytes::copy_from_slice(&[kind, 1, 2, 3]);
            let expected = Err(MessageError::UnknownKind(kind));
            assert_eq!(FromClient::decode(message), expected);
        }
    }

    #[test]
    fn messages_of_the_server_are_written_as_on_paper() {
        assert_eq!(FromServer::Stream(&[5, 6]).encode()[..], [0, 5, 6]);
        assert_eq!(FromServer::Datagram(&[5]).encode()[..], [1, 5]);
        let window = FromServer::Window(0x0102).encode();
        assert_eq!(window[..], [2, 2, 1, 0, 0, 0, 0, 0, 0]);
        let close = FromServer::Close {
            code: 9,
            reason: "é",
        };
        assert_eq!(close.encode()[..], [3, 9, 0, 0, 0, 0xc3, 0xa9]);
    }

    #[test]
    fn codes_of_the_protocol_have_close_frames_of_their_own() {
        for code in [0, 1, 15, 999] {
            assert_eq!(code_of_close_frame(close_frame_code(code)), Some(code));
        }
        assert_eq!(close_frame_code(u32::MAX), 4000);
        assert_eq!(code_of_close_frame(1001), None);
        assert_eq!(code_of_close_frame(5000), None);
    }
}
