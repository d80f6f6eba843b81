//! Values of attributes as people write them.

use shared::{AttributeType, Fixed, WorldConfig};

/// A value in the form of a world file.
pub fn value_text(world: &WorldConfig, ty: AttributeType, value: i32) -> String {
    match ty {
        AttributeType::Fixed => Fixed::from_raw(value).to_f64().to_string(),
        AttributeType::Bool => (value != 0).to_string(),
        AttributeType::Symbol => {
            let symbol = usize::try_from(value).ok();
            let symbol = symbol.and_then(|place| world.schema.symbols.get(place));
            symbol.cloned().unwrap_or_else(|| value.to_string())
        }
        AttributeType::I32 | AttributeType::Entity => value.to_string(),
    }
}
