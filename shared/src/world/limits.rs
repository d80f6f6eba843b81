//! Sizes and quotas of a world. Each is declared once, in one table: the fields of [`Limits`], the
//! keys of `[limits]` in world files with their checks, and the rows of the documentation follow.
//!
//! What depends on more than a limit's own row (a default that follows from the capacity, a
//! smallest value that follows from the scripts) is in the crate `world-file`.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::command::{CommandKind, CommandSchema};
use super::fixed::Fixed;
use super::notification::NotificationSchema;
use super::schema::Schema;

/// Gives another macro the table of all limits. A row is
///
/// ```text
/// /// What it limits, for people.
/// key: TYPE as TYPE_IN_FILES = DEFAULT by "the default in words", MIN => MAX, "the range in words";
/// ```
///
/// A default that has only words, and a range that differs from its words, follow from other parts
/// of the world.
#[macro_export]
macro_rules! limits {
    ($then:ident) => {
        $then! {
            /// clients at a time, including lost ones that may come back
            clients: u32 as u32 by "`capacity`, at most 65536", 1 => $crate::world::id::CAPACITY_MAX;
            /// commands of one client, on average
            client_commands_per_tick: u32 as u32 = 2, 1 => 1000;
            /// commands of one client at once, after a pause
            client_commands_burst: u32 as u32 = 16, 1 => 10_000, "`client_commands_per_tick` to 10000";
            /// ticks beyond the next one for which a command can wait; one that is meant for a later tick is refused
            input_ticks_max: u32 as u32 by "half a second, at least 4", 0 => 1000;
            /// ticks by which a command can come too late: it runs in the next tick. One that comes later is refused
            late_ticks_max: u32 as u32 by "a second, at least 4", 0 => 1000;
            /// ticks for which it is kept where entities were, for [shots that hit what was seen](lag.md)
            rewind_ticks: u32 as u32 = 0 by "0: nothing", 0 => $crate::world::limits::REWIND_TICKS_MAX,
                "0 to 64; at least 1 with `was_within` or `seen` in a script";
            /// whether a command beyond its [`per_tick`](usage.md) waits for the next tick, instead of being refused
            surplus_waits: bool as bool = false by "`false`", false => true, "`true`, `false`";
            /// requests of one client per second, and at once after a pause; more wait
            client_requests_per_second: u32 as u32 = 20, 1 => 100;
            /// [what one client is sent in a tick](interest.md#what-is-sent-first), in bytes
            client_bytes_per_tick: u32 as u32 = 0 by "0: no limit", 256 => 1 << 20, "0, or 256 to 1048576";
            /// bytes of the reliable stream that can wait for one client
            client_stream_bytes: u32 as u32 = 262_144, 4096 => 1 << 30;
            /// silence after which a client is lost
            idle_seconds: u32 as u32 = 30, 1 => 3600;
            /// how long a client may leave a part of its stream unread; slots of the dead rest as long
            unread_seconds: u32 as u32 = 3, 1 => 3000, "1 to 3000; at most 30,000 ticks";
            /// how long the entity of a lost client waits for it
            resume_seconds: u32 as u32 = 10, 0 => 3600;
            /// places from which a client sees; a server uses one, at its entity
            observers_per_client: u32 as u32 = 1, 1 => 64;
            /// regions that a client can have
            regions_per_client: u32 as u32 = 0, 0 => $crate::world::limits::REGIONS_PER_CLIENT_MAX;
            /// whether entities can carry regions
            entity_regions: bool as bool by "`true` if a kind has `publishes` or `subscribes`", false => true,
                "`true`, `false`";
            /// longest edge of a region
            region_edge_max: Fixed as f64 by "8 × `aoi`, at most 262143", 1.0 / 4096.0 => 262_143.0,
                "1/4096 to 262143";
            /// subscriptions of one client
            subscriptions_per_client: u32 as u32 = 0, 0 => 1024;
            /// filters of one predicate: its alternatives, once it is multiplied out
            predicate_filters: u32 as u32 = 16, 1 => 1024;
            /// bytes of one predicate's text
            predicate_bytes: u32 as u32 = 1024, 16 => 16_384;
            /// notices of one client in a tick because it subscribed
            client_notices_per_tick: u32 as u32 = 64, 1 => 65_536;
            /// [texts](texts.md) that the world has at a time
            texts: u32 as u32 by "65536 with an attribute of type text, else 0", 0 => 1 << 22;
            /// bytes of all texts together
            text_bytes: u32 as u32 = 4_194_304, 256 => 1 << 30;
            /// texts that one client has given, and may use in commands
            client_texts: u32 as u32 = 16, 1 => 256;
            /// notifications that one client receives by place in a tick; with `clients`, at most 4294967295 together
            client_hearings_per_tick: u32 as u32 = 32, 1 => $crate::world::limits::HEARINGS_MAX;
            /// commands in a tick, including those of rules and timed ones
            commands_per_tick: u32 as u64 by "see below", 1 => $crate::world::limits::INDEX_MAX;
            /// commands that can wait; at least 1 with these
            timed_commands: u32 as u64
                by "`capacity` with a `folder`, embers, `respawn_ticks` or `born`, else 0",
                0 => $crate::world::limits::INDEX_MAX;
            /// atomic commands that run in a tick; more wait for the next one. At least 1 with any
            atomic_per_tick: u32 as u64
                by "65536 with a `folder` or an atomic command, at most `commands_per_tick`; else 0",
                0 => $crate::world::limits::INDEX_MAX;
            /// updates in a tick, before merging
            updates_per_tick: u32 as u64 by "4 × `commands_per_tick`, at least 65536",
                1 => $crate::world::limits::INDEX_MAX;
            /// notifications in a tick; 0 without a `folder` if none has an area and clients can't subscribe
            notifications_per_tick: u32 as u64 by "`commands_per_tick` + `capacity`, or 0",
                0 => $crate::world::limits::INDEX_MAX;
            /// [cells that scripts change](layers.md#layers-that-change) in a tick
            edits_per_tick: u32 as u32 by "256 with an editable layer, else 0",
                0 => $crate::world::limits::EDITS_MAX, "0 to 65536; at least 1 with an editable layer";
            /// cells that can differ from the layers of the file
            edited_cells: u32 as u32 by "65536 with an editable layer, else 0",
                0 => $crate::world::limits::EDITED_CELLS_MAX, "0 to 1048576; at least 1 with an editable layer";
            /// (client, entity) pairs in a tick
            deliveries_per_tick: u64 as u64 by "2 × `clients` × `visible_max`",
                1 => $crate::world::limits::INDEX_MAX;
        }
    };
}

macro_rules! declare {
    ($(
        #[doc = $meaning:literal]
        $key:ident: $ty:ident as $raw:ident $(= $default:literal)? $(by $words:literal)?,
            $min:expr => $max:expr $(, $range:literal)?;
    )*) => {
        /// Sizes and quotas. Whatever exceeds one is dropped by a fixed rule and counted.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Limits {
            $( #[doc = $meaning] pub $key: $ty, )*
        }

        impl Limits {
            /// Each limit for people, in the order of the table.
            pub fn declared() -> Vec<Declared> {
                let range = |min: &dyn Display, max: &dyn Display| format!("{min} to {max}");
                vec![$( Declared {
                    key: stringify!($key),
                    default: first(&[$(&$words,)? $(&$default,)?]),
                    range: first(&[$(&$range,)? &range(&($min as $raw), &($max as $raw))]),
                    meaning: $meaning.trim_ascii(),
                }, )*]
            }
        }
    };
}

limits!(declare);

/// A limit, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    pub key: &'static str,
    pub default: String,
    pub range: String,
    pub meaning: &'static str,
}

fn first(words: &[&dyn Display]) -> String {
    words.first().map(ToString::to_string).unwrap_or_default()
}

impl Limits {
    /// Removes the commands of a schema for which there is no room, and sets the
    /// notifications for which there is.
    pub fn apply(&self, schema: &mut Schema, notifications: Vec<NotificationSchema>) {
        if self.timed_commands == 0 {
            let is_engines = |c: &CommandSchema| c.kind <= CommandKind::DESPAWN;
            // The server gives them, without delay.
            let is_for_accounts = |c: &CommandSchema| c.name.starts_with(PERSIST_PREFIX);
            let commands = &mut schema.commands;
            commands.retain(|c| c.is_given() || is_engines(c) || is_for_accounts(c));
        }
        if self.notifications_per_tick > 0 {
            schema.notifications = notifications;
        }
    }
}

/// Before an attribute's name: the command that gives a newborn what its account keeps.
pub const PERSIST_PREFIX: &str = "inherit_";

/// Under which names a character has the things that it keeps, and the kind of each.
pub const THINGS: &str = "things";
pub const KIND: &str = "kind";

/// The command of an attribute, as scripts can name it: `inherit_gold`, `inherit_slot__3` of
/// `slot[3]`, `inherit_bag__wood` of `bag.wood`.
pub fn persist_command(attribute: &str) -> String {
    let name = attribute.replace(['[', '.'], "__").replace(']', "");
    format!("{PERSIST_PREFIX}{name}")
}

/// The most things that accounts keep which are born in a tick.
pub const KEPT_BIRTHS_MAX: u32 = 1024;
/// The largest `limits.rewind_ticks`.
pub const REWIND_TICKS_MAX: u32 = 64;
/// The largest `limits.regions_per_client`.
pub const REGIONS_PER_CLIENT_MAX: u32 = 64;
/// The largest `limits.edits_per_tick`.
pub const EDITS_MAX: u32 = 1 << 16;
/// The largest `limits.edited_cells`.
pub const EDITED_CELLS_MAX: u32 = 1 << 20;
/// The largest `limits.client_hearings_per_tick`.
pub const HEARINGS_MAX: u32 = 1024;
/// Commands, updates and the rest of a tick are indexed in 31 bits.
pub const INDEX_MAX: u64 = (u32::MAX >> 1) as u64;
