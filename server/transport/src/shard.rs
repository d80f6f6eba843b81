//! The clients of one shard.

mod audit;
mod publications;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use accounts::network::Network;
use accounts::revocations::Revocations;
use frontend::SessionWorld;
use frontend::inbox::{Join, Leave, LongText, PendingRequest, SessionId, SharedInbox};
use platform::metrics::counts::{FanOutCounts, Refusals};
use quic::proto::{ConnectionError, Incoming};
use quic::{Application, Congestion, Event, Handle, Link, Load, Open, Packet, Rejection};
use session::Session;
use session::fan_out::Scratch;
use shared::Tick;
use shared::wire::commands::ClientDatagram;
use shared::wire::control::Close;
use shared::wire::request::RequestBody;
use shared::wire::{DecodeError, LONGER_WELCOME_VERSION};
use tracing::info;

use super::admission_control::{AdmissionControl, AdmissionDecision, HELLO_WAIT, PENDING_MAX};
use super::client::{Client, PendingConnection, Player, close};
use super::client_link::ClientLink;
use super::handshake::{AdmissionError, AdmissionPolicy, Admitted, Arrival, HelloReader};
use super::neighbours::Neighbours;
use super::requests::Requests;

/// The world as all shards share it.
pub struct ShardWorld {
    pub session: Arc<SessionWorld>,
    pub admission: AdmissionPolicy,
}

/// Connections that have not sent their hello.
#[derive(Clone, Copy, Debug)]
pub struct PendingConnections {
    pub waiting: usize,
    /// Of these, the evicted ones, which are to be closed.
    pub evicted: usize,
}

/// Clients, and the state to serve them. Their connections belong to the transport.
pub struct Shard {
    pub number: usize,
    world: Arc<ShardWorld>,
    inbox: SharedInbox,
    players: HashMap<SessionId, Handle>,
    next_session: SessionId,
    admission_control: AdmissionControl,
    /// The revocations by which all players were checked.
    revoked: Option<Arc<Revocations>>,
    /// Refused connections that the audit log sums.
    summed: audit::Summed,
    neighbours: Neighbours,
    connections_max: usize,
    /// Reused: a decoded datagram, and the buffers of a fan-out.
    datagram: ClientDatagram,
    scratch: Scratch,
    /// The newest tick that was published to the shard.
    tick: Tick,
    /// All clients have acknowledged their streams up to this tick.
    acked_through: Tick,
    pub counts: FanOutCounts,
}

impl Shard {
    pub fn new(
        number: usize,
        world: Arc<ShardWorld>,
        inbox: SharedInbox,
        neighbours: Neighbours,
    ) -> Shard {
        Shard {
            number,
            connections_max: connections_max(&world),
            world,
            inbox,
            players: HashMap::new(),
            next_session: 0,
            admission_control: AdmissionControl::default(),
            revoked: None,
            summed: audit::Summed::default(),
            neighbours,
            datagram: ClientDatagram::default(),
            scratch: Scratch::default(),
            tick: Tick(0),
            acked_through: Tick(0),
            counts: FanOutCounts::default(),
        }
    }

    pub fn world(&self) -> &Arc<SessionWorld> {
        &self.world.session
    }

    /// Connections that have not sent their hello.
    pub fn pending_connections(&self) -> PendingConnections {
        PendingConnections {
            waiting: self.admission_control.pending(),
            evicted: self.admission_control.evicted(),
        }
    }

    /// The connection of a session.
    pub fn handle(&self, session: SessionId) -> Option<Handle> {
        self.players.get(&session).copied()
    }

    fn count_refusals(&self, count: impl FnOnce(&mut Refusals)) {
        count(&mut self.inbox.lock().refusals);
    }
}

/// Events of connections.
impl Application for Shard {
    type Session = Client;

    fn open(&mut self, incoming: &Incoming, load: Load, now: Instant) -> Open<Client> {
        if load.connections >= self.connections_max {
            return Open::Refuse;
        }
        let is_proven = incoming.remote_address_validated();
        self.open_for(incoming.remote_address(), is_proven, now)
    }

    fn prefetch(&self, client: &Client) {
        client.prefetch();
    }

    fn event(&mut self, event: Event, link: &mut Link<'_>, client: &mut Client) {
        self.take_event(event, link, client);
    }

    fn stray(&mut self, owner: u16, packet: Packet) {
        self.neighbours.hand_over(owner, packet);
    }

    fn rejected(&mut self, rejection: &Rejection) {
        info!(reason = %rejection.reason, "a browser was refused");
        self.count_refusals(|refusals| match rejection.is_foreign {
            true => refusals.connections += 1,
            false => refusals.malformed += 1,
        });
    }

    fn closed(&mut self, _: Handle, client: Client, end: ConnectionError) {
        let player = match client {
            Client::Pending(pending) => {
                return self.admission_control.leave(pending.id, pending.address);
            }
            Client::Player(player) => player,
        };
        info!(session = player.id, address = %player.address, %end, "a client has left");
        let reason = player.ending.clone().unwrap_or_else(|| end.to_string());
        self.audit("leave", player.address.to_string(), &player, Some(&reason));
        self.world.admission.guard.leave(player.address);
        self.players.remove(&player.id);
        let bye = u64::from(Close::Bye.code());
        let has_said_bye = matches!(&end, ConnectionError::ApplicationClosed(close)
            if close.error_code.into_inner() == bye);
        let is_final = has_said_bye || player.is_malformed;
        if !is_final && !player.session.is_ending() {
            self.counts.sessions_lost += 1;
        }
        self.inbox.lock().leave(Leave {
            session: player.id,
            is_final,
        });
    }
}

impl Shard {
    /// The most connections, those that are being closed included.
    pub fn connections_max(&self) -> usize {
        self.connections_max
    }

    /// Whether a connection from an address is admitted. `is_proven`: the address is validated.
    pub fn open_for(&mut self, address: SocketAddr, is_proven: bool, now: Instant) -> Open<Client> {
        let id = match self.admission_control.admit(address, is_proven, now) {
            AdmissionDecision::Retry => return Open::Retry,
            AdmissionDecision::Refuse => {
                self.count_refusals(|refusals| refusals.connections += 1);
                return Open::Refuse;
            }
            AdmissionDecision::Accept(id) => id,
        };
        Open::Accept(Client::Pending(PendingConnection {
            hello: HelloReader::default(),
            address,
            id,
            since: now,
        }))
    }

    /// Handles an event of a connection.
    pub fn take_event(&mut self, event: Event, link: &mut impl ClientLink, client: &mut Client) {
        match event {
            Event::Connected => {}
            Event::Datagram(bytes) => self.take_datagram(&bytes, link, client),
            Event::Readable => {
                if let Client::Pending(pending) = client {
                    let arrival = Arrival {
                        address: pending.address.ip(),
                        now: link.moment(),
                        version_min: self.world.session.version_min,
                    };
                    match pending.hello.read(link, &self.world.admission, arrival) {
                        Ok(Some(admitted)) => {
                            self.admission_control.leave(pending.id, pending.address);
                            let player = self.admit(link, arrival.address, admitted);
                            *client = Client::Player(player);
                        }
                        Ok(None) => {}
                        Err(error) => self.refuse(link, pending.address, &error),
                    }
                }
                if let Client::Player(player) = client {
                    player.requests.note_readable();
                    self.take_requests(link, player);
                }
            }
            Event::Writable => {
                if let Client::Player(player) = client {
                    self.counts.stream_bytes += player.flush(link) as u64;
                }
            }
        }
    }

    /// Closes a connection that is not admitted, with the reason.
    fn refuse(&mut self, link: &mut impl ClientLink, address: SocketAddr, error: &AdmissionError) {
        info!(%address, reason = %error.reason, "a client was refused");
        self.audit_refusal(address, error);
        self.count_refusals(|refusals| {
            let is_malformed = error.close == Close::Malformed;
            refusals.malformed += u64::from(is_malformed);
            refusals.tokens += u64::from(error.is_guess);
            refusals.connections += u64::from(error.is_guess_over);
        });
        close(link, error.close, &error.reason);
    }

    /// Adds a client after its hello, and requests its entity from the tick.
    fn admit(
        &mut self,
        link: &impl ClientLink,
        address: IpAddr,
        admitted: Admitted,
    ) -> Box<Player> {
        let Admitted {
            hello,
            identity,
            shown,
            must_resume,
        } = admitted;
        let id = self.next_session;
        self.next_session += 1;
        self.players.insert(id, link.handle());
        let join = Join {
            session: id,
            resume: hello.resume,
            must_resume,
            spectates: hello.spectates,
            identity,
            network: Some(Network::of(address)),
            continues: hello.version >= LONGER_WELCOME_VERSION,
            rejoins: false,
        };
        self.inbox.lock().join(join.clone());
        info!(session = id, %address, resumes = hello.resume.is_some(), "a client has come");
        let limits = &self.world.session.config.limits;
        Box::new(Player {
            id,
            address,
            shown,
            join,
            schema_hash: hello.schema_hash,
            ending: None,
            session: Session::of_version(limits, hello.version),
            requests: Requests::new(limits.client_requests_per_second, link.now()),
            is_confirmed: false,
            is_malformed: false,
            congestion: Congestion::default(),
        })
    }

    fn take_datagram(&mut self, bytes: &[u8], link: &mut impl ClientLink, client: &mut Client) {
        let world = &self.world.session;
        match world.commands.decode(bytes, self.tick, &mut self.datagram) {
            Ok(()) => {}
            // The client repeats its commands once it has the new ones.
            Err(DecodeError::Outdated(_)) => return,
            Err(error) => return self.malformed(link, client.player(), &error),
        }
        let taken = match client {
            Client::Pending(_) => Err("a datagram before the hello".to_owned()),
            Client::Player(player) => {
                let mut inbox = self.inbox.lock();
                let taken = player.session.receive(&self.datagram, world, &mut inbox);
                if taken.is_ok() && !player.is_confirmed {
                    player.is_confirmed = true;
                    inbox.confirmed.push(player.id);
                }
                taken.map_err(|error| error.to_string())
            }
        };
        if let Err(reason) = taken {
            self.malformed(link, client.player(), &reason);
        }
    }

    /// Hands the requests that a client may send now to the tick.
    fn take_requests(&mut self, link: &mut impl ClientLink, player: &mut Player) {
        // They wait for the welcome with which the session goes on.
        if player.session.is_restarting() {
            return;
        }
        loop {
            let request = match player.requests.next(link) {
                Ok(Some(request)) => request,
                Ok(None) => return,
                Err(error) => return self.malformed(link, Some(player), &error),
            };
            // Without a row the client has no welcome yet.
            let Some(row) = player.session.client() else {
                return self.malformed(link, Some(player), &"a request before the welcome");
            };
            if let RequestBody::Layer { hash } = request.body {
                player.session.send_layer(hash, &self.world.session);
                player.requests.answer();
                continue;
            }
            if let RequestBody::Ranking { number, length } = request.body {
                player
                    .session
                    .send_ranking(number, length, &self.world.session);
                player.requests.answer();
                continue;
            }
            let body = self.check_length(request.body);
            self.inbox.lock().requests.push(PendingRequest {
                session: player.id,
                client: row,
                number: request.number,
                body,
            });
        }
    }

    /// Many requests may wait for the tick, so long texts are rejected here.
    fn check_length(&self, body: RequestBody) -> Result<RequestBody, LongText> {
        let limit = self.world.session.config.limits.predicate_bytes as usize;
        match body {
            RequestBody::Subscribe { predicate, .. } if predicate.len() > limit => {
                let found = predicate.len();
                Err(LongText { found, limit })
            }
            body => Ok(body),
        }
    }

    /// Closes a connection whose bytes can't be read.
    pub fn malformed(
        &self,
        link: &mut impl ClientLink,
        player: Option<&mut Player>,
        reason: &dyn std::fmt::Display,
    ) {
        let address = link.remote_address();
        info!(%address, %reason, "a client sent a malformed message");
        if let Some(player) = player {
            player.is_malformed = true;
            player.ending = Some(format!("malformed: {reason}"));
        }
        self.count_refusals(|refusals| refusals.malformed += 1);
        close(link, Close::Malformed, &reason.to_string());
    }

    /// Closes a pending connection that has waited too long for its hello, or was evicted.
    pub fn close_if_stale(&mut self, link: &mut impl ClientLink, client: &Client) {
        let Client::Pending(pending) = client else {
            return;
        };
        let reason = if link.now().saturating_duration_since(pending.since) >= HELLO_WAIT {
            format!("no hello within {} seconds", HELLO_WAIT.as_secs())
        } else if self.admission_control.is_evicted(pending.id) {
            self.count_refusals(|refusals| refusals.connections += 1);
            "no hello, and others need the place".to_owned()
        } else {
            return;
        };
        // The client may retry: its packets may have waited, in a network or for a busy server.
        close(link, Close::TooSlow, &reason);
    }
}

/// Room for all clients to resume while their old connections linger, for all pending
/// connections, and for as many that are being closed.
fn connections_max(world: &ShardWorld) -> usize {
    let clients_max = world.session.config.limits.clients as usize;
    2 * (clients_max + PENDING_MAX)
}
