//! The connections of one thread.
//!
//! | module | holds |
//! | --- | --- |
//! | `application` | the protocol over the connections, and its events |
//! | `peer` | one connection, its layer for browsers, and its acknowledgements |

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token, Waker};
use quinn_proto::{
    ClientConfig, ConnectError, Connection, ConnectionError, ConnectionHandle, DatagramEvent,
    EndpointConfig, Incoming, ServerConfig,
};
use ring::hmac;

use crate::faults::Network;
use crate::handle::Handle;
use crate::link::Link;
use crate::prefetch::prefetch;
use crate::resets::Resets;
use crate::socket::{Packet, Socket, SocketCounts};
use crate::steering::{LONG_HEADER, Steering};
use crate::table::Table;
use crate::web::WebOptions;
pub use application::{Application, Event, Load, Open};
use peer::{Peer, exchange, pass, pass_datagrams};

mod application;
mod peer;

/// Lets another thread end an [`Endpoint::wait`].
pub type Wait = Arc<Waker>;

/// Connections over some sockets. `S` is the application's session of each.
pub struct Endpoint<S> {
    protocol: quinn_proto::Endpoint,
    /// Among the endpoints of a shared port, and its own number there.
    steering: Option<(Steering, u16)>,
    sockets: Vec<Socket>,
    /// Those of sockets that are added, and their seed.
    network: (Network, u64),
    poll: Poll,
    events: Events,
    waker: Arc<Waker>,
    /// By handle.
    peers: Table<Peer<S>>,
    /// By handle: when the peer's next timer is due. Apart from the peers, since it is
    /// looked through often.
    deadlines: Vec<Option<Instant>>,
    load: Load,
    /// Reused: packets that have arrived.
    packets: Vec<Packet>,
    /// Reused: events of packets that are sorted together.
    sorted: Vec<DatagramEvent>,
    /// By socket: it may hold packets.
    is_ready: Vec<bool>,
    /// Peers to which packets have brought something, not settled yet.
    touched: Vec<usize>,
    /// Sockets hold more packets than were taken from them.
    has_more: bool,
    /// When all deadlines were looked through last.
    looked_through: Instant,
    ack_wait: Duration,
    /// There is no time for packets that only acknowledge.
    is_busy: bool,
    /// Bounds the connections of an endpoint before it that are reset.
    resets: Resets,
    /// Lets browsers connect.
    web: Option<WebOptions>,
}

impl<S> Endpoint<S> {
    /// An endpoint over sockets. With `server` it lets others connect.
    pub fn new(sockets: Vec<Socket>, server: Option<Arc<ServerConfig>>) -> io::Result<Endpoint<S>> {
        Endpoint::with(sockets, server, None, EndpointConfig::default())
    }

    /// An endpoint that lets others connect and shares its port with others: `steering` ends
    /// with its number among them. A packet here that is for another is a
    /// [stray](Application::stray), which that one should [take](Endpoint::take_strays). With
    /// the `reset_key` of an endpoint before it, it resets that one's connections at their other
    /// ends.
    pub fn sharing(
        socket: Socket,
        server: Arc<ServerConfig>,
        (steering, number): (&Steering, u16),
        reset_key: Option<&[u8; 64]>,
    ) -> io::Result<Endpoint<S>> {
        let mut config = match reset_key {
            Some(key) => EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, key))),
            None => EndpointConfig::default(),
        };
        // A server that was killed has many clients, whose packets come at once.
        config.min_reset_interval(Duration::ZERO);
        let ids = steering.clone();
        config.cid_generator(move || ids.ids(number));
        let steering = Some((steering.clone(), number));
        Endpoint::with(vec![socket], Some(server), steering, config)
    }

    fn with(
        sockets: Vec<Socket>,
        server: Option<Arc<ServerConfig>>,
        steering: Option<(Steering, u16)>,
        config: EndpointConfig,
    ) -> io::Result<Endpoint<S>> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let mut endpoint = Endpoint {
            // Packets are never larger than every path carries.
            protocol: quinn_proto::Endpoint::new(Arc::new(config), server, false, None),
            steering,
            sockets: vec![],
            network: (Network::default(), 0),
            poll,
            events: Events::with_capacity(1024),
            waker,
            peers: Table::new(),
            deadlines: vec![],
            load: Load::default(),
            packets: vec![],
            sorted: vec![],
            is_ready: vec![],
            touched: vec![],
            has_more: true,
            looked_through: Instant::now(),
            ack_wait: ACK_WAIT,
            is_busy: false,
            resets: Resets::default(),
            web: None,
        };
        for socket in sockets {
            endpoint.add_socket(socket)?;
        }
        Ok(endpoint)
    }

    /// Adds a socket, and gives its number for [`Endpoint::connect`].
    pub fn add_socket(&mut self, mut socket: Socket) -> io::Result<usize> {
        let number = self.sockets.len();
        socket.register(self.poll.registry(), Token(number))?;
        let (network, seed) = &self.network;
        if !network.is_none() {
            socket.set_network(network, seed.wrapping_add(number as u64));
        }
        self.sockets.push(socket);
        self.is_ready.push(true);
        Ok(number)
    }

    /// Lets browsers connect, by WebTransport, if the server's TLS settings offer that.
    pub fn set_web(&mut self, options: WebOptions) {
        self.web = Some(options);
    }

    /// Lets acknowledgements wait this long for data to be piggybacked on. It should be a little
    /// more than the time between two messages of the application.
    pub fn set_ack_wait(&mut self, wait: Duration) {
        self.ack_wait = wait.max(ACK_WAIT);
    }

    /// Whether the application is overloaded. Then requests for an immediate acknowledgement
    /// wait like others. Else each gets a packet of its own,
    /// finds its way fast, and is repeated soon, only because all others wait.
    pub fn set_busy(&mut self, is_busy: bool) {
        self.is_busy = is_busy;
    }

    /// Carries packets over a bad network on purpose from now on, by a seed.
    pub fn set_network(&mut self, network: &Network, seed: u64) {
        self.network = (network.clone(), seed);
        for (socket, number) in self.sockets.iter_mut().zip(0..) {
            socket.set_network(network, seed.wrapping_add(number));
        }
    }

    /// Ends this endpoint's waits from another thread.
    pub fn waker(&self) -> Wait {
        self.waker.clone()
    }

    pub fn load(&self) -> Load {
        self.load
    }

    pub fn sockets(&self) -> &[Socket] {
        &self.sockets
    }

    /// The traffic of all sockets.
    pub fn counts(&self) -> SocketCounts {
        let mut sum = SocketCounts::default();
        for counts in self.sockets.iter().map(Socket::counts) {
            sum.sent += counts.sent;
            sum.sent_bytes += counts.sent_bytes;
            sum.received += counts.received;
            sum.received_bytes += counts.received_bytes;
            sum.send_errors += counts.send_errors;
        }
        sum
    }

    /// Opens a connection from one of the sockets.
    pub fn connect(
        &mut self,
        config: ClientConfig,
        server: std::net::SocketAddr,
        name: &str,
        socket: usize,
        session: S,
        now: Instant,
    ) -> Result<Handle, ConnectError> {
        let (handle, connection) = self.protocol.connect(now, config, server, name)?;
        self.insert(handle, connection, socket, session, now);
        self.transmit(handle.0, now);
        Ok(Handle::new(handle.0))
    }

    /// Waits until packets arrive, another thread wakes it, or until a time.
    pub fn wait(&mut self, until: Instant) -> io::Result<()> {
        let now = Instant::now();
        let mut until = until.min(self.looked_through + self.look_period());
        for socket in &mut self.sockets {
            until = socket.next_delayed(now).map_or(until, |t| t.min(until));
            socket.flush();
        }
        let patience = match self.has_more {
            true => Duration::ZERO,
            false => until.saturating_duration_since(now),
        };
        match self.poll.poll(&mut self.events, Some(patience)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            polled => polled?,
        }
        for event in &self.events {
            if let Some(is_ready) = self.is_ready.get_mut(event.token().0) {
                *is_ready = true;
            }
        }
        for (socket, is_ready) in self.sockets.iter().zip(&mut self.is_ready) {
            *is_ready |= socket.has_faults();
        }
        Ok(())
    }

    /// Reads packets that have arrived, about `packets_max` from each socket at most.
    /// Their content goes to the application. Gives their number.
    pub fn receive<A: Application<Session = S>>(
        &mut self,
        application: &mut A,
        packets_max: usize,
    ) -> usize {
        let mut packets = std::mem::take(&mut self.packets);
        self.has_more = false;
        let mut all = 0;
        for number in 0..self.sockets.len() {
            let now = Instant::now();
            let mut taken = 0;
            while self.is_ready[number] {
                if taken >= packets_max {
                    self.has_more = true;
                    break;
                }
                self.is_ready[number] = self.sockets[number].receive(&mut packets, now);
                taken += packets.len();
                for packet in packets.drain(..) {
                    match self.owner(&packet) {
                        Some(owner) => application.stray(owner, packet),
                        None => self.take_packet(number, packet, application, now),
                    }
                }
                self.take_sorted(number, application, now);
            }
            all += taken;
            self.settle(application, now);
            // Answers do not wait until all other sockets were looked at.
            self.sockets[number].flush();
        }
        self.packets = packets;
        all
    }

    /// Reads packets that have arrived at another endpoint of the shared port.
    pub fn take_strays<A: Application<Session = S>>(
        &mut self,
        packets: impl Iterator<Item = Packet>,
        application: &mut A,
    ) {
        let now = Instant::now();
        for packet in packets {
            self.take_packet(0, packet, application, now);
        }
        self.take_sorted(0, application, now);
        self.settle(application, now);
    }

    /// The other endpoint that a packet is for.
    fn owner(&self, packet: &Packet) -> Option<u16> {
        let (steering, own) = self.steering.as_ref()?;
        steering.owner(&packet.data).filter(|owner| owner != own)
    }

    /// Runs timers that are due, and sends acknowledgements that have waited long enough for
    /// data.
    pub fn upkeep<A: Application<Session = S>>(&mut self, application: &mut A) {
        let now = Instant::now();
        if now < self.looked_through + self.look_period() {
            return;
        }
        self.looked_through = now;
        for index in 0..self.deadlines.len() {
            let is_due = self.deadlines[index].is_some_and(|deadline| deadline <= now);
            if is_due {
                self.run_timers(index, application, now);
            }
        }
    }

    /// Lets the application write to a connection, and sends that. `None` if the connection
    /// has ended.
    pub fn visit<A: Application<Session = S>, R>(
        &mut self,
        handle: Handle,
        application: &mut A,
        now: Instant,
        speak: impl FnOnce(&mut A, &mut Link<'_>, &mut S) -> R,
    ) -> Option<R> {
        let peer = self.peers.get_mut(handle.0)?;
        let mut is_urgent = peer.run_timers(now, self.ack_wait);
        let (mut link, session) = peer.link(handle.0, &mut self.sockets, now, &mut is_urgent);
        let session = session.as_mut()?;
        let result = speak(application, &mut link, session);
        self.drive(handle.0, application, now, is_urgent);
        Some(result)
    }

    /// Prefetches the memory that a visit to a connection needs.
    pub fn prefetch(&self, handle: Handle) {
        if let Some(peer) = self.peers.get(handle.0) {
            prefetch(peer);
        }
    }

    /// The handles that may be in use.
    pub fn handles(&self) -> impl Iterator<Item = Handle> + use<S> {
        (0..self.deadlines.len()).map(Handle::new)
    }

    /// The application's session of a connection; `None` if that has ended.
    pub fn session(&mut self, handle: Handle) -> Option<&mut S> {
        self.peers.get_mut(handle.0)?.session.as_mut()
    }

    /// Sends all packets that are ready.
    pub fn flush(&mut self) {
        self.sockets.iter_mut().for_each(Socket::flush);
    }

    /// Whether every connection has ended and its last packets are sent.
    pub fn is_idle(&self) -> bool {
        self.peers.iter().all(|peer| peer.connection.is_closed())
    }

    fn insert(
        &mut self,
        handle: ConnectionHandle,
        connection: Connection,
        socket: usize,
        session: S,
        now: Instant,
    ) {
        if self.deadlines.len() <= handle.0 {
            self.deadlines.resize(handle.0 + 1, None);
        }
        // The handle of a connection that has ended in this batch of packets is free already.
        self.remove(handle.0);
        self.load.connections += 1;
        self.load.handshakes += 1;
        let peer = Peer::new(connection, socket, session, now);
        self.peers.insert(handle.0, peer);
    }

    /// Finds the connection of a packet, and prefetches it. Packets are processed by
    /// eights; [`Endpoint::take_sorted`] takes the last ones.
    fn take_packet<A: Application<Session = S>>(
        &mut self,
        number: usize,
        packet: Packet,
        application: &mut A,
        now: Instant,
    ) {
        let Packet {
            data,
            from,
            to,
            ecn,
        } = packet;
        let socket = &mut self.sockets[number];
        let buffer = socket.buffer();
        match self.protocol.handle(now, from, to, ecn, data, buffer) {
            Some(DatagramEvent::Response(answer)) => {
                let is_reset = buffer.first().is_some_and(|first| first & LONG_HEADER == 0);
                match is_reset && !self.resets.allow(now) {
                    true => buffer.clear(),
                    false => socket.commit_transmit(&answer, now),
                }
            }
            Some(event) => {
                if let DatagramEvent::ConnectionEvent(handle, _) = &event {
                    self.prefetch(Handle::new(handle.0));
                }
                self.sorted.push(event);
            }
            None => {}
        }
        if self.sorted.len() >= PACKETS_AT_ONCE {
            self.take_sorted(number, application, now);
        }
    }

    fn take_sorted<A: Application<Session = S>>(
        &mut self,
        number: usize,
        application: &mut A,
        now: Instant,
    ) {
        let mut sorted = std::mem::take(&mut self.sorted);
        for event in &sorted {
            if let DatagramEvent::ConnectionEvent(handle, _) = event
                && let Some(peer) = self.peers.get(handle.0)
                && let Some(session) = &peer.session
            {
                application.prefetch(session);
            }
        }
        for event in sorted.drain(..) {
            match event {
                DatagramEvent::ConnectionEvent(handle, event) => {
                    let Some(peer) = self.peers.get_mut(handle.0) else {
                        continue;
                    };
                    let is_asked = peer.take(event, now);
                    let mut is_urgent = peer.is_beginning() || is_asked && !self.is_busy;
                    // A client's own socket may be another one of several.
                    peer.socket = number;
                    self.pass_events(handle.0, application, now, &mut is_urgent);
                    if let Some(peer) = self.peers.get_mut(handle.0) {
                        if peer.touched.is_none() {
                            self.touched.push(handle.0);
                        }
                        *peer.touched.get_or_insert_default() |= is_urgent;
                    }
                }
                DatagramEvent::NewConnection(incoming) => {
                    self.take_incoming(number, incoming, application, now);
                }
                // It was sent at once.
                DatagramEvent::Response(_) => {}
            }
        }
        self.sorted = sorted;
    }

    fn take_incoming<A: Application<Session = S>>(
        &mut self,
        number: usize,
        incoming: Incoming,
        application: &mut A,
        now: Instant,
    ) {
        let open = application.open(&incoming, self.load, now);
        let socket = &mut self.sockets[number];
        let buffer = socket.buffer();
        let answer = match open {
            Open::Accept(session) => match self.protocol.accept(incoming, now, buffer, None) {
                Ok((handle, connection)) => {
                    self.insert(handle, connection, number, session, now);
                    return self.drive(handle.0, application, now, true);
                }
                Err(error) => error.response,
            },
            Open::Retry => match self.protocol.retry(incoming, buffer) {
                Ok(answer) => Some(answer),
                // It has shown its address already.
                Err(error) => {
                    self.protocol.ignore(error.into_incoming());
                    None
                }
            },
            Open::Refuse => Some(self.protocol.refuse(incoming, buffer)),
            Open::Ignore => {
                self.protocol.ignore(incoming);
                None
            }
        };
        if let Some(answer) = answer {
            socket.commit_transmit(&answer, now);
        }
    }

    fn run_timers<A: Application<Session = S>>(
        &mut self,
        index: usize,
        application: &mut A,
        now: Instant,
    ) {
        let Some(peer) = self.peers.get_mut(index) else {
            self.deadlines[index] = None;
            return;
        };
        let is_urgent = peer.run_timers(now, self.ack_wait);
        self.drive(index, application, now, is_urgent);
    }

    /// Lets the application answer all that a batch of packets has brought.
    fn settle<A: Application<Session = S>>(&mut self, application: &mut A, now: Instant) {
        let mut touched = std::mem::take(&mut self.touched);
        for index in touched.drain(..) {
            let Some(peer) = self.peers.get_mut(index) else {
                continue;
            };
            let mut is_urgent = peer.touched.take().unwrap_or(false);
            let (mut link, session) = peer.link(index, &mut self.sockets, now, &mut is_urgent);
            if let Some(session) = session {
                application.settled(&mut link, session);
            }
            self.conclude(index, application, now, is_urgent);
        }
        self.touched = touched;
    }

    /// The work after any call on a connection: its events, its packets, its next timer.
    fn drive<A: Application<Session = S>>(
        &mut self,
        index: usize,
        application: &mut A,
        now: Instant,
        mut is_urgent: bool,
    ) {
        self.pass_events(index, application, now, &mut is_urgent);
        self.conclude(index, application, now, is_urgent);
    }

    /// Passes a connection's events to the application.
    fn pass_events<A: Application<Session = S>>(
        &mut self,
        index: usize,
        application: &mut A,
        now: Instant,
        is_urgent: &mut bool,
    ) {
        let Some(peer) = self.peers.get_mut(index) else {
            return;
        };
        exchange(&mut self.protocol, &mut peer.connection, index);
        while let Some(event) = peer.connection.poll() {
            match event {
                quinn_proto::Event::Connected => {
                    let was_established = std::mem::replace(&mut peer.is_established, true);
                    self.load.handshakes -= usize::from(!was_established);
                    let begun = self.web.is_some().then(|| peer.begin_web()).transpose();
                    *is_urgent |= peer.web.is_some();
                    let link = peer.link(index, &mut self.sockets, now, is_urgent);
                    pass(begun.map(|_| Some(Event::Connected)), link, application);
                }
                quinn_proto::Event::ConnectionLost { reason } => {
                    if let Some(session) = peer.session.take() {
                        application.closed(Handle::new(index), session, reason);
                    }
                }
                quinn_proto::Event::DatagramReceived => {
                    let link = peer.link(index, &mut self.sockets, now, is_urgent);
                    pass_datagrams(link, application);
                }
                quinn_proto::Event::Stream(event) => {
                    let event = peer.take_stream_event(&event, self.web.as_ref());
                    // The settings, an answer.
                    *is_urgent |= peer.is_beginning();
                    let link = peer.link(index, &mut self.sockets, now, is_urgent);
                    pass(event, link, application);
                    if let Some(reason) = peer.take_end(now)
                        && let Some(session) = peer.session.take()
                    {
                        application.closed(Handle::new(index), session, reason);
                    }
                }
                _ => {}
            }
        }
    }

    /// Ends a closed session, sends pending packets, and sets the next timer.
    fn conclude<A: Application<Session = S>>(
        &mut self,
        index: usize,
        application: &mut A,
        now: Instant,
        mut is_urgent: bool,
    ) {
        let Some(peer) = self.peers.get_mut(index) else {
            return;
        };
        if peer.is_closed() {
            is_urgent = true;
            if !peer.connection.is_closed() {
                peer.ends.get_or_insert(now + LINGER);
            }
            if let Some(session) = peer.session.take() {
                let reason = ConnectionError::LocallyClosed;
                application.closed(Handle::new(index), session, reason);
            }
        }
        if is_urgent {
            self.transmit(index, now);
        } else {
            self.schedule(index, now);
        }
    }

    /// Sends a connection's pending packets, and removes it once it has ended for good.
    fn transmit(&mut self, index: usize, now: Instant) {
        let Some(peer) = self.peers.get_mut(index) else {
            return;
        };
        let socket = &mut self.sockets[peer.socket];
        let may_be_marked = peer.may_be_marked(now);
        while let Some(mut packet) = peer.connection.poll_transmit(now, 1, socket.buffer()) {
            packet.ecn = packet.ecn.filter(|_| may_be_marked);
            socket.commit_transmit(&packet, now);
            peer.unanswered = None;
        }
        exchange(&mut self.protocol, &mut peer.connection, index);
        if peer.connection.is_drained() {
            self.remove(index);
        }
        self.schedule(index, now);
    }

    fn remove(&mut self, index: usize) {
        let is_handshake = (self.peers.get(index)).is_some_and(|peer| !peer.is_established);
        if self.peers.remove(index) {
            self.load.connections -= 1;
            self.load.handshakes -= usize::from(is_handshake);
        }
    }

    fn schedule(&mut self, index: usize, now: Instant) {
        self.deadlines[index] = self.peers.get_mut(index).and_then(|peer| {
            let next = peer.connection.poll_timeout();
            let next = next.into_iter().chain(peer.ends).min()?;
            if !peer.is_established || peer.session.is_none() {
                return Some(next);
            }
            // The next visit runs the timers, too, mostly before they are due.
            let next = next.max(now + VISIT_WAIT);
            let answer = peer.unanswered.map(|of| of.first + self.ack_wait);
            Some(answer.map_or(next, |answer| next.min(answer)))
        });
    }

    /// Handshakes are timed more finely than connections with regular data.
    fn look_period(&self) -> Duration {
        match self.load.handshakes {
            0 => LOOK_PERIOD,
            _ => LOOK_PERIOD_HANDSHAKES,
        }
    }
}

/// How long a peer's packets may stay unacknowledged at least, if nothing is sent to it.
const ACK_WAIT: Duration = Duration::from_millis(300);
/// The end of a browser's session is sent this long before that of the connection.
const LINGER: Duration = Duration::from_millis(300);
/// Packets that are sorted together before they are processed.
const PACKETS_AT_ONCE: usize = 8;
/// Timers of a peer in play may be late by this, since visits mostly come before.
const VISIT_WAIT: Duration = Duration::from_millis(100);
const LOOK_PERIOD: Duration = Duration::from_millis(50);
const LOOK_PERIOD_HANDSHAKES: Duration = Duration::from_millis(5);
const WAKER: Token = Token(usize::MAX);

#[cfg(test)]
mod tests;
