//! Scripts for tests.

use std::fmt::Write;

use script::logic::with_logic;
use shared::world::logic::Text;
use shared::{AttributeType, MergeRule, Schema, WorldConfig};

/// A world with texts besides those that it has.
pub fn with_texts(config: &WorldConfig, texts: Vec<Text>) -> WorldConfig {
    let mut logic = config.logic.clone();
    logic.texts.extend(texts);
    with_logic(config, &logic).unwrap_or_else(|problems| panic!("{problems:?}"))
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
