//! The game behind a client's endpoint.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use client_core::{Ending, Game, LossCode};
use quic::proto::{ConnectionError, Incoming};
use quic::race::Race;
use quic::{Application, Event as Arrival, Handle, Link, Load, Open};

use crate::carrier;
use crate::connect::ending;

/// The number of an attempt to connect, which no other has.
pub type Attempt = u32;

/// The application behind the endpoint.
pub struct Driver {
    pub game: Game,
    pub started: Instant,
    pub connection: ConnectionState,
    /// Connections that are to be closed, as another one opened before them.
    pub late: Vec<Handle>,
    /// The address of the open connection, or of the last one.
    pub reached: Option<SocketAddr>,
    /// An address whose server has turned the client away, as a standby does.
    pub refused: Option<SocketAddr>,
}

/// How the game reaches its server.
pub enum ConnectionState {
    /// Not at all, or not yet.
    None,
    /// By the connection that opens first.
    Opening {
        race: Race,
        connections: Vec<(Attempt, Handle)>,
    },
    Open(Attempt, Handle),
}

impl Driver {
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub fn end(&mut self, code: impl Into<LossCode>, reason: String) {
        let now = self.now();
        self.game.closed(Ending::new(code, reason), now);
    }

    /// When the next attempt to connect is due, if one is.
    pub fn next_attempt(&self) -> Option<Instant> {
        match &self.connection {
            ConnectionState::Opening { race, .. } => race.next_due(),
            ConnectionState::None | ConnectionState::Open(..) => None,
        }
    }

    /// An attempt to connect has failed.
    pub fn fail(&mut self, ending: Ending, now: Instant) {
        if let ConnectionState::Opening { race, .. } = &mut self.connection
            && !race.fail(now)
        {
            self.connection = ConnectionState::None;
            self.game.closed(ending, self.started.elapsed());
        }
    }

    /// A connection is open. It is the game's, if it is the first.
    fn win(&mut self, attempt: Attempt, link: &Link<'_>) {
        let is_it = |(own, _): &(Attempt, Handle)| *own == attempt;
        if let ConnectionState::Opening { connections, .. } = &mut self.connection
            && connections.iter().any(is_it)
        {
            let others = connections.iter().filter(|one| !is_it(one));
            self.late.extend(others.map(|(_, handle)| handle));
            self.connection = ConnectionState::Open(attempt, link.handle());
            self.reached = Some(link.remote_address());
        }
    }

    fn is_open(&self, attempt: Attempt) -> bool {
        matches!(self.connection, ConnectionState::Open(open, _) if open == attempt)
    }

    pub fn send(&mut self, link: &mut Link<'_>) {
        let now = self.now();
        carrier::send(&mut self.game, link, now);
    }
}

impl Application for Driver {
    type Session = Attempt;

    fn open(&mut self, _: &Incoming, _: Load, _: Instant) -> Open<Attempt> {
        Open::Ignore
    }

    fn event(&mut self, event: Arrival, link: &mut Link<'_>, attempt: &mut Attempt) {
        if event == Arrival::Connected {
            self.win(*attempt, link);
        }
        if self.is_open(*attempt) {
            let now = self.now();
            carrier::deliver(&mut self.game, event, link, now, &mut ());
        }
    }

    fn settled(&mut self, link: &mut Link<'_>, attempt: &mut Attempt) {
        // The rest of the welcome waits for the acknowledgement.
        if self.is_open(*attempt) && !self.game.is_playing() {
            link.send_now();
        }
    }

    fn closed(&mut self, _: Handle, attempt: Attempt, reason: ConnectionError) {
        match &mut self.connection {
            ConnectionState::Opening { connections, .. } => {
                let before = connections.len();
                connections.retain(|(other, _)| *other != attempt);
                if connections.len() < before {
                    self.fail(ending(&reason), Instant::now());
                }
            }
            ConnectionState::Open(open, _) if *open == attempt => {
                self.connection = ConnectionState::None;
                if !self.game.is_playing() {
                    self.refused = self.reached;
                }
                let now = self.now();
                self.game.closed(ending(&reason), now);
            }
            ConnectionState::Open(..) | ConnectionState::None => {}
        }
    }
}
