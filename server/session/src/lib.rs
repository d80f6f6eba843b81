//! One client's end of the protocol, without sockets and without a clock: bytes and
//! ticks go in, bytes come out.
//!
//! | module | holds |
//! | --- | --- |
//! | [`commands`] | the client's datagrams: new commands go to the inbox |
//! | [`quota`] | how many commands the client may send |
//! | [`planned`] | when they run |
//! | [`refused`] | commands without effect, until they are reported to the client |
//! | [`acknowledgement`] | movement that may have been lost, and is sent again |
//! | [`backlog`] | updates that are deferred until the client's budget allows them |
//! | [`stream`] | unsent bytes of the reliable stream |
//! | [`frame`] | one frame of the stream, and the tick that it is about |
//! | [`fan_out`] | what is sent to the client of one tick; its frame of the stream |
//! | `movement` | the datagrams of that tick |
//! | `layers` | the layers that the client has asked for |
//! | `edits` | the cells of layers that scripts changed, as it is sent them |
//! | `rankings` | the rankings that it has asked for |
//! | `things` | the things that it sees |
//! | `members` | the members of its groups, with what they share |
//! | [`flow`] | an estimate of the client's link |
//! | [`notices`] | the notices of that tick |
//! | [`talk`] | that tick's talk for the client |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod acknowledgement;
pub mod backlog;
pub mod commands;
mod edits;
pub mod fan_out;
pub mod flow;
pub mod frame;
mod layers;
mod members;
mod movement;
pub mod notices;
pub mod planned;
pub mod quota;
mod rankings;
pub mod refused;
pub mod stream;
pub mod talk;
mod things;

use std::sync::Arc;

use frontend::SessionWorld;
use frontend::publication::ViewStatus;
use frontend::servers::Others;
use frontend::talk_budget::TalkBudget;
use frontend::welcome::OwnWelcome;
use shared::wire::bits::BitWriter;
use shared::wire::commands::Acknowledgement;
use shared::wire::control::Ticket;
use shared::wire::request::{Answer, GivenText};
use shared::wire::stream::StreamCodec;
use shared::wire::talk::Talk;
use shared::wire::{MEMBERS_VERSION, PROTOCOL_VERSION, THINGS_VERSION};
use shared::{ClientRow, EntityId, Limits, Tick};

use acknowledgement::PendingMovement;
use backlog::Backlog;
use commands::Processed;
use edits::Edits;
use flow::Flow;
use layers::Layers;
use members::Members;
use planned::Planned;
use quota::Quota;
use rankings::Rankings;
use refused::Refused;
use stream::{OutStream, Unsent};
use things::Things;

/// One client: what it sent, and what it has yet to receive.
pub struct Session {
    /// Set once the client has an entity.
    player: Option<Player>,
    /// A change of commands or notifications has not been sent to the client yet.
    has_old_interface: bool,
    /// The address of another server that the client has; empty: none.
    /// As the client has them.
    others: Others,
    /// The client's new entity has not been sent to it yet.
    is_reborn: bool,
    is_ending: bool,
    /// It has begun anew, and its client waits for another welcome.
    is_restarting: bool,
    acknowledgement: Acknowledgement,
    movement: PendingMovement,
    /// Entities whose enters are deferred.
    enters: Backlog,
    /// Entities in view, deferred enters included.
    in_view: u32,
    /// Whether the client has what the whole world shares.
    has_shared: bool,
    /// Lasting attributes that are deferred.
    values: Backlog,
    /// By the last datagram, some movement is deferred.
    is_behind: bool,
    /// The tick of the last datagram to the client.
    last_datagram: Tick,
    /// The first tick whose datagrams are not acknowledged.
    unacknowledged: Option<Tick>,
    /// The first tick whose movement was deferred as a whole.
    movement_deferred_since: Option<Tick>,
    flow: Flow,
    /// The bytes that the link allows in this tick; `None`: no limit.
    link_allows: Option<usize>,
    processed: Processed,
    refused: Refused,
    planned: Planned,
    /// Answers for the next frame.
    answers: Vec<Reply>,
    layers: Layers,
    edits: Edits,
    rankings: Rankings,
    /// `None` for clients that know none.
    things: Option<Things>,
    /// Likewise.
    members: Option<Members>,
    /// Talk to the client in the next frame's tick, each with its index among all talk of the
    /// tick.
    talk: Vec<(usize, Arc<Talk>)>,
    /// The budget for talk of players nearby.
    near: TalkBudget,
    stream: OutStream,
    quota: Quota,
    next_sequence: u32,
    /// The protocol version of the client.
    version: u16,
}

/// How a client begins to act as a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub player: Player,
    pub ticket: Ticket,
    /// As the entity of another session.
    pub resumed: bool,
    /// Its commands begin after this one.
    pub processed: Option<u32>,
}

/// A client in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Player {
    pub client: ClientRow,
    pub entity: EntityId,
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub enum Reply {
    Answer(Answer),
    /// It is granted: by its number.
    Texts(u32, Vec<GivenText>),
}

impl Session {
    /// A session that waits for its entity.
    pub fn new(limits: &Limits) -> Session {
        Session {
            player: None,
            has_old_interface: false,
            others: Others::default(),
            is_reborn: false,
            is_ending: false,
            is_restarting: false,
            acknowledgement: Acknowledgement::default(),
            movement: PendingMovement::default(),
            enters: Backlog::default(),
            in_view: 0,
            has_shared: false,
            values: Backlog::default(),
            is_behind: false,
            last_datagram: Tick(0),
            unacknowledged: None,
            movement_deferred_since: None,
            flow: Flow::default(),
            link_allows: None,
            processed: Processed::default(),
            refused: Refused::default(),
            planned: Planned::default(),
            answers: vec![],
            layers: Layers::default(),
            edits: Edits::default(),
            rankings: Rankings::default(),
            things: Some(Things::default()),
            members: Some(Members::default()),
            talk: vec![],
            near: TalkBudget::default(),
            stream: OutStream::new(limits.client_stream_bytes as usize),
            quota: Quota::new(limits),
            next_sequence: 1,
            version: PROTOCOL_VERSION,
        }
    }

    /// The session of a client of this protocol version.
    pub fn of_version(limits: &Limits, version: u16) -> Session {
        Session {
            version,
            things: (version >= THINGS_VERSION).then(Things::default),
            members: (version >= MEMBERS_VERSION).then(Members::default),
            ..Session::new(limits)
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

    /// How complete the client's view is, up to a tick.
    pub fn view_status(&self, tick: Tick) -> ViewStatus {
        ViewStatus {
            age_ticks: self.player.map_or(0, |_| self.age(tick)),
            in_view: self.in_view,
            waiting: self.enters.len(),
        }
    }

    /// Welcomes the client, which acts as `player` from `tick` on.
    pub fn assign(&mut self, own: Assignment, tick: Tick, world: &SessionWorld, others: &Others) {
        let Assignment {
            player,
            ticket,
            resumed,
            processed,
        } = own;
        if let Some(processed) = processed {
            self.next_sequence = processed.wrapping_add(1);
            self.processed = Processed::through(processed);
        }
        self.player = Some(player);
        self.is_restarting = false;
        self.others.clone_from(others);
        self.acknowledgement.newest = tick;
        let own = OwnWelcome {
            tick,
            entity: player.entity,
            commands_epoch: world.commands.epoch(),
            ticket,
            resumed,
            processed,
            client: player.client,
            others,
        };
        let welcome = world.welcome.parts(&own, self.version);
        self.stream.push_welcome(welcome);
    }

    /// Begins the session anew over the same connection: the client, if it was welcomed, waits for
    /// another welcome from here on. `codec` is that of the world before, `limits` of the one that
    /// follows.
    pub fn restart(&mut self, codec: &StreamCodec, tick: Tick, limits: &Limits) {
        if self.player.is_some() {
            let mut writer = BitWriter::default();
            codec.begin(&mut writer, tick);
            codec.restart(&mut writer, self.version);
            self.stream.push_frame(tick, codec, &mut writer);
        }
        let mut again = Session {
            is_ending: self.is_ending,
            is_restarting: self.is_restarting || self.player.is_some(),
            ..Session::of_version(limits, self.version)
        };
        again.stream.push_welcome(self.stream.take_unsent());
        *self = again;
    }

    /// Whether it has begun anew, and its client waits for another welcome.
    pub fn is_restarting(&self) -> bool {
        self.is_restarting
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
    pub fn answer(&mut self, answer: Reply) {
        self.answers.push(answer);
    }

    /// Sends the content of a layer of the world, part by part.
    pub fn send_layer(&mut self, hash: u64, world: &SessionWorld) {
        self.layers.ask(hash, world);
    }

    /// Sends the first so many of a ranking of the world, and the place of the client's entity, from
    /// now on; 0: no longer.
    pub fn send_ranking(&mut self, number: u32, length: u32, world: &SessionWorld) {
        self.rankings.ask(number, length, world);
    }

    /// Puts talk into the next frame.
    pub fn push_talk(&mut self, index: usize, talk: Arc<Talk>) {
        self.talk.push((index, talk));
    }

    /// The connection is being closed: nothing more is sent.
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

    /// Passes these bytes to the transport, oldest first; `write` returns how many it took.
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

    /// Whether the client leaves more unread, or for longer, than the world allows. Unsent
    /// bytes are dropped then.
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
