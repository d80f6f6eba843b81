//! A system call a packet: for clients, and systems without batches.

use std::io;

use bytes::BytesMut;
use mio::net::UdpSocket;

use super::{BATCH, Outgoing, PACKET_BYTES_MAX, Packet};

pub struct Batches {
    buffer: Vec<u8>,
}

impl Batches {
    pub fn answering(_: &std::net::UdpSocket, _is_on_all_addresses: bool) -> io::Result<Batches> {
        Ok(Batches::new())
    }

    pub fn asking(_: &std::net::UdpSocket) -> Batches {
        Batches::new()
    }

    fn new() -> Batches {
        Batches {
            buffer: vec![0; PACKET_BYTES_MAX],
        }
    }

    /// Sends packets, without marks. Gives how many the system took, and their bytes.
    pub fn send(&mut self, socket: &UdpSocket, packets: &mut [Outgoing]) -> (u64, u64) {
        let sent = packets
            .iter()
            .filter_map(|packet| socket.send_to(&packet.data, packet.to).ok());
        sent.fold((0, 0), |(packets, bytes), sent| {
            (packets + 1, bytes + sent as u64)
        })
    }

    /// Appends a batch of packets that have arrived. False if no more have.
    pub fn receive(&mut self, socket: &UdpSocket, packets: &mut Vec<Packet>) -> bool {
        let before = packets.len();
        for _ in 0..BATCH {
            let (length, from) = match socket.recv_from(&mut self.buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                // An earlier packet could not be delivered.
                Err(_) => continue,
            };
            packets.push(Packet {
                data: BytesMut::from(&self.buffer[..length]),
                from,
                to: None,
                ecn: None,
            });
        }
        // A socket that only fails, as that of a device which slept, is not polled on and on.
        packets.len() > before
    }
}

/// The system is not queried.
pub fn drops(_: &UdpSocket) -> Option<u64> {
    None
}

pub fn make_room(sockets: usize) -> usize {
    sockets
}

pub fn force_buffers(_: &socket2::Socket, _bytes: usize) {}
