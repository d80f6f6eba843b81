//! Many packets in a system call: `sendmmsg` and `recvmmsg`.

use std::cell::RefCell;
use std::io::{IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::{array, io};

use bytes::BytesMut;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc::{in_addr, in_pktinfo, in6_addr, in6_pktinfo};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg,
    sendmmsg, setsockopt, sockopt,
};

use super::{BATCH, Outgoing, PACKET_BYTES_MAX, Packet};

/// A socket's way of sending and receiving batches.
pub struct Batches {
    /// Whether the socket has several addresses: then packets leave from chosen ones.
    has_sources: bool,
}

/// Headers and buffers for batches. All sockets of a thread share them: they hold something
/// during a call only, and so a socket can go from thread to thread.
struct Scratch {
    plain: MultiHeaders<SockaddrStorage>,
    /// For packets that leave from a chosen address.
    with_source: MultiHeaders<SockaddrStorage>,
    receive: MultiHeaders<SockaddrStorage>,
    buffer: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        plain: MultiHeaders::preallocate(BATCH, None),
        with_source: headers_with_source(),
        receive: MultiHeaders::preallocate(BATCH, None),
        buffer: vec![0; BATCH * PACKET_BYTES_MAX],
    });
}

impl Batches {
    /// For a socket that answers from the address that was asked.
    pub fn answering(socket: &UdpSocket, is_on_all_addresses: bool) -> io::Result<Batches> {
        if is_on_all_addresses {
            if socket.local_addr()?.is_ipv4() {
                setsockopt(socket, sockopt::Ipv4PacketInfo, &true)?;
            } else {
                setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &true)?;
            }
        }
        Ok(Batches {
            has_sources: is_on_all_addresses,
        })
    }

    /// For a socket that asks: it has packets from wherever the system picks.
    pub fn asking() -> Batches {
        Batches { has_sources: false }
    }

    /// Sends packets. Gives how many the system took, and their bytes.
    pub fn send(&mut self, socket: &UdpSocket, packets: &[Outgoing]) -> (u64, u64) {
        SCRATCH.with_borrow_mut(|scratch| scratch.send(socket, packets))
    }

    /// Appends a batch of packets that have arrived.
    pub fn receive(&mut self, socket: &UdpSocket, packets: &mut Vec<Packet>) {
        SCRATCH.with_borrow_mut(|scratch| scratch.receive(socket, packets, self.has_sources));
    }
}

impl Scratch {
    fn send(&mut self, socket: &UdpSocket, packets: &[Outgoing]) -> (u64, u64) {
        let mut sent = (0, 0);
        // Packets of one system call leave from one address.
        for packets in packets.chunk_by(|a, b| a.from == b.from) {
            let mut rest = packets;
            while !rest.is_empty() {
                match self.send_some(socket, rest) {
                    Ok(count) => {
                        let (done, later) = rest.split_at(count.max(1));
                        sent.0 += done.len() as u64;
                        sent.1 += done.iter().map(|p| p.data.len() as u64).sum::<u64>();
                        rest = later;
                    }
                    Err(Errno::EINTR) => {}
                    Err(Errno::EAGAIN) => {
                        if !becomes_writable(socket) {
                            return sent;
                        }
                    }
                    // The first packet cannot be sent, say because its way is closed.
                    Err(_) => rest = &rest[1..],
                }
            }
        }
        sent
    }

    /// Sends packets that leave from the same address.
    fn send_some(&mut self, socket: &UdpSocket, packets: &[Outgoing]) -> nix::Result<usize> {
        let slices: [[IoSlice<'_>; 1]; BATCH] =
            array::from_fn(|i| [IoSlice::new(packets.get(i).map_or(&[], |p| &p.data[..]))]);
        let addresses: [Option<SockaddrStorage>; BATCH] =
            array::from_fn(|i| Some(packets.get(i)?.to.into()));
        let (slices, addresses) = (&slices[..packets.len()], &addresses[..packets.len()]);
        let (fd, flags) = (socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
        let source = packets.first().and_then(|p| p.from);
        let Some(source) = source else {
            let headers = &mut self.plain;
            return Ok(sendmmsg(fd, headers, slices, addresses, [], flags)?.count());
        };
        let headers = &mut self.with_source;
        match source {
            IpAddr::V4(address) => {
                let info = in_pktinfo {
                    ipi_ifindex: 0,
                    ipi_spec_dst: in_addr {
                        s_addr: u32::from_ne_bytes(address.octets()),
                    },
                    ipi_addr: in_addr { s_addr: 0 },
                };
                let source = [ControlMessage::Ipv4PacketInfo(&info)];
                Ok(sendmmsg(fd, headers, slices, addresses, source, flags)?.count())
            }
            IpAddr::V6(address) => {
                let info = in6_pktinfo {
                    ipi6_ifindex: 0,
                    ipi6_addr: in6_addr {
                        s6_addr: address.octets(),
                    },
                };
                let source = [ControlMessage::Ipv6PacketInfo(&info)];
                Ok(sendmmsg(fd, headers, slices, addresses, source, flags)?.count())
            }
        }
    }

    fn receive(&mut self, socket: &UdpSocket, packets: &mut Vec<Packet>, has_sources: bool) {
        // A receive writes over the room for control messages, so that serves once.
        let mut with_source = has_sources.then(headers_with_source);
        let headers = with_source.as_mut().unwrap_or(&mut self.receive);
        let mut buffers = self.buffer.chunks_exact_mut(PACKET_BYTES_MAX);
        let mut slices: [[IoSliceMut<'_>; 1]; BATCH] =
            array::from_fn(|_| [IoSliceMut::new(buffers.next().unwrap_or_default())]);
        let flags = MsgFlags::MSG_DONTWAIT;
        let Ok(received) = recvmmsg(socket.as_raw_fd(), headers, slices.iter_mut(), flags, None)
        else {
            // Nothing is there, or an earlier packet could not be delivered.
            return;
        };
        packets.extend(received.filter_map(|message| {
            let from = message.address.as_ref().and_then(socket_address)?;
            let data = message.iovs().next()?;
            let to = message.cmsgs().ok()?.find_map(|message| match message {
                ControlMessageOwned::Ipv4PacketInfo(info) => {
                    let bytes = info.ipi_addr.s_addr.to_ne_bytes();
                    Some(IpAddr::V4(Ipv4Addr::from(bytes)))
                }
                ControlMessageOwned::Ipv6PacketInfo(info) => {
                    Some(IpAddr::from(info.ipi6_addr.s6_addr))
                }
                _ => None,
            });
            Some(Packet {
                data: BytesMut::from(data),
                from,
                to,
            })
        }));
    }
}

/// Headers with room for the address that a packet leaves from or was sent to.
fn headers_with_source() -> MultiHeaders<SockaddrStorage> {
    MultiHeaders::preallocate(BATCH, Some(cmsg_space!(in6_pktinfo)))
}

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(&address) = address.as_sockaddr_in() {
        return Some(SocketAddr::V4(SocketAddrV4::from(address)));
    }
    let &address = address.as_sockaddr_in6()?;
    Some(SocketAddr::V6(SocketAddrV6::from(address)))
}

/// Waits for room in the socket's buffer, but not long: others wait for their packets.
fn becomes_writable(socket: &UdpSocket) -> bool {
    let mut descriptors = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
    let patience = PollTimeout::from(WRITABLE_WAIT_MS);
    poll(&mut descriptors, patience).is_ok_and(|ready| ready > 0)
}

/// Asks for larger buffers than users may have; only an administrator gets them.
pub fn force_buffers(socket: &socket2::Socket, bytes: usize) {
    let _ = setsockopt(socket, sockopt::RcvBufForce, &bytes);
    let _ = setsockopt(socket, sockopt::SndBufForce, &bytes);
}

const WRITABLE_WAIT_MS: u8 = 5;
