//! Clients that speak QUIC, and send any bytes on it.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use quic::proto;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint, TransportConfig};
use rustls::RootCertStore;
use server::Server;
use shared::wire::control::Close;
use shared::wire::{self, codec};
use tokio::time::timeout;

use super::DEADLINE;

/// A connection without any hello.
pub struct Raw {
    pub connection: Connection,
    _endpoint: Endpoint,
}

impl Raw {
    pub async fn connect(server: &Server, transport: TransportConfig) -> Raw {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let raw = Raw::try_connect_from(any, server, transport).await;
        raw.expect("a connection")
    }

    /// `None` if the server refuses it.
    pub async fn try_connect_from(
        address: SocketAddr,
        server: &Server,
        transport: TransportConfig,
    ) -> Option<Raw> {
        let mut roots = RootCertStore::empty();
        let certificate = server.certificate().clone();
        roots.add(certificate).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("TLS 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![wire::ALPN.to_vec()];
        let crypto = QuicClientConfig::try_from(tls).expect("TLS for QUIC");
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        let endpoint = Endpoint::client(address).expect("a socket");
        let connecting = endpoint
            .connect_with(config, server.address(), "localhost")
            .expect("a valid address");
        let connected = timeout(DEADLINE, connecting).await.expect("an answer");
        Some(Raw {
            connection: connected.ok()?,
            _endpoint: endpoint,
        })
    }

    /// Why the server closed it: the code, and the reason for people.
    pub async fn closed(&self) -> (u64, String) {
        closed(&self.connection).await
    }
}

/// Why a server closed a connection.
pub async fn closed(connection: &Connection) -> (u64, String) {
    let end = timeout(DEADLINE, connection.closed()).await;
    match end.expect("the server closes the connection") {
        ConnectionError::ApplicationClosed(close) => {
            let reason = String::from_utf8(close.reason.to_vec()).expect("a readable reason");
            (close.error_code.into_inner(), reason)
        }
        other => panic!("not closed by the server: {other}"),
    }
}

/// Asserts that the server ends a connection for this reason, and gives its sentence.
pub async fn ended_as(connection: &Connection, expected: Close) -> String {
    let (code, reason) = closed(connection).await;
    assert_eq!(code, u64::from(expected.code()), "{reason}");
    reason
}

/// Sends first packets of handshakes again and again, from several ports, and never continues
/// one, as with spoofed addresses.
pub struct FirstPackets {
    stop: Arc<AtomicBool>,
    sending: Option<JoinHandle<Vec<u8>>>,
}

impl FirstPackets {
    /// Begins, and has sent the first hundred.
    pub fn begin(to: SocketAddr, config: &ClientConfig) -> FirstPackets {
        let stop = Arc::new(AtomicBool::new(false));
        let (config, is_over) = (config.clone(), stop.clone());
        let (begun, has_begun) = channel();
        let sending = std::thread::spawn(move || {
            let sockets: Vec<UdpSocket> = (1..=20)
                .map(|network| {
                    let socket = UdpSocket::bind(SocketAddr::from(([127, 0, 2, network], 0)))
                        .expect("a socket");
                    socket.set_nonblocking(true).expect("a socket");
                    socket
                })
                .collect();
            let mut answers = vec![];
            for round in 0.. {
                for socket in &sockets {
                    let packet = first_packet(to, &config);
                    socket.send_to(&packet, to).expect("a packet");
                    let mut answer = [0; 2048];
                    while let Ok(length) = socket.recv(&mut answer) {
                        answers.extend(answer[..length].first());
                    }
                }
                if round == 5 {
                    let _ = begun.send(());
                }
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            answers
        });
        has_begun.recv().expect("it begins");
        FirstPackets {
            stop,
            sending: Some(sending),
        }
    }

    /// Ends, and gives the first byte of each answer.
    pub fn end(mut self) -> Vec<u8> {
        self.stop.store(true, Ordering::Relaxed);
        let sending = self.sending.take().expect("it ends once");
        sending.join().expect("it sends to the end")
    }
}

impl Drop for FirstPackets {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Whether an answer, by its first byte, only asks for a proof of the address (RFC 9000, 17.2.5).
pub fn is_retry(first: u8) -> bool {
    first & 0xf0 == 0xf0
}

fn first_packet(to: SocketAddr, config: &ClientConfig) -> Vec<u8> {
    let mut endpoint = proto::Endpoint::new(Arc::default(), None, false, None);
    let connected = endpoint.connect(Instant::now(), config.clone(), to, "localhost");
    let (_, mut connection) = connected.expect("a valid address");
    let mut packet = vec![];
    let sent = connection.poll_transmit(Instant::now(), 1, &mut packet);
    packet.truncate(sent.expect("a packet").size);
    packet
}

/// A message with its length, as hellos are sent.
pub fn framed(message: &impl serde::Serialize) -> Vec<u8> {
    let bytes = codec::to_bytes(message);
    let mut framed = (bytes.len() as u32).to_le_bytes().to_vec();
    framed.extend_from_slice(&bytes);
    framed
}
