//! Many packets in a system call: `sendmmsg` and `recvmmsg`.
//!
//! A client's socket has one peer, and may have many connections to it: packets of one size often
//! follow each other, and go to the system as one (`UDP_SEGMENT`). A socket that answers takes such
//! packets as one, too (`UDP_GRO`).
//!
//! Packets of a system call share their control messages, such as the congestion mark. What the
//! system sends or takes as one has one mark, too.

use std::cell::RefCell;
use std::io::{IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};
use std::{array, io};

use bytes::BytesMut;
use mio::net::UdpSocket;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc::{
    SK_MEMINFO_DROPS, SO_MEMINFO, SOL_SOCKET, getsockopt, in_addr, in_pktinfo, in6_addr,
    in6_pktinfo, socklen_t,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg,
    sendmmsg, sendmsg, setsockopt, sockopt,
};
use quinn_proto::EcnCodepoint;

use super::{BATCH, Outgoing, Packet};

/// A socket's way of sending and receiving batches.
pub struct Batches {
    /// Whether packets of one size are sent as one.
    are_joined: bool,
    /// Whether the system sends congestion marks; it does until it refuses one.
    are_marked: bool,
}

/// The control messages that packets of one system call share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shared {
    /// The address of this machine that they leave from.
    from: Option<IpAddr>,
    mark: Option<Mark>,
}

/// A congestion mark, as the protocol of a packet's destination carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    V4(u8),
    V6(i32),
}

/// The address that packets leave from, as the system takes it.
enum Source {
    V4(in_pktinfo),
    V6(in6_pktinfo),
}

/// Headers and buffers for batches. All sockets of a thread share them: they hold something
/// during a call only, and so a socket can go from thread to thread.
struct Scratch {
    plain: MultiHeaders<SockaddrStorage>,
    with_mark: MultiHeaders<SockaddrStorage>,
    /// For packets that leave from a chosen address.
    with_source: MultiHeaders<SockaddrStorage>,
    with_source_and_mark: MultiHeaders<SockaddrStorage>,
    buffers: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        plain: MultiHeaders::preallocate(BATCH, None),
        // The system reads all of the room, so it has to be what the control messages take. Room
        // for the larger of two fits both: they differ by less than what a message begins with.
        with_mark: MultiHeaders::preallocate(BATCH, Some(cmsg_space!(i32))),
        with_source: MultiHeaders::preallocate(BATCH, Some(cmsg_space!(in6_pktinfo))),
        with_source_and_mark: MultiHeaders::preallocate(
            BATCH,
            Some(cmsg_space!(in6_pktinfo, i32)),
        ),
        buffers: vec![0; MESSAGES * BUFFER_STRIDE],
    });
}

impl Batches {
    /// For a server's socket, which answers from the request's address.
    pub fn answering(
        socket: &std::net::UdpSocket,
        is_on_all_addresses: bool,
    ) -> io::Result<Batches> {
        if is_on_all_addresses {
            if socket.local_addr()?.is_ipv4() {
                setsockopt(socket, sockopt::Ipv4PacketInfo, &true)?;
            } else {
                setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &true)?;
            }
        }
        // An old system does without.
        let _ = setsockopt(socket, sockopt::UdpGroSegment, &true);
        ask_for_marks(socket);
        Ok(Batches {
            are_joined: false,
            are_marked: true,
        })
    }

    /// For a client's socket: it has packets from wherever the system picks.
    pub fn asking(socket: &std::net::UdpSocket) -> Batches {
        ask_for_marks(socket);
        Batches {
            are_joined: true,
            are_marked: true,
        }
    }

    /// Sends packets; those that can share a system call are put together. Gives how many the
    /// system took, and their bytes.
    pub fn send(&mut self, socket: &UdpSocket, packets: &mut [Outgoing]) -> (u64, u64) {
        if !packets.is_sorted_by_key(Shared::of) {
            packets.sort_by_key(Shared::of);
        }
        if !self.are_joined {
            return self.send_apart(socket, packets);
        }
        let (mut sent, mut rest) = ((0, 0), &*packets);
        while !rest.is_empty() {
            let (some, are_alike) = first_packets(rest);
            rest = &rest[some.len()..];
            let bytes = some.iter().map(|packet| packet.data.len() as u64).sum();
            let is_sent = are_alike && self.are_joined && self.send_joined(socket, some);
            let (count, bytes) = match is_sent {
                true => (some.len() as u64, bytes),
                false => self.send_apart(socket, some),
            };
            sent = (sent.0 + count, sent.1 + bytes);
        }
        sent
    }

    fn send_apart(&mut self, socket: &UdpSocket, packets: &[Outgoing]) -> (u64, u64) {
        SCRATCH.with_borrow_mut(|scratch| scratch.send(socket, packets, &mut self.are_marked))
    }

    /// Sends packets of one size and mark to one address. False if they are not sent, as the system
    /// can't do that or has no room.
    fn send_joined(&mut self, socket: &UdpSocket, packets: &[Outgoing]) -> bool {
        let [first, ..] = packets else {
            return true;
        };
        let Ok(size) = u16::try_from(first.data.len()) else {
            return false;
        };
        let slices: [IoSlice<'_>; BATCH] =
            array::from_fn(|i| IoSlice::new(packets.get(i).map_or(&[], |p| &p.data[..])));
        let address = SockaddrStorage::from(first.to);
        let slices = &slices[..packets.len()];
        let segments = ControlMessage::UdpGsoSegments(&size);
        let (fd, flags) = (socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
        let sent = send_marked(&mut self.are_marked, Mark::of(first), |mark| match &mark {
            Some(mark) => {
                let messages = [segments, mark.message()];
                sendmsg(fd, slices, &messages, flags, Some(&address))
            }
            None => sendmsg(fd, slices, &[segments], flags, Some(&address)),
        });
        match sent {
            Ok(_) => true,
            Err(Errno::EINTR | Errno::EAGAIN) => false,
            Err(_) => {
                self.are_joined = false;
                false
            }
        }
    }

    /// Appends a batch of packets that have arrived. False if no more have.
    pub fn receive(&mut self, socket: &UdpSocket, packets: &mut Vec<Packet>) -> bool {
        SCRATCH.with_borrow_mut(|scratch| scratch.receive(socket, packets))
    }
}

impl Shared {
    fn of(packet: &Outgoing) -> Shared {
        Shared {
            from: packet.from,
            mark: Mark::of(packet),
        }
    }
}

impl Mark {
    fn of(packet: &Outgoing) -> Option<Mark> {
        let bits = packet.ecn? as u8;
        // An IPv6 socket sends packets of IPv4, too, to addresses that are mapped.
        Some(match packet.to.ip().to_canonical() {
            IpAddr::V4(_) => Mark::V4(bits),
            IpAddr::V6(_) => Mark::V6(bits.into()),
        })
    }

    fn message(&self) -> ControlMessage<'_> {
        match self {
            Mark::V4(bits) => ControlMessage::Ipv4Tos(bits),
            Mark::V6(bits) => ControlMessage::Ipv6TClass(bits),
        }
    }
}

impl Source {
    fn message(&self) -> ControlMessage<'_> {
        match self {
            Source::V4(info) => ControlMessage::Ipv4PacketInfo(info),
            Source::V6(info) => ControlMessage::Ipv6PacketInfo(info),
        }
    }
}

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Source {
        match address {
            IpAddr::V4(address) => Source::V4(in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: in_addr {
                    s_addr: u32::from_ne_bytes(address.octets()),
                },
                ipi_addr: in_addr { s_addr: 0 },
            }),
            IpAddr::V6(address) => Source::V6(in6_pktinfo {
                ipi6_ifindex: 0,
                ipi6_addr: in6_addr {
                    s6_addr: address.octets(),
                },
            }),
        }
    }
}

impl Scratch {
    fn send(
        &mut self,
        socket: &UdpSocket,
        packets: &[Outgoing],
        are_marked: &mut bool,
    ) -> (u64, u64) {
        let mut sent = (0, 0);
        for packets in packets.chunk_by(|a, b| Shared::of(a) == Shared::of(b)) {
            let Shared { from, mark } = Shared::of(&packets[0]);
            let mut rest = packets;
            while !rest.is_empty() {
                let result = send_marked(are_marked, mark, |mark| {
                    self.send_some(socket, rest, Shared { from, mark })
                });
                match result {
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

    /// Sends packets that share control messages.
    fn send_some(
        &mut self,
        socket: &UdpSocket,
        packets: &[Outgoing],
        shared: Shared,
    ) -> nix::Result<usize> {
        let slices: [[IoSlice<'_>; 1]; BATCH] =
            array::from_fn(|i| [IoSlice::new(packets.get(i).map_or(&[], |p| &p.data[..]))]);
        let addresses: [Option<SockaddrStorage>; BATCH] =
            array::from_fn(|i| Some(packets.get(i)?.to.into()));
        let (slices, addresses) = (&slices[..packets.len()], &addresses[..packets.len()]);
        let (fd, flags) = (socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
        let source = shared.from.map(Source::from);
        let source = source.as_ref().map(Source::message);
        let mark = shared.mark.as_ref().map(Mark::message);
        let sent = match (source, mark) {
            (None, None) => sendmmsg(fd, &mut self.plain, slices, addresses, [], flags),
            (None, Some(mark)) => {
                sendmmsg(fd, &mut self.with_mark, slices, addresses, [mark], flags)
            }
            (Some(source), None) => {
                let headers = &mut self.with_source;
                sendmmsg(fd, headers, slices, addresses, [source], flags)
            }
            (Some(source), Some(mark)) => {
                let headers = &mut self.with_source_and_mark;
                sendmmsg(fd, headers, slices, addresses, [source, mark], flags)
            }
        };
        Ok(sent?.count())
    }

    fn receive(&mut self, socket: &UdpSocket, packets: &mut Vec<Packet>) -> bool {
        // A receive writes over the room for control messages, so that serves once.
        let mut headers = described_headers();
        let mut buffers = self.buffers.chunks_exact_mut(BUFFER_STRIDE);
        let mut slices: [[IoSliceMut<'_>; 1]; MESSAGES] =
            array::from_fn(|_| [IoSliceMut::new(buffers.next().unwrap_or_default())]);
        let flags = MsgFlags::MSG_DONTWAIT;
        let Ok(received) = recvmmsg(
            socket.as_raw_fd(),
            &mut headers,
            slices.iter_mut(),
            flags,
            None,
        ) else {
            // Nothing is there, or an earlier packet could not be delivered.
            return false;
        };
        let mut messages = 0;
        for message in received {
            messages += 1;
            let from = message.address.as_ref().and_then(socket_address);
            let (Some(from), Some(data)) = (from, message.iovs().next()) else {
                continue;
            };
            let (mut to, mut ecn, mut size) = (None, None, data.len().max(1));
            for described in message.cmsgs().into_iter().flatten() {
                match described {
                    ControlMessageOwned::Ipv4PacketInfo(info) => {
                        let bytes = info.ipi_addr.s_addr.to_ne_bytes();
                        to = Some(IpAddr::V4(Ipv4Addr::from(bytes)));
                    }
                    ControlMessageOwned::Ipv6PacketInfo(info) => {
                        to = Some(IpAddr::from(info.ipi6_addr.s6_addr));
                    }
                    ControlMessageOwned::UdpGroSegments(bytes) => {
                        size = usize::try_from(bytes).unwrap_or(size).max(1);
                    }
                    ControlMessageOwned::Ipv4Tos(bits) => ecn = EcnCodepoint::from_bits(bits),
                    ControlMessageOwned::Ipv6TClass(bits) => {
                        ecn = u8::try_from(bits).ok().and_then(EcnCodepoint::from_bits);
                    }
                    _ => {}
                }
            }
            packets.extend(data.chunks(size).map(|data| Packet {
                data: BytesMut::from(data),
                from,
                to,
                ecn,
            }));
        }
        messages == MESSAGES
    }
}

/// Enables the congestion marks of packets that arrive.
fn ask_for_marks(socket: &std::net::UdpSocket) {
    // An IPv6 socket may have packets of IPv4, too. A system without them does without.
    let _ = setsockopt(socket, sockopt::IpRecvTos, &true);
    let _ = setsockopt(socket, sockopt::Ipv6RecvTClass, &true);
}

/// Sends with a mark; without it if the system refuses that, and then no later packet has one
/// (`are_marked`). Packets that it refuses either way prove nothing about marks.
fn send_marked<T>(
    are_marked: &mut bool,
    mark: Option<Mark>,
    mut send: impl FnMut(Option<Mark>) -> nix::Result<T>,
) -> nix::Result<T> {
    let mark = mark.filter(|_| *are_marked);
    match send(mark) {
        Err(Errno::EINVAL) if mark.is_some() => {
            let sent = send(None)?;
            *are_marked = false;
            Ok(sent)
        }
        sent => sent,
    }
}

/// The first packets that have one size, mark and address, and true; if it is one only, the packets
/// before the first such, and false.
fn first_packets(packets: &[Outgoing]) -> (&[Outgoing], bool) {
    let are_alike =
        |a: &Outgoing, b: &Outgoing| a.to == b.to && a.data.len() == b.data.len() && a.ecn == b.ecn;
    let pairs = || packets.windows(2).map(|pair| are_alike(&pair[0], &pair[1]));
    let alike = 1 + pairs().take_while(|&is| is).count();
    if alike > 1 {
        let bytes = packets[0].data.len().max(1);
        return (&packets[..alike.min(JOINED_BYTES_MAX / bytes)], true);
    }
    let apart = pairs().position(|is| is).unwrap_or(packets.len());
    (&packets[..apart], false)
}

/// Headers with room for the address that a packet was sent to, its mark, and the size of several.
fn described_headers() -> MultiHeaders<SockaddrStorage> {
    MultiHeaders::preallocate(MESSAGES, Some(cmsg_space!(in6_pktinfo, i32, i32)))
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

/// Requests larger buffers than users may have; only an administrator gets them.
pub fn force_buffers(socket: &socket2::Socket, bytes: usize) {
    let _ = setsockopt(socket, sockopt::RcvBufForce, &bytes);
    let _ = setsockopt(socket, sockopt::SndBufForce, &bytes);
}

/// Packets that the system dropped for want of room in the socket's buffer; `None` where it does
/// not report it. The table of all sockets (`/proc/net/udp`) has it, too, but takes 17 ms to read where
/// there are 4,096, and 51 ms where there are 8,192.
#[allow(unsafe_code)]
pub fn drops(socket: &UdpSocket) -> Option<u64> {
    let mut memory = [0u32; SK_MEMINFO_DROPS as usize + 1];
    let mut length = size_of_val(&memory) as socklen_t;
    // SAFETY: the system writes into `memory`, no more than `length` bytes, and then `length`.
    let result = unsafe {
        getsockopt(
            socket.as_raw_fd(),
            SOL_SOCKET,
            SO_MEMINFO,
            memory.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let is_known = result == 0 && length as usize == size_of_val(&memory);
    is_known.then(|| u64::from(memory[SK_MEMINFO_DROPS as usize]))
}

/// Lets this process open so many sockets beside its other files, as far as the system allows, and
/// returns how many that are.
pub fn make_room(sockets: usize) -> usize {
    let wanted = sockets as u64 + OTHER_FILES;
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return sockets;
    };
    let raised = wanted.min(hard);
    let is_raised = soft < raised && setrlimit(Resource::RLIMIT_NOFILE, raised, hard).is_ok();
    let limit = if is_raised { raised } else { soft };
    let room = usize::try_from(limit.saturating_sub(OTHER_FILES));
    room.map_or(sockets, |room| room.min(sockets))
}

const OTHER_FILES: u64 = 256;
const WRITABLE_WAIT_MS: u8 = 5;
/// Buffers of a receive: each may hold many packets.
const MESSAGES: usize = 16;
/// Room for the largest message. Not a power of two: the beginnings of all would share the few
/// places that a processor's cache has for one such address.
const BUFFER_STRIDE: usize = (64 << 10) + 9 * 64;
/// The most bytes of a datagram of UDP.
const JOINED_BYTES_MAX: usize = 65_000;

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Option<Mark> = Some(Mark::V4(0b10));

    #[test]
    fn a_mark_that_the_system_refuses_is_the_last_and_the_packets_go_out() {
        let (mut are_marked, mut tried) = (true, vec![]);
        for _ in 0..2 {
            let sent = send_marked(&mut are_marked, MARK, |mark| {
                tried.push(mark);
                match mark {
                    Some(_) => Err(Errno::EINVAL),
                    None => Ok(3),
                }
            });
            assert_eq!(sent, Ok(3));
        }
        assert_eq!(tried, [MARK, None, None]);
        assert!(!are_marked);
    }

    #[test]
    fn packets_that_the_system_never_takes_tell_nothing_of_marks() {
        let mut are_marked = true;
        for error in [Errno::EINVAL, Errno::EAGAIN, Errno::ENETUNREACH] {
            let sent = send_marked(&mut are_marked, MARK, |_| Err::<(), _>(error));
            assert_eq!((sent, are_marked), (Err(error), true));
        }
    }
}
