//! Connections that end, break off or lie as they like.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use client_bot::connect::client_config;
use client_bot::connector::Connected;
use quic::Turns;
use quic::proto::{self, ConnectionHandle, DatagramEvent, EndpointConfig};
use quinn::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, TransportConfig};
use shared::wire::bits::BitWriter;
use shared::wire::commands::{ClientDatagram, CommandCodec};
use shared::wire::control::Hello;
use shared::world::mix::mix;
use tokio::time::timeout;

use crate::attacks::field::Field;
use crate::common::DEADLINE;
use crate::common::raw::framed;

/// A socket of an attacker, for many connections.
pub struct Attacker {
    endpoint: Endpoint,
    server: SocketAddr,
}

impl Attacker {
    /// An attacker at an address of its own, so that admission control takes it for another client
    /// than the honest clients.
    pub fn new(field: &Field, network: u8) -> Attacker {
        Attacker::with_config(field, network, |_| ())
    }

    /// One that lets so few bytes of a stream in, and reads none of them.
    pub fn with_window(field: &Field, network: u8, bytes: u32) -> Attacker {
        Attacker::with_config(field, network, |config| {
            let mut transport = TransportConfig::default();
            transport.stream_receive_window(bytes.into());
            config.transport_config(Arc::new(transport));
        })
    }

    fn with_config(field: &Field, network: u8, set: impl FnOnce(&mut ClientConfig)) -> Attacker {
        let address = SocketAddr::from(([127, 0, 1, network], 0));
        let mut endpoint = Endpoint::client(address).expect("a socket");
        let mut config = client_config(&field.trust, Turns::default()).expect("valid settings");
        set(&mut config);
        endpoint.set_default_client_config(config);
        Attacker {
            endpoint,
            server: field.address,
        }
    }

    /// A connection without a hello; none if the server refuses it.
    pub async fn try_connect(&self) -> Option<Connection> {
        let connecting = self.endpoint.connect(self.server, "localhost").ok()?;
        timeout(DEADLINE, connecting).await.expect("an answer").ok()
    }

    pub async fn connect(&self) -> Connection {
        self.try_connect().await.expect("a connection")
    }

    /// A connection that has sent its hello, and does not wait for the welcome.
    pub async fn greet(&self, hello: &Hello) -> (Connection, SendStream, RecvStream) {
        let connection = self.connect().await;
        let (mut send, receive) = connection.open_bi().await.expect("a stream");
        send.write_all(&framed(hello)).await.expect("it is sent");
        (connection, send, receive)
    }

    /// Continues from another port.
    pub fn move_on(&self) {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        self.endpoint.rebind(socket).expect("a new socket");
    }
}

/// A handshake that goes only as far as it is driven.
pub struct Handshake {
    endpoint: proto::Endpoint,
    connection: proto::Connection,
    handle: ConnectionHandle,
    server: SocketAddr,
}

impl Handshake {
    pub fn new(field: &Field) -> Handshake {
        let config = Arc::new(EndpointConfig::default());
        let mut endpoint = proto::Endpoint::new(config, None, false, None);
        let config = client_config(&field.trust, Turns::default()).expect("valid settings");
        let connected = endpoint.connect(Instant::now(), config, field.address, "localhost");
        let (handle, connection) = connected.expect("a valid address");
        Handshake {
            endpoint,
            connection,
            handle,
            server: field.address,
        }
    }

    /// The packets that it would send now.
    pub fn packets(&mut self) -> Vec<Vec<u8>> {
        let mut packets = vec![];
        loop {
            let mut packet = vec![];
            let now = Instant::now();
            let Some(sent) = self.connection.poll_transmit(now, 1, &mut packet) else {
                return packets;
            };
            packet.truncate(sent.size);
            packets.push(packet);
        }
    }

    /// Reads a packet of the server.
    pub fn take(&mut self, packet: &[u8]) {
        let (data, mut answer) = (BytesMut::from(packet), vec![]);
        let now = Instant::now();
        let event = self
            .endpoint
            .handle(now, self.server, None, None, data, &mut answer);
        if let Some(DatagramEvent::ConnectionEvent(handle, event)) = event
            && handle == self.handle
        {
            self.connection.handle_event(event);
        }
    }
}

/// A UDP socket at one of the attacker's addresses.
pub fn socket(network: u8) -> UdpSocket {
    let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 1, network)), 0);
    let socket = UdpSocket::bind(address).expect("a socket");
    let wait = Duration::from_millis(200);
    socket.set_read_timeout(Some(wait)).expect("a time-out");
    socket
}

/// The packets that arrive at a socket until nothing comes for a while.
pub fn answers(socket: &UdpSocket) -> Vec<Vec<u8>> {
    let mut buffer = [0; 2048];
    let next = || {
        let length = socket.recv(&mut buffer).ok()?;
        Some(buffer[..length].to_vec())
    };
    std::iter::from_fn(next).collect()
}

/// A client's datagram, as its world encodes it.
pub fn encoded(client: &Connected, datagram: &ClientDatagram) -> Vec<u8> {
    let codec = CommandCodec::new(
        &client.welcomed.welcome.schema,
        client.welcomed.welcome.commands_epoch,
    );
    let mut bytes = vec![];
    codec.encode(datagram, &mut BitWriter::default(), &mut bytes);
    bytes
}

/// Random bytes, the same ones for the same seed.
pub fn garbage(seed: u64, length: usize) -> Vec<u8> {
    (0..length as u64).map(|i| mix(seed, i) as u8).collect()
}
