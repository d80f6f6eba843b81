//! Sizes and quotas: `[limits]` in the world file.

use super::{Problem, in_range, raw, regions};
use crate::world::config::{HEARINGS_MAX, Limits};
use crate::world::id::CAPACITY_MAX;
use crate::world::notification::NotificationKind;
use crate::world::schema::WorldInfo;

pub(super) fn limits(
    raw: raw::Limits,
    world: &WorldInfo,
    regions: regions::RegionLimits,
    every: u64,
    schedules: bool,
    notifications: &[NotificationKind],
) -> Result<Limits, Problem> {
    let capacity = u64::from(world.capacity);
    let clients = in_range(
        "limits.clients",
        raw.clients.unwrap_or(world.capacity.min(65_536)),
        1,
        CAPACITY_MAX,
    )?;
    let whole = |key: &str, value: Option<u64>, otherwise: u64, max: u64| {
        in_range(key, value.unwrap_or(otherwise.min(max)), 1, max)
    };
    let indexable = u64::from(u32::MAX) >> 1;
    let client_commands_per_tick = in_range(
        "limits.client_commands_per_tick",
        raw.client_commands_per_tick,
        1,
        1000,
    )?;
    let timed_commands = in_range(
        "limits.timed_commands",
        raw.timed_commands
            .unwrap_or(if schedules { capacity } else { 0 }),
        u64::from(schedules),
        indexable,
    )?;
    // Births of the first tick, each client's quota, each rule's entities, and all
    // that may wait for one tick.
    let commands = capacity
        + u64::from(clients) * u64::from(client_commands_per_tick)
        + capacity * every
        + timed_commands
        + 1024;
    let commands_per_tick = whole(
        "limits.commands_per_tick",
        raw.commands_per_tick,
        commands,
        indexable,
    )?;
    let subscriptions_per_client = in_range(
        "limits.subscriptions_per_client",
        raw.subscriptions_per_client,
        0,
        1024,
    )?;
    // These exist only where the file asks for them.
    let asked = [NotificationKind::Blast, NotificationKind::Shout]
        .iter()
        .any(|kind| notifications.contains(kind));
    let is_heard = subscriptions_per_client > 0 && !notifications.is_empty();
    // A command tells of one thing at most, and so does an entity besides: it falls, or
    // has a new owner.
    let notifications = match asked || is_heard {
        true => (commands_per_tick + capacity).min(indexable),
        false => 0,
    };
    let deliveries = match world.visible_max {
        // With nothing remembered there is no bound per client; a guess that the
        // file can overrule.
        0 => u64::from(clients) * 256,
        // Each client's old and new view: this cannot overflow.
        visible => u64::from(clients) * u64::from(visible) * 2,
    };
    Ok(Limits {
        clients,
        observers_per_client: in_range(
            "limits.observers_per_client",
            raw.observers_per_client,
            1,
            64,
        )?,
        regions_per_client: regions.per_client,
        region_edge_max: regions.edge_max,
        entity_regions: regions.of_entities,
        commands_per_tick: commands_per_tick as u32,
        timed_commands: timed_commands as u32,
        updates_per_tick: whole(
            "limits.updates_per_tick",
            raw.updates_per_tick,
            (commands_per_tick * 4).max(65_536),
            indexable,
        )? as u32,
        deliveries_per_tick: whole(
            "limits.deliveries_per_tick",
            raw.deliveries_per_tick,
            deliveries,
            indexable,
        )?,
        notifications_per_tick: in_range(
            "limits.notifications_per_tick",
            raw.notifications_per_tick.unwrap_or(notifications),
            u64::from(asked),
            indexable,
        )? as u32,
        subscriptions_per_client,
        predicate_filters: in_range("limits.predicate_filters", raw.predicate_filters, 1, 1024)?,
        predicate_bytes: in_range("limits.predicate_bytes", raw.predicate_bytes, 16, 16_384)?,
        client_notices_per_tick: in_range(
            "limits.client_notices_per_tick",
            raw.client_notices_per_tick,
            1,
            65_536,
        )?,
        client_hearings_per_tick: in_range(
            "limits.client_hearings_per_tick",
            raw.client_hearings_per_tick,
            1,
            // All clients' together are counted in 32 bits.
            HEARINGS_MAX.min(u32::MAX / clients),
        )?,
        client_commands_per_tick,
        client_commands_burst: in_range(
            "limits.client_commands_burst",
            raw.client_commands_burst,
            client_commands_per_tick,
            10_000,
        )?,
        client_requests_per_second: in_range(
            "limits.client_requests_per_second",
            raw.client_requests_per_second,
            1,
            100,
        )?,
        client_stream_bytes: in_range(
            "limits.client_stream_bytes",
            raw.client_stream_bytes,
            4096,
            1 << 30,
        )?,
        idle_seconds: in_range("limits.idle_seconds", raw.idle_seconds, 1, 3600)?,
        resume_seconds: in_range("limits.resume_seconds", raw.resume_seconds, 0, 3600)?,
    })
}
