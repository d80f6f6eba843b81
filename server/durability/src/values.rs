//! Values of attributes as people write them.

use shared::{AttributeType, AttributeValue, Plain, WorldConfig};

/// A value of an attribute, with the word after it; an entity by the number of its reference.
pub fn plain(world: &WorldConfig, ty: AttributeType, words: [i32; 2]) -> Plain<'_> {
    let reference = |entity: shared::EntityRef| Plain::Whole(entity.0.into());
    AttributeValue::of(ty, words).plain(&world.schema.symbols, reference)
}

/// A value in the form of a world file.
pub fn value_text(world: &WorldConfig, ty: AttributeType, words: [i32; 2]) -> String {
    match plain(world, ty, words) {
        Plain::Nothing => words[0].to_string(),
        plain => plain.to_string(),
    }
}
