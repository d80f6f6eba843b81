//! Values of attributes as people write them.

use shared::{AttributeType, AttributeValue, Plain, WorldConfig};

/// A value of an attribute; an entity by the number of its reference.
pub fn plain(world: &WorldConfig, ty: AttributeType, value: i32) -> Plain<'_> {
    let reference = |entity: shared::EntityRef| Plain::Whole(entity.0.into());
    AttributeValue::of(ty, value).plain(&world.schema.symbols, reference)
}

/// A value in the form of a world file.
pub fn value_text(world: &WorldConfig, ty: AttributeType, value: i32) -> String {
    match plain(world, ty, value) {
        Plain::Nothing => value.to_string(),
        plain => plain.to_string(),
    }
}
