//! What a migration changes, as lines for people.

use shared::{AttributeType, Fixed, WorldConfig};

/// The lines so far.
#[derive(Debug, Default)]
pub struct Changes {
    pub lines: Vec<String>,
}

impl Changes {
    pub fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }
}

/// A number of things.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

/// A value as a world file has it.
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
