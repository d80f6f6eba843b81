//! A client's end of a game, over any number of connections.
//!
//! The transport opens and closes connections on request, hands in bytes and takes
//! bytes; the game polls once a frame. All methods take the time as a span since some moment
//! that the caller chooses once.
//!
//! | the transport | calls |
//! | --- | --- |
//! | once a frame, or at [`Game::next_due`] | [`Game::next_step`], and opens or closes a connection as it returns |
//! | has opened a connection with a stream | [`Game::opened`]; or [`Game::welcomed`], once it has shaken hands itself |
//! | receives | [`Game::handle_stream`], [`Game::handle_datagram`]; closes after an error |
//! | can send on its stream | sends [`Game::stream_bytes`], then [`Game::stream_sent`] |
//! | once a frame, after the game's input | sends [`Game::datagram`], if there is one |
//! | has lost the connection | [`Game::closed`] |

use std::time::Duration;

use script::Forecast;
use shared::wire::DecodeError;
use shared::wire::control::{Close, Hello, Quotas, Ticket};
use shared::world::plane::Atlas;
use shared::{CommandKind, EntityId, Schema, Tick};

use crate::bindings::Bindings;
use crate::clock::{Clock, tick_of};
use crate::command::CommandError;
use crate::event::{Event, EventHandler};
use crate::handshake::{Handshake, hello};
use crate::layers::{LayerCache, LayerSource};
use crate::link::{Link, LinkWatch};
use crate::loss::{Ending, LossCode};
use crate::prediction::Prediction;
use crate::request::PredicateTooLong;
use crate::retry::RetryOptions;
use crate::route::Route;
use crate::scene::Scene;
use crate::session::Session;
use crate::texts::{Argument, GivenCommand};
use crate::view::View;
use crate::{LayerError, LayerInfo, Layers, Region, TalkRequest, Welcomed};
use presentation::Presentation;
use world::World;

mod presentation;
mod world;

/// A game's end of a connection, and its knowledge while that is lost.
pub struct Game {
    options: GameOptions,
    stage: Stage,
    route: Route,
    /// How long the attempt may take that is under way.
    patience: Duration,
    ticket: Option<Ticket>,
    /// The rankings that it has asked for, and how many of the first of each.
    asked_rankings: Vec<(String, u32)>,
    /// When the game has closed a connection last of which it heard nothing.
    given_up: Option<Duration>,
    first_round_trip: Option<Duration>,
    /// `None` before the first welcome.
    world: Option<Box<World>>,
    /// Events that no world has.
    events: Vec<Event>,
    /// Whether a connection is to be closed whose world is not that of the bindings.
    must_close: bool,
    /// What a headless game keeps; `None`: the game is shown.
    headless: Option<Headless>,
}

/// The view of a headless game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headless {
    /// All entities in view.
    Whole,
    /// The client's own entity, see [`Session::keep_only_own`].
    OnlyOwn,
}

/// How a game connects.
#[derive(Clone, Debug)]
pub struct GameOptions {
    /// The server's token; empty where it requires none.
    pub token: String,
    /// The player's name, where the token has none; empty: no name.
    pub name: String,
    /// The hash of the schema that the game was built for, if it accepts no other.
    pub schema_hash: Option<u64>,
    /// The text of the game's [bindings](crate::bindings); empty: it has none. A server of a world
    /// that lacks some of what they name is left, with [`Close::SchemaMismatch`] and a reason.
    pub bindings: String,
    /// To watch without an entity, where the world allows it.
    pub spectates: bool,
    /// From the attempt until the welcome.
    pub connect_timeout: Duration,
    /// A connection over which nothing was received for this long is lost. Servers send
    /// something each half second, and one that has a standby may be silent for 2 seconds.
    pub silence_timeout: Duration,
    /// When a lost client connects again.
    pub retry: RetryOptions,
    /// Where the world's layers come from.
    pub layer_source: LayerSource,
    /// Layers of earlier sessions, and of other games that share it.
    pub layer_cache: LayerCache,
}

impl Default for GameOptions {
    fn default() -> GameOptions {
        GameOptions {
            token: String::new(),
            name: String::new(),
            schema_hash: None,
            bindings: String::new(),
            spectates: false,
            connect_timeout: Duration::from_secs(5),
            silence_timeout: Duration::from_secs(10),
            retry: RetryOptions::default(),
            layer_source: LayerSource::Session,
            layer_cache: LayerCache::default(),
        }
    }
}

/// The next action of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Wait,
    /// Open a connection with a stream, to [`Game::address`].
    Connect,
    /// Close the connection, with a code and a sentence.
    Close(Close, &'static str),
}

enum Stage {
    /// Until the time of the next attempt.
    Waiting(Duration),
    Connecting {
        until: Duration,
    },
    Greeting {
        handshake: Handshake,
        /// Bytes of the hello that the transport has taken.
        sent: usize,
        until: Duration,
    },
    Playing {
        link: LinkWatch,
    },
    /// There are no more attempts.
    Over,
}

impl Game {
    /// A game that connects at its first step.
    pub fn new(options: GameOptions) -> Game {
        Game {
            options,
            stage: Stage::Waiting(Duration::ZERO),
            route: Route::default(),
            patience: Duration::ZERO,
            ticket: None,
            asked_rankings: vec![],
            given_up: None,
            first_round_trip: None,
            world: None,
            events: vec![],
            must_close: false,
            headless: None,
        }
    }

    /// A game without a scene, a prediction and events of the world, which costs much less. An
    /// [`EventHandler`] gets everything.
    pub fn headless(options: GameOptions, keeps: Headless) -> Game {
        Game {
            headless: Some(keeps),
            ..Game::new(options)
        }
    }

    /// Advances the scene to this moment, and gives the events since the last call.
    pub fn poll(&mut self, now: Duration) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.events);
        if let Some(world) = &mut self.world {
            let input = world.clock.input_tick(now);
            if let Some(tick) = input {
                world.polled = [Some(tick_of(tick.max(0.0))), world.polled[0]];
            }
            if let Some(shown) = &mut world.presentation {
                shown.scene.advance(&world.clock, now);
                if let Some(tick) = input {
                    shown.prediction.advance(tick, now);
                }
                let news = std::mem::take(&mut shown.record.events);
                // Its events came before the end of the connection.
                let lost = events.iter().position(|e| matches!(e, Event::Lost { .. }));
                let at = lost.unwrap_or(events.len());
                events.splice(at..at, news);
            }
        }
        let lost_after = self.lost_after();
        if let Stage::Playing { link } = &mut self.stage
            && let Some(Link { state, since }) = link.look(now, lost_after)
        {
            events.push(Event::Link { state, since });
        }
        events
    }

    /// Whether the client is in the world, as far as it knows.
    pub fn is_playing(&self) -> bool {
        matches!(self.stage, Stage::Playing { .. })
    }

    /// Whether the server is silent, as of the last [`Game::poll`]; `None` while the client is not
    /// in the world.
    pub fn link(&self) -> Option<Link> {
        match &self.stage {
            Stage::Playing { link } => Some(link.link()),
            _ => None,
        }
    }

    /// Whether the game has given up.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// The latest connection that was welcomed, which may be lost; `None` before the first one.
    pub fn session(&self) -> Option<&Session> {
        self.world.as_ref().map(|world| &world.session)
    }

    /// The world as received from the server; `None` before the first welcome. It stays as it
    /// was while the connection is lost.
    pub fn view(&self) -> Option<&View> {
        self.session().map(Session::view)
    }

    /// The server's clock; `None` before the first welcome.
    pub fn clock(&self) -> Option<&Clock> {
        self.world.as_ref().map(|world| &world.clock)
    }

    /// The scene; `None` before the first welcome, and in a headless game.
    pub fn scene(&self) -> Option<&Scene> {
        Some(&self.presentation()?.scene)
    }

    /// The client's own entity, ahead of the server; `None` before the first welcome, and in a
    /// headless game.
    pub fn prediction(&self) -> Option<&Prediction> {
        Some(&self.presentation()?.prediction)
    }

    fn presentation(&self) -> Option<&Presentation> {
        self.world.as_ref()?.presentation.as_deref()
    }

    /// The client's limits; `None` before the first welcome.
    pub fn quotas(&self) -> Option<&Quotas> {
        self.world.as_ref().map(|world| &world.quotas)
    }

    /// Where an entity in view is shown, in units; 0 on axes that the world lacks. The
    /// client's own entity is ahead of the server, all others are behind.
    pub fn position(&self, entity: EntityId) -> Option<[f64; 3]> {
        let world = self.world.as_ref()?;
        let is_own = world.session.view().entity() == entity;
        let shown = world.presentation.as_ref()?;
        let predicted = is_own.then(|| shown.prediction.position()).flatten();
        predicted.or_else(|| shown.scene.position(entity))
    }

    /// The world's layers, once all of them are there; `None` in a world without any. Their functions
    /// give the same numbers as those of scripts.
    pub fn layers(&self) -> Option<&Layers> {
        self.session()?.layers()
    }

    /// Where the world's planes are; `None` outside of a world.
    pub fn planes(&self) -> Option<&Atlas> {
        Some(&self.session()?.view().schema().atlas)
    }

    /// The layers whose content is missing.
    pub fn missing_layers(&self) -> Vec<LayerInfo> {
        let session = self.session().into_iter();
        session.flat_map(Session::missing_layers).cloned().collect()
    }

    /// Asks the server for the layers that are missing. A game with [`LayerSource::Session`] has done
    /// so, unless it is headless.
    pub fn fetch_layers(&mut self) {
        if let Some(world) = self.playing() {
            world.session.fetch_layers();
        }
    }

    /// See [`Session::take_packed_layer`].
    pub fn take_packed_layer(&mut self) -> Option<(u64, Vec<u8>)> {
        self.world.as_mut()?.session.take_packed_layer()
    }

    /// See [`Session::put_layer`].
    pub fn put_layer(&mut self, hash: u64, content: Vec<u8>) -> Result<(), LayerError> {
        let world = self.world.as_mut().ok_or(LayerError::Unknown(hash))?;
        world.session.put_layer(hash, content)?;
        world.settle_layers();
        Ok(())
    }

    /// Lets a later game continue as the same entity.
    pub fn ticket(&self) -> Option<Ticket> {
        self.ticket
    }

    /// Continues as the entity of an earlier game, if that is still there.
    pub fn set_ticket(&mut self, ticket: Ticket) {
        self.ticket = Some(ticket);
    }
}

/// Requests of the game.
impl Game {
    /// The tick for which input is due, once for each tick: commands given now are sent with
    /// the next [`Game::datagram`], which arrives just in time. Where several ticks have become
    /// due since the game was polled last, as a frame took long, it gives them one after the
    /// other, so a game polls, gives commands and sends until there is none:
    ///
    /// ```
    /// # use std::time::Duration;
    /// # fn send(datagram: Vec<u8>) {}
    /// # fn frame(game: &mut client_core::Game, now: Duration) {
    /// game.poll(now);
    /// while let Some(tick) = game.input_due(now) {
    ///     // ... game.command(...) for this tick ...
    ///     if let Some(datagram) = game.datagram(now) {
    ///         send(datagram);
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// `None` if there is nothing to wait for, input was sent already, or the server is busy and
    /// wants less (see [`pace`](crate::pace)).
    pub fn input_due(&self, now: Duration) -> Option<Tick> {
        match self.stage {
            Stage::Playing { .. } => self.world.as_ref()?.input_due(now),
            _ => None,
        }
    }

    /// When something may be sent that is to be sent at once ([`Game::datagram_for`]), to a server
    /// that is busy or silent (see [`pace`](crate::pace)); `None`: at any time.
    pub fn held_until(&self, now: Duration) -> Option<Duration> {
        self.world.as_ref()?.pace.held_until(now)
    }

    /// Queues a command, and gives its sequence number. It is sent when input is due. The word
    /// `seen`, if it has one, becomes the tick that is shown.
    pub fn command(&mut self, kind: CommandKind, words: &[i32]) -> Result<u32, CommandError> {
        let world = self.playing().ok_or(CommandError::NotInWorld)?;
        let shown = world.shown();
        let sequence = world.session.command_seeing(kind, words, shown)?;
        world.unsent = Some(sequence);
        if let Some(presentation) = &mut world.presentation {
            let words = &world.session.filled(kind, words, shown);
            presentation.prediction.give(sequence, kind, words);
        }
        Ok(sequence)
    }

    /// The same, with texts among the arguments, see [`Session::command_with`].
    pub fn command_with(
        &mut self,
        kind: CommandKind,
        arguments: &[Argument<'_>],
    ) -> Result<GivenCommand, CommandError> {
        let world = self.playing().ok_or(CommandError::NotInWorld)?;
        let shown = world.shown();
        let given = (world.session).command_with_seeing(kind, arguments, shown)?;
        if let GivenCommand::Queued(sequence) = given {
            world.unsent = Some(sequence);
            let words = arguments.iter().map(|argument| match argument {
                Argument::Word(word) => *word,
                Argument::Text(_) => 0,
            });
            let words: Vec<i32> = words.collect();
            if let Some(presentation) = &mut world.presentation {
                let words = &world.session.filled(kind, &words, shown);
                presentation.prediction.give(sequence, kind, words);
            }
        }
        Ok(given)
    }

    /// The first tick for which a command can be used again, by the client's knowledge: one
    /// that was used rests, and one can be given only so often in a tick. `None` before the
    /// first welcome. Input is for [`Prediction::input_tick`] next.
    pub fn ready_at(&self, kind: CommandKind) -> Option<Tick> {
        Some(self.prediction()?.ready_at(kind))
    }

    /// See [`Session::set_region`]. `None` while the client is not in the world.
    pub fn set_region(&mut self, index: u32, region: Option<Region>) -> Option<u32> {
        Some(self.playing()?.session.set_region(index, region))
    }

    /// See [`Session::set_sight`]. `None` while the client is not in the world.
    pub fn set_sight(&mut self, radius: Option<i32>) -> Option<u32> {
        Some(self.playing()?.session.set_sight(radius))
    }

    /// See [`Session::watch`]. `None` while the client is not in the world.
    pub fn watch(&mut self, point: [i32; 3]) -> Option<u32> {
        Some(self.playing()?.session.watch(point))
    }

    /// See [`Session::subscribe`]. `None` while the client is not in the world.
    pub fn subscribe(&mut self, id: u32, predicate: &str) -> Option<Result<u32, PredicateTooLong>> {
        Some(self.playing()?.session.subscribe(id, predicate))
    }

    /// See [`Session::unsubscribe`]. `None` while the client is not in the world.
    pub fn unsubscribe(&mut self, id: u32) -> Option<u32> {
        Some(self.playing()?.session.unsubscribe(id))
    }

    /// See [`Session::ask_ranking`]. The game asks again after each welcome, also in another world,
    /// so this can be called before the first one. `None` while the client is not in the world.
    pub fn ask_ranking(&mut self, name: &str, length: u32) -> Option<bool> {
        self.asked_rankings.retain(|(own, _)| own != name);
        if length > 0 {
            self.asked_rankings.push((name.to_owned(), length));
        }
        Some(self.playing()?.session.ask_ranking(name, length))
    }

    /// See [`Session::talk`]. `None` while the client is not in the world.
    pub fn talk(&mut self, request: TalkRequest) -> Option<u32> {
        Some(self.playing()?.session.talk(request))
    }

    fn playing(&mut self) -> Option<&mut World> {
        match self.stage {
            Stage::Playing { .. } => self.world.as_deref_mut(),
            _ => None,
        }
    }
}

/// Calls of the transport.
impl Game {
    /// The action that is due now.
    pub fn next_step(&mut self, now: Duration) -> Step {
        if std::mem::take(&mut self.must_close) {
            return Step::Close(Close::Bye, "the world is not that of the game's bindings");
        }
        match self.stage {
            Stage::Waiting(until) if now >= until => {
                let round_trip = self.first_round_trip.unwrap_or_default();
                let longest = self.options.connect_timeout;
                self.patience = self.route.patience(longest, round_trip);
                let until = now + self.patience;
                self.stage = Stage::Connecting { until };
                Step::Connect
            }
            Stage::Connecting { until } | Stage::Greeting { until, .. } if now >= until => {
                let seconds = self.patience.as_secs_f64();
                let reason = format!("no welcome within {seconds} seconds");
                self.given_up = Some(now);
                self.lose(Ending::new(LossCode::TimedOut, reason), now);
                // Not for good: the client wants to resume.
                Step::Close(Close::Resumed, "no welcome in time")
            }
            Stage::Playing { link } if now >= link.last_received() + self.lost_after() => {
                let seconds = self.lost_after().as_secs_f64();
                let reason = format!("nothing was received for {seconds} seconds");
                self.given_up = Some(now);
                self.lose(Ending::new(LossCode::TimedOut, reason), now);
                Step::Close(Close::Resumed, "nothing was received")
            }
            _ => Step::Wait,
        }
    }

    /// When [`Game::next_step`] or [`Game::datagram`] has something new, unless bytes arrive
    /// before: for a transport that has no frames. `None` once there is nothing more.
    pub fn next_due(&self, now: Duration) -> Option<Duration> {
        match &self.stage {
            Stage::Waiting(until) | Stage::Connecting { until } | Stage::Greeting { until, .. } => {
                Some(*until)
            }
            Stage::Playing { link } => {
                let lost_after = self.lost_after();
                let silent = link.last_received() + lost_after;
                let silent = link.next_due(lost_after).unwrap_or(silent).min(silent);
                let input = self.world.as_ref().map(|world| world.next_input(now));
                Some(input.map_or(silent, |input| silent.min(input)))
            }
            Stage::Over => self.must_close.then_some(now),
        }
    }

    /// The transport has opened the requested connection, with a stream. It may
    /// have measured a round trip, a first guess until commands do.
    pub fn opened(&mut self, round_trip: Option<Duration>) {
        self.first_round_trip = round_trip;
        if let Stage::Connecting { until } = self.stage {
            self.stage = Stage::Greeting {
                handshake: Handshake::new(&self.hello()),
                sent: 0,
                until,
            };
        }
    }

    /// The game's first message to a server, for a transport that shakes hands itself.
    pub fn hello(&self) -> Hello {
        Hello {
            name: self.options.name.clone(),
            schema_hash: self.options.schema_hash,
            spectates: self.options.spectates,
            ..hello(&self.options.token, self.ticket)
        }
    }

    /// A server has welcomed [`Game::hello`] on the requested connection. After an
    /// error the transport should close the connection.
    pub fn welcomed(
        &mut self,
        welcomed: Welcomed,
        round_trip: Option<Duration>,
        now: Duration,
    ) -> Result<(), DecodeError> {
        if !matches!(self.stage, Stage::Connecting { .. }) {
            return Ok(());
        }
        self.first_round_trip = round_trip;
        self.welcome(welcomed, now, &mut ())
    }

    /// The connection has ended, or could not be opened.
    pub fn closed(&mut self, ending: Ending, now: Duration) {
        if !matches!(self.stage, Stage::Waiting(_) | Stage::Over) {
            self.lose(ending, now);
        }
    }

    /// The player leaves for good: the transport should close with [`Close::Bye`], and the
    /// entity is removed.
    pub fn leave(&mut self) {
        self.stage = Stage::Over;
        self.ticket = None;
    }

    /// Where to connect, as HOST:PORT: an address that a server has named. `None`: the one that the
    /// player gave. Certificates are those of the server that the player gave, in either case.
    pub fn address(&self) -> Option<&str> {
        self.route.address()
    }

    /// Reads bytes of the stream. After an error the transport should close the connection.
    pub fn handle_stream(&mut self, bytes: &[u8], now: Duration) -> Result<(), DecodeError> {
        self.handle_stream_with(bytes, now, &mut ())
    }

    /// The same, where a handler also gets everything.
    pub fn handle_stream_with(
        &mut self,
        bytes: &[u8],
        now: Duration,
        handler: &mut dyn EventHandler,
    ) -> Result<(), DecodeError> {
        match &mut self.stage {
            Stage::Greeting { .. } => self.greet(bytes, now, handler),
            Stage::Playing { link } => {
                link.receive(now);
                let Some(world) = &mut self.world else {
                    return Ok(());
                };
                let epoch = world.session.commands_epoch();
                world.handle_stream(bytes, handler)?;
                if let Some((reader, requests)) = world.session.take_restart() {
                    self.patience = self.options.connect_timeout;
                    self.stage = Stage::Greeting {
                        handshake: Handshake::again(reader, requests),
                        sent: 0,
                        until: now + self.patience,
                    };
                    // The welcome may have come with it.
                    return self.greet(&[], now, handler);
                }
                let is_changed = world.session.commands_epoch() != epoch;
                self.route.set_others(world.session.servers());
                let checked = match is_changed {
                    true => check_bindings(&self.options.bindings, world.schema()),
                    false => Ok(()),
                };
                if let Err(reason) = checked {
                    self.leave_for_bindings(reason, now);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Reads a datagram. After an error the transport should close the connection.
    pub fn handle_datagram(&mut self, bytes: &[u8], now: Duration) -> Result<(), DecodeError> {
        self.handle_datagram_with(bytes, now, &mut ())
    }

    /// The same, where a handler also gets everything.
    pub fn handle_datagram_with(
        &mut self,
        bytes: &[u8],
        now: Duration,
        handler: &mut dyn EventHandler,
    ) -> Result<(), DecodeError> {
        let Stage::Playing { link } = &mut self.stage else {
            // It is sent again.
            return Ok(());
        };
        link.receive(now);
        let Some(world) = &mut self.world else {
            return Ok(());
        };
        world.handle_datagram(bytes, now, handler)?;
        link.expect_every(world.pace.every());
        Ok(())
    }

    /// The next bytes to send on the stream; empty where there are none.
    pub fn stream_bytes(&self) -> &[u8] {
        match (&self.stage, &self.world) {
            (
                Stage::Greeting {
                    handshake, sent, ..
                },
                _,
            ) => &handshake.stream_bytes()[*sent..],
            (Stage::Playing { .. }, Some(world)) => world.session.stream_bytes(),
            _ => &[],
        }
    }

    /// The transport has taken the first so many of [`Game::stream_bytes`].
    pub fn stream_sent(&mut self, count: usize) {
        match (&mut self.stage, &mut self.world) {
            (
                Stage::Greeting {
                    handshake, sent, ..
                },
                _,
            ) => *sent = (*sent + count).min(handshake.stream_bytes().len()),
            (Stage::Playing { .. }, Some(world)) => world.session.stream_sent(count),
            _ => {}
        }
    }

    /// The datagram that is to be sent now, if one is: at most one in a tick, however often
    /// this is called.
    pub fn datagram(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.playing()?.datagram(now)
    }

    /// A datagram at once, if the server does not know all of it, where the commands that were
    /// not sent yet are meant for this tick, and wait for it in the server; `None`: they run as
    /// soon as they arrive.
    pub fn datagram_for(&mut self, meant: Option<Tick>, now: Duration) -> Option<Vec<u8>> {
        let world = self.playing()?;
        let datagram = world.unsent_for(meant)?;
        world.note_sent(None, now);
        Some(datagram)
    }

    /// Reads bytes of a stream on which a welcome comes next.
    fn greet(
        &mut self,
        bytes: &[u8],
        now: Duration,
        handler: &mut dyn EventHandler,
    ) -> Result<(), DecodeError> {
        let Stage::Greeting { handshake, .. } = &mut self.stage else {
            return Ok(());
        };
        match handshake.handle_stream(bytes)? {
            Some(welcomed) => self.welcome(welcomed, now, handler),
            None => Ok(()),
        }
    }

    fn welcome(
        &mut self,
        welcomed: Welcomed,
        now: Duration,
        handler: &mut dyn EventHandler,
    ) -> Result<(), DecodeError> {
        let Welcomed {
            welcome,
            mut session,
            rest,
        } = welcomed;
        if let Err(reason) = check_bindings(&self.options.bindings, &welcome.schema) {
            self.leave_for_bindings(reason, now);
            return Ok(());
        }
        let forecast = match self.headless {
            None => Some(Forecast::from_bytes(&welcome.forecast, &welcome.schema)?),
            Some(Headless::Whole) => None,
            Some(Headless::OnlyOwn) => {
                session.keep_only_own();
                None
            }
        };
        let is_whole = session.keep_layers(&self.options.layer_cache);
        if !is_whole && forecast.is_some() && self.options.layer_source == LayerSource::Session {
            session.fetch_layers();
        }
        for (name, length) in &self.asked_rankings {
            session.ask_ranking(name, *length);
        }
        let (tick_hz, idle_seconds) = (welcome.schema.world.tick_hz, welcome.quotas.idle_seconds);
        let link = LinkWatch::new(now, tick_hz, idle_seconds);
        self.stage = Stage::Playing { link };
        self.route.welcome(&welcome.servers);
        self.ticket = Some(welcome.ticket);
        let mut before = self.world.take().filter(|_| welcome.resumed);
        if let Some(before) = &mut before {
            session.continue_commands(&mut before.session);
        }
        let schema = session.view().schema();
        let is_changed = before
            .as_ref()
            .is_some_and(|world| *world.schema() != *schema);
        let is_same = before
            .as_ref()
            .is_some_and(|world| has_same_rows(world.schema(), &welcome.schema));
        let mut world = match before {
            Some(mut world) if is_same && !world.is_ahead_of(&session) => {
                world.resume(session, forecast);
                world
            }
            before => {
                let trip = self.first_round_trip;
                let mut world = Box::new(World::new(session, forecast, &welcome, trip, now));
                let shown = before.and_then(|world| world.presentation);
                match (shown, &mut world.presentation) {
                    // It counts ticks again that it has lost.
                    (Some(before), Some(shown)) if is_same => {
                        shown.record = before.record;
                        shown.record.resume(welcome.entity);
                    }
                    // A world may be migrated while its server is gone.
                    (Some(before), _) => self.events.extend(before.record.events),
                    _ => {}
                }
                world
            }
        };
        let events = match &mut world.presentation {
            Some(shown) => &mut shown.record.events,
            None => &mut self.events,
        };
        events.push(match welcome.resumed {
            true => Event::Resumed(welcome.entity),
            false => Event::Welcomed(welcome.entity),
        });
        if is_changed {
            events.push(Event::InterfaceChanged);
        }
        let world = self.world.insert(world);
        handler.welcomed(world.session.view(), &world.quotas);
        world.handle_stream(&rest, handler)
    }

    /// Leaves a server whose world is not that of the game's bindings.
    fn leave_for_bindings(&mut self, reason: String, now: Duration) {
        self.lose(Ending::new(Close::SchemaMismatch, reason), now);
        self.ticket = None;
        self.must_close = true;
    }

    fn lose(&mut self, ending: Ending, now: Duration) {
        let Ending {
            code,
            reason,
            update,
            redirect,
        } = ending;
        let is_standby = code == LossCode::Closed(Close::Standby);
        // A server that another one has named can be wrong, and the others still be there.
        let has_others = code == LossCode::Untrusted && self.address().is_some();
        // What it has given up may come through late, and take the session away from the game.
        let is_taken = matches!(code, LossCode::Closed(Close::Resumed | Close::Replaced));
        let is_own = is_taken
            && self
                .given_up
                .take()
                .is_some_and(|at| now < at + GIVEN_UP_COMES_WITHIN);
        let wait = match self.stage {
            Stage::Playing { .. } => self.route.lose(&self.options.retry),
            _ => self.route.fail(is_standby, redirect, &self.options.retry),
        };
        let wait = wait.filter(|_| has_others || is_own || code.is_worth_a_retry());
        self.stage = match wait {
            Some(wait) => Stage::Waiting(now + wait),
            None => Stage::Over,
        };
        self.events.push(Event::Lost {
            code,
            reason,
            update,
            retry_in: wait,
        });
    }

    /// The silence after which a connection is lost.
    fn lost_after(&self) -> Duration {
        self.route.silence(self.options.silence_timeout)
    }
}

/// Longer than servers wait for a silent connection, and for a gateway.
const GIVEN_UP_COMES_WITHIN: Duration = Duration::from_secs(30);

/// Whether the bindings of a game, if it has some, are those of a world.
fn check_bindings(bindings: &str, schema: &Schema) -> Result<(), String> {
    match bindings {
        "" => Ok(()),
        text => Bindings::parse(text)?.check(schema),
    }
}

/// Whether entities of two schemas have the same attributes, in worlds of the same size and rate.
fn has_same_rows(one: &Schema, other: &Schema) -> bool {
    one.world == other.world && one.attributes == other.attributes && one.kinds == other.kinds
}
