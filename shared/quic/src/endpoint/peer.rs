//! One connection of an endpoint.

use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn_proto::{
    Connection, ConnectionError, ConnectionEvent, ConnectionHandle, Dir, StreamEvent, VarInt,
};

use super::application::{Application, Event};
use crate::handle::Handle;
use crate::link::Link;
use crate::rejection::{NO_ERROR, Rejection};
use crate::socket::Socket;
use crate::web::{Web, WebOptions};

/// A connection, and the application's session over it.
pub(super) struct Peer<S> {
    pub connection: Connection,
    /// The layer of WebTransport between connection and application, if it is a browser's.
    pub web: Option<Box<Web>>,
    /// When the connection ends, since the application has closed the session over it.
    pub ends: Option<Instant>,
    /// `None` once the connection has ended.
    pub session: Option<S>,
    pub socket: usize,
    pub is_established: bool,
    pub begun: Instant,
    /// Received data to which nothing was sent.
    pub unanswered: Option<Unanswered>,
    /// How often the other end has requested an immediate acknowledgement.
    pub immediate_acks: u64,
    /// It is among the touched; whether something is to be sent then.
    pub touched: Option<bool>,
}

/// When packets have arrived that are not answered.
#[derive(Clone, Copy)]
pub(super) struct Unanswered {
    pub first: Instant,
    pub last: Instant,
}

impl<S> Peer<S> {
    pub fn new(connection: Connection, socket: usize, session: S, now: Instant) -> Peer<S> {
        Peer {
            connection,
            web: None,
            ends: None,
            session: Some(session),
            socket,
            is_established: false,
            begun: now,
            unanswered: None,
            immediate_acks: 0,
            touched: None,
        }
    }

    /// Runs timers that are due. True if something is to be sent.
    pub fn run_timers(&mut self, now: Instant, ack_wait: Duration) -> bool {
        if self.ends.take_if(|ends| *ends <= now).is_some() {
            let code = VarInt::from_u32(NO_ERROR);
            self.connection.close(now, code, Bytes::new());
        }
        let due = self.connection.poll_timeout().filter(|at| *at <= now);
        if due.is_some() {
            self.connection.handle_timeout(now);
        }
        match self.unanswered {
            _ if self.is_beginning() => true,
            Some(unanswered) => {
                // An acknowledgement waits for data. One of a packet that seems lost does not.
                let has_waited = now.saturating_duration_since(unanswered.first) >= ack_wait;
                has_waited || due.is_some_and(|at| !unanswered.is_acknowledged_at(at))
            }
            None => due.is_some(),
        }
    }

    /// Notes a packet that has arrived. True if the other end requests an acknowledgement.
    pub fn take(&mut self, event: ConnectionEvent, now: Instant) -> bool {
        self.connection.handle_event(event);
        self.unanswered = Some(Unanswered {
            first: self.unanswered.map_or(now, |unanswered| unanswered.first),
            last: now,
        });
        let immediate_acks = self.connection.stats().frame_rx.immediate_ack;
        std::mem::replace(&mut self.immediate_acks, immediate_acks) != immediate_acks
    }

    /// Whether the other end waits for answers before the application can speak to it.
    pub fn is_beginning(&self) -> bool {
        let is_web_beginning = self.web.as_ref().is_some_and(|web| web.is_beginning());
        !self.is_established || is_web_beginning
    }

    /// Whether packets may have congestion marks. Some networks drop all that have them: packets that
    /// a handshake sends again are without, and then the transport marks no more (RFC 9000, 13.4.2).
    pub fn may_be_marked(&self, now: Instant) -> bool {
        self.is_established || now < self.begun + MARKS_WAIT
    }

    pub fn link<'a>(
        &'a mut self,
        index: usize,
        sockets: &'a mut [Socket],
        now: Instant,
        is_urgent: &'a mut bool,
    ) -> (Link<'a>, &'a mut Option<S>) {
        let link = Link {
            connection: &mut self.connection,
            web: self.web.as_deref_mut(),
            socket: &mut sockets[self.socket],
            handle: Handle::new(index),
            now,
            is_urgent,
        };
        (link, &mut self.session)
    }

    /// Speaks HTTP/3 from now on, if the client negotiated that.
    pub fn begin_web(&mut self) -> Result<(), Rejection> {
        if let Some(web) = Web::negotiated(&mut self.connection) {
            self.web = Some(Box::new(web?));
        }
        Ok(())
    }

    /// Processes an event of the streams, and gives the application's.
    pub fn take_stream_event(
        &mut self,
        event: &StreamEvent,
        options: Option<&WebOptions>,
    ) -> Result<Option<Event>, Rejection> {
        let (Some(web), Some(options)) = (&mut self.web, options) else {
            return Ok(match event {
                StreamEvent::Opened { dir: Dir::Bi } => {
                    while self.connection.streams().accept(Dir::Bi).is_some() {}
                    Some(Event::Readable)
                }
                StreamEvent::Readable { .. } => Some(Event::Readable),
                StreamEvent::Writable { .. } => Some(Event::Writable),
                _ => None,
            });
        };
        let before = web.stream();
        web.progress(&mut self.connection, options)?;
        let stream = web.stream();
        Ok(match event {
            _ if before != stream => Some(Event::Readable),
            StreamEvent::Readable { id } if Some(*id) == stream => Some(Event::Readable),
            StreamEvent::Writable { id } if Some(*id) == stream => Some(Event::Writable),
            _ => None,
        })
    }

    /// How the other end has ended its session over the connection, if it has: the
    /// connection ends, too.
    pub fn take_end(&mut self, now: Instant) -> Option<ConnectionError> {
        let end = self.web.as_ref()?.end()?;
        let code = VarInt::from_u32(NO_ERROR);
        self.connection.close(now, code, Bytes::new());
        Some(match end {
            Some(close) => ConnectionError::ApplicationClosed(close),
            None => ConnectionError::Reset,
        })
    }

    /// Whether it has ended, or the application has closed the session over it.
    pub fn is_closed(&self) -> bool {
        let is_web_over = self.web.as_ref().is_some_and(|web| web.is_over());
        self.connection.is_closed() || is_web_over
    }
}

impl Unanswered {
    /// Whether a timer of this time can be that of an acknowledgement.
    fn is_acknowledged_at(&self, at: Instant) -> bool {
        (self.first + MAX_ACK_DELAY..=self.last + MAX_ACK_DELAY).contains(&at)
    }
}

/// Passes events between a connection and the endpoint.
pub(super) fn exchange(
    protocol: &mut quinn_proto::Endpoint,
    connection: &mut Connection,
    index: usize,
) {
    while let Some(event) = connection.poll_endpoint_events() {
        if let Some(event) = protocol.handle_event(ConnectionHandle(index), event) {
            connection.handle_event(event);
        }
    }
}

pub(super) fn pass<A: Application>(
    event: Result<Option<Event>, Rejection>,
    (mut link, session): (Link<'_>, &mut Option<A::Session>),
    application: &mut A,
) {
    let Some(session) = session.as_mut().filter(|_| !link.is_ended()) else {
        return;
    };
    match event {
        Ok(Some(event)) => application.event(event, &mut link, session),
        Ok(None) => {}
        Err(rejection) => {
            application.rejected(&rejection);
            rejection.close(link.connection, link.now);
            *link.is_urgent = true;
        }
    }
}

pub(super) fn pass_datagrams<A: Application>(
    (mut link, session): (Link<'_>, &mut Option<A::Session>),
    application: &mut A,
) {
    while let Some(data) = link.connection.datagrams().recv() {
        if link.is_ended() {
            break;
        }
        let event = match &link.web {
            Some(web) => web.unwrap_datagram(data),
            None => Ok(Some(data)),
        };
        let event = event.map(|data| data.map(Event::Datagram));
        pass(event, (link.again(), &mut *session), application);
    }
}

/// The transport's own wait before it acknowledges (RFC 9000, 18.2, max_ack_delay).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// A handshake takes less where packets with marks pass. Packets that it sends again later have none.
const MARKS_WAIT: Duration = Duration::from_millis(900);
