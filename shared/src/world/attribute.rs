//! Attributes: the columns of the world.

use serde::{Deserialize, Serialize};

/// How an attribute's 32 bits are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttributeType {
    I32,
    Fixed,
    Bool,
    /// An [`EntityRef`](crate::EntityRef).
    Entity,
    /// An index into [`Schema::symbols`].
    Symbol,
}

/// How several updates of one attribute in one tick become one (thesis 3.4).
/// `Sum` adds to the value before the tick; the others replace it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeRule {
    /// All offsets added in 64 bits, clamped once.
    Sum,
    Min,
    Max,
    /// The first in command order.
    First,
    /// The last in command order.
    Last,
}

/// Who is told of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// Everyone who sees the entity, by datagram: newest wins.
    Movement,
    /// Everyone who sees the entity, reliably and in order.
    State,
    /// The entity's own client, reliably and in order.
    Private,
    /// Nobody.
    Hidden,
}

/// One column of the world, shared by all kinds that name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    pub name: String,
    pub ty: AttributeType,
    pub merge: MergeRule,
    pub audience: Audience,
    /// The least value in any kind.
    pub min: i32,
    /// The greatest value in any kind.
    pub max: i32,
}

impl Attribute {
    /// Bits that hold any value of this attribute less [`Attribute::min`].
    pub const fn bits(&self) -> u32 {
        bits_for((self.max as i64 - self.min as i64) as u64)
    }
}

/// How many bits hold every number in `0..=max`.
pub const fn bits_for(max: u64) -> u32 {
    64 - max.leading_zeros()
}
