//! Worlds of more than one bench.

use shared::WorldConfig;

/// Players in so large a world that each sees about 20 others, and items that do nothing.
pub fn about_20_in_view(
    clients: u32,
    items: u32,
    tick_hz: u32,
    seed: u64,
) -> anyhow::Result<WorldConfig> {
    let side = (SIDE_PER_CLIENT * f64::from(clients).sqrt()).max(1.0);
    let capacity = clients.saturating_add(items);
    let text = format!(
        r#"
        [world]
        size = [{side}, {side}]
        aoi = 50
        capacity = {capacity}
        seed = {seed}
        tick_hz = {tick_hz}
        [limits]
        clients = {clients}
        [[kind]]
        name = "player"
        attributes = [{{ name = "hp", type = "i32", default = 100, audience = "state" }}]
        [[kind]]
        name = "item"
        population = {items}
        "#
    );
    Ok(world_file::parse(&text, "the bench's world")?)
}

const SIDE_PER_CLIENT: f64 = 20.0;
