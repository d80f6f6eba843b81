//! Hello and welcome.

use shared::wire::control::{Hello, Ticket, WELCOME_BYTES_MAX, Welcome};
use shared::wire::{DecodeError, PROTOCOL_VERSION, codec};

use crate::frame::FrameReader;
use crate::request::RequestQueue;
use crate::session::Session;

/// A client that is not welcomed yet.
///
/// A server that refuses a client closes the connection, with a code of
/// [`Close`](shared::wire::control::Close) and its reason as a sentence.
#[derive(Debug)]
pub struct Handshake {
    hello: Vec<u8>,
    reader: FrameReader,
    /// Of the session before on the same stream, if there was one.
    requests: Option<RequestQueue>,
}

/// The content of the server's welcome.
pub struct Welcomed {
    /// The world, the client's entity and its quotas.
    pub welcome: Welcome,
    /// What continues the connection.
    pub session: Session,
    /// Bytes of the stream that arrived behind the welcome: the first for
    /// [`Session::handle_stream`].
    pub rest: Vec<u8>,
}

impl Handshake {
    /// The handshake of a connection that begins with this hello.
    pub fn new(hello: &Hello) -> Handshake {
        let body = codec::to_bytes(hello);
        // A longer one is rejected by the server.
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend_from_slice(&body);
        Handshake {
            hello: bytes,
            reader: FrameReader::new(WELCOME_BYTES_MAX),
            requests: None,
        }
    }

    /// The handshake of a session that the server begins anew: it has no hello. `reader`
    /// has what came behind the message that said so; `requests` are those of the session before,
    /// which may be on their way.
    pub(crate) fn again(mut reader: FrameReader, requests: RequestQueue) -> Handshake {
        reader.set_limit(WELCOME_BYTES_MAX);
        Handshake {
            hello: vec![],
            reader,
            requests: Some(requests),
        }
    }

    /// The first bytes to send on the client's stream.
    pub fn stream_bytes(&self) -> &[u8] {
        &self.hello
    }

    /// Reads bytes of the stream; `None` until the welcome is complete. Afterwards the
    /// handshake is of no more use.
    ///
    /// Datagrams that arrive before the welcome can be dropped: the server sends again
    /// what is not acknowledged.
    pub fn handle_stream(&mut self, bytes: &[u8]) -> Result<Option<Welcomed>, DecodeError> {
        self.reader.push(bytes);
        let Some(frame) = self.reader.next_frame()? else {
            return Ok(None);
        };
        let welcome = Welcome::decode(frame)?;
        let mut session = Session::new(&welcome)?;
        if let Some(requests) = self.requests.take() {
            session.continue_requests(requests);
        }
        let reader = std::mem::replace(&mut self.reader, FrameReader::new(WELCOME_BYTES_MAX));
        Ok(Some(Welcomed {
            welcome,
            session,
            rest: reader.into_rest(),
        }))
    }
}

/// A hello of this version, to a world of any schema. `token` is empty where the server
/// requires none; `resume` is the ticket of an earlier session.
pub fn hello(token: &str, resume: Option<Ticket>) -> Hello {
    Hello {
        version: PROTOCOL_VERSION,
        token: token.to_owned(),
        name: String::new(),
        schema_hash: None,
        resume,
        spectates: false,
    }
}
