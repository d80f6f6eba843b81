//! The demo's own world, and the number of others that its bots should see.

use std::f64::consts::PI;

use anyhow::{Result, bail};
use client_bot::BehaviourKind;
use shared::{Fixed, WorldConfig};
use world_file::Overrides;
use world_file::Reader;

/// A world so large that each bot sees about 20 others, however many there are. Some guests
/// have room beside them. `overrides` replace keys of its file.
pub fn demo_world(
    clients: u32,
    guests: u32,
    behaviour: BehaviourKind,
    overrides: Overrides,
) -> Result<WorldConfig> {
    if clients == 0 {
        bail!("a demo needs at least one client");
    }
    let side = 20.0 * f64::from(clients).sqrt();
    // Fighters pick items.
    let items = match behaviour {
        BehaviourKind::Fight | BehaviourKind::Listen | BehaviourKind::Any => clients / 20,
        _ => 0,
    };
    let regions = match behaviour {
        BehaviourKind::Survey => 2,
        _ => 0,
    };
    // Listeners get notifications nearby by place, and subscribe to those far away.
    let (subscriptions, sound) = match behaviour {
        BehaviourKind::Listen => (3, 40),
        BehaviourKind::Any => (0, 40),
        _ => (0, 0),
    };
    // Strollers drift as they are steered.
    let (velocity, drift, attributes) = match behaviour {
        BehaviourKind::Stroll => (VELOCITY, DRIFT, VELOCITY_ATTRIBUTES),
        _ => ("", "", ""),
    };
    let text = format!(
        r#"
        [world]
        name = "demo"
        size = [{side}, {side}]
        aoi = 50
        capacity = {capacity}
        {velocity}

        [limits]
        clients = {players}
        regions_per_client = {regions}
        subscriptions_per_client = {subscriptions}

        [commands]
        blast = {{ sound = {sound} }}
        shout = {{ radius_max = {sound} }}

        [[kind]]
        name = "player"
        attributes = [
            {{ name = "hp", type = "i32", default = 100, min = 0, max = 100, audience = "state" }},
            {attributes}
        ]

        [[kind]]
        name = "item"
        population = {items}
        attributes = [{{ name = "owner", type = "entity", merge = "first", audience = "state", tells_owner = true }}]

        {drift}
        "#,
        side = side.max(1.0),
        players = clients + guests,
        capacity = clients + guests + items,
    );
    let reader = Reader {
        overrides,
        ..Reader::default()
    };
    Ok(reader.parse(&text, "the demo's world")?.config)
}

/// A key of `[world]`.
const VELOCITY: &str = r#"velocity = ["vx", "vy"]"#;
const VELOCITY_ATTRIBUTES: &str = r#"
    { name = "vx", type = "fixed", merge = "last", audience = "hidden" },
    { name = "vy", type = "fixed", merge = "last", audience = "hidden" },
"#;
const DRIFT: &str = r#"
    [logic]
    builtin = ["move", "strike", "heal", "blast", "pick", "roam", "shout", "steer"]

    [[every]]
    kind = "player"
    ticks = 1
    command = "drift"
"#;

/// The number of others that a bot sees when all are spread evenly over a square: a
/// disc's share of the area, without its parts beyond the edges.
pub fn expected_visible(world: &WorldConfig, clients: u32) -> f64 {
    let sizes = &world.schema.world.size;
    let r = world.schema.world.aoi.to_f64() / sizes[0].to_f64();
    let share = if r >= 1.0 {
        1.0
    } else {
        PI * r * r - 8.0 / 3.0 * r.powi(3) + r.powi(4) / 2.0
    };
    let others = share * f64::from(clients.saturating_sub(1));
    others.min(f64::from(world.schema.world.visible_max) - 1.0)
}

/// The edges of a world, without its planes, and how many of these it has.
pub fn size_text(world: &WorldConfig) -> String {
    let schema = &world.schema;
    let mut sizes = schema.world.size.clone();
    if !schema.atlas.is_empty() {
        let own = schema.atlas.rectangle(0).size.map(Fixed::from_raw);
        sizes[..2].copy_from_slice(&own);
    }
    let sizes: Vec<String> = (sizes.iter().map(|s| format!("{:.0}", s.to_f64()))).collect();
    let sizes = sizes.join(" × ");
    match schema.atlas.count() - 1 {
        0 => sizes,
        1 => format!("{sizes} and a plane"),
        planes => format!("{sizes} and {planes} planes"),
    }
}
