//! WebTransport: how browsers reach an application. HTTP/3 around one session with one
//! stream, at the server's end of a connection.
//!
//! | stream | holds |
//! | --- | --- |
//! | ours, unidirectional | our settings |
//! | the client's, unidirectional | its settings; others are read and forgotten |
//! | bidirectional, `CONNECT` | the session: its request, our answer, its end as a capsule |
//! | bidirectional, of the session | the application's stream, behind a head of three bytes |
//!
//! Datagrams begin with a quarter of the session's stream number.
//!
//! Whatever a client opens or sends around its session is limited: the kept bytes of a stream
//! are a frame of 4 KiB at most, and a client that opens many streams is closed.
//!
//! RFC 9114 (HTTP/3), RFC 9220 (extended CONNECT), RFC 9297 (datagrams, capsules),
//! draft-ietf-webtrans-http3.

#[cfg(any(test, feature = "fuzz"))]
pub mod browser;
mod frames;

use bytes::Bytes;
use quinn_proto::crypto::rustls::HandshakeData;
use quinn_proto::{ApplicationClose, Connection, Dir, StreamId, VarInt, WriteError};
use web_transport_proto as h3;

use crate::rejection::Rejection;
use crate::streams::{self, StreamEnd};
use frames::Frames;

/// The protocol that browsers negotiate.
pub const ALPN: &[u8] = b"h3";

/// Which sessions a server accepts.
#[derive(Clone, Debug, Default)]
pub struct WebOptions {
    /// Pages of these origins, such as `https://example.org`; empty: of all.
    pub origins: Vec<String>,
}

/// HTTP/3 on one connection.
#[derive(Debug, Default)]
pub(crate) struct Web {
    /// The client's unidirectional streams that are still read.
    unidirectional: Vec<Unidirectional>,
    /// Its bidirectional streams whose first bytes are not complete.
    beginning: Vec<Beginning>,
    has_settings: bool,
    /// All streams that it has opened.
    opened: usize,
    request: Option<Request>,
    session: Option<StreamId>,
    /// The session's stream, which is the application's. It may come before the request.
    stream: Option<Attached>,
    capsules: Vec<u8>,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Open,
    /// We have sent the end of the session.
    Closing,
    /// The client has ended the session, maybe with a code and a sentence.
    Ended(Option<ApplicationClose>),
}

#[derive(Debug)]
struct Unidirectional {
    id: StreamId,
    head: Vec<u8>,
    kind: Option<h3::StreamUni>,
    frames: Frames,
}

#[derive(Debug)]
struct Beginning {
    id: StreamId,
    head: Vec<u8>,
}

#[derive(Debug)]
struct Request {
    id: StreamId,
    frames: Frames,
}

#[derive(Clone, Copy, Debug)]
struct Attached {
    id: StreamId,
    session: u64,
}

/// The type of a bidirectional stream, by its first bytes.
enum Head {
    Incomplete,
    Request,
    /// Of this session.
    Attached(u64),
}

impl Web {
    /// The server's end of a connection, if the client negotiated [`ALPN`].
    pub fn negotiated(connection: &mut Connection) -> Option<Result<Web, Rejection>> {
        let handshake = connection.crypto_session().handshake_data()?;
        let protocol = handshake.downcast::<HandshakeData>().ok()?.protocol?;
        (protocol == ALPN).then(|| Web::begin(connection))
    }

    fn begin(connection: &mut Connection) -> Result<Web, Rejection> {
        let mut settings = h3::Settings::default();
        settings.enable_webtransport(1);
        for number in NEWER_SETTINGS {
            let setting = h3::Setting(h3::VarInt::from_u32(number));
            settings.insert(setting, h3::VarInt::from_u32(1));
        }
        let mut bytes = vec![];
        settings.encode(&mut bytes);
        let control = connection.streams().open(Dir::Uni);
        let written = control.map(|id| connection.send_stream(id).write(&bytes));
        match written {
            Some(Ok(count)) if count == bytes.len() => Ok(Web::default()),
            _ => Err(rejection(
                GENERAL_PROTOCOL_ERROR,
                "the client allows no stream for our settings",
            )),
        }
    }

    /// The application's stream, once the session is accepted.
    pub fn stream(&self) -> Option<StreamId> {
        let (session, stream) = (self.session?, self.stream?);
        (stream.session == u64::from(session)).then_some(stream.id)
    }

    /// Whether packets are to be answered at once, since the client waits for us.
    pub fn is_beginning(&self) -> bool {
        self.stream().is_none()
    }

    /// Whether either side has sent the end of the session.
    pub fn is_over(&self) -> bool {
        !matches!(self.state, State::Open)
    }

    /// How the client has ended the session: with a code, or without; `None` if it has not.
    pub fn end(&self) -> Option<Option<ApplicationClose>> {
        match &self.state {
            State::Ended(close) => Some(close.clone()),
            _ => None,
        }
    }

    /// Reads the streams, but for the application's.
    pub fn progress(
        &mut self,
        connection: &mut Connection,
        options: &WebOptions,
    ) -> Result<(), Rejection> {
        self.accept(connection)?;
        let mut unidirectional = std::mem::take(&mut self.unidirectional);
        for i in (0..unidirectional.len()).rev() {
            if self.read_unidirectional(&mut unidirectional[i], connection)? {
                unidirectional.swap_remove(i);
            }
        }
        self.unidirectional = unidirectional;
        let beginning = std::mem::take(&mut self.beginning);
        for stream in beginning {
            self.begin_stream(stream, connection)?;
        }
        self.read_request(connection, options)
    }

    fn accept(&mut self, connection: &mut Connection) -> Result<(), Rejection> {
        for dir in [Dir::Uni, Dir::Bi] {
            while let Some(id) = connection.streams().accept(dir) {
                self.opened += 1;
                if self.opened > STREAMS_MAX {
                    return Err(rejection(EXCESSIVE_LOAD, "too many streams were opened"));
                }
                match dir {
                    Dir::Uni => self.unidirectional.push(Unidirectional {
                        id,
                        head: vec![],
                        kind: None,
                        frames: Frames::default(),
                    }),
                    Dir::Bi => self.beginning.push(Beginning { id, head: vec![] }),
                }
            }
        }
        Ok(())
    }

    /// True once the stream need not be read any more.
    fn read_unidirectional(
        &mut self,
        stream: &mut Unidirectional,
        connection: &mut Connection,
    ) -> Result<bool, Rejection> {
        while stream.kind.is_none() {
            let end = read_byte(connection, stream.id, &mut stream.head);
            stream.kind = h3::StreamUni::decode(&mut &stream.head[..]).ok();
            match (end, stream.kind) {
                (_, Some(_)) | (StreamEnd::Enough, None) => {}
                (end, None) => return Ok(end == StreamEnd::Finished),
            }
        }
        match stream.kind {
            Some(h3::StreamUni::CONTROL) => self.read_control(stream, connection),
            // They refer to a table that our settings declare empty.
            Some(h3::StreamUni::QPACK_ENCODER | h3::StreamUni::QPACK_DECODER) => {
                let end = streams::read(connection, stream.id, usize::MAX, |_| {});
                Ok(end == StreamEnd::Finished)
            }
            _ => {
                // An error is a stream that has ended.
                let _ = (connection.recv_stream(stream.id)).stop(VarInt::from_u32(STREAM_CREATION));
                Ok(true)
            }
        }
    }

    fn read_control(
        &mut self,
        stream: &mut Unidirectional,
        connection: &mut Connection,
    ) -> Result<bool, Rejection> {
        loop {
            let end = streams::read(connection, stream.id, CHUNK_BYTES, |bytes| {
                stream.frames.push(bytes);
            });
            self.take_control(&mut stream.frames)?;
            match end {
                StreamEnd::Enough => {}
                StreamEnd::Waiting => return Ok(false),
                StreamEnd::Finished => {
                    return Err(rejection(
                        CLOSED_CRITICAL_STREAM,
                        "the control stream has ended",
                    ));
                }
            }
        }
    }

    /// Reads the control stream.
    fn take_control(&mut self, frames: &mut Frames) -> Result<(), Rejection> {
        while let Some((kind, payload)) = frames.next_frame()? {
            match (kind, self.has_settings) {
                (h3::Frame::SETTINGS, false) => {
                    check_settings(&payload)?;
                    self.has_settings = true;
                }
                _ => {
                    let reason = format!("frame {kind:?} on the control stream");
                    return Err(rejection(FRAME_UNEXPECTED, &reason));
                }
            }
        }
        Ok(())
    }

    /// Reads the first bytes of a bidirectional stream, and no more of the application's.
    fn begin_stream(
        &mut self,
        mut stream: Beginning,
        connection: &mut Connection,
    ) -> Result<(), Rejection> {
        loop {
            match head(&stream.head) {
                Head::Incomplete => {}
                Head::Request if self.request.is_some() => {
                    return Err(rejection(
                        REQUEST_REJECTED,
                        "one session a connection is allowed",
                    ));
                }
                Head::Request => {
                    let mut frames = Frames::default();
                    frames.push(&stream.head);
                    let id = stream.id;
                    self.request = Some(Request { id, frames });
                    return Ok(());
                }
                Head::Attached(_) if self.stream.is_some() => {
                    return Err(rejection(EXCESSIVE_LOAD, "one stream a session is allowed"));
                }
                Head::Attached(session) => {
                    let id = stream.id;
                    self.stream = Some(Attached { id, session });
                    return self.check_stream();
                }
            }
            match read_byte(connection, stream.id, &mut stream.head) {
                StreamEnd::Enough => {}
                StreamEnd::Waiting => {
                    self.beginning.push(stream);
                    return Ok(());
                }
                StreamEnd::Finished => {
                    return Err(rejection(REQUEST_INCOMPLETE, "an empty stream"));
                }
            }
        }
    }

    fn check_stream(&self) -> Result<(), Rejection> {
        match (self.session, self.stream) {
            (Some(session), Some(stream)) if stream.session != u64::from(session) => {
                Err(rejection(ID_ERROR, "a stream of an unknown session"))
            }
            _ => Ok(()),
        }
    }

    fn read_request(
        &mut self,
        connection: &mut Connection,
        options: &WebOptions,
    ) -> Result<(), Rejection> {
        let Some(mut request) = self.request.take() else {
            return Ok(());
        };
        loop {
            let end = streams::read(connection, request.id, CHUNK_BYTES, |bytes| {
                request.frames.push(bytes);
            });
            if self.take_request(&mut request, options)? {
                answer(connection, request.id)?;
            }
            match end {
                StreamEnd::Enough => {}
                StreamEnd::Waiting => break,
                StreamEnd::Finished if self.session.is_none() => {
                    return Err(rejection(REQUEST_INCOMPLETE, "no complete request"));
                }
                StreamEnd::Finished => {
                    if matches!(self.state, State::Open) {
                        self.state = State::Ended(None);
                    }
                    return Ok(());
                }
            }
        }
        self.request = Some(request);
        Ok(())
    }

    /// Reads the stream of the request. True if it is accepted now.
    fn take_request(
        &mut self,
        request: &mut Request,
        options: &WebOptions,
    ) -> Result<bool, Rejection> {
        let mut is_accepted = false;
        while let Some((kind, payload)) = request.frames.next_frame()? {
            match (kind, self.session) {
                (h3::Frame::HEADERS, None) => {
                    accept_request(&payload, options)?;
                    self.session = Some(request.id);
                    self.check_stream()?;
                    is_accepted = true;
                }
                (h3::Frame::DATA, Some(_)) => self.take_capsules(&payload)?,
                _ => {
                    let reason = format!("frame {kind:?} on the stream of the request");
                    return Err(rejection(FRAME_UNEXPECTED, &reason));
                }
            }
        }
        Ok(is_accepted)
    }

    fn take_capsules(&mut self, bytes: &[u8]) -> Result<(), Rejection> {
        self.capsules.extend_from_slice(bytes);
        let mut rest = &self.capsules[..];
        loop {
            let before = rest;
            match h3::Capsule::decode(&mut rest) {
                Ok(h3::Capsule::CloseWebTransportSession { code, reason }) => {
                    if matches!(self.state, State::Open) {
                        self.state = State::Ended(close_of(code, reason));
                    }
                }
                Ok(_) => {}
                Err(h3::CapsuleError::UnexpectedEnd | h3::CapsuleError::VarInt(_)) => {
                    let left = before.len();
                    if left > frames::FRAME_BYTES_MAX {
                        return Err(rejection(EXCESSIVE_LOAD, "a capsule is too long"));
                    }
                    let done = self.capsules.len() - left;
                    self.capsules.drain(..done);
                    return Ok(());
                }
                Err(error) => {
                    return Err(rejection(
                        GENERAL_PROTOCOL_ERROR,
                        &format!("a capsule: {error}"),
                    ));
                }
            }
        }
    }

    /// The application's part of a datagram; `None` if there is no session yet.
    pub fn unwrap_datagram(&self, mut data: Bytes) -> Result<Option<Bytes>, Rejection> {
        let Some(session) = self.session else {
            return Ok(None);
        };
        match h3::VarInt::decode(&mut data) {
            Ok(quarter) if quarter.into_inner() == u64::from(session) / 4 => Ok(Some(data)),
            _ => Err(rejection(DATAGRAM_ERROR, "a datagram of no session")),
        }
    }

    /// A datagram as it is sent.
    pub fn wrap_datagram(&self, data: &[u8]) -> Bytes {
        let quarter = self.session.map_or(0, u64::from) / 4;
        let quarter = h3::VarInt::from_u64(quarter).unwrap_or_default();
        let mut bytes = Vec::with_capacity(data.len() + quarter.size());
        quarter.encode(&mut bytes);
        bytes.extend_from_slice(data);
        bytes.into()
    }

    /// Ends the session with a code and a sentence, which the page gets to know. False if
    /// there is no session, or no room to say it: the connection is to be closed then.
    pub fn close(&mut self, connection: &mut Connection, code: u32, reason: &str) -> bool {
        let (Some(session), State::Open) = (self.session, &self.state) else {
            return matches!(self.state, State::Closing);
        };
        if let Some(stream) = self.stream() {
            // Gives back what it holds of the connection's buffer.
            let _ = (connection.send_stream(stream)).reset(VarInt::from_u32(code));
        }
        let mut capsule = vec![];
        let reason = reason.to_owned();
        h3::Capsule::CloseWebTransportSession { code, reason }.encode(&mut capsule);
        let bytes = frames::frame(h3::Frame::DATA, &capsule);
        let has_reason = connection.send_stream(session).write(&bytes) == Ok(bytes.len())
            && connection.send_stream(session).finish().is_ok();
        if has_reason {
            self.state = State::Closing;
        }
        has_reason
    }
}

fn head(bytes: &[u8]) -> Head {
    let mut rest = bytes;
    match h3::Frame::decode(&mut rest) {
        Err(_) => Head::Incomplete,
        Ok(h3::Frame::WEBTRANSPORT) => match h3::VarInt::decode(&mut rest) {
            Err(_) => Head::Incomplete,
            Ok(session) => Head::Attached(session.into_inner()),
        },
        Ok(_) => Head::Request,
    }
}

/// The player's close. A browser whose page is closed or loaded again sends
/// 0 and no reason, which is no goodbye.
fn close_of(code: u32, reason: String) -> Option<ApplicationClose> {
    let has_reason = code != 0 || !reason.is_empty();
    has_reason.then(|| ApplicationClose {
        error_code: VarInt::from_u32(code),
        reason: Bytes::from(reason),
    })
}

fn check_settings(payload: &[u8]) -> Result<(), Rejection> {
    let unreadable =
        |what: &dyn std::fmt::Display| rejection(SETTINGS_ERROR, &format!("settings: {what}"));
    // The crate reads a whole control stream.
    let mut stream = vec![];
    h3::StreamUni::CONTROL.encode(&mut stream);
    stream.extend(frames::frame(h3::Frame::SETTINGS, payload));
    let settings = h3::Settings::decode(&mut &stream[..]).map_err(|error| unreadable(&error))?;
    let has_datagrams = [
        h3::Setting::ENABLE_DATAGRAM,
        h3::Setting::ENABLE_DATAGRAM_DEPRECATED,
    ]
    .iter()
    .any(|setting| settings.get(setting) == Some(&h3::VarInt::from_u32(1)));
    match has_datagrams {
        true => Ok(()),
        false => Err(unreadable(&"the client takes no datagrams")),
    }
}

fn accept_request(payload: &[u8], options: &WebOptions) -> Result<(), Rejection> {
    let frame = frames::frame(h3::Frame::HEADERS, payload);
    let request = h3::ConnectRequest::decode(&mut &frame[..])
        .map_err(|error| rejection(MESSAGE_ERROR, &format!("no WebTransport request: {error}")))?;
    let origin = request.headers.get("origin").map(|value| value.as_bytes());
    let is_allowed = |allowed: &String| {
        origin.is_some_and(|origin| origin.eq_ignore_ascii_case(allowed.as_bytes()))
    };
    if options.origins.is_empty() || options.origins.iter().any(is_allowed) {
        return Ok(());
    }
    Err(Rejection {
        is_foreign: true,
        ..rejection(REQUEST_REJECTED, "pages of this origin are not allowed")
    })
}

fn answer(connection: &mut Connection, session: StreamId) -> Result<(), Rejection> {
    let mut bytes = vec![];
    let encoded = h3::ConnectResponse::OK.encode(&mut bytes);
    let written = connection.send_stream(session).write(&bytes);
    match (encoded, written) {
        (Ok(()), Ok(count)) if count == bytes.len() => Ok(()),
        (_, Err(WriteError::Stopped(_))) => {
            Err(rejection(REQUEST_INCOMPLETE, "the client takes no answer"))
        }
        _ => Err(rejection(
            GENERAL_PROTOCOL_ERROR,
            "there is no room for our answer",
        )),
    }
}

fn read_byte(connection: &mut Connection, id: StreamId, bytes: &mut Vec<u8>) -> StreamEnd {
    streams::read(connection, id, 1, |byte| bytes.extend_from_slice(byte))
}

fn rejection(code: u32, reason: &str) -> Rejection {
    Rejection {
        code,
        reason: reason.to_owned(),
        is_foreign: false,
    }
}

/// How later drafts name the wish for WebTransport; Safari looks for the first one.
const NEWER_SETTINGS: [u32; 2] = [0x14e9_cd29, 0x2c7c_f000];
/// Three that HTTP/3 needs, a request, a stream, and some that mean nothing.
const STREAMS_MAX: usize = 16;
const CHUNK_BYTES: usize = 1024;

/// RFC 9297, section 5.2; RFC 9114, section 8.1.
const DATAGRAM_ERROR: u32 = 0x33;
const GENERAL_PROTOCOL_ERROR: u32 = 0x101;
const STREAM_CREATION: u32 = 0x103;
const CLOSED_CRITICAL_STREAM: u32 = 0x104;
const FRAME_UNEXPECTED: u32 = 0x105;
const EXCESSIVE_LOAD: u32 = 0x107;
const ID_ERROR: u32 = 0x108;
const SETTINGS_ERROR: u32 = 0x109;
const REQUEST_REJECTED: u32 = 0x10b;
const REQUEST_INCOMPLETE: u32 = 0x10d;
const MESSAGE_ERROR: u32 = 0x10e;
