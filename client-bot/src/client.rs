//! A client in the world for tokio, over QUIC.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use client_core::event::Both;
use client_core::{
    Answer, Argument, CommandError, Ending, Event, Game, GameOptions, GivenCommand, Message,
    Region, Session, Step, TalkRequest, View,
};
use quic::race::sleep_until;
use quinn::{Connection, RecvStream, SendStream, VarInt};
use shared::wire::DecodeError;
use shared::wire::control::{Close, Hello, Ticket};
use shared::{CommandKind, Tick};
use tokio::task::JoinSet;

use crate::connect::{ClientError, ended, seeded};
use crate::connector::{Connected, Connector};

pub use client_core::EventHandler;

/// A [`Game`] and the connections that it runs over.
///
/// [`Client::next_event`] and [`Client::next_input`] drive it: they process received data, send
/// what is due, and come back by themselves if the connection is lost. A program that calls
/// neither for some seconds loses its connection. This one walks until it is hurt:
///
/// ```no_run
/// use client_bot::client_core::{Event, GameOptions};
/// use client_bot::{Client, Connector};
///
/// async fn walk(connector: &Connector) -> Result<(), Box<dyn std::error::Error>> {
///     let mut client = Client::connect_with(connector, GameOptions::default(), None).await?;
///     // Once in each tick of the server, just in time.
///     while client.next_input().await.is_some() {
///         client.command_named("move", &[1.0, 0.0])?;
///         let own = client.view().entity();
///         // What has happened since: this does not wait.
///         for event in client.take_events() {
///             match event {
///                 Event::Changed { entity, .. } if entity == own => {
///                     client.leave();
///                     return Ok(());
///                 }
///                 event => println!("{event:?}"),
///             }
///         }
///     }
///     Ok(())
/// }
/// ```
pub struct Client {
    connector: Connector,
    game: Game,
    started: Instant,
    link: OpenConnection,
    /// The attempt to connect that is under way, if one is.
    opening: JoinSet<Result<Connected, ClientError>>,
    /// Events that were not returned yet.
    events: VecDeque<Event>,
    /// The newest tick that input was requested for.
    offered: Option<Tick>,
    /// When the last turn began.
    turned: Instant,
}

/// The latest connection, which may have ended.
struct OpenConnection {
    connection: Connection,
    send: SendStream,
    receive: RecvStream,
    /// Bytes of the stream that came with the welcome.
    rest: Vec<u8>,
}

impl Client {
    /// Connects with this hello, and waits for the welcome.
    pub async fn connect(connector: &Connector, hello: &Hello) -> Result<Client, ClientError> {
        let options = GameOptions {
            token: hello.token.clone(),
            name: hello.name.clone(),
            schema_hash: hello.schema_hash,
            spectates: hello.spectates,
            ..GameOptions::default()
        };
        Client::connect_with(connector, options, hello.resume).await
    }

    /// The same, as the entity of an earlier client's ticket, if there is one. It tries once;
    /// from the welcome on, a client that is lost tries again as its options say.
    pub async fn connect_with(
        connector: &Connector,
        options: GameOptions,
        ticket: Option<Ticket>,
    ) -> Result<Client, ClientError> {
        let started = Instant::now();
        let longest = options.connect_timeout;
        let mut game = Game::new(seeded(options, connector.server()));
        if let Some(ticket) = ticket {
            game.set_ticket(ticket);
        }
        // This is the step.
        game.next_step(Duration::ZERO);
        let connected = connector.connect_within(longest, &game.hello()).await?;
        let link = OpenConnection::enter(connected, &mut game, started.elapsed())?;
        if game.is_over() {
            // The world is not that of the game's bindings.
            let error = last_loss(&game.poll(started.elapsed()));
            let close = VarInt::from_u32(Close::Bye.code());
            link.connection
                .close(close, b"not the world of the bindings");
            return Err(error);
        }
        let mut connector = connector.clone();
        connector.prefer(link.connection.remote_address());
        Ok(Client {
            connector,
            game,
            started,
            link,
            opening: JoinSet::new(),
            events: VecDeque::new(),
            offered: None,
            turned: started,
        })
    }

    /// The state behind the client.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// The world as received from the server. It stays as it was while the connection is lost.
    pub fn view(&self) -> &View {
        self.session().view()
    }

    /// Lets a later client continue as the same entity.
    pub fn ticket(&self) -> Ticket {
        self.session().ticket()
    }

    /// Whether the entity is that of the ticket with which the client came in last.
    pub fn is_resumed(&self) -> bool {
        self.session().is_resumed()
    }

    /// See [`Session::servers`].
    pub fn servers(&self) -> &[String] {
        self.session().servers()
    }

    /// The latest connection, which may have ended.
    pub fn connection(&self) -> &Connection {
        &self.link.connection
    }

    /// The tick that the server runs now, for all that is known, with a fraction.
    pub fn server_tick(&self) -> Option<f64> {
        self.game.clock()?.server_tick(self.now())
    }

    /// Leaves for good: the entity is removed.
    pub fn leave(self) {
        let bye = VarInt::from_u32(Close::Bye.code());
        self.link.connection.close(bye, b"bye");
    }

    fn session(&self) -> &Session {
        // There is no client before it.
        self.game.session().expect("a game that was welcomed")
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Events.
impl Client {
    /// Waits for the next event. After [`Event::Lost`], unless that has no
    /// more attempts, the client connects again: [`Event::Resumed`] or [`Event::Welcomed`]
    /// follows, or another loss. `None` once it has given up. Queued commands go out just in
    /// time for a tick meanwhile.
    ///
    /// Dropping the future loses nothing.
    pub async fn next_event(&mut self) -> Option<Event> {
        loop {
            self.gather();
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.game.is_over() {
                return None;
            }
            self.advance().await;
        }
    }

    /// Waits until input is due, once in each tick while the client is in the world, and gives
    /// the tick: commands given now arrive just in time for it. The next call of this or of
    /// [`Client::next_event`] sends them. Events are kept, see [`Client::take_events`]. `None`
    /// once the client has given up.
    ///
    /// Dropping the future loses nothing.
    pub async fn next_input(&mut self) -> Option<Tick> {
        loop {
            let due = self.game.input_due(self.now());
            if due.is_some() && due != self.offered {
                self.offered = due;
                return due;
            }
            if self.game.is_over() {
                return None;
            }
            self.advance().await;
        }
    }

    /// Events that [`Client::next_event`] has not given yet.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.gather();
        self.events.drain(..).collect()
    }

    /// Gives up the connection, if there still is one, and waits until the client is in the
    /// world again: as the same entity where that still waits. The error is the last one, once
    /// there are no more attempts.
    pub async fn come_back(&mut self) -> Result<(), ClientError> {
        if self.game.is_playing() {
            self.close(Close::Resumed, "the client connects again");
            self.end(&ClientError::ended("the client connects again"));
        }
        while !self.game.is_playing() {
            if self.game.is_over() {
                return Err(last_loss(self.events.make_contiguous()));
            }
            self.advance().await;
        }
        Ok(())
    }

    /// Sends what is due, opens or closes a connection where that is due, and waits until
    /// something arrives or the next thing is due.
    async fn advance(&mut self) {
        match self.game.next_step(self.now()) {
            Step::Wait => {}
            Step::Connect => {
                let (connector, hello) = (self.connector.clone(), self.game.hello());
                let address = self.game.address().map(str::to_owned);
                self.opening
                    .spawn(async move { connector.connect_to(address, &hello).await });
            }
            Step::Close(code, reason) => {
                self.close(code, reason);
                return self.gather();
            }
        }
        self.begin_turn();
        let datagram = self.game.datagram(self.now());
        self.send(datagram);
        let due = self.game.next_due(self.now());
        let due = due.map(|due| self.started + due);
        tokio::select! {
            () = self.arrive() => {}
            () = sleep_until(due) => {}
        }
        self.gather();
    }

    /// Waits for bytes, or for a connection that is being opened.
    async fn arrive(&mut self) {
        if self.game.is_playing() {
            // The game has the error.
            let _ = self.receive_into(&mut ()).await;
            return;
        }
        let opened = match self.opening.join_next().await {
            Some(Ok(opened)) => opened,
            Some(Err(error)) => Err(ClientError::ended(error)),
            None => return std::future::pending().await,
        };
        let now = self.now();
        let entered =
            opened.and_then(|connected| Ok(OpenConnection::enter(connected, &mut self.game, now)?));
        match entered {
            Ok(link) => {
                self.connector.prefer(link.connection.remote_address());
                self.link = link;
            }
            Err(error) => self.end(&error),
        }
    }

    fn gather(&mut self) {
        let now = self.now();
        self.events.extend(self.game.poll(now));
    }

    /// Ends the connection and attempts to open one.
    fn close(&mut self, code: Close, reason: &str) {
        let code = VarInt::from_u32(code.code());
        self.link.connection.close(code, reason.as_bytes());
        self.opening = JoinSet::new();
    }

    fn end(&mut self, error: &ClientError) {
        let now = self.now();
        self.game.closed(error.ending(), now);
    }
}

/// The error for the last loss of these events.
fn last_loss(events: &[Event]) -> ClientError {
    let endings = events.iter().rev().find_map(|event| match event {
        Event::Lost {
            code,
            reason,
            update,
            ..
        } => Some(Ending {
            code: *code,
            reason: reason.clone(),
            update: update.clone(),
            redirect: None,
        }),
        _ => None,
    });
    match endings {
        Some(ending) => ClientError::Ended(ending),
        None => ClientError::ended("it was left"),
    }
}

/// Requests of the client.
impl Client {
    /// Queues a command, and gives its sequence number. It goes out just in time for a tick,
    /// or with the next [`Client::flush`]. `None` if clients of this world cannot send it, or
    /// not with so many words, or while the client is not in the world.
    pub fn command(&mut self, kind: CommandKind, words: &[i32]) -> Option<u32> {
        self.game.command(kind, words).ok()
    }

    /// The same with texts among the arguments, see
    /// [`Session::command_with`](client_core::Session::command_with).
    pub fn command_with(
        &mut self,
        kind: CommandKind,
        arguments: &[Argument<'_>],
    ) -> Result<GivenCommand, CommandError> {
        self.game.command_with(kind, arguments)
    }

    /// Requests the entities in a region, beside the area of interest, or no longer (`None`).
    /// `index` is that of the client's region which is replaced. A region stays where it is,
    /// or follows any entity.
    ///
    /// Gives the request's number, by which [`Event::Answered`] names it, and for which
    /// [`Client::answer`] waits; `None` while the client is not in the world, as for all
    /// requests.
    pub fn set_region(&mut self, index: u32, region: Option<Region>) -> Option<u32> {
        self.game.set_region(index, region)
    }

    /// Limits the range of sight, in raw units; `None`: as far as the world allows.
    pub fn set_sight(&mut self, radius: Option<i32>) -> Option<u32> {
        self.game.set_sight(radius)
    }

    /// Moves the point that a spectator watches towards another one, in raw units.
    pub fn watch(&mut self, point: [i32; 3]) -> Option<u32> {
        self.game.watch(point)
    }

    /// Subscribes to every change and notification for which a predicate holds,
    /// wherever it happens. Each comes once, as an [`Event::Notice`] with the ids of all
    /// subscriptions that match. `None` also if the predicate is longer than a request may be.
    pub fn subscribe(&mut self, id: u32, predicate: &str) -> Option<u32> {
        self.game.subscribe(id, predicate)?.ok()
    }

    /// Ends a subscription.
    pub fn unsubscribe(&mut self, id: u32) -> Option<u32> {
        self.game.unsubscribe(id)
    }

    /// Asks for the first so many of a ranking of the world, and for the own entity's place, from now
    /// on; 0: no longer. The view has them. `Some(false)` if the world has no such ranking for clients.
    pub fn ask_ranking(&mut self, name: &str, length: u32) -> Option<bool> {
        self.game.ask_ranking(name, length)
    }

    /// Sends chat, or joins or leaves a channel.
    pub fn talk(&mut self, request: TalkRequest) -> Option<u32> {
        self.game.talk(request)
    }
}

/// One connection by hand: at once, without a clock.
impl Client {
    /// Waits for bytes from the server and processes them. A handler gets the events, in place
    /// of [`Client::next_event`]: events up to here are dropped. An error means that the
    /// connection has ended, and [`Client::come_back`] opens another one.
    ///
    /// Dropping the future loses nothing.
    pub async fn receive(&mut self, handler: &mut impl EventHandler) -> Result<(), ClientError> {
        self.receive_into(handler).await?;
        self.take_events();
        Ok(())
    }

    /// Receives until a request is answered: with `Ok`, or with the server's reason for a
    /// refusal. Events are kept. `None` in place of a request's number is an error.
    pub async fn answer(
        &mut self,
        request: impl Into<Option<u32>>,
        handler: &mut impl EventHandler,
    ) -> Result<Result<(), String>, ClientError> {
        let Some(request) = request.into() else {
            return Err(ClientError::ended("the client is not in the world"));
        };
        let mut pending = Pending {
            request,
            answer: None,
        };
        self.flush();
        loop {
            self.receive_into(&mut Both(&mut pending, handler)).await?;
            self.flush();
            if let Some(answer) = pending.answer.take() {
                return Ok(answer);
            }
        }
    }

    /// Sends requests, and one datagram with the latest commands and an acknowledgement of
    /// received ticks. Does nothing if the server has all of that. Commands run as soon as
    /// they arrive.
    pub fn flush(&mut self) {
        self.flush_by(None);
    }

    /// The same, where the commands that were not sent yet are meant for this tick, and wait
    /// for it in the server.
    pub fn flush_for(&mut self, tick: Tick) {
        self.flush_by(Some(tick));
    }

    fn flush_by(&mut self, meant: Option<Tick>) {
        self.begin_turn();
        let datagram = self.game.datagram_for(meant, self.now());
        self.send(datagram);
    }

    fn begin_turn(&mut self) {
        let now = Instant::now();
        if now >= self.turned + TURN_PERIOD {
            self.turned = now;
            self.connector.begin_turn();
        }
        self.send_requests();
    }

    fn send(&self, datagram: Option<Vec<u8>>) {
        if let Some(datagram) = datagram {
            // Fails only on a connection that is ending, which `receive_into` reports.
            let _ = self.link.connection.send_datagram(datagram.into());
        }
    }

    /// Gives the transport what it takes now; the rest follows while receiving.
    fn send_requests(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        while !self.game.stream_bytes().is_empty() {
            let bytes = self.game.stream_bytes();
            match Pin::new(&mut self.link.send).poll_write(&mut context, bytes) {
                Poll::Ready(Ok(written)) => self.game.stream_sent(written),
                // The connection is ending, which `receive_into` reports.
                Poll::Ready(Err(_)) => self.game.stream_sent(usize::MAX),
                Poll::Pending => break,
            }
        }
    }

    async fn receive_into(&mut self, handler: &mut impl EventHandler) -> Result<(), ClientError> {
        let taken = self
            .link
            .receive_into(&mut self.game, self.started, handler);
        let taken = taken.await;
        if let Err(error) = &taken {
            if matches!(error, ClientError::Unreadable(_)) {
                self.close(Close::Malformed, &error.to_string());
            }
            self.end(error);
        }
        taken
    }
}

impl OpenConnection {
    /// Continues where a server has welcomed the game.
    fn enter(
        connected: Connected,
        game: &mut Game,
        now: Duration,
    ) -> Result<OpenConnection, DecodeError> {
        let Connected {
            connection,
            send,
            receive,
            mut welcomed,
        } = connected;
        // The next call to receive has a handler for it.
        let rest = std::mem::take(&mut welcomed.rest);
        game.welcomed(welcomed, Some(connection.rtt()), now)?;
        Ok(OpenConnection {
            connection,
            send,
            receive,
            rest,
        })
    }

    /// Waits for bytes in either direction. Dropping the future loses nothing.
    async fn receive_into(
        &mut self,
        game: &mut Game,
        started: Instant,
        handler: &mut impl EventHandler,
    ) -> Result<(), ClientError> {
        if !self.rest.is_empty() {
            let rest = std::mem::take(&mut self.rest);
            return Ok(game.handle_stream_with(&rest, started.elapsed(), handler)?);
        }
        tokio::select! {
            datagram = self.connection.read_datagram() => {
                let bytes = datagram.map_err(ended)?;
                game.handle_datagram_with(&bytes, started.elapsed(), handler)?;
            }
            chunk = self.receive.read_chunk(CHUNK_BYTES_MAX, true) => {
                match chunk {
                    Ok(Some(chunk)) => {
                        game.handle_stream_with(&chunk.bytes, started.elapsed(), handler)?;
                    }
                    Ok(None) => return Err(ClientError::ended("the stream is finished")),
                    Err(error) => {
                        let reason = self.connection.close_reason();
                        return Err(reason.map_or_else(|| ClientError::ended(error), ended));
                    }
                }
            }
            written = self.send.write(game.stream_bytes()), if !game.stream_bytes().is_empty() => {
                // An error means that the connection is ending, which the others report.
                game.stream_sent(written.unwrap_or(usize::MAX));
            }
        }
        Ok(())
    }
}

/// Waits for the answer to one request.
struct Pending {
    request: u32,
    answer: Option<Result<(), String>>,
}

impl EventHandler for Pending {
    fn message(&mut self, _: Tick, message: &Message) {
        if let Message::Answer(Answer { request, result }) = message
            && *request == self.request
        {
            self.answer = Some(result.clone());
        }
    }
}

/// Through a network that loses everything, a client sends no more than this often.
const TURN_PERIOD: Duration = Duration::from_millis(50);
const CHUNK_BYTES_MAX: usize = 64 * 1024;
