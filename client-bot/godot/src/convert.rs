//! Entities as Godot's integers, and text as Godot's.

use godot::builtin::GString;
use shared::EntityId;

/// Stands for no entity.
pub const NO_ENTITY: i64 = -1;

/// The generation in the high 32 bits, the slot in the low. Generations stay far below 2³¹.
pub fn number(entity: EntityId) -> i64 {
    match entity {
        EntityId::NONE => NO_ENTITY,
        entity => entity.to_bits().cast_signed(),
    }
}

/// The entity of a number; any number is one, if not of an entity that exists.
pub fn entity(number: i64) -> EntityId {
    EntityId::from_bits(number.cast_unsigned())
}

pub fn text(words: &str) -> GString {
    GString::from(words)
}
