//! Sizes and quotas: `[limits]` in the world file.

use shared::Limits;
use shared::world::given::KEPT_COMMANDS;
use shared::world::limits::{INDEX_MAX, KEPT_BIRTHS_MAX};
use shared::world::schema::WorldInfo;

use super::check::Problems;
use super::compile::Reasons;
use super::ranges::{Limits as Given, Ranges};

/// The properties of a world that its limits depend on.
pub(super) struct Needs<'a> {
    pub world: &'a WorldInfo,
    /// The number of `[[every]]` rules.
    pub rules: u64,
    /// Attributes that accounts keep: each newborn is given each of them.
    pub persists: u64,
    /// Whether accounts keep things: some are born in a tick.
    pub keeps_things: bool,
    /// Whether anything puts commands off.
    pub schedules: bool,
    /// Whether scripts may come that do, or that tell of something: room that a running world
    /// lacks can't be made later.
    pub reloads: bool,
    /// Whether commands emit notifications: then there must be room for them.
    pub is_heard: bool,
    /// Whether scripts can change cells of layers: their edits travel as notifications.
    pub has_editable: bool,
    /// Whether scripts ask where entities were.
    pub rewinds: bool,
    /// Whether any command is atomic.
    pub is_atomic: bool,
    /// Whether attributes or commands have texts.
    pub has_texts: bool,
    /// Whether any notifications can happen.
    pub notifies: bool,
}

/// Checks `[limits]`. `ranges` has already what follows from regions.
pub(super) fn limits(
    mut ranges: Ranges,
    given: &Given,
    needs: &Needs<'_>,
    problems: &mut Problems,
) -> Limits {
    ranges.clients.default = needs.world.capacity.min(65_536);
    let clients = ranges.clients.value(given.clients);
    let client_commands = ranges.client_commands_per_tick;
    let client_commands = client_commands.value(given.client_commands_per_tick);
    ranges.client_commands_burst.min = client_commands;
    [
        ranges.input_ticks_max.default,
        ranges.late_ticks_max.default,
    ] = of_rate(needs.world.tick_hz, ranges.late_ticks_max.max);
    ranges.rewind_ticks.min = u32::from(needs.rewinds);
    ranges.client_bytes_per_tick.or_zero = true;
    if needs.has_texts {
        ranges.texts.default = 65_536;
        ranges.texts.min = 1;
    }
    let unread_max = TOLD_TICKS_MAX / needs.world.tick_hz.max(1);
    ranges.unread_seconds.max = unread_max.clamp(1, ranges.unread_seconds.max);
    // The hearings of all clients together are counted in 32 bits.
    let hearings_max = ranges.client_hearings_per_tick.max;
    ranges.client_hearings_per_tick.max = hearings_max.min(u32::MAX / clients);
    of_tick(&mut ranges, given, needs, clients, client_commands);
    ranges.check(given, problems)
}

/// Adds to problems of limits that are 0 what in the texts needs them.
pub(super) fn explain(reasons: &Reasons, problems: &mut Problems) {
    let reasons = [
        ("limits.timed_commands", &reasons.timed_commands),
        ("limits.rewind_ticks", &reasons.rewind_ticks),
        ("limits.atomic_per_tick", &reasons.atomic_per_tick),
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
fn of_rate(tick_hz: u32, most: u32) -> [u32; 2] {
    [tick_hz.div_ceil(2), tick_hz].map(|ticks| ticks.clamp(4, most))
}

/// Sizes that hold for a whole tick: each has room for what the ones before let happen.
fn of_tick(
    ranges: &mut Ranges,
    given: &Given,
    needs: &Needs<'_>,
    clients: u32,
    client_commands: u32,
) {
    let (capacity, clients) = (u64::from(needs.world.capacity), u64::from(clients));
    let timed = &mut ranges.timed_commands;
    timed.default = match needs.schedules || needs.reloads {
        true => capacity,
        false => 0,
    };
    timed.min = u64::from(needs.schedules);
    let timed = timed.value(given.timed_commands);
    // The births of the first tick, each client's quota, births of what accounts keep, a command per
    // entity and rule, and all timed commands, which may fall due in one tick.
    let quotas = clients * (u64::from(client_commands) + needs.persists);
    let kept = u64::from(needs.keeps_things) * u64::from(KEPT_BIRTHS_MAX * KEPT_COMMANDS);
    let commands = capacity + quotas + kept + capacity * needs.rules + timed + 1024;
    ranges.commands_per_tick.default = commands.min(INDEX_MAX);
    let commands = ranges.commands_per_tick.value(given.commands_per_tick);
    ranges.atomic_per_tick.default = match needs.is_atomic || needs.reloads {
        true => commands.min(65_536),
        false => 0,
    };
    ranges.atomic_per_tick.min = u64::from(needs.is_atomic);
    ranges.updates_per_tick.default = (commands * 4).clamp(65_536, INDEX_MAX);
    let deliveries = match needs.world.visible_max {
        // Known sets are unbounded, so this is a guess, which the file can override.
        0 => clients * 256,
        // Each client's old and new view: never exceeded.
        visible => clients * u64::from(visible) * 2,
    };
    ranges.deliveries_per_tick.default = deliveries.clamp(1, INDEX_MAX);
    let subscriptions = ranges.subscriptions_per_client;
    let is_subscribed = subscriptions.value(given.subscriptions_per_client) > 0 && needs.notifies;
    // One per command, and one per entity that falls or is picked.
    ranges.notifications_per_tick.default =
        match needs.is_heard || needs.has_editable || is_subscribed || needs.reloads {
            true => (commands + capacity).min(INDEX_MAX),
            false => 0,
        };
    ranges.notifications_per_tick.min = u64::from(needs.is_heard || needs.has_editable);
    if needs.has_editable {
        (ranges.edits_per_tick.min, ranges.edits_per_tick.default) = (1, 256);
        (ranges.edited_cells.min, ranges.edited_cells.default) = (1, 65_536);
    }
}

/// Frames of the stream and datagrams name ticks by 16 bits, which the receiver completes with
/// the newest tick that it knows.
const TOLD_TICKS_MAX: u32 = 30_000;
