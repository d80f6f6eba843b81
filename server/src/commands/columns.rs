//! What the attributes of a world cost.

use shared::Schema;
use shared::world::columns::{ATTRIBUTES_MAX, KIND_ATTRIBUTES_MAX};

/// How many columns a world has, which arrays and maps take several, which kind has the most, and
/// their memory.
pub fn shown(schema: &Schema) -> String {
    let columns = schema.attributes.len();
    let collections = schema.collections();
    let mut parts: Vec<String> = collections
        .iter()
        .map(|own| format!("{} of `{}`", own.len, own.name))
        .collect();
    let grouped: usize = collections.iter().map(|own| usize::from(own.len)).sum();
    if !parts.is_empty() {
        parts.push(format!("{} others", columns - grouped));
    }
    let of = match parts.is_empty() {
        true => String::new(),
        false => format!(" ({})", parts.join(", ")),
    };
    let widest = schema
        .kinds
        .iter()
        .rev()
        .max_by_key(|kind| kind.attributes.len());
    let widest = widest.map_or_else(String::new, |kind| {
        let own = kind.attributes.len();
        format!(", `{}` has {own} of {KIND_ATTRIBUTES_MAX}", kind.name)
    });
    let bytes = columns * size_of::<i32>();
    let all = bytes as f64 * f64::from(schema.world.capacity) / 1e6;
    format!(
        "{columns} of {ATTRIBUTES_MAX} columns{of}{widest}: {bytes} bytes for each of {} entities, {all:.1} MB",
        schema.world.capacity
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_and_maps_are_named_with_their_columns() {
        let world = |attributes: &str| {
            let text = format!(
                "[world]\ncapacity = 1000\n[[kind]]\nname = \"player\"\nattributes = [{attributes}]"
            );
            shown(&world_file::parse(&text, "w.toml").unwrap().schema)
        };
        let hp = "{ name = \"hp\", type = \"i32\", audience = \"state\" }";
        assert_eq!(
            world(hp),
            "3 of 256 columns, `player` has 3 of 64: 12 bytes for each of 1000 entities, 0.0 MB"
        );
        let many = "{ name = \"slot\", type = { array = \"i32\", length = 20 }, audience = \"state\" },
            { name = \"bag\", type = { map = \"i32\", keys = [\"a\", \"b\"] }, audience = \"state\" }";
        assert_eq!(
            world(&format!("{hp}, {many}")),
            "25 of 256 columns (20 of `slot`, 2 of `bag`, 3 others), `player` has 25 of 64: 100 bytes \
             for each of 1000 entities, 0.1 MB"
        );
    }
}
