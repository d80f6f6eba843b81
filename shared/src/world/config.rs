//! Everything that defines a world, checked.

use serde::{Deserialize, Serialize};

use super::command::{CommandKind, Rules};
use super::fixed::Fixed;
use super::schema::Schema;

/// Everything that defines a world, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorldConfig {
    pub seed: u64,
    pub interest: InterestMode,
    /// The kind that a joining client is born as: an index into the schema's kinds.
    pub player_kind: u16,
    /// How many of each kind are born in the first tick.
    pub populations: Vec<u32>,
    /// By kind: how many ticks after its fall one is born anew; 0: none falls. Of
    /// the players' kind, only those with a client.
    pub respawn_ticks: Vec<u32>,
    /// By kind: the regions that newborns carry.
    pub kind_regions: Vec<KindRegions>,
    pub every: Vec<Every>,
    pub rules: Rules,
    pub limits: Limits,
    pub schema: Schema,
}

/// Who counts as near.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InterestMode {
    /// Everyone within the observer's radius.
    Exact,
    /// Everyone in the observer's bucket and its neighbours, as in the thesis (3.5).
    Buckets,
}

/// A command that every entity of a kind gives itself every `ticks` ticks.
/// Entities take turns by slot, so that each tick has an even share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Every {
    pub kind: u16,
    pub ticks: u32,
    pub command: CommandKind,
    pub words: Vec<i32>,
}

/// The regions that the newborns of a kind carry: boxes that are centred on them
/// and follow them. Each is its edges in raw units, 1 on axes that the world lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindRegions {
    /// Where it is published, beside its position.
    pub publishes: Option<[i32; 3]>,
    /// What whoever follows it subscribes to.
    pub subscribes: Option<[i32; 3]>,
}

/// Sizes and quotas. What exceeds one is dropped by rule and counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Clients at a time.
    pub clients: u32,
    pub observers_per_client: u32,
    /// Regions that a client may subscribe to, beside those of whom it follows.
    pub regions_per_client: u32,
    /// The longest edge of any region.
    pub region_edge_max: Fixed,
    /// Whether entities may carry regions.
    pub entity_regions: bool,
    /// Commands in one tick, those of world rules included.
    pub commands_per_tick: u32,
    /// Timed commands that may be pending.
    pub timed_commands: u32,
    /// Updates in one tick, before merging.
    pub updates_per_tick: u32,
    /// Notifications in one tick; 0: there are none in this world.
    pub notifications_per_tick: u32,
    /// Deliveries in one tick.
    pub deliveries_per_tick: u64,
    /// Commands that a client may send per tick, on average.
    pub client_commands_per_tick: u32,
    /// Commands that a client may send at once after having been quiet.
    pub client_commands_burst: u32,
    /// Session messages (regions, subscriptions) of a client that are read in a
    /// second, and at once after it has been quiet.
    pub client_requests_per_second: u32,
    /// Bytes of the reliable stream that may wait for a slow client.
    pub client_stream_bytes: u32,
    /// A client that is silent for this long is gone.
    pub idle_seconds: u32,
    /// How long a lost client's entity waits for it to come back.
    pub resume_seconds: u32,
    /// Content subscriptions of one client; 0: there are none in this world.
    pub subscriptions_per_client: u32,
    /// Filters of one subscription's predicate.
    pub predicate_filters: u32,
    /// Bytes of one subscription's predicate, as text.
    pub predicate_bytes: u32,
    /// Changes and notifications that a client is told of in one tick because it
    /// subscribed to them.
    pub client_notices_per_tick: u32,
    /// Notifications that a client hears in one tick.
    pub client_hearings_per_tick: u32,
}

impl WorldConfig {
    /// The number of axes, 2 or 3.
    pub fn dimensions(&self) -> usize {
        self.schema.dimensions()
    }

    /// The size per axis in raw units; a world of two axes is one unit thin.
    pub fn size_raw(&self) -> [i32; 3] {
        let mut size = [1; 3];
        for (axis, s) in size.iter_mut().zip(&self.schema.world.size) {
            *axis = s.raw();
        }
        size
    }
}

/// The longest that a command may be put off, in ticks.
pub const DELAY_TICKS_MAX: u32 = 1_000_000;
/// The most entities that one client can be told to know.
pub const VISIBLE_MAX: u32 = 1024;
/// The most regions that a client can be given.
pub const REGIONS_PER_CLIENT_MAX: u32 = 64;
/// The most notifications that one client can be told of in a tick because it hears them.
pub const HEARINGS_MAX: u32 = 1024;
