//! A client over WebSocket, written from the protocol on paper.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use client_core::{Game, GameOptions};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, Role};
use tungstenite::{Error, Message, WebSocket};

use super::DEADLINE;

/// A connection, with TLS or without.
pub trait Wire: Read + Write {}

impl<T: Read + Write> Wire for T {}

/// A WebSocket after its handshake.
pub struct Socket {
    pub web: WebSocket<Box<dyn Wire + Send>>,
    tcp: TcpStream,
}

/// What a server has sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    Stream(Vec<u8>),
    Datagram(Vec<u8>),
    Window(u64),
    Close(u32, String),
    /// A close frame, or the end of the connection.
    End(Option<u16>),
}

impl Socket {
    /// Opens a WebSocket as a page of this origin does.
    pub fn open(address: SocketAddr, origin: Option<&str>) -> Socket {
        let tcp = connect(address);
        let wire = Box::new(tcp.try_clone().expect("a connection"));
        Socket::over(tcp, wire, origin).expect("the handshake is accepted")
    }

    /// The same with TLS, with trust in a certificate.
    pub fn open_tls(address: SocketAddr, certificate: &CertificateDer<'static>) -> Socket {
        let tcp = connect(address);
        let wire = Box::new(tls(tcp.try_clone().expect("a connection"), certificate));
        Socket::over(tcp, wire, None).expect("the handshake is accepted")
    }

    /// The answer to a handshake that is refused.
    pub fn refusal(address: SocketAddr, origin: Option<&str>) -> String {
        let tcp = connect(address);
        let wire = Box::new(tcp.try_clone().expect("a connection"));
        match Socket::over(tcp, wire, origin) {
            Ok(_) => panic!("the handshake is accepted"),
            Err(answer) => answer,
        }
    }

    fn over(
        tcp: TcpStream,
        mut wire: Box<dyn Wire + Send>,
        origin: Option<&str>,
    ) -> Result<Socket, String> {
        let origin = origin.map_or(String::new(), |origin| format!("Origin: {origin}\r\n"));
        let request = format!(
            "GET /play HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n{origin}\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        wire.write_all(request.as_bytes()).expect("a request");
        let mut answer = vec![];
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            assert_eq!(wire.read(&mut byte).expect("an answer"), 1);
            answer.extend(byte);
        }
        let answer = String::from_utf8(answer).expect("text");
        if !answer.starts_with("HTTP/1.1 101 ") {
            return Err(answer);
        }
        let accepted = "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
        let is_accepted = answer
            .to_ascii_lowercase()
            .contains(&accepted.to_ascii_lowercase());
        assert!(is_accepted, "{answer}");
        let web = WebSocket::from_raw_socket(wire, Role::Client, None);
        tcp.set_read_timeout(Some(MOMENT)).expect("a time-out");
        Ok(Socket { web, tcp })
    }

    /// Sends a message of a kind.
    pub fn send(&mut self, kind: u8, rest: &[u8]) {
        // A server that has closed the connection says so to the reader.
        let _ = self.try_send(kind, rest);
    }

    pub fn try_send(&mut self, kind: u8, rest: &[u8]) -> Result<(), Error> {
        self.web.send(Message::binary([&[kind], rest].concat()))
    }

    /// The next message, if one comes in a moment.
    pub fn receive(&mut self) -> Option<Received> {
        let message = loop {
            match self.web.read() {
                // The answer is sent by itself.
                Ok(Message::Ping(_)) => {}
                Ok(message) => break message,
                Err(Error::Io(error)) if is_waiting(&error) => return None,
                Err(_) => return Some(Received::End(None)),
            }
        };
        let bytes = match message {
            Message::Binary(bytes) => bytes,
            Message::Close(frame) => {
                return Some(Received::End(frame.map(|frame| frame.code.into())));
            }
            _ => return None,
        };
        let (&kind, rest) = bytes.split_first().expect("a kind");
        let word = |rest: &[u8]| u32::from_le_bytes(rest[..4].try_into().expect("4 bytes"));
        Some(match kind {
            0 => Received::Stream(rest.to_vec()),
            1 => Received::Datagram(rest.to_vec()),
            2 => Received::Window(u64::from_le_bytes(rest.try_into().expect("8 bytes"))),
            3 => {
                let reason = String::from_utf8(rest[4..].to_vec()).expect("text");
                Received::Close(word(rest), reason)
            }
            kind => panic!("a message of kind {kind}"),
        })
    }

    /// How the server closes the connection: code and sentence, and the code of the frame.
    pub fn closed(&mut self) -> (u32, String, Option<u16>) {
        let started = Instant::now();
        let mut said = None;
        loop {
            match self.receive() {
                Some(Received::Close(code, reason)) => said = Some((code, reason)),
                Some(Received::End(frame)) => {
                    let (code, reason) = said.expect("a reason");
                    return (code, reason, frame);
                }
                _ => assert!(started.elapsed() < DEADLINE, "the server does not close"),
            }
        }
    }

    pub fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    /// Ends the connection without a word.
    pub fn cut(&self) {
        let _ = self.tcp.shutdown(std::net::Shutdown::Both);
    }
}

/// A game over a WebSocket.
pub struct SocketGame {
    pub game: Game,
    pub socket: Socket,
    /// The last datagram that was sent.
    pub last: Vec<u8>,
    begun: Instant,
    /// The stream may be sent up to here, and has been up to `sent`.
    window: u64,
    sent: u64,
}

impl SocketGame {
    pub fn new(socket: Socket) -> SocketGame {
        let mut game = Game::new(GameOptions::default());
        game.next_step(Duration::ZERO);
        game.opened(None);
        SocketGame {
            game,
            socket,
            last: vec![],
            begun: Instant::now(),
            window: 4096,
            sent: 0,
        }
    }

    /// Receives and sends for a moment. Returns the end, if the server has closed the connection.
    pub fn play(&mut self) -> Option<Received> {
        let now = self.begun.elapsed();
        while let Some(received) = self.socket.receive() {
            match received {
                Received::Stream(bytes) => self.game.handle_stream(&bytes, now).expect("a stream"),
                Received::Datagram(bytes) => {
                    self.game.handle_datagram(&bytes, now).expect("a datagram");
                }
                Received::Window(to) => self.window = to,
                end => return Some(end),
            }
            if self.begun.elapsed() > now + MOMENT {
                break;
            }
        }
        self.game.poll(now);
        let room = usize::try_from(self.window - self.sent).expect("a small number");
        let stream = self.game.stream_bytes();
        let stream = stream[..stream.len().min(room)].to_vec();
        if !stream.is_empty() {
            self.socket.send(0, &stream);
            self.sent += stream.len() as u64;
            self.game.stream_sent(stream.len());
        }
        if let Some(datagram) = self.game.datagram(now) {
            self.socket.send(1, &datagram);
            self.last = datagram;
        }
        None
    }

    pub fn play_until(&mut self, what: &str, mut holds: impl FnMut(&mut SocketGame) -> bool) {
        let started = Instant::now();
        while !holds(self) {
            let end = self.play();
            assert_eq!(end, None, "{what}");
            assert!(started.elapsed() < DEADLINE, "timed out: {what}");
        }
    }

    /// Leaves for good.
    pub fn leave(&mut self) {
        self.game.leave();
        let frame = CloseFrame {
            code: CloseCode::from(4000),
            reason: "bye".into(),
        };
        let _ = self.socket.web.close(Some(frame));
        let started = Instant::now();
        while !matches!(self.socket.receive(), Some(Received::End(_))) {
            assert!(started.elapsed() < DEADLINE, "the server does not answer");
        }
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let tcp = TcpStream::connect(address).expect("a connection");
    tcp.set_read_timeout(Some(DEADLINE)).expect("a time-out");
    tcp.set_nodelay(true).expect("a connection");
    tcp
}

/// TLS over a connection to `localhost`.
pub fn tls(
    tcp: TcpStream,
    certificate: &CertificateDer<'static>,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("TLS")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("TLS");
    StreamOwned::new(client, tcp)
}

fn is_waiting(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

const MOMENT: Duration = Duration::from_millis(5);
