//! One connection over WebSocket, from its handshake to its end.

use std::borrow::Cow;
use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use platform::http::taken::Upgraded;
use quic::Handle;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

use super::message::{
    FromClient, FromServer, MESSAGE_BYTES_MAX, close_frame_code, code_of_close_frame,
};
use super::queues::Queues;
use super::socket_link::SocketLink;
use super::stream::Stream;
use crate::client::Client;
use crate::client_link::PathFigures;

/// A connection, and the session over it.
pub struct Connection {
    /// `None` once the session has ended.
    pub client: Option<Client>,
    pub socket: WebSocket<Stream>,
    address: SocketAddr,
    queues: Queues,
    figures: PathFigures,
    /// When something arrived last.
    pub heard: Instant,
    /// When the ping was sent whose answer is missing.
    ping: Option<Instant>,
    pinged: Instant,
    /// The session has ended, and the last words must be gone by then.
    pub ends: Option<Instant>,
    /// Its bytes can't be read: the rest is dropped.
    is_broken: bool,
}

/// What a connection has brought.
#[derive(Debug)]
pub enum Arrived {
    Datagram(Bytes),
    /// Bytes of the stream.
    Stream,
    /// For the WebSocket itself.
    Nothing,
    /// There is no more for now.
    Waiting,
    Malformed(String),
    /// The client has closed the connection; `None`: without a code of the protocol.
    Closed(Option<u32>),
    /// It can't be used any more.
    Lost,
}

impl Connection {
    pub fn new(upgraded: Upgraded, client: Client, now: Instant) -> std::io::Result<Connection> {
        let stream = Stream::new(upgraded.connection)?;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(WRITE_BUFFER_BYTES)
            .max_write_buffer_size(2 * WRITE_BUFFER_BYTES)
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        let read = upgraded.read.to_vec();
        Ok(Connection {
            client: Some(client),
            socket: WebSocket::from_partially_read(stream, read, Role::Server, Some(config)),
            address: upgraded.address,
            queues: Queues::default(),
            figures: PathFigures::default(),
            heard: now,
            ping: None,
            pinged: now,
            ends: None,
            is_broken: false,
        })
    }

    /// The link and the session, if that has not ended.
    pub fn link(
        &mut self,
        handle: Handle,
        turn: u64,
        now: Instant,
    ) -> Option<(SocketLink<'_>, &mut Client)> {
        let client = self.client.as_mut()?;
        let figures = PathFigures {
            packets_lost: self.queues.replaced,
            ..self.figures
        };
        let link = SocketLink {
            handle,
            now,
            turn,
            address: self.address,
            figures,
            queues: &mut self.queues,
        };
        Some((link, client))
    }

    /// The next message that has arrived.
    pub fn receive(&mut self, now: Instant) -> Arrived {
        if self.is_broken {
            return self.drop_rest();
        }
        let message = match self.socket.read() {
            Ok(message) => message,
            Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                return Arrived::Waiting;
            }
            Err(Error::Io(_) | Error::ConnectionClosed | Error::AlreadyClosed) => {
                return Arrived::Lost;
            }
            Err(error) => {
                self.is_broken = true;
                // An end without a close frame is a lost connection.
                return match error {
                    Error::Protocol(
                        tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
                    ) => Arrived::Lost,
                    error => Arrived::Malformed(error.to_string()),
                };
            }
        };
        self.heard = now;
        self.figures.bytes_received += message.len() as u64;
        if self.ends.is_some() {
            return Arrived::Nothing;
        }
        match message {
            Message::Binary(bytes) => match FromClient::decode(bytes) {
                Ok(FromClient::Datagram(bytes)) => Arrived::Datagram(bytes),
                Ok(FromClient::Stream(bytes)) => match self.queues.arrive(&bytes) {
                    Ok(()) => Arrived::Stream,
                    Err(error) => Arrived::Malformed(error.to_string()),
                },
                Err(error) => Arrived::Malformed(error.to_string()),
            },
            Message::Text(_) => {
                Arrived::Malformed("a message of text; expected binary ones".to_owned())
            }
            Message::Close(frame) => {
                let code = frame.map(|frame| u16::from(frame.code));
                Arrived::Closed(code.and_then(code_of_close_frame))
            }
            Message::Pong(_) => {
                if let Some(ping) = self.ping.take() {
                    self.figures.round_trip = now.saturating_duration_since(ping);
                }
                Arrived::Nothing
            }
            Message::Ping(_) | Message::Frame(_) => Arrived::Nothing,
        }
    }

    /// Reads what can't be understood, so that the client gets the last words before a reset.
    fn drop_rest(&mut self) -> Arrived {
        match self.socket.get_mut().read(&mut [0; READ_BUFFER_BYTES]) {
            Ok(1..) => Arrived::Nothing,
            Err(error) if error.kind() == ErrorKind::WouldBlock => Arrived::Waiting,
            Ok(0) | Err(_) => Arrived::Lost,
        }
    }

    /// Hands as much to the system as it takes now. False if the connection can't be used any
    /// more.
    pub fn send(&mut self, now: Instant) -> bool {
        if self.ping.is_none() && now >= self.pinged + PING_PERIOD && self.ends.is_none() {
            self.pinged = now;
            self.ping = Some(now);
            if !is_usable(self.socket.write(Message::Ping(Bytes::new()))) {
                return false;
            }
        }
        loop {
            match self.socket.flush() {
                Ok(()) => {}
                Err(error) => return is_usable(Err(error)),
            }
            let mut batch = 0;
            while batch < BATCH_BYTES
                && let Some(message) = self.queues.next_message()
            {
                batch += message.len();
                self.figures.packets_sent += 1;
                if !is_usable(self.socket.write(Message::Binary(message))) {
                    return false;
                }
            }
            if batch == 0 {
                return true;
            }
            self.figures.bytes_sent += batch as u64;
        }
    }

    /// The stream was full, and takes bytes again.
    pub fn take_has_room(&mut self) -> bool {
        self.queues.take_has_room()
    }

    /// Ends the session, if the server has closed the connection: says so, and returns the session.
    pub fn take_closed(&mut self, now: Instant) -> Option<Client> {
        let (code, reason) = self.queues.close.clone()?;
        let client = self.client.take()?;
        self.ends = Some(now + LAST_WORDS_WAIT);
        let close = FromServer::Close {
            code,
            reason: &reason,
        };
        let frame = CloseFrame {
            code: CloseCode::from(close_frame_code(code)),
            // The whole sentence is in the message.
            reason: Cow::Borrowed(start_of(&reason, FRAME_REASON_BYTES_MAX))
                .into_owned()
                .into(),
        };
        // What fails here fails again when it is flushed.
        let _ = self.socket.write(Message::Binary(close.encode()));
        let _ = self.socket.close(Some(frame));
        Some(client)
    }

    /// Messages and bytes, in both directions.
    pub fn figures(&self) -> PathFigures {
        self.figures
    }
}

/// Whether a connection can be used after an attempt to write.
fn is_usable(written: Result<(), Error>) -> bool {
    match written {
        Ok(()) => true,
        Err(Error::Io(error)) => error.kind() == ErrorKind::WouldBlock,
        // Nothing is written behind a close frame, and never more than the buffer holds.
        Err(_) => false,
    }
}

/// The start of a text, of so many bytes at most.
fn start_of(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

const READ_BUFFER_BYTES: usize = 4096;
/// More than a batch, the last message of it, and the last words.
const WRITE_BUFFER_BYTES: usize = 16 * 1024;
/// Messages are written together, but what is written can't be replaced.
const BATCH_BYTES: usize = 4096;
const PING_PERIOD: Duration = Duration::from_secs(1);
/// For the client to read why, and to close the connection, too.
const LAST_WORDS_WAIT: Duration = Duration::from_secs(1);
/// Of a control frame (RFC 6455, section 5.5), less the code.
const FRAME_REASON_BYTES_MAX: usize = 123;
