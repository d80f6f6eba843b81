//! The header of the tick's kernels.

use device::layout::Header;
use script::atomic::KEYS_MAX;
use script::ir::EFFECTS_MAX;
use script::ptx::layout::NOWHERE;
use shared::world::attribute::MergeRule;
use shared::world::command::COMMANDS_MAX;
use shared::world::config::DELAY_TICKS_MAX;
use shared::world::course::VELOCITY_MAX;
use shared::world::given;
use shared::world::layer::SEARCH_CELLS;
use shared::world::spawn::SPAWN_TRIES;
use shared::{CommandKind, NotificationKind, Refusal};

use super::{
    ATOMIC_THREADS_MIN, AfterRecord, BEGINS, BY_THE_SERVER, Birth, BoxIndex, DeferredState, Door,
    Fall, HALF_HIGH, HALF_LOW, HAS_ACTOR, Hook, IS_CLIENTS, IS_COMMAND, Initial, KEPT, LEVELS_MAX,
    Level, NO_REST, ON_BIRTH, ON_BORDER, ON_FALL, ON_JOIN, Observer, ObserverSet, PlacedZone,
    RULE_MASK, Refused, Region, RegionSet, Regions, Rule, SCANS, SpawnArea, TIER_BITS,
    TIMED_COLUMNS, Tick, TimedState, Verdict, World, Zone, ZonePlace,
};
use crate::notification::Notification;
use crate::slot::SlotState;
use crate::tick::counts::{CHUNKS_MAX, Counters};
use crate::tick::frame::{After, Command};
use crate::tick::output::Delivery;
use crate::tick::state::part;
use crate::tick::timed::{JOIN_TOKEN, POPULATION_TOKEN, TIMED_WORDS_MAX};

/// The content of `kernels/tick/layout.cuh`.
pub fn header() -> String {
    let header = Header::new("What the tick's kernels are given.")
        .constant("CHUNKS_MAX", CHUNKS_MAX as u32)
        .constant("LEVELS_MAX", LEVELS_MAX as u32)
        .constant("TIMED_WORDS_MAX", TIMED_WORDS_MAX as u32)
        .constant("TIMED_COLUMNS", TIMED_COLUMNS as u32)
        .constant("BY_THE_SERVER", BY_THE_SERVER)
        .constant("COMMANDS_MAX", COMMANDS_MAX as u32)
        .constant("IS_COMMAND", u32::from(IS_COMMAND))
        .constant("HAS_ACTOR", u32::from(HAS_ACTOR))
        .constant("IS_CLIENTS", u32::from(IS_CLIENTS))
        .constant("NO_REST", u32::from(NO_REST))
        .constant("VELOCITY_MAX", VELOCITY_MAX as u32)
        .constant("NOWHERE", NOWHERE)
        .constant("TIER_BITS", TIER_BITS)
        .constant("POPULATION_TOKEN", POPULATION_TOKEN)
        .constant("JOIN_TOKEN", JOIN_TOKEN)
        .constant("ON_BIRTH", ON_BIRTH)
        .constant("ON_JOIN", ON_JOIN)
        .constant("ON_FALL", ON_FALL)
        .constant("ON_BORDER", ON_BORDER)
        .constant("BEGINS", BEGINS)
        .constant("KEPT", KEPT)
        .constant("SPAWN_TRIES", SPAWN_TRIES)
        .constant("GIVEN_COMMANDS_MAX", given::GIVEN_COMMANDS_MAX as u32)
        .constant("GIVEN_PER_COMMAND", given::GIVEN_PER_COMMAND as u32)
        .constant("COLUMN_BITS", given::COLUMN_BITS)
        .constant("FAR", given::FAR.into())
        .constant("FAR_SHIFT", given::FAR_SHIFT)
        .constant("NAMES_BITS", given::NAMES as u32)
        .constant("AGO_BITS", given::AGO_BITS)
        .constant("FOLLOW_UP_BITS", given::FOLLOW_UP as u32)
        .constant("FOLLOW_UP_NUMBER_BITS", given::NUMBER_BITS)
        .constant("FOLLOW_UP_COUNT_BITS", given::COUNT_BITS)
        .constant("FOLLOW_UP_TICK_BITS", given::TICK_BITS)
        .constant("FOLLOW_UP_SINCE_MAX", given::SINCE_MAX)
        .constant("DELAY_TICKS_MAX", DELAY_TICKS_MAX)
        .constant("WALL_SEARCH_CELLS", SEARCH_CELLS as u32)
        .constant("ATOMIC_KEYS", KEYS_MAX as u32)
        .constant("ATOMIC_EFFECTS", EFFECTS_MAX as u32)
        .constant("ATOMIC_THREADS_MIN", ATOMIC_THREADS_MIN);
    structures(enumerations(header)).finish("TICK_LAYOUT_HASH")
}

/// The hash that the kernels must carry.
pub fn hash() -> u64 {
    Header::hash(&header())
}

fn enumerations(header: Header) -> Header {
    let own = [
        ("spawn", CommandKind::SPAWN),
        ("despawn", CommandKind::DESPAWN),
    ];
    let commands = own
        .into_iter()
        .map(|(name, kind)| (name, u32::from(kind.id())));
    let own = [
        ("fall", NotificationKind::FALL),
        ("picked", NotificationKind::PICKED),
    ];
    let notifications = own
        .into_iter()
        .map(|(name, kind)| (name, u32::from(kind.id())));
    header
        .enumeration(
            "SlotState",
            named(
                "",
                [
                    ("free", SlotState::Free as u32),
                    ("live", SlotState::Live as u32),
                    ("resting", SlotState::Resting as u32),
                    ("fallen", SlotState::Fallen as u32),
                    ("reserved", SlotState::Reserved as u32),
                ],
            ),
        )
        .enumeration(
            "MergeRule",
            named(
                "",
                [
                    ("sum", MergeRule::Sum as u32),
                    ("min", MergeRule::Min as u32),
                    ("max", MergeRule::Max as u32),
                    ("first", MergeRule::First as u32),
                    ("last", MergeRule::Last as u32),
                    ("rule_mask", RULE_MASK),
                    ("half_low", HALF_LOW),
                    ("half_high", HALF_HIGH),
                ],
            ),
        )
        .enumeration(
            "DeliveryKind",
            named(
                "",
                [
                    ("update", Delivery::UPDATE),
                    ("enter", Delivery::ENTER),
                    ("renew", Delivery::RENEW),
                    ("leave", Delivery::LEAVE),
                ],
            ),
        )
        .enumeration(
            "Verdict",
            named(
                "",
                [
                    ("malformed", Verdict::Malformed as u32),
                    ("stale", Verdict::Stale as u32),
                    ("over_budget", Verdict::OverBudget as u32),
                    ("over_per_tick", Verdict::OverPerTick as u32),
                    ("rests", Verdict::Rests as u32),
                    ("idle", Verdict::Idle as u32),
                    ("refused", Verdict::Refused as u32),
                    ("moved", Verdict::Moved as u32),
                    ("values", Verdict::Values as u32),
                    ("follow_up", Verdict::FollowUp as u32),
                ],
            ),
        )
        .enumeration(
            "Refusal",
            named(
                "REFUSED_",
                [
                    ("idle", Refusal::Idle as u32),
                    ("dead", Refusal::Dead as u32),
                    ("over_per_tick", Refusal::OverPerTick as u32),
                    ("resting", Refusal::Resting as u32),
                    ("beyond_limits", Refusal::BeyondLimits as u32),
                    ("unmet", Refusal::Unmet as u32),
                    ("moved", Refusal::Moved as u32),
                ],
            ),
        )
        .enumeration("CommandKind", named("", commands))
        .enumeration("NotificationKind", named("NOTIFY_", notifications))
        .enumeration(
            "Part",
            named(
                "PART_",
                [
                    ("slots", part::SLOTS as u32),
                    ("observers", part::OBSERVERS as u32),
                    ("known", part::KNOWN as u32),
                    ("timed", part::TIMED as u32),
                    ("tracks", part::TRACKS as u32),
                    ("columns", part::COLUMNS as u32),
                ],
            ),
        )
        .enumeration(
            "RegionHolder",
            named(
                "",
                ["client_region", "publication", "subscription"]
                    .into_iter()
                    .zip(0..),
            ),
        )
        .enumeration("Scan", named("SCAN_", SCANS.into_iter().zip(0..)))
}

/// Adds the structures, each after those that it has as fields.
fn structures(header: Header) -> Header {
    header
        .structure::<Command>()
        .structure::<After>()
        .structure::<AfterRecord>()
        .structure::<TimedState>()
        .structure::<DeferredState>()
        .structure::<Observer>()
        .structure::<ObserverSet>()
        .structure::<Fall>()
        .structure::<SpawnArea>()
        .structure::<Initial>()
        .structure::<Rule>()
        .structure::<Birth>()
        .structure::<Refused>()
        .structure::<Notification>()
        .structure::<Counters>()
        .structure::<Region>()
        .structure::<RegionSet>()
        .structure::<Level>()
        .structure::<BoxIndex>()
        .structure::<Door>()
        .structure::<Zone>()
        .structure::<ZonePlace>()
        .structure::<PlacedZone>()
        .structure::<Hook>()
        .structure::<Regions>()
        .structure::<World>()
        .structure::<Tick>()
}

/// Constants, with their names in C++ style.
fn named(
    prefix: &'static str,
    values: impl IntoIterator<Item = (&'static str, u32)>,
) -> impl Iterator<Item = (String, u32)> {
    let upper =
        move |(name, value): (&str, u32)| (format!("{prefix}{}", name.to_uppercase()), value);
    values.into_iter().map(upper)
}
