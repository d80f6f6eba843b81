//! A client for a game loop: no runtime, no thread, nothing that waits.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use client_core::{
    Argument, CommandError, Ending, Event, Game, GameOptions, GivenCommand, Layers, LossCode,
    PredicateTooLong, Region, Step, TalkRequest, View,
};
use quic::Addresses;
use quic::proto::ClientConfig;
use quic::race::Race;
use quic::{Endpoint, Faults, Handle, Network, Socket, Turns};
use shared::wire::control::{Close, Ticket};
use shared::{CommandKind, EntityId, Tick};

use crate::connect::{ClientError, Trust, addresses_of, client_config, seeded};
use crate::local::{self, LocalServer};
use driver::{Attempt, ConnectionState, Driver};

mod driver;

/// A [`Game`] and the connections that it runs over.
///
/// Once a frame a game calls [`GameClient::poll`], gives commands and calls
/// [`GameClient::flush`] while there is an [`GameClient::input_due`], and calls that again. A game that stops doing so for
/// some seconds loses its connection, and gets it back.
///
/// ```no_run
/// use client_bot::GameClient;
/// use client_bot::named::NamedError;
///
/// /// Walks, and strikes an entity nearby once the strike is ready.
/// fn frame(client: &mut GameClient) -> Result<(), NamedError> {
///     for event in client.poll() {
///         println!("{event:?}");
///     }
///     while client.input_due().is_some() {
///         client.command_named("move", &[1.0, 0.0])?;
///         let ready = client.ready_ticks_named("strike")? == 0;
///         let view = client.view().filter(|_| ready);
///         let mut others = view.iter().flat_map(|view| {
///             let ids = view.entities().values().map(|entity| entity.id);
///             ids.filter(|&id| id != view.entity())
///         });
///         if let Some(target) = others.next() {
///             println!("{target} has {} hp", client.value(target, "hp")?);
///             client.command_named("strike", &[client_bot::named::reference(target)])?;
///         }
///         client.flush();
///     }
///     client.flush();
///     Ok(())
/// }
/// ```
///
/// By numbers instead of names: [`GameClient::command`] with raw words.
pub struct GameClient {
    endpoint: Endpoint<Attempt>,
    driver: Driver,
    /// `None` without a network.
    config: Option<ClientConfig>,
    local: Option<Box<dyn LocalServer>>,
    turns: Turns,
    turned: Instant,
    /// `None` without a network.
    server: Option<Addresses>,
    name: String,
    sockets: Sockets,
    attempts: Attempt,
    lookup: Option<Lookup>,
}

/// The numbers of the endpoint's sockets, of those families that were needed.
#[derive(Default)]
pub(crate) struct Sockets {
    v4: Option<usize>,
    v6: Option<usize>,
}

/// The addresses of a name that a server has sent are being looked up.
struct Lookup {
    /// Never locked: engines share references to clients, which a bare receiver forbids.
    found: Mutex<Receiver<Result<Addresses, ClientError>>>,
}

impl GameClient {
    /// Opens sockets towards a server, whose certificate must carry `name` if an authority
    /// signed it; so must that of the standby that the server may name. The first
    /// [`GameClient::poll`] begins to connect.
    ///
    /// Of [several addresses](crate::connect::addresses_of) the one that answers first is used: the
    /// next one is tried after a quarter of a second.
    pub fn new(
        server: impl Into<Addresses>,
        name: &str,
        trust: &Trust,
        options: GameOptions,
    ) -> Result<GameClient, ClientError> {
        let server = server.into();
        let turns = Turns::default();
        let now = Instant::now();
        let mut endpoint = Endpoint::new(vec![], None).map_err(ClientError::Socket)?;
        let mut sockets = Sockets::default();
        // Not every machine has both families.
        let opened = server.iter().map(|to| sockets.towards(to, &mut endpoint));
        let one = opened.reduce(Result::or).transpose();
        one.map_err(ClientError::Socket)?;
        Ok(GameClient {
            endpoint,
            driver: Driver {
                game: Game::new(seeded(options, &server)),
                started: now,
                connection: ConnectionState::None,
                late: vec![],
                reached: None,
                refused: None,
            },
            config: Some(client_config(trust, turns.clone())?),
            local: None,
            turns,
            turned: now,
            server: Some(server),
            name: name.to_owned(),
            sockets,
            attempts: 0,
            lookup: None,
        })
    }

    /// A client of a server in this process: no sockets, no certificates, and nothing that is
    /// lost. Each [`GameClient::poll`] runs the ticks that are due.
    pub fn offline(
        server: Box<dyn LocalServer>,
        options: GameOptions,
    ) -> Result<GameClient, ClientError> {
        let now = Instant::now();
        Ok(GameClient {
            endpoint: Endpoint::new(vec![], None).map_err(ClientError::Socket)?,
            driver: Driver {
                game: Game::new(options),
                started: now,
                connection: ConnectionState::None,
                late: vec![],
                reached: None,
                refused: None,
            },
            config: None,
            local: Some(server),
            turns: Turns::default(),
            turned: now,
            server: None,
            name: String::new(),
            sockets: Sockets::default(),
            attempts: 0,
            lookup: None,
        })
    }

    /// Loses, delays and doubles packets on purpose from now on, by a seed.
    pub fn set_faults(&mut self, faults: Faults, seed: u64) {
        self.set_network(&faults.into(), seed);
    }

    /// Carries packets over a bad network on purpose from now on, by a seed: one that is built
    /// in, or a trace ([`Network::named`]).
    pub fn set_network(&mut self, network: &Network, seed: u64) {
        self.endpoint.set_network(network, seed);
    }

    /// The state behind the client.
    pub fn game(&self) -> &Game {
        &self.driver.game
    }

    /// Continues as the entity of an earlier client, if that is still there: before the first
    /// poll.
    pub fn set_ticket(&mut self, ticket: Ticket) {
        self.driver.game.set_ticket(ticket);
    }

    /// The world as received from the server; `None` before the first welcome.
    pub fn view(&self) -> Option<&View> {
        self.driver.game.view()
    }

    /// The world's layers, once they have come: see [`Game::layers`].
    pub fn layers(&self) -> Option<&Layers> {
        self.driver.game.layers()
    }

    /// Where an entity in view is shown, in units; 0 on axes that the world lacks.
    pub fn position(&self, entity: EntityId) -> Option<[f64; 3]> {
        self.driver.game.position(entity)
    }

    /// The tick that the server runs now, for all that is known, with a fraction; `None`
    /// before the first welcome.
    pub fn server_tick(&self) -> Option<f64> {
        self.driver.game.clock()?.server_tick(self.driver.now())
    }

    /// Processes all that has arrived, advances the scene, connects where that is due, and
    /// gives the events since the last call. It does not wait.
    pub fn poll(&mut self) -> Vec<Event> {
        let now = Instant::now();
        if let Some(local) = &mut self.local {
            let Driver { game, started, .. } = &mut self.driver;
            local::poll(&mut **local, game, *started, now);
            return self.driver.game.poll(self.driver.now());
        }
        if let Err(error) = self.endpoint.wait(now) {
            let reason = format!("cannot use the socket: {error}");
            self.driver.end(LossCode::Unreachable, reason);
        }
        self.endpoint.receive(&mut self.driver, PACKETS_MAX);
        self.endpoint.upkeep(&mut self.driver);
        self.take_found();
        match self.driver.game.next_step(self.driver.now()) {
            Step::Wait => {}
            Step::Connect => self.connect(),
            Step::Close(code, reason) => self.close(code, reason),
        }
        self.race();
        self.endpoint.flush();
        self.driver.game.poll(self.driver.now())
    }

    /// Waits until packets arrive, at most so long: for programs that show nothing.
    pub fn wait(&mut self, longest: Duration) -> io::Result<()> {
        let until = Instant::now() + longest;
        let due = self.driver.next_attempt();
        self.endpoint.wait(due.map_or(until, |due| due.min(until)))
    }

    /// The tick for which input is due, see [`Game::input_due`].
    pub fn input_due(&self) -> Option<Tick> {
        self.driver.game.input_due(self.driver.now())
    }

    /// Queues a command by its number in the schema, with its raw words, and gives its sequence
    /// number. It goes out with a [`GameClient::flush`], just in time for a tick. By name and in
    /// units: [`GameClient::command_named`].
    pub fn command(&mut self, kind: CommandKind, words: &[i32]) -> Result<u32, CommandError> {
        self.driver.game.command(kind, words)
    }

    /// The same with texts among the arguments, see
    /// [`Session::command_with`](client_core::Session::command_with).
    pub fn command_with(
        &mut self,
        kind: CommandKind,
        arguments: &[Argument<'_>],
    ) -> Result<GivenCommand, CommandError> {
        self.driver.game.command_with(kind, arguments)
    }

    /// See [`Game::set_region`].
    pub fn set_region(&mut self, index: u32, region: Option<Region>) -> Option<u32> {
        self.driver.game.set_region(index, region)
    }

    /// See [`Game::set_sight`].
    pub fn set_sight(&mut self, radius: Option<i32>) -> Option<u32> {
        self.driver.game.set_sight(radius)
    }

    /// See [`Game::watch`].
    pub fn watch(&mut self, point: [i32; 3]) -> Option<u32> {
        self.driver.game.watch(point)
    }

    /// See [`Game::subscribe`].
    pub fn subscribe(&mut self, id: u32, predicate: &str) -> Option<Result<u32, PredicateTooLong>> {
        self.driver.game.subscribe(id, predicate)
    }

    /// See [`Game::unsubscribe`].
    pub fn unsubscribe(&mut self, id: u32) -> Option<u32> {
        self.driver.game.unsubscribe(id)
    }

    /// See [`Game::ask_ranking`].
    pub fn ask_ranking(&mut self, name: &str, length: u32) -> Option<bool> {
        self.driver.game.ask_ranking(name, length)
    }

    /// See [`Game::talk`].
    pub fn talk(&mut self, request: TalkRequest) -> Option<u32> {
        self.driver.game.talk(request)
    }

    /// Sends what is due: at most one datagram in a tick, however often this is called.
    pub fn flush(&mut self) {
        let now = Instant::now();
        if let Some(local) = &mut self.local {
            let now = self.driver.now();
            return local::flush(&mut **local, &mut self.driver.game, now);
        }
        if now >= self.turned + TURN_PERIOD {
            self.turned = now;
            self.turns.begin();
        }
        if let ConnectionState::Open(_, handle) = self.driver.connection {
            self.endpoint
                .visit(handle, &mut self.driver, now, |driver, link, _| {
                    driver.send(link);
                });
        } else {
            // Due data goes nowhere, and is not due again.
            let now = self.driver.now();
            let _ = self.driver.game.datagram(now);
        }
        self.endpoint.flush();
    }

    /// Leaves for good: the entity is removed. Waits for a second at most until the server
    /// has confirmed.
    pub fn leave(mut self) {
        self.driver.game.leave();
        self.close(Close::Bye, "bye");
        let end = Instant::now() + LEAVE_WAIT;
        while !self.endpoint.is_idle() && Instant::now() < end {
            if self.endpoint.wait(end).is_err() {
                break;
            }
            self.endpoint.receive(&mut self.driver, PACKETS_MAX);
            self.endpoint.upkeep(&mut self.driver);
        }
        self.endpoint.flush();
    }

    fn connect(&mut self) {
        self.lookup = None;
        let Some(name) = self.driver.game.address() else {
            return match self.server.clone() {
                Some(server) => self.begin(&server),
                None => self.driver.end(
                    LossCode::Unreachable,
                    "the client has no network".to_owned(),
                ),
            };
        };
        // In numbers, as most are.
        if let Ok(address) = name.parse::<SocketAddr>() {
            return self.begin(&address.into());
        }
        let name = name.to_owned();
        let (to, found) = channel();
        let lookup = std::thread::Builder::new().name("lookup".to_owned());
        let started = lookup.spawn(move || {
            // The game may be over, or no longer interested.
            let _ = to.send(addresses_of(&name));
        });
        match started {
            Ok(_) => {
                let found = Mutex::new(found);
                self.lookup = Some(Lookup { found });
            }
            Err(error) => self.begin_if(Err(ClientError::Socket(error))),
        }
    }

    /// Connects to where a server was found.
    fn take_found(&mut self) {
        let Some(lookup) = &mut self.lookup else {
            return;
        };
        let found = lookup
            .found
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let found = match found.try_recv() {
            Ok(found) => Some(found),
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => None,
        };
        self.lookup = None;
        if let Some(found) = found {
            self.begin_if(found);
        }
    }

    fn begin_if(&mut self, found: Result<Addresses, ClientError>) {
        match found {
            Ok(addresses) => self.begin(&addresses),
            Err(error) => self.driver.end(error.code(), error.to_string()),
        }
    }

    fn begin(&mut self, addresses: &Addresses) {
        self.driver.connection = ConnectionState::Opening {
            race: Race::new(addresses, Instant::now()),
            connections: vec![],
        };
    }

    /// Opens connections that are due, and closes those that another one was faster than.
    fn race(&mut self) {
        let now = Instant::now();
        for handle in std::mem::take(&mut self.driver.late) {
            self.close_one(handle, Close::Bye, "another address was faster");
        }
        if let Some(server) = &mut self.server {
            // Not one that was only reached: it may be a standby, or another world's.
            if let Some(welcomed) = self
                .driver
                .reached
                .filter(|_| self.driver.game.is_playing())
            {
                server.prefer(welcomed);
            }
            if let Some(refused) = self.driver.refused.take() {
                server.defer(refused);
            }
        }
        while let ConnectionState::Opening { race, .. } = &mut self.driver.connection
            && let Some(address) = race.begin(now)
        {
            self.attempts += 1;
            let (attempt, opened) = (self.attempts, self.open(address, now));
            match (opened, &mut self.driver.connection) {
                (Ok((handle, is_sent)), ConnectionState::Opening { race, connections }) => {
                    connections.push((attempt, handle));
                    if !is_sent {
                        race.hurry(now);
                    }
                }
                (Err(reason), _) => {
                    let ending = Ending::new(LossCode::Unreachable, reason);
                    self.driver.fail(ending, now);
                }
                (Ok(_), _) => {}
            }
        }
    }

    /// Begins to connect. False if the first packet can't be sent: there is no way to the
    /// address, as far as the system knows.
    fn open(&mut self, address: SocketAddr, now: Instant) -> Result<(Handle, bool), String> {
        let socket = self.sockets.towards(address, &mut self.endpoint);
        let socket = socket.map_err(|error| ClientError::Socket(error).to_string())?;
        self.endpoint.flush();
        let errors = self.endpoint.counts().send_errors;
        let config = self.config.clone().ok_or("the client has no network")?;
        let opened = self
            .endpoint
            .connect(config, address, &self.name, socket, self.attempts, now);
        let handle = opened.map_err(|error| format!("cannot connect: {error}"))?;
        self.endpoint.flush();
        Ok((handle, self.endpoint.counts().send_errors == errors))
    }

    fn close(&mut self, code: Close, reason: &str) {
        self.lookup = None;
        if let Some(local) = &mut self.local {
            local.close(code);
        }
        // The reason of a connection's end is known already.
        match std::mem::replace(&mut self.driver.connection, ConnectionState::None) {
            ConnectionState::None => {}
            ConnectionState::Opening { connections, .. } => {
                for (_, handle) in connections {
                    self.close_one(handle, code, reason);
                }
            }
            ConnectionState::Open(_, handle) => self.close_one(handle, code, reason),
        }
    }

    fn close_one(&mut self, handle: Handle, code: Close, reason: &str) {
        let now = Instant::now();
        self.endpoint
            .visit(handle, &mut self.driver, now, |_, link, _| {
                link.close(code.code(), reason);
            });
    }
}

impl Sockets {
    /// The number of the socket that reaches an address.
    pub(crate) fn towards(
        &mut self,
        address: SocketAddr,
        at: &mut Endpoint<Attempt>,
    ) -> io::Result<usize> {
        let number = match address {
            SocketAddr::V4(_) => &mut self.v4,
            SocketAddr::V6(_) => &mut self.v6,
        };
        match *number {
            Some(number) => Ok(number),
            None => Ok(*number.insert(at.add_socket(Socket::towards(address)?)?)),
        }
    }
}

/// Through a network that loses everything, a client sends no more than this often.
const TURN_PERIOD: Duration = Duration::from_millis(20);
const PACKETS_MAX: usize = 1024;
const LEAVE_WAIT: Duration = Duration::from_secs(1);

/// An engine moves its clients to any thread, and shares references to them.
const _: () = {
    const fn is_free<T: Send + Sync>() {}
    is_free::<GameClient>();
};
