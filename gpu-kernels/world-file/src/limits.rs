//! Sizes and quotas: `[limits]` in the world file.

use shared::world::config::{HEARINGS_MAX, Limits, REWIND_TICKS_MAX};
use shared::world::id::CAPACITY_MAX;
use shared::world::schema::WorldInfo;

use super::check::{Problem, Problems, in_range};
use super::compile::Reasons;
use super::regions::RegionLimits;
use super::{interest, raw};

/// The properties of a world that its limits depend on.
pub(super) struct Needs<'a> {
    pub world: &'a WorldInfo,
    /// The number of `[[every]]` rules.
    pub rules: u64,
    /// Attributes that accounts keep: each newborn is given each of them.
    pub persists: u64,
    /// Whether anything puts commands off.
    pub schedules: bool,
    /// Whether scripts may come that do, or that tell of something: room that a running world
    /// lacks can't be made later.
    pub reloads: bool,
    /// Whether commands emit notifications: then there must be room for them.
    pub is_heard: bool,
    /// Whether scripts ask where entities were.
    pub rewinds: bool,
    /// Whether any notifications can happen.
    pub notifies: bool,
}

/// Checks `raw.KEY` against its range, under the name `limits.KEY`.
macro_rules! limit {
    ($problems:ident, $raw:ident.$key:ident, $min:expr, $max:expr) => {
        $problems.take_or(
            $min,
            in_range(concat!("limits.", stringify!($key)), $raw.$key, $min, $max),
        )
    };
}

pub(super) fn limits(
    raw: &raw::Limits,
    regions: RegionLimits,
    needs: &Needs<'_>,
    problems: &mut Problems,
) -> Limits {
    let clients = raw.clients.unwrap_or(needs.world.capacity.min(65_536));
    let clients = problems.take_or(1, in_range("limits.clients", clients, 1, CAPACITY_MAX));
    let commands = limit!(problems, raw.client_commands_per_tick, 1, 1000);
    let tick = tick_limits(raw, needs, clients, commands, problems);
    let [input_ticks_max, late_ticks_max] = of_rate(needs.world.tick_hz);
    // The hearings of all clients together are counted in 32 bits.
    let hearings_max = HEARINGS_MAX.min(u32::MAX / clients);
    Limits {
        clients,
        observers_per_client: limit!(problems, raw.observers_per_client, 1, 64),
        regions_per_client: regions.per_client,
        region_edge_max: regions.edge_max,
        entity_regions: regions.of_entities,
        commands_per_tick: of_32_bits(tick.commands),
        timed_commands: of_32_bits(tick.timed_commands),
        updates_per_tick: of_32_bits(tick.updates),
        notifications_per_tick: of_32_bits(tick.notifications),
        deliveries_per_tick: tick.deliveries,
        client_commands_per_tick: commands,
        client_commands_burst: limit!(problems, raw.client_commands_burst, commands, 10_000),
        input_ticks_max: input_ticks(
            "limits.input_ticks_max",
            raw.input_ticks_max,
            input_ticks_max,
            problems,
        ),
        late_ticks_max: input_ticks(
            "limits.late_ticks_max",
            raw.late_ticks_max,
            late_ticks_max,
            problems,
        ),
        rewind_ticks: limit!(
            problems,
            raw.rewind_ticks,
            u32::from(needs.rewinds),
            REWIND_TICKS_MAX
        ),
        surplus_waits: raw.surplus_waits,
        client_requests_per_second: limit!(problems, raw.client_requests_per_second, 1, 100),
        client_bytes_per_tick: problems.take_or(0, interest::bytes_per_tick(raw)),
        client_stream_bytes: limit!(problems, raw.client_stream_bytes, 4096, 1 << 30),
        idle_seconds: limit!(problems, raw.idle_seconds, 1, 3600),
        unread_seconds: limit!(
            problems,
            raw.unread_seconds,
            1,
            (TOLD_TICKS_MAX / needs.world.tick_hz.max(1)).clamp(1, 3000)
        ),
        resume_seconds: limit!(problems, raw.resume_seconds, 0, 3600),
        subscriptions_per_client: limit!(problems, raw.subscriptions_per_client, 0, 1024),
        predicate_filters: limit!(problems, raw.predicate_filters, 1, 1024),
        predicate_bytes: limit!(problems, raw.predicate_bytes, 16, 16_384),
        client_notices_per_tick: limit!(problems, raw.client_notices_per_tick, 1, 65_536),
        client_hearings_per_tick: limit!(problems, raw.client_hearings_per_tick, 1, hearings_max),
    }
}

/// Adds to problems of limits that are 0 what in the texts needs them.
pub(super) fn explain(reasons: &Reasons, problems: &mut Problems) {
    let reasons = [
        ("limits.timed_commands", &reasons.timed_commands),
        ("limits.rewind_ticks", &reasons.rewind_ticks),
        (
            "limits.notifications_per_tick",
            &reasons.notifications_per_tick,
        ),
    ];
    for (key, reason) in reasons {
        let mut of_key = problems.0.iter_mut().filter(|problem| problem.key == key);
        let Some((problem, reason)) = of_key.next().zip(reason.as_ref()) else {
            continue;
        };
        if problem.message.ends_with("found 0") {
            problem.message = format!("{reason}, which needs this limit: {}", problem.message);
        }
    }
}

/// The usual `input_ticks_max` and `late_ticks_max` of a rate: half a second and a second, at
/// least four ticks.
pub(super) fn of_rate(tick_hz: u32) -> [u32; 2] {
    [tick_hz.div_ceil(2), tick_hz].map(|ticks| ticks.clamp(4, INPUT_TICKS_MAX))
}

/// How far from its tick a client's command may arrive.
fn input_ticks(key: &str, found: Option<u32>, usual: u32, problems: &mut Problems) -> u32 {
    let ticks = found.unwrap_or(usual);
    problems.take_or(4, in_range(key, ticks, 0, INPUT_TICKS_MAX))
}

/// Sizes that hold for a whole tick.
struct TickLimits {
    commands: u64,
    timed_commands: u64,
    updates: u64,
    notifications: u64,
    deliveries: u64,
}

fn tick_limits(
    raw: &raw::Limits,
    needs: &Needs<'_>,
    clients: u32,
    client_commands: u32,
    problems: &mut Problems,
) -> TickLimits {
    let (capacity, clients) = (u64::from(needs.world.capacity), u64::from(clients));
    let timed_commands = match needs.schedules || needs.reloads {
        true => raw.timed_commands.unwrap_or(capacity),
        false => raw.timed_commands.unwrap_or(0),
    };
    let timed_commands = problems.take_or(
        1,
        in_range(
            "limits.timed_commands",
            timed_commands,
            u64::from(needs.schedules),
            INDEX_MAX,
        ),
    );
    // The births of the first tick, each client's quota, a command per entity and rule,
    // and all timed commands, which may fall due in one tick.
    let quotas = clients * (u64::from(client_commands) + needs.persists);
    let commands = capacity + quotas + capacity * needs.rules + timed_commands + 1024;
    let mut at_least_one = |key: &str, value: Option<u64>, default: u64| {
        let default = default.min(INDEX_MAX);
        problems.take_or(
            default,
            in_range(key, value.unwrap_or(default), 1, INDEX_MAX),
        )
    };
    let commands = at_least_one("limits.commands_per_tick", raw.commands_per_tick, commands);
    let updates = (commands * 4).max(65_536);
    let deliveries = match needs.world.visible_max {
        // Known sets are unbounded, so this is a guess, which the file can override.
        0 => clients * 256,
        // Each client's old and new view: never exceeded.
        visible => clients * u64::from(visible) * 2,
    };
    let updates = at_least_one("limits.updates_per_tick", raw.updates_per_tick, updates);
    let deliveries = at_least_one(
        "limits.deliveries_per_tick",
        raw.deliveries_per_tick,
        deliveries,
    );
    TickLimits {
        commands,
        timed_commands,
        updates,
        deliveries,
        notifications: problems.take_or(1, notifications(raw, needs, commands)),
    }
}

fn notifications(raw: &raw::Limits, needs: &Needs<'_>, commands: u64) -> Result<u64, Problem> {
    let is_subscribed = raw.subscriptions_per_client > 0 && needs.notifies;
    // One per command, and one per entity that falls or is picked.
    let default = match needs.is_heard || is_subscribed || needs.reloads {
        true => (commands + u64::from(needs.world.capacity)).min(INDEX_MAX),
        false => 0,
    };
    in_range(
        "limits.notifications_per_tick",
        raw.notifications_per_tick.unwrap_or(default),
        u64::from(needs.is_heard),
        INDEX_MAX,
    )
}

/// A limit that was checked to be at most [`INDEX_MAX`].
fn of_32_bits(limit: u64) -> u32 {
    u32::try_from(limit).unwrap_or(u32::MAX)
}

/// Frames of the stream and datagrams name ticks by 16 bits, which the receiver completes with
/// the newest tick that it knows.
const TOLD_TICKS_MAX: u32 = 30_000;
/// Commands wait in a list for each tick.
const INPUT_TICKS_MAX: u32 = 1000;
/// Commands, updates and the rest of a tick are indexed in 31 bits.
const INDEX_MAX: u64 = (u32::MAX >> 1) as u64;
