//! Sizes and quotas: `[limits]` in the world file.

use std::fmt::Display;

use super::check::{Problem, in_range};
use super::raw;
use super::regions::RegionLimits;
use crate::world::config::{HEARINGS_MAX, Limits};
use crate::world::id::CAPACITY_MAX;
use crate::world::notification::NotificationKind;
use crate::world::schema::WorldInfo;

/// The properties of a world that its limits depend on.
pub(super) struct Needs<'a> {
    pub world: &'a WorldInfo,
    /// The number of `[[every]]` rules.
    pub rules: u64,
    /// Whether anything puts commands off.
    pub schedules: bool,
    /// The notifications that can happen.
    pub notifications: &'a [NotificationKind],
}

pub(super) fn limits(
    raw: &raw::Limits,
    regions: RegionLimits,
    needs: &Needs<'_>,
) -> Result<Limits, Problem> {
    let clients = raw.clients.unwrap_or(needs.world.capacity.min(65_536));
    let clients = limit("clients", clients, 1, CAPACITY_MAX)?;
    let commands = limit(
        "client_commands_per_tick",
        raw.client_commands_per_tick,
        1,
        1000,
    )?;
    let subscriptions = raw.subscriptions_per_client;
    let subscriptions = limit("subscriptions_per_client", subscriptions, 0, 1024)?;
    let tick = tick_limits(
        raw,
        needs,
        u64::from(clients) * u64::from(commands),
        clients,
    )?;
    // The hearings of all clients together are counted in 32 bits.
    let hearings_max = HEARINGS_MAX.min(u32::MAX / clients);
    Ok(Limits {
        clients,
        observers_per_client: limit("observers_per_client", raw.observers_per_client, 1, 64)?,
        regions_per_client: regions.per_client,
        region_edge_max: regions.edge_max,
        entity_regions: regions.of_entities,
        commands_per_tick: tick.commands as u32,
        timed_commands: tick.timed_commands as u32,
        updates_per_tick: tick.updates as u32,
        notifications_per_tick: tick.notifications as u32,
        deliveries_per_tick: tick.deliveries,
        client_commands_per_tick: commands,
        client_commands_burst: limit(
            "client_commands_burst",
            raw.client_commands_burst,
            commands,
            10_000,
        )?,
        client_requests_per_second: limit(
            "client_requests_per_second",
            raw.client_requests_per_second,
            1,
            100,
        )?,
        client_stream_bytes: limit(
            "client_stream_bytes",
            raw.client_stream_bytes,
            4096,
            1 << 30,
        )?,
        idle_seconds: limit("idle_seconds", raw.idle_seconds, 1, 3600)?,
        resume_seconds: limit("resume_seconds", raw.resume_seconds, 0, 3600)?,
        subscriptions_per_client: subscriptions,
        predicate_filters: limit("predicate_filters", raw.predicate_filters, 1, 1024)?,
        predicate_bytes: limit("predicate_bytes", raw.predicate_bytes, 16, 16_384)?,
        client_notices_per_tick: limit(
            "client_notices_per_tick",
            raw.client_notices_per_tick,
            1,
            65_536,
        )?,
        client_hearings_per_tick: limit(
            "client_hearings_per_tick",
            raw.client_hearings_per_tick,
            1,
            hearings_max,
        )?,
    })
}

/// Sizes of what a whole tick can have.
struct TickLimits {
    commands: u64,
    timed_commands: u64,
    updates: u64,
    notifications: u64,
    deliveries: u64,
}

/// `client_commands` are those of all clients in a tick, on average.
fn tick_limits(
    raw: &raw::Limits,
    needs: &Needs<'_>,
    client_commands: u64,
    clients: u32,
) -> Result<TickLimits, Problem> {
    let capacity = u64::from(needs.world.capacity);
    let at_least_one = |name: &str, value: Option<u64>, default: u64| {
        limit(name, value.unwrap_or(default.min(INDEX_MAX)), 1, INDEX_MAX)
    };
    let timed_commands = limit(
        "timed_commands",
        raw.timed_commands
            .unwrap_or(if needs.schedules { capacity } else { 0 }),
        u64::from(needs.schedules),
        INDEX_MAX,
    )?;
    // The births of the first tick, each client's quota, a command per entity and rule,
    // and all timed commands, which may fall due in one tick.
    let commands = capacity + client_commands + capacity * needs.rules + timed_commands + 1024;
    let commands = at_least_one("commands_per_tick", raw.commands_per_tick, commands)?;
    let updates = (commands * 4).max(65_536);
    let deliveries = match needs.world.visible_max {
        // Known sets are unbounded, so this is a guess, which the file can override.
        0 => u64::from(clients) * 256,
        // Each client's old and new view: never exceeded.
        visible => u64::from(clients) * u64::from(visible) * 2,
    };
    Ok(TickLimits {
        commands,
        timed_commands,
        updates: at_least_one("updates_per_tick", raw.updates_per_tick, updates)?,
        deliveries: at_least_one("deliveries_per_tick", raw.deliveries_per_tick, deliveries)?,
        notifications: notifications(raw, needs, commands)?,
    })
}

fn notifications(raw: &raw::Limits, needs: &Needs<'_>, commands: u64) -> Result<u64, Problem> {
    // A world has blasts that are heard, and shouts, only where its file asks for them.
    let is_required = [NotificationKind::Blast, NotificationKind::Shout]
        .iter()
        .any(|kind| needs.notifications.contains(kind));
    let is_subscribed = raw.subscriptions_per_client > 0 && !needs.notifications.is_empty();
    // At most one per command, and one per entity that falls or is picked.
    let default = match is_required || is_subscribed {
        true => (commands + u64::from(needs.world.capacity)).min(INDEX_MAX),
        false => 0,
    };
    let found = raw.notifications_per_tick.unwrap_or(default);
    limit(
        "notifications_per_tick",
        found,
        u64::from(is_required),
        INDEX_MAX,
    )
}

fn limit<T: PartialOrd + Display>(name: &str, value: T, min: T, max: T) -> Result<T, Problem> {
    in_range(&format!("limits.{name}"), value, min, max)
}

/// What a tick has is indexed in 31 bits.
const INDEX_MAX: u64 = (u32::MAX >> 1) as u64;
