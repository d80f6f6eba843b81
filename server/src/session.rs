//! One client's end of the protocol, without sockets and without a clock: bytes and
//! ticks go in, bytes come out.
//!
//! | module | holds |
//! | --- | --- |
//! | [`commands`] | the client's datagrams: new commands go to the inbox |
//! | [`quota`] | how many commands the client may send |
//! | [`planned`] | when they run |
//! | [`refused`] | commands that had no effect, until the client is told |
//! | [`acknowledgement`] | movement that may have been lost, and is sent again |
//! | [`backlog`] | what a client is told later, as its budget does not allow it yet |
//! | [`stream`] | bytes of the reliable stream that wait for the transport |
//! | [`frame`] | one frame of the stream, and the tick that it tells of |
//! | [`fan_out`] | what the client is told of one tick |
//! | [`flow`] | how much the client's link takes |
//! | [`notices`] | the notices of that tick |
//! | [`talk`] | what it hears of that tick's talk |
//! | [`welcome`] | the welcome, which is mostly the same for all clients |

#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod acknowledgement;
pub mod backlog;
pub mod commands;
pub mod fan_out;
pub mod flow;
pub mod frame;
pub mod notices;
pub mod planned;
pub mod quota;
pub mod refused;
pub mod stream;
pub mod talk;
pub mod welcome;

use std::sync::Arc;

use script::{Forecast, Logic};
use shared::wire::commands::{Acknowledgement, CommandCodec};
use shared::wire::control::{Interface, Ticket};
use shared::wire::request::Answer;
use shared::wire::stream::StreamCodec;
use shared::wire::talk::Talk;
use shared::{
    ClientRow, CommandKind, EntityId, Limits, NotificationKind, Schema, Tick, WorldConfig,
};

use acknowledgement::PendingMovement;
use backlog::Backlog;
use commands::Processed;
use flow::Flow;
use planned::Planned;
use quota::Quota;
use refused::Refused;
use stream::{OutStream, Unsent};
use welcome::{OwnWelcome, SharedWelcome};

use crate::tick::publication::Standing;
use crate::tick::talk::budget::TalkBudget;

/// What every session needs of the world.
pub struct SessionWorld {
    pub config: WorldConfig,
    /// As clients may know it.
    pub schema: Schema,
    /// What clients predict with.
    forecast: Vec<u8>,
    welcome: SharedWelcome,
    pub commands: CommandCodec,
    pub stream: StreamCodec,
    /// By number of a command: how often it may be given in a tick, or 0.
    per_tick: Vec<u8>,
    /// The notification by which the world finds out who is near a speaker.
    pub say: Option<NotificationKind>,
}

impl SessionWorld {
    pub fn new(config: &WorldConfig) -> SessionWorld {
        // The logic of a checked world compiles; if not, clients do not predict.
        let logic = Logic::of(config);
        let forecast = logic.map(|logic| Forecast::of(config, &logic).to_bytes());
        let (schema, forecast) = (config.schema.for_clients(), forecast.unwrap_or_default());
        SessionWorld {
            welcome: SharedWelcome::new(config, &schema, &forecast),
            schema,
            forecast,
            commands: CommandCodec::new(&config.schema, EPOCH),
            stream: StreamCodec::new(&config.schema),
            per_tick: per_tick(&config.schema),
            say: config.schema.say().map(|(_, notification)| notification),
            config: config.clone(),
        }
    }

    /// How often a client may give a command in a tick; 0: as often as it wants.
    pub fn per_tick(&self, kind: CommandKind) -> u8 {
        let most = self.per_tick.get(usize::from(kind.id()));
        most.copied().unwrap_or(0)
    }

    /// What clients are told when commands or notifications have changed.
    pub fn interface(&self) -> Interface {
        Interface {
            commands_epoch: self.commands.epoch(),
            commands: self.config.schema.commands.clone(),
            notifications: self.config.schema.notifications.clone(),
            forecast: self.forecast.clone(),
        }
    }

    /// The world after its scripts have changed. `None` if that makes no difference to
    /// clients.
    pub fn changed(&self, config: &WorldConfig, forecast: &Forecast) -> Option<SessionWorld> {
        let (old, new) = (&self.config.schema, &config.schema);
        let forecast = forecast.to_bytes();
        if (&old.commands, &old.notifications) == (&new.commands, &new.notifications)
            && self.forecast == forecast
        {
            return None;
        }
        let schema = config.schema.for_clients();
        Some(SessionWorld {
            welcome: SharedWelcome::new(config, &schema, &forecast),
            schema,
            forecast,
            commands: self.commands.next(new),
            stream: StreamCodec::new(new),
            per_tick: per_tick(new),
            say: new.say().map(|(_, notification)| notification),
            config: config.clone(),
        })
    }
}

fn per_tick(schema: &Schema) -> Vec<u8> {
    let by_number = schema.commands_by_number(|command| command.per_tick);
    by_number
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect()
}

/// The first epoch of commands.
const EPOCH: u8 = 1;

/// One client: what it sent, and what it has yet to receive.
pub struct Session {
    /// Set once the client has an entity.
    player: Option<Player>,
    /// The client has not been told yet that commands or notifications have changed.
    has_old_interface: bool,
    /// Where the client knows to find the standby; empty: nowhere.
    standby: Arc<str>,
    /// The client has not been told of its new entity yet.
    is_reborn: bool,
    is_ending: bool,
    acknowledgement: Acknowledgement,
    movement: PendingMovement,
    /// Entities that the client should see and has not been told of.
    enters: Backlog,
    /// Entities that the client should see.
    in_view: u32,
    /// Lasting attributes that it has not been told of.
    values: Backlog,
    /// Some movement waits, as the client was told last.
    is_behind: bool,
    /// The last tick in which the client was sent a datagram.
    last_datagram: Tick,
    /// The first tick of whose datagrams nothing is known.
    unacknowledged: Option<Tick>,
    /// The first tick of which the client was told no movement.
    untold: Option<Tick>,
    flow: Flow,
    /// The bytes that the link takes in this tick; `None`: as many as there are.
    link_allows: Option<usize>,
    processed: Processed,
    refused: Refused,
    planned: Planned,
    /// Answers for the next frame.
    answers: Vec<Answer>,
    /// What was said to the client in the next frame's tick, by its place among all that was
    /// said.
    talk: Vec<(usize, Arc<Talk>)>,
    /// What it may hear of others that are near.
    near: TalkBudget,
    stream: OutStream,
    quota: Quota,
    next_sequence: u32,
}

/// A client in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Player {
    pub client: ClientRow,
    pub entity: EntityId,
}

impl Session {
    /// A session that waits for its entity.
    pub fn new(limits: &Limits) -> Session {
        Session {
            player: None,
            has_old_interface: false,
            standby: Arc::default(),
            is_reborn: false,
            is_ending: false,
            acknowledgement: Acknowledgement::default(),
            movement: PendingMovement::default(),
            enters: Backlog::default(),
            in_view: 0,
            values: Backlog::default(),
            is_behind: false,
            last_datagram: Tick(0),
            unacknowledged: None,
            untold: None,
            flow: Flow::default(),
            link_allows: None,
            processed: Processed::default(),
            refused: Refused::default(),
            planned: Planned::default(),
            answers: vec![],
            talk: vec![],
            near: TalkBudget::default(),
            stream: OutStream::new(limits.client_stream_bytes as usize),
            quota: Quota::new(limits),
            next_sequence: 1,
        }
    }

    /// Prefetches what the fan-out of a tick needs.
    pub fn prefetch(&self) {
        self.movement.prefetch();
    }

    /// The client's row, once it has an entity.
    pub fn client(&self) -> Option<ClientRow> {
        self.player.map(|player| player.client)
    }

    /// The client's entity, once it has one.
    pub fn entity(&self) -> Option<EntityId> {
        self.player.map(|player| player.entity)
    }

    /// How much of the world the client has been told, up to a tick.
    pub fn standing(&self, tick: Tick) -> Standing {
        Standing {
            age_ticks: self.player.map_or(0, |_| self.age(tick)),
            in_view: self.in_view,
            waiting: self.enters.len(),
        }
    }

    /// Welcomes the client, which acts as `player` from `tick` on, and finds a standby at an
    /// address, if there is one.
    pub fn assign(
        &mut self,
        player: Player,
        ticket: Ticket,
        resumed: bool,
        tick: Tick,
        world: &SessionWorld,
        standby: &Arc<str>,
    ) {
        self.player = Some(player);
        self.standby = standby.clone();
        self.acknowledgement.newest = tick;
        self.quota.start(tick);
        self.stream.push_welcome(world.welcome.parts(&OwnWelcome {
            tick,
            entity: player.entity,
            commands_epoch: world.commands.epoch(),
            ticket,
            resumed,
            standby,
        }));
    }

    /// Gives the client another entity in place of the one that died.
    pub fn reassign(&mut self, entity: EntityId) {
        if let Some(player) = &mut self.player {
            player.entity = entity;
            self.is_reborn = true;
        }
    }

    /// Commands or notifications of the world have changed.
    pub fn change_interface(&mut self) {
        self.has_old_interface = self.player.is_some();
    }

    /// Puts an answer into the next frame.
    pub fn answer(&mut self, answer: Answer) {
        self.answers.push(answer);
    }

    /// Puts into the next frame what was said to the client.
    pub fn hear(&mut self, place: usize, talk: Arc<Talk>) {
        self.talk.push((place, talk));
    }

    /// The connection is being closed: the client is told nothing more.
    pub fn end(&mut self) {
        self.is_ending = true;
    }

    pub fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// The number of bytes of the reliable stream that wait for the transport.
    pub fn unsent(&self) -> usize {
        self.stream.unsent()
    }

    /// Passes these bytes to the transport, which says how many it took, oldest first.
    pub fn send(&mut self, write: impl FnMut(Unsent<'_>) -> usize) -> usize {
        self.stream.send(write)
    }

    /// The client has read its stream up to this tick; none: it has read all of it.
    pub fn acked_through(&self) -> Option<Tick> {
        self.stream.acked_through()
    }

    /// Whether the client's link is judged in a tick.
    pub fn is_link_judged(&self, tick: Tick) -> bool {
        self.flow.is_judged(tick)
    }

    /// Packets to the client were marked on the way, as a queue gets long.
    pub fn note_marks(&mut self) {
        self.flow.mark();
    }

    /// Whether the client leaves more unread, or for longer, than the world allows. What
    /// is unsent is dropped then.
    pub fn is_too_slow(&mut self, tick: Tick, world: &SessionWorld) -> bool {
        if self.is_ending {
            return false;
        }
        let tick_hz = world.config.schema.world.tick_hz;
        let ticks_max = world.config.limits.unread_seconds * tick_hz;
        let ticks_max = ticks_max + self.flow.reading_ticks(tick_hz);
        self.stream.is_too_slow(tick, ticks_max)
    }
}
