//! A browser's bytes around its session, read without a connection: for tests, and for
//! the fuzz target `web`.

use bytes::Bytes;
use quinn_proto::{Dir, Side, StreamId};
use web_transport_proto as h3;

use super::frames::{self, FRAME_BYTES_MAX, Frames};
use super::{Attached, Head, Request, State, Web, WebOptions, head};
use crate::rejection::Rejection;

/// A server's end, and the bytes of the two streams that it reads all the time.
struct Unconnected {
    web: Web,
    control: Frames,
    request: Request,
    options: WebOptions,
}

/// Some bytes by one of the ways that a browser has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Control(Vec<u8>),
    Request(Vec<u8>),
    Datagram(Vec<u8>),
    /// The first bytes of a bidirectional stream.
    Stream(Vec<u8>),
}

/// Its result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The code of the rejection.
    pub rejected: Option<u32>,
    pub has_settings: bool,
    pub is_accepted: bool,
    /// The code with which the session has ended, if it has and there is one.
    pub ended: Option<Option<u64>>,
}

/// Reads anything: a byte that chooses options, then pieces.
///
/// # Panics
/// If more is kept of it than is allowed, or if it matters where streams are cut.
pub fn try_any(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else {
        return;
    };
    let origins = vec![ORIGIN.to_owned()];
    let options = WebOptions {
        origins: if choice % 2 == 0 { vec![] } else { origins },
    };
    try_pieces(&options, &pieces(rest));
}

/// Reads pieces as they are, and joined.
pub(crate) fn try_pieces(options: &WebOptions, pieces: &[Piece]) -> Outcome {
    let outcome = read(options, pieces);
    assert_eq!(outcome, read(options, &joined(pieces)), "{pieces:?}");
    outcome
}

/// Each piece is a byte for the way by which it comes, its length, and so many bytes. Some
/// ways stand for browsers' messages, which no fuzzer would guess.
fn pieces(mut rest: &[u8]) -> Vec<Piece> {
    let mut pieces = vec![];
    while let [way, length, behind @ ..] = rest {
        let (bytes, next) = behind.split_at(usize::from(*length).min(behind.len()));
        rest = next;
        pieces.push(match way % 8 {
            0 => Piece::Control(bytes.to_vec()),
            1 => Piece::Request(bytes.to_vec()),
            2 => Piece::Datagram(bytes.to_vec()),
            3 => Piece::Stream(bytes.to_vec()),
            4 => Piece::Control(settings()),
            5 => Piece::Request(connect(ORIGIN)),
            6 => Piece::Request(frames::frame(h3::Frame::DATA, bytes)),
            _ => Piece::Request(frames::frame(h3::Frame::HEADERS, bytes)),
        });
    }
    pieces
}

/// The same bytes in fewer pieces.
fn joined(pieces: &[Piece]) -> Vec<Piece> {
    let mut all: Vec<Piece> = vec![];
    for piece in pieces {
        match (all.last_mut(), piece) {
            (Some(Piece::Control(last)), Piece::Control(next))
            | (Some(Piece::Request(last)), Piece::Request(next)) => last.extend(next),
            _ => all.push(piece.clone()),
        }
    }
    all
}

fn read(options: &WebOptions, pieces: &[Piece]) -> Outcome {
    let mut server = Unconnected {
        web: Web::default(),
        control: Frames::default(),
        request: Request {
            id: StreamId::new(Side::Client, Dir::Bi, 0),
            frames: Frames::default(),
        },
        options: options.clone(),
    };
    let rejection = pieces.iter().find_map(|piece| server.take(piece).err());
    let web = &server.web;
    Outcome {
        rejected: rejection.map(|rejection| rejection.code),
        has_settings: web.has_settings,
        is_accepted: web.session.is_some(),
        ended: match &web.state {
            State::Ended(close) => Some(close.as_ref().map(|close| close.error_code.into())),
            State::Open | State::Closing => None,
        },
    }
}

impl Unconnected {
    fn take(&mut self, piece: &Piece) -> Result<(), Rejection> {
        match piece {
            Piece::Control(bytes) => {
                self.control.push(bytes);
                self.web.take_control(&mut self.control)?;
            }
            Piece::Request(bytes) => {
                self.request.frames.push(bytes);
                self.web.take_request(&mut self.request, &self.options)?;
            }
            Piece::Datagram(bytes) => self.take_datagram(bytes)?,
            Piece::Stream(bytes) => self.begin_stream(bytes)?,
        }
        for waiting in [self.control.waiting(), self.request.frames.waiting()] {
            assert!(
                waiting < HEAD_BYTES_MAX + FRAME_BYTES_MAX,
                "{waiting} bytes"
            );
        }
        assert!(self.web.capsules.len() <= FRAME_BYTES_MAX);
        Ok(())
    }

    fn take_datagram(&self, bytes: &[u8]) -> Result<(), Rejection> {
        if self.web.session.is_some() {
            let again = self.web.unwrap_datagram(self.web.wrap_datagram(bytes))?;
            assert_eq!(again.as_deref(), Some(bytes));
        }
        let read = self.web.unwrap_datagram(Bytes::copy_from_slice(bytes))?;
        assert_eq!(read.is_some(), self.web.session.is_some());
        Ok(())
    }

    fn begin_stream(&mut self, bytes: &[u8]) -> Result<(), Rejection> {
        let heads = (0..=bytes.len()).map(|end| head(&bytes[..end]));
        let known = heads
            .into_iter()
            .find(|head| !matches!(head, Head::Incomplete));
        if let Some(Head::Attached(session)) = known {
            let id = StreamId::new(Side::Client, Dir::Bi, 1);
            self.web.stream = Some(Attached { id, session });
            self.web.check_stream()?;
        }
        Ok(())
    }
}

/// The settings of a browser.
fn settings() -> Vec<u8> {
    let mut settings = h3::Settings::default();
    settings.enable_webtransport(1);
    let mut stream = vec![];
    settings.encode(&mut stream);
    // Behind the stream's type, which is read elsewhere.
    stream.split_off(1)
}

/// The request of a page of this origin: header lines with literal names (RFC 9204, section
/// 4.5.6).
fn connect(origin: &str) -> Vec<u8> {
    let mut payload = vec![0, 0];
    for (name, value) in [
        (":method", "CONNECT"),
        (":scheme", "https"),
        (":authority", "localhost:4433"),
        (":path", "/"),
        (":protocol", "webtransport"),
        ("origin", origin),
    ] {
        match name.len() as u8 {
            short @ 0..7 => payload.push(0x20 | short),
            long => payload.extend([0x27, long - 7]),
        }
        payload.extend_from_slice(name.as_bytes());
        payload.push(value.len() as u8);
        payload.extend_from_slice(value.as_bytes());
    }
    frames::frame(h3::Frame::HEADERS, &payload)
}

const ORIGIN: &str = "https://example.org";
/// The type and the length of a frame.
const HEAD_BYTES_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{
        DATAGRAM_ERROR, FRAME_UNEXPECTED, ID_ERROR, MESSAGE_ERROR, REQUEST_REJECTED,
    };
    use super::*;

    fn all() -> WebOptions {
        WebOptions::default()
    }

    fn capsule(code: u32, reason: &str) -> Piece {
        let mut capsule = vec![];
        let reason = reason.to_owned();
        h3::Capsule::CloseWebTransportSession { code, reason }.encode(&mut capsule);
        Piece::Request(frames::frame(h3::Frame::DATA, &capsule))
    }

    fn begun() -> Vec<Piece> {
        vec![Piece::Control(settings()), Piece::Request(connect(ORIGIN))]
    }

    #[test]
    fn a_session_is_accepted_and_ends_as_the_page_says() {
        let mut pieces = begun();
        pieces.extend([Piece::Datagram(vec![0, 7]), capsule(9, "enough")]);
        let expected = Outcome {
            rejected: None,
            has_settings: true,
            is_accepted: true,
            ended: Some(Some(9)),
        };
        assert_eq!(try_pieces(&all(), &pieces), expected);
        // A page that is closed sends 0 and no reason.
        let pieces = [begun(), vec![capsule(0, "")]].concat();
        assert_eq!(try_pieces(&all(), &pieces).ended, Some(None));
    }

    #[test]
    fn what_a_browser_does_wrong_is_rejected_with_its_code() {
        let other = WebOptions {
            origins: vec!["https://elsewhere.example".to_owned()],
        };
        let stream = |session| {
            let mut bytes = vec![];
            h3::Frame::WEBTRANSPORT.encode(&mut bytes);
            h3::VarInt::from_u32(session).encode(&mut bytes);
            Piece::Stream(bytes)
        };
        let data = Piece::Request(frames::frame(h3::Frame::DATA, b""));
        let headers = Piece::Request(frames::frame(h3::Frame::HEADERS, b"\0\0"));
        for (options, pieces, code) in [
            (other, begun(), Some(REQUEST_REJECTED)),
            (all(), [begun(), begun()].concat(), Some(FRAME_UNEXPECTED)),
            (all(), vec![data], Some(FRAME_UNEXPECTED)),
            (all(), vec![headers], Some(MESSAGE_ERROR)),
            (all(), [vec![stream(4)], begun()].concat(), Some(ID_ERROR)),
            (all(), [begun(), vec![stream(0)]].concat(), None),
            (
                all(),
                [begun(), vec![Piece::Datagram(vec![1])]].concat(),
                Some(DATAGRAM_ERROR),
            ),
            // Before the session, a datagram means nothing.
            (all(), vec![Piece::Datagram(vec![1])], None),
        ] {
            let outcome = try_pieces(&options, &pieces);
            assert_eq!(outcome.rejected, code, "{pieces:?}");
        }
    }

    #[test]
    fn a_capsule_that_never_ends_is_rejected() {
        let mut pieces = begun();
        // It claims 16,383 bytes.
        let begin = frames::frame(h3::Frame::DATA, &[0x21, 0x7f, 0xff]);
        pieces.push(Piece::Request(begin));
        for _ in 0..5 {
            pieces.push(Piece::Request(frames::frame(h3::Frame::DATA, &[0; 1000])));
        }
        assert!(try_pieces(&all(), &pieces).rejected.is_some());
    }

    proptest! {
        // A found failure becomes a named case, not a line in a file.
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn anything_is_read_or_rejected(data in prop::collection::vec(any::<u8>(), 0..600)) {
            try_any(&data);
        }

        #[test]
        fn a_damaged_session_is_read_or_rejected_however_it_is_cut(
            reason in "[a-z]{0,80}",
            cut in 1usize..40,
            damage in prop::option::of((any::<prop::sample::Index>(), 1u8..)),
        ) {
            let close = capsule(7, &reason);
            let pieces = [begun(), vec![close]].concat().into_iter().map(|piece| match piece {
                Piece::Control(bytes) => (true, bytes),
                Piece::Request(bytes) | Piece::Datagram(bytes) | Piece::Stream(bytes) => {
                    (false, bytes)
                }
            });
            let mut pieces: Vec<(bool, Vec<u8>)> = pieces.collect();
            if let Some((place, bits)) = damage {
                let all: Vec<&mut u8> = pieces.iter_mut().flat_map(|piece| &mut piece.1).collect();
                let place = place.index(all.len());
                *all.into_iter().nth(place).expect("a byte") ^= bits;
            }
            let cut = pieces.iter().flat_map(|(is_control, bytes)| {
                bytes.chunks(cut).map(|chunk| match is_control {
                    true => Piece::Control(chunk.to_vec()),
                    false => Piece::Request(chunk.to_vec()),
                })
            });
            let outcome = try_pieces(&all(), &cut.collect::<Vec<_>>());
            if damage.is_none() {
                prop_assert_eq!(outcome.ended, Some(Some(7)));
            }
        }
    }
}
