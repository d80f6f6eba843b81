//! The types of scripts, and values during lowering.

use std::fmt;

use shared::world::attribute::{halves, joined};
use shared::{AttributeType, Schema};

use crate::ir::{NOBODY, Operand, Point};

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Of what gives no value.
    Unit,
    /// Of what never goes on, such as `return`.
    Never,
    Int,
    /// 64 bits: two words, the low half first.
    Long,
    Bool,
    Fixed,
    Entity,
    /// Any of the world's.
    Symbol,
    /// Of the attribute in this column; with [`KEYS`](shared::world::symbols::KEYS), a key of the map
    /// that begins there.
    SymbolOf(u16),
    /// The handle of a text; 0: empty.
    Text,
    /// Of the attribute `kind`.
    Kind,
    Point,
}

impl Type {
    /// The type that a script writes by this name.
    pub fn named(name: &str) -> Option<Type> {
        Some(match name {
            "i32" => Type::Int,
            "i64" => Type::Long,
            "bool" => Type::Bool,
            "Fixed" => Type::Fixed,
            "Entity" => Type::Entity,
            "Symbol" => Type::Symbol,
            "Text" => Type::Text,
            "Point" => Type::Point,
            _ => return None,
        })
    }

    /// The type of an attribute in a column.
    pub fn of_column(schema: &Schema, column: usize) -> Type {
        match Type::of(schema.attributes[column].ty) {
            Type::Symbol => Type::SymbolOf(column as u16),
            ty => ty,
        }
    }

    /// Without the attribute of which it is a symbol.
    pub fn plain(self) -> Type {
        match self {
            Type::SymbolOf(_) => Type::Symbol,
            ty => ty,
        }
    }

    pub fn is_symbol(self) -> bool {
        matches!(self, Type::Symbol | Type::SymbolOf(_))
    }

    /// The type of a word of this type.
    pub fn of(ty: AttributeType) -> Type {
        match ty {
            AttributeType::I32 | AttributeType::High => Type::Int,
            AttributeType::I64 => Type::Long,
            AttributeType::Fixed => Type::Fixed,
            AttributeType::Bool => Type::Bool,
            AttributeType::Entity => Type::Entity,
            AttributeType::Symbol => Type::Symbol,
            AttributeType::Text => Type::Text,
        }
    }

    /// The types of its words, outside of scripts.
    pub fn words(self, dimensions: usize) -> Vec<AttributeType> {
        match self {
            Type::Int | Type::Kind => vec![AttributeType::I32],
            Type::Long => vec![AttributeType::I64, AttributeType::High],
            Type::Bool => vec![AttributeType::Bool],
            Type::Fixed => vec![AttributeType::Fixed],
            Type::Entity => vec![AttributeType::Entity],
            Type::Symbol | Type::SymbolOf(_) => vec![AttributeType::Symbol],
            Type::Text => vec![AttributeType::Text],
            Type::Point => vec![AttributeType::Fixed; dimensions],
            Type::Unit | Type::Never => vec![],
        }
    }

    /// The number of operands of a value.
    pub fn width(self, dimensions: usize) -> usize {
        match self {
            Type::Unit | Type::Never => 0,
            Type::Point => dimensions,
            Type::Long => 2,
            Type::Int
            | Type::Bool
            | Type::Fixed
            | Type::Entity
            | Type::Symbol
            | Type::SymbolOf(_)
            | Type::Text
            | Type::Kind => 1,
        }
    }

    pub fn is_number(self) -> bool {
        matches!(self, Type::Int | Type::Fixed | Type::Long)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Unit => "()",
            Type::Never => "!",
            Type::Int => "i32",
            Type::Long => "i64",
            Type::Bool => "bool",
            Type::Fixed => "Fixed",
            Type::Entity => "Entity",
            Type::Symbol | Type::SymbolOf(_) => "Symbol",
            Type::Text => "Text",
            Type::Kind => "kind",
            Type::Point => "Point",
        })
    }
}

/// A value while a function is lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub ty: Type,
    /// The first [`Type::width`] are in use; the rest is 0. An entity is its slot.
    pub operands: Point,
    /// Whether it is a whole number as written, which also fits where a `Fixed` is expected.
    pub is_literal: bool,
}

impl Value {
    pub const UNIT: Value = Value::new(Type::Unit, [Operand::ZERO; 3]);
    pub const NEVER: Value = Value::new(Type::Never, [Operand::ZERO; 3]);
    pub const NOBODY: Value = Value::scalar(Type::Entity, Operand::Const(NOBODY));

    pub const fn new(ty: Type, operands: Point) -> Value {
        Value {
            ty,
            operands,
            is_literal: false,
        }
    }

    pub const fn scalar(ty: Type, operand: Operand) -> Value {
        Value::new(ty, [operand, Operand::ZERO, Operand::ZERO])
    }

    pub fn constant(ty: Type, value: i32) -> Value {
        Value::scalar(ty, Operand::Const(value))
    }

    pub const fn of_halves([low, high]: [Operand; 2]) -> Value {
        Value::new(Type::Long, [low, high, Operand::ZERO])
    }

    pub fn long_constant(number: i64) -> Value {
        Value::of_halves(halves(number).map(Operand::Const))
    }

    /// The halves of a number of 64 bits.
    pub const fn halves(&self) -> [Operand; 2] {
        [self.operands[0], self.operands[1]]
    }

    /// The number, if it has 64 bits and is constant.
    pub fn long(&self) -> Option<i64> {
        let [low, high] = self.halves().map(Operand::constant);
        Some(joined([low?, high?])).filter(|_| self.ty == Type::Long)
    }

    /// The number of a constant, whatever its width.
    pub fn number(&self) -> i64 {
        let word = self.operand().constant().unwrap_or(0);
        self.long().unwrap_or(word.into())
    }

    /// The operand of a value that has one.
    pub fn operand(&self) -> Operand {
        self.operands[0]
    }

    pub fn is_constant(&self) -> bool {
        self.operands.iter().all(|o| o.constant().is_some())
    }
}
