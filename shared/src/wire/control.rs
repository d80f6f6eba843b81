//! The handshake. How a connection ends is in [`close`](super::close).

use serde::{Deserialize, Serialize};

use super::layers::{self, LayerInfo, LayerKind};
use super::rankings::RankingInfo;
use super::{DecodeError, FRAME_BYTES_MAX, codec};
use crate::world::command::CommandSchema;
use crate::world::config::Spectators;
use crate::world::door::{self, Door};
use crate::world::fixed::Fixed;
use crate::world::id::{EntityId, Tick};
use crate::world::limits::Limits;
use crate::world::notification::NotificationSchema;
use crate::world::plane::Atlas;
use crate::world::schema::{Schema, WorldConstant};

pub use super::close::{ADDRESS_BYTES_MAX, Close};

/// The most bytes of a hello: room for a token of [`TOKEN_BYTES_MAX`].
pub const HELLO_BYTES_MAX: usize = 3072;
/// The most bytes of a token. Those of identity providers have some 1,500.
pub const TOKEN_BYTES_MAX: usize = 2816;
/// The most bytes of a welcome, which carries the schema.
pub const WELCOME_BYTES_MAX: usize = FRAME_BYTES_MAX;

/// The most bytes of a forecast.
pub const FORECAST_BYTES_MAX: usize = 64 * 1024;

/// The most other servers of a world that a client is sent.
pub const SERVERS_MAX: usize = 15;

/// Proves that a reconnecting client is the one whose connection was lost.
pub type Ticket = [u8; 16];

/// The first message of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The client's [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION).
    pub version: u16,
    /// Required by the server to admit the client, and to find its account; empty where
    /// nothing is required.
    pub token: String,
    /// The player's name, where the token has none; empty: no name.
    pub name: String,
    /// The hash of the schema that the client was built for, if it accepts no other.
    pub schema_hash: Option<u64>,
    /// The ticket of an earlier welcome, to resume as the same entity.
    pub resume: Option<Ticket>,
    /// To watch without an entity, where the world allows it.
    pub spectates: bool,
}

/// The first message of the server to a client that it accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The tick in which the entity was born or resumed.
    pub tick: Tick,
    /// [`EntityId::NONE`] for a spectator.
    pub entity: EntityId,
    /// Identifies the commands in datagrams of the client, until an [`Interface`] changes
    /// it.
    pub commands_epoch: u8,
    /// For a later hello: resumes as this entity.
    pub ticket: Ticket,
    /// Whether the entity is that of the ticket in the hello.
    pub resumed: bool,
    /// The number of the last command of the session before that the world has processed: the
    /// client sends those after it again, and continues with its numbers. `None`: numbers begin
    /// with 1, and the commands of a session before are given up.
    pub processed: Option<u32>,
    /// The kind that clients are born as: an index into the schema's kinds.
    pub player_kind: u16,
    pub quotas: Quotas,
    /// As clients may know it, see [`Schema::for_clients`].
    pub schema: Schema,
    /// The forecast by which a client predicts its own entity; empty: it can't.
    pub forecast: Vec<u8>,
    /// Other servers of the world, as HOST:PORT: where a client that loses this one should try, in
    /// this order. At most [`SERVERS_MAX`].
    pub servers: Vec<String>,
    /// Why commands have no effect, as the world's scripts say; a refusal has the number of one.
    pub reasons: Vec<String>,
    /// The world's layers.
    pub layers: Vec<LayerInfo>,
    /// The kinds whose entities block cells, ascending. Clients before
    /// [`LONGER_WELCOME_VERSION`](super::LONGER_WELCOME_VERSION) are sent none.
    pub doors: Vec<Door>,
    /// The rankings that clients may ask for. Those clients are sent none of these, either.
    pub rankings: Vec<RankingInfo>,
    /// Where the world's planes are. Clients before [`PLANES_VERSION`](super::PLANES_VERSION) are not
    /// sent it.
    pub planes: Atlas,
    /// The layers whose cells scripts change, ascending. Clients before
    /// [`EDITS_VERSION`](super::EDITS_VERSION) are not sent it.
    pub editable: Vec<LayerKind>,
}

/// Limits of a client, and how long the server waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quotas {
    /// Commands in a tick, on average.
    pub commands_per_tick: u32,
    /// Commands at once, after having been quiet.
    pub commands_burst: u32,
    /// How many ticks ahead of the server's next one a command may be meant for.
    pub input_ticks: u32,
    /// How many ticks late a command may come.
    pub late_ticks: u32,
    /// Whether a command beyond its `per_tick` waits for the next tick, instead of being refused.
    pub surplus_waits: bool,
    pub requests_per_second: u32,
    /// The most bytes that it is sent in a tick; 0: no limit.
    pub bytes_per_tick: u32,
    pub regions: u32,
    /// The longest edge of a region.
    pub region_edge_max: Fixed,
    pub subscriptions: u32,
    /// Bytes of a subscription's predicate.
    pub predicate_bytes: u32,
    /// A client that is silent for this long is disconnected.
    pub idle_seconds: u32,
    /// A lost client can resume for this long.
    pub resume_seconds: u32,
    /// How far a spectator's point goes in a tick, in raw units; `None`: anywhere at once.
    pub spectator_step: Option<i32>,
}

/// The commands and notifications from now on: the world's scripts have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// Identifies the commands in datagrams of the client from now on.
    pub commands_epoch: u8,
    pub commands: Vec<CommandSchema>,
    pub notifications: Vec<NotificationSchema>,
    /// The constants of scripts that clients may know.
    pub constants: Vec<WorldConstant>,
    /// As in the [`Welcome`].
    pub forecast: Vec<u8>,
    /// As in the [`Welcome`].
    pub reasons: Vec<String>,
}

impl Quotas {
    /// The limits that a world sets a client.
    pub fn of(limits: &Limits, spectators: Option<Spectators>) -> Quotas {
        Quotas {
            commands_per_tick: limits.client_commands_per_tick,
            commands_burst: limits.client_commands_burst,
            input_ticks: limits.input_ticks_max,
            late_ticks: limits.late_ticks_max,
            surplus_waits: limits.surplus_waits,
            requests_per_second: limits.client_requests_per_second,
            bytes_per_tick: limits.client_bytes_per_tick,
            regions: limits.regions_per_client,
            region_edge_max: limits.region_edge_max,
            subscriptions: limits.subscriptions_per_client,
            predicate_bytes: limits.predicate_bytes,
            idle_seconds: limits.idle_seconds,
            resume_seconds: limits.resume_seconds,
            spectator_step: spectators.and_then(|s| s.step_max),
        }
    }
}

impl Hello {
    /// The version of a hello, which defines the rest.
    pub fn version(bytes: &[u8]) -> Result<u16, DecodeError> {
        codec::first_number(bytes)
    }

    /// Reads a hello of this version.
    pub fn decode(bytes: &[u8]) -> Result<Hello, DecodeError> {
        codec::from_wire::<HELLO_BYTES_MAX, _>(bytes)
    }
}

impl Welcome {
    /// Reads a welcome and checks its schema, so that building codecs from it can't
    /// fail.
    pub fn decode(bytes: &[u8]) -> Result<Welcome, DecodeError> {
        let mut welcome: Welcome = codec::from_wire::<WELCOME_BYTES_MAX, _>(bytes)?;
        if welcome.tick > Tick::MAX {
            return Err(DecodeError::OutOfRange {
                what: "the tick of the welcome",
                found: welcome.tick.0,
            });
        }
        let too_long = |found, limit| Err(DecodeError::TooLong { found, limit });
        if welcome.servers.len() > SERVERS_MAX {
            return too_long(welcome.servers.len(), SERVERS_MAX);
        }
        let longest = welcome.servers.iter().map(String::len).max();
        if let Some(longest) = longest.filter(|&longest| longest > ADDRESS_BYTES_MAX) {
            return too_long(longest, ADDRESS_BYTES_MAX);
        }
        welcome.schema.check()?;
        let (size, symbols) = (welcome.schema.world.size_raw(), &welcome.schema.symbols);
        if !welcome.editable.is_sorted_by(|a, b| a < b) {
            let what = "the layers that change are not in order";
            return Err(DecodeError::Malformed(what.to_owned()));
        }
        for layer in &mut welcome.layers {
            layer.is_editable = welcome.editable.contains(&layer.kind);
        }
        layers::check(&welcome.layers, size, symbols.len())
            .map_err(|what| DecodeError::Malformed(what.to_owned()))?;
        let (kinds, attributes) = (&welcome.schema.kinds, &welcome.schema.attributes);
        door::check(&welcome.doors, kinds.len(), attributes.len())
            .map_err(|what| DecodeError::Malformed(what.to_owned()))?;
        (welcome.planes.check(size)).map_err(|what| DecodeError::Malformed(what.to_owned()))?;
        Ok(welcome)
    }
}
