use shared::WorldConfig;
use shared::world::edit::Edit;
use shared::world::field::{self, Goals};

use super::fields::SEARCHES_MAX;
use crate::notification::Notification;
use crate::space::field::Search;

/// The buffers that a world needs on this backend, with their sizes in bytes when full.
pub fn memory_plan(config: &WorldConfig) -> Vec<(&'static str, u64)> {
    let world = &config.schema.world;
    let limits = &config.limits;
    let slots = u64::from(world.capacity);
    let columns = config.schema.attributes.len() as u64;
    let clients = u64::from(limits.clients);
    let updates = u64::from(limits.updates_per_tick);
    let commands = u64::from(limits.commands_per_tick);
    let carriers = slots * u64::from(limits.entity_regions);
    // One for each command before the limit applies, and those of two ticks.
    let notifications = match u64::from(limits.notifications_per_tick) {
        0 => 0,
        kept => commands + 2 * kept,
    };
    let areas = u64::from(limits.notifications_per_tick);
    let hearings = match areas {
        0 => 0,
        _ => clients * u64::from(limits.client_hearings_per_tick),
    };
    let causes = u64::from(config.causes);
    let hides = u64::from(config.schema.visibility.hides.is_some());
    let rankings = config.schema.rankings.len() as u64;
    let has_doors = !config.schema.doors.is_empty();
    let tracked = u64::from(config.motion.is_some());
    let observer = size_of::<Option<crate::Observer>>() as u64;
    vec![
        // A command, its link, its entry in the free list, and a tick's list.
        (
            "timed commands",
            u64::from(limits.timed_commands) * (size_of::<crate::TimedCommand>() as u64 + 8 + 24),
        ),
        // What was in the rows before two writes of each, sorted and not; commands that wait.
        (
            "atomic commands",
            match u64::from(limits.atomic_per_tick) {
                0 => 0,
                most => most * (2 * 24 + 8) + commands * size_of::<crate::DeferredCommand>() as u64,
            },
        ),
        ("state rows", slots * columns * 4),
        ("slots", slots * 12),
        // In the order of values and of slots; a number and a slot, three times.
        ("rankings", slots * (24 * rankings + 32 * rankings.min(1))),
        // A pair, a thing in order, and where those of a holder begin; those whose holder has ended.
        // Likewise of the members of groups.
        (
            "things",
            slots * 20 * config.schema.relations().count() as u64,
        ),
        // Once more with the cells of doors and edits; and where each entity was before the tick, where there
        // are walls.
        (
            "layers",
            config.schema.layers.words().len() as u64
                * (4 + 4 * u64::from(has_doors || config.limits.edits_per_tick > 0))
                + slots * 8 * u64::from(config.schema.layers.blocked().is_some())
                + edited_cells(config),
        ),
        // Steps, the cells of goals and doors, and the searches.
        ("fields", fields(config)),
        // A track and the position before the tick; the slots and velocities of three lists.
        ("tracks and courses", slots * tracked * (28 + 12 + 3 * 16)),
        (
            "past positions",
            slots * u64::from(limits.rewind_ticks) * config.dimensions() as u64 * 4,
        ),
        // A place and a kind before the tick and after it; a pair, a box and its copy of carriers.
        (
            "zones",
            zones(config) * (2 * 20 + 2 * (2 * 16 + 2 * 28 + 8)),
        ),
        (
            "rests",
            slots * config.schema.resting_commands().count() as u64 * 8,
        ),
        // An entry of a tree, whose nodes may be half empty.
        ("rebirths", slots * 16 * u64::from(config.has_falls())),
        (
            "observers",
            clients * u64::from(limits.observers_per_client) * observer,
        ),
        (
            "regions",
            (clients * u64::from(limits.regions_per_client) + carriers * 2)
                * size_of::<Option<crate::Region>>() as u64,
        ),
        // A pair and its copy for sorting; a box as given and a sorted one.
        ("index of publications", carriers * (2 * 16 + 2 * 28)),
        ("index of areas", areas * (2 * 16 + 2 * 28)),
        // And deliveries of parts of the clients, before they are joined.
        ("known sets", clients * u64::from(world.visible_max) * 2 * 4),
        // With those of clients that have no effect.
        ("commands", commands * (20 + 8 + 4 + 16)),
        // Parts of the commands keep up to twice as many before they are joined.
        ("updates and their sort", updates * (16 + 16)),
        ("merged changes", updates * (14 + 2 * (6 + 6 * causes))),
        // Where runs of buckets begin; slots and positions, twice; a bucket; pairs and their copy while
        // entities are few, then entries; and where each entity was after the tick before, and what
        // hid it.
        (
            "bucket index and its sort",
            slots * (16 + 2 * 16 + 4 + 2 * 16 + 4 + 12 + 8 * hides),
        ),
        ("clients' offsets and runs", clients * (8 + 4 + 24)),
        ("deliveries", limits.deliveries_per_tick * 2 * 4),
        ("first updates", slots * columns * 8 * causes),
        (
            "notifications",
            notifications * size_of::<Notification>() as u64,
        ),
        // Hearings of one part and of two ticks.
        ("hearings", hearings * 3 * 4),
    ]
}

/// Bytes of the cells that scripts change: an entry of a tree, whose nodes may be half empty; and of
/// two ticks.
fn edited_cells(config: &WorldConfig) -> u64 {
    let limits = &config.limits;
    u64::from(limits.edited_cells) * 32
        + 2 * u64::from(limits.edits_per_tick) * size_of::<Edit>() as u64
}

/// Bytes of the fields: of each, goals and doors of what is in force and of what is under way.
fn fields(config: &WorldConfig) -> u64 {
    let schema = &config.schema;
    let fields = schema.fields.len() as u64;
    let Some(walls) = schema.layers.blocked().filter(|_| fields > 0) else {
        return 0;
    };
    let [width, height] = walls.grid.cells.map(|cells| cells as u64);
    let cells = width * height;
    let goals = schema.fields.iter().map(|field| match field.goals {
        Goals::Kind(_) => u64::from(schema.world.capacity).min(cells),
        Goals::Cells(_) => 0,
    });
    let closed = cells * fields * u64::from(!schema.doors.is_empty());
    let has_costs = schema.fields.iter().any(|field| !field.costs.is_empty());
    fields * field::words(walls) as u64 * 4
        + (goals.sum::<u64>() + closed) * 2 * 4
        + cells * u64::from(has_costs)
        + fields.min(SEARCHES_MAX as u64) * (width + 2) * (height + 2) * Search::CELL_BYTES
}

/// The most zones at a time, and the slots of a world that has any.
fn zones(config: &WorldConfig) -> u64 {
    let capacity = u64::from(config.schema.world.capacity);
    let zones = &config.schema.zones;
    let carried = zones.iter().filter(|zone| zone.carrier.is_some()).count() as u64;
    match zones.len() {
        0 => 0,
        all => all as u64 + capacity * carried.max(1),
    }
}
