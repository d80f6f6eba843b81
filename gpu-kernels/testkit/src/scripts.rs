//! Scripts for tests.

use std::fmt::Write;

use script::logic::with_logic;
use shared::world::logic::{Constant, Text};
use shared::{AttributeType, MergeRule, Schema, WorldConfig};

/// A world with texts besides those that it has.
pub fn with_texts(config: &WorldConfig, texts: Vec<Text>) -> WorldConfig {
    let mut logic = config.logic.clone();
    logic.texts.extend(texts);
    with_logic(config, &logic).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// A world whose clients may give these commands as often as they want, once it has them.
pub fn without_limit(config: &WorldConfig, commands: &[&str]) -> WorldConfig {
    let mut config = config.clone();
    for &command in commands {
        let settings = config.logic.constants.entry(command.to_owned());
        let settings = settings.or_default();
        settings.insert("per_tick".to_owned(), Constant::Int(0));
    }
    config
}

/// A world whose clients may give all commands as often as they want.
pub fn without_limits(config: &WorldConfig) -> WorldConfig {
    let clients = config.schema.commands.iter();
    let clients = clients.filter(|command| command.per_tick > 0);
    let names: Vec<_> = clients.map(|command| command.name.as_str()).collect();
    with_texts(&without_limit(config, &names), vec![])
}

/// A command `shoot(me, target, reach, ticks)`, which moves the target if it was within reach so
/// many ticks ago.
pub fn shots() -> Text {
    let text = "\
#[command(clients)]
fn shoot(me: Entity, target: Entity, reach: Fixed, ticks: i32) {
    if was_within(target, reach, tick() - ticks) {
        target.position += random_offset(1.5);
    }
    // The nearest is often an entity that was born of late.
    let near = nearest(me, 50.0);
    if was_within(near, 30.0, tick() - ticks % 8) {
        near.position += random_offset(0.5);
    }
}
";
    Text::new("shots.rs", text.to_owned())
}

/// A command `set_NAME(me, target, value)` for each attribute but the position. It updates
/// the attribute of the target, as its merge rule allows: to the value, or by it.
pub fn setters(schema: &Schema) -> Text {
    let mut text = String::new();
    for attribute in &schema.attributes[schema.dimensions()..] {
        let name = &attribute.name;
        let value = match attribute.ty {
            AttributeType::I32 => "value",
            AttributeType::Fixed => "value as Fixed",
            AttributeType::Bool => "value > 0",
            AttributeType::Entity => "if value > 0 { me } else { target }",
            AttributeType::Symbol => {
                &format!("if value > 0 {{ me.{name} }} else {{ target.{name} }}")
            }
        };
        let update = match attribute.merge {
            MergeRule::Sum => format!("target.{name} += {value};"),
            MergeRule::Min => format!("target.{name}.min({value});"),
            MergeRule::Max => format!("target.{name}.max({value});"),
            MergeRule::First | MergeRule::Last => format!("target.{name} = {value};"),
        };
        writeln!(
            text,
            "#[command(clients)]\nfn set_{name}(me: Entity, target: Entity, value: i32) {{ {update} }}",
        )
        .expect("a string takes everything");
    }
    Text::new("setters.rs", text)
}
