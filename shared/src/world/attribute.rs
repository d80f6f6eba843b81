//! Attributes: the columns of the world.

use serde::{Deserialize, Serialize};

use super::fixed::Fixed;

/// The type of an attribute's 32 bits, which are those of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttributeType {
    I32,
    Fixed,
    Bool,
    /// An [`EntityRef`](crate::EntityRef).
    Entity,
    /// An index into [`Schema::symbols`](crate::Schema).
    Symbol,
    /// The low half of a number of 64 bits, whose high half is in the next column.
    I64,
    /// The high half of the number that begins in the column before. World files, scripts and
    /// clients have the whole number only.
    High,
    /// The [`TextHandle`](super::words::TextHandle) of a text.
    Text,
}

impl AttributeType {
    /// The type as world files and JSON name it.
    pub const fn name(self) -> &'static str {
        match self {
            AttributeType::I32 => "i32",
            AttributeType::Fixed => "fixed",
            AttributeType::Bool => "bool",
            AttributeType::Entity => "entity",
            AttributeType::Symbol => "symbol",
            AttributeType::Text => "text",
            AttributeType::I64 => "i64",
            AttributeType::High => "high",
        }
    }

    /// The type as scripts name it.
    pub const fn script_name(self) -> &'static str {
        match self {
            AttributeType::I32 => "i32",
            AttributeType::Fixed => "Fixed",
            AttributeType::Bool => "bool",
            AttributeType::Entity => "Entity",
            AttributeType::Symbol => "Symbol",
            AttributeType::Text => "Text",
            AttributeType::I64 | AttributeType::High => "i64",
        }
    }

    /// What a word of the type stands for. Who keeps, exports or sends words asks this, so that a
    /// new type is classified here, once.
    pub const fn content(self) -> Content {
        match self {
            AttributeType::Entity => Content::Entity,
            AttributeType::Text => Content::Text,
            AttributeType::I32
            | AttributeType::Fixed
            | AttributeType::Bool
            | AttributeType::Symbol
            | AttributeType::I64
            | AttributeType::High => Content::Value,
        }
    }

    /// Whether values can be added, and have an order.
    pub const fn is_number(self) -> bool {
        match self {
            AttributeType::I32 | AttributeType::Fixed | AttributeType::I64 => true,
            AttributeType::Bool
            | AttributeType::Entity
            | AttributeType::Symbol
            | AttributeType::Text
            | AttributeType::High => false,
        }
    }

    /// Whether a column has half of a number of 64 bits.
    pub const fn is_half(self) -> bool {
        match self {
            AttributeType::I64 | AttributeType::High => true,
            AttributeType::I32
            | AttributeType::Fixed
            | AttributeType::Bool
            | AttributeType::Entity
            | AttributeType::Symbol
            | AttributeType::Text => false,
        }
    }

    /// Whether values stand for names, of which a world file lists some for each attribute.
    pub const fn has_symbols(self) -> bool {
        match self {
            AttributeType::Symbol => true,
            AttributeType::I32
            | AttributeType::Fixed
            | AttributeType::Bool
            | AttributeType::Entity
            | AttributeType::Text
            | AttributeType::I64
            | AttributeType::High => false,
        }
    }

    /// How many of the 32 bits are behind the point.
    pub const fn fraction_bits(self) -> u32 {
        match self {
            AttributeType::Fixed => Fixed::FRACTION_BITS,
            AttributeType::I32
            | AttributeType::Bool
            | AttributeType::Entity
            | AttributeType::Symbol
            | AttributeType::Text
            | AttributeType::I64
            | AttributeType::High => 0,
        }
    }

    /// What a value has to be, for people.
    pub const fn expected(self) -> &'static str {
        match self {
            AttributeType::I32 => "a whole number",
            AttributeType::I64 => "a whole number of 64 bits",
            AttributeType::High => "half of a number",
            AttributeType::Fixed => "a number",
            AttributeType::Bool => "true or false",
            AttributeType::Entity => "an entity",
            AttributeType::Symbol => "one of the symbols",
            AttributeType::Text => "a text",
        }
    }
}

/// What a word stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing else: it is the value, or half of it.
    Value,
    /// An entity, which has another reference in another world.
    Entity,
    /// A text, which is elsewhere.
    Text,
}

/// How several updates of one attribute in one tick become one change (thesis, 3.4).
/// `Sum` adds to the value before the tick; the others replace it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeRule {
    /// The sum of all updates in 64 bits, clamped once.
    Sum,
    Min,
    Max,
    /// The first in command order.
    First,
    /// The last in command order.
    Last,
}

/// The clients that are sent an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// All clients that see the entity, by datagram: newest wins.
    Movement,
    /// All clients that see the entity, reliably and in order.
    State,
    /// The entity's own client, reliably and in order.
    Private,
    /// No client.
    Hidden,
}

/// One column of the world. Kinds that use the same name share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    pub name: String,
    pub ty: AttributeType,
    pub merge: MergeRule,
    pub audience: Audience,
    /// The smallest value in any kind.
    pub min: i32,
    /// The largest value in any kind.
    pub max: i32,
    /// Clients are sent movement in multiples of 2 to the power of this, in raw units;
    /// 0 for the other audiences.
    pub step: u32,
}

impl Attribute {
    /// The largest [`Attribute::step`]; that of positions is at most a unit.
    pub const STEP_MAX: u32 = 30;

    /// The step in which clients are sent movement, in units; `None` if it is sent
    /// exactly.
    pub fn wire_step(&self) -> Option<f64> {
        let fraction_bits = self.ty.fraction_bits();
        (self.step > 0).then(|| (f64::from(self.step) - f64::from(fraction_bits)).exp2())
    }

    /// The number of bits that hold any value minus [`Attribute::min`].
    pub const fn bits(&self) -> u32 {
        bits_for((self.max as i64 - self.min as i64) as u64)
    }
}

/// The number of bits that hold every number in `0..=max`.
pub const fn bits_for(max: u64) -> u32 {
    64 - max.leading_zeros()
}

/// The halves of a number of 64 bits, the low one first.
pub const fn halves(number: i64) -> [i32; 2] {
    [number as i32, (number >> 32) as i32]
}

/// The number of these halves.
pub const fn joined([low, high]: [i32; 2]) -> i64 {
    (high as i64) << 32 | low.cast_unsigned() as i64
}

/// The name of the column of a number's high half: none that can be written.
pub fn high_name(name: &str) -> String {
    format!("{name} high")
}
