//! Worlds of more than one bench.

use script::logic::with_logic;
use shared::WorldConfig;
use shared::world::logic::{Constant, Text};

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

/// A world with more commands, each with its script, which clients may give as often as they want.
pub fn with_commands<'a>(
    config: &WorldConfig,
    scripts: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> anyhow::Result<WorldConfig> {
    let mut logic = config.logic.clone();
    for (command, script) in scripts {
        logic.texts.push(Text::new(format!("{command}.rs"), script));
        let per_tick = [("per_tick".to_owned(), Constant::Int(0))].into();
        logic.constants.insert(command.to_owned(), per_tick);
    }
    with_logic(config, &logic).map_err(|problems| anyhow::anyhow!("{}", problems[0]))
}

const SIDE_PER_CLIENT: f64 = 20.0;
