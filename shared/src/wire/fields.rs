//! Fields that several messages of a world share, and their widths.
//!
//! | field | bits |
//! | --- | --- |
//! | slot | as many as the world's capacity needs |
//! | entity | its slot, then its generation: its length (6), then so many bits |
//! | kind | as many as the world's kinds need |
//! | column | 6; in a world of more than 64 columns 8 |
//! | value | as many as the attribute's bounds need; the wire carries the value less the minimum |
//! | word | by type: signed number, 1, or 32 |

use super::DecodeError;
use super::bits::{BitReader, BitWriter};
use crate::world::attribute::{Attribute, AttributeType, bits_for};
use crate::world::columns::{ATTRIBUTES_MAX, KIND_ATTRIBUTES_MAX};
use crate::world::id::{EntityId, Slot};
use crate::world::schema::Schema;
use crate::world::talk::{NAME_BYTES_MAX, Name};

/// Writes and reads the fields of one world.
#[derive(Clone, Debug)]
pub(super) struct FieldCodec {
    slot_bits: u32,
    capacity: u32,
    kinds: usize,
    symbols: u32,
    column_bits: u32,
    attributes: Vec<Attribute>,
}

impl FieldCodec {
    pub(super) fn new(schema: &Schema) -> FieldCodec {
        FieldCodec {
            slot_bits: bits_for(u64::from(schema.world.capacity) - 1),
            capacity: schema.world.capacity,
            kinds: schema.kinds.len(),
            symbols: u32::try_from(schema.symbols.len()).unwrap_or(u32::MAX),
            column_bits: match schema.attributes.len() <= 1 << COLUMN_BITS {
                true => COLUMN_BITS,
                false => WIDE_COLUMN_BITS,
            },
            attributes: schema.attributes.clone(),
        }
    }

    pub(super) fn put_slot(&self, writer: &mut BitWriter, slot: Slot) {
        writer.put(u64::from(slot.0), self.slot_bits);
    }

    pub(super) fn slot(&self, reader: &mut BitReader<'_>) -> Result<Slot, DecodeError> {
        let slot = reader.get(self.slot_bits)?;
        Ok(Slot(below("a slot", slot, self.capacity.into())?))
    }

    pub(super) fn put_entity(&self, writer: &mut BitWriter, entity: EntityId) {
        self.put_slot(writer, entity.slot);
        writer.put_small(entity.generation);
    }

    pub(super) fn entity(&self, reader: &mut BitReader<'_>) -> Result<EntityId, DecodeError> {
        Ok(EntityId {
            slot: self.slot(reader)?,
            generation: reader.get_small()?,
        })
    }

    fn kind_bits(&self) -> u32 {
        bits_for(self.kinds.saturating_sub(1) as u64)
    }

    pub(super) fn put_kind(&self, writer: &mut BitWriter, kind: u16) {
        writer.put(u64::from(kind), self.kind_bits());
    }

    pub(super) fn kind(&self, reader: &mut BitReader<'_>) -> Result<u16, DecodeError> {
        below("a kind", reader.get(self.kind_bits())?, self.kinds as u64)
    }

    pub(super) fn put_column(&self, writer: &mut BitWriter, column: u16) {
        writer.put(u64::from(column), self.column_bits);
    }

    pub(super) fn column(&self, reader: &mut BitReader<'_>) -> Result<u16, DecodeError> {
        let columns = self.attributes.len() as u64;
        let column = reader.get(self.column_bits)?;
        below("an attribute's column", column, columns)
    }

    pub(super) fn put_value(&self, writer: &mut BitWriter, column: u16, value: i32) {
        let attribute = &self.attributes[usize::from(column)];
        let above = i64::from(value) - i64::from(attribute.min);
        writer.put(above as u64, attribute.bits());
    }

    pub(super) fn value(
        &self,
        reader: &mut BitReader<'_>,
        column: u16,
    ) -> Result<i32, DecodeError> {
        let attribute = &self.attributes[usize::from(column)];
        let above: i64 = reader.get_as(attribute.bits())?;
        let value = i64::from(attribute.min).saturating_add(above);
        match i32::try_from(value) {
            Ok(value) if value <= attribute.max => Ok(value),
            _ => Err(DecodeError::OutOfRange {
                what: "an attribute",
                found: value.cast_unsigned(),
            }),
        }
    }

    /// Reads a word of a command or notification.
    pub(super) fn word(
        &self,
        reader: &mut BitReader<'_>,
        ty: AttributeType,
    ) -> Result<i32, DecodeError> {
        word(reader, ty, self.symbols)
    }
}

/// Writes a word of a command or notification.
pub(super) fn put_word(writer: &mut BitWriter, ty: AttributeType, word: i32) {
    match ty {
        AttributeType::I32 | AttributeType::Fixed => writer.put_signed(word),
        AttributeType::Bool => writer.put(word as u64, 1),
        AttributeType::Entity
        | AttributeType::Symbol
        | AttributeType::Text
        | AttributeType::I64
        | AttributeType::High => writer.put(word as u64, 32),
    }
}

/// Reads a word in a world of `symbols` symbols.
pub(super) fn word(
    reader: &mut BitReader<'_>,
    ty: AttributeType,
    symbols: u32,
) -> Result<i32, DecodeError> {
    Ok(match ty {
        AttributeType::I32 | AttributeType::Fixed => reader.get_signed()?,
        AttributeType::Bool => reader.get_as(1)?,
        AttributeType::Entity | AttributeType::Text | AttributeType::I64 | AttributeType::High => {
            reader.get_as::<u32>(32)?.cast_signed()
        }
        AttributeType::Symbol => below("a symbol", reader.get(32)?, symbols.into())?,
    })
}

fn below<T: TryFrom<u64>>(what: &'static str, found: u64, end: u64) -> Result<T, DecodeError> {
    match T::try_from(found) {
        Ok(number) if found < end => Ok(number),
        _ => Err(DecodeError::OutOfRange { what, found }),
    }
}

pub(super) fn put_name(writer: &mut BitWriter, name: &Name) {
    put_bytes(writer, name.as_bytes(), NAME_LENGTH_BITS);
}

pub(super) fn read_name(reader: &mut BitReader<'_>) -> Result<Name, DecodeError> {
    let bytes = read_bytes(reader, NAME_LENGTH_BITS)?;
    let malformed = |error: &dyn std::fmt::Display| DecodeError::Malformed(error.to_string());
    let text = String::from_utf8(bytes).map_err(|error| malformed(&error))?;
    Name::new(text).map_err(|error| malformed(&error))
}

/// Writes bytes behind their number.
pub(super) fn put_bytes(writer: &mut BitWriter, bytes: &[u8], length_bits: u32) {
    writer.put(bytes.len() as u64, length_bits);
    for &byte in bytes {
        writer.put(u64::from(byte), 8);
    }
}

pub(super) fn read_bytes(
    reader: &mut BitReader<'_>,
    length_bits: u32,
) -> Result<Vec<u8>, DecodeError> {
    let length = reader.get(length_bits)?;
    (0..length).map(|_| reader.get_as(8)).collect()
}

/// Holds any column of most worlds.
const COLUMN_BITS: u32 = 6;
/// Holds any column.
const WIDE_COLUMN_BITS: u32 = 8;
const _: () = assert!(ATTRIBUTES_MAX <= 1 << WIDE_COLUMN_BITS);
/// Holds the number of columns in a state message: those of a kind, less its position.
pub(super) const COLUMN_COUNT_BITS: u32 = 6;
const _: () = assert!(KIND_ATTRIBUTES_MAX - 2 < 1 << COLUMN_COUNT_BITS);
/// Holds [`NAME_BYTES_MAX`].
const NAME_LENGTH_BITS: u32 = 6;
const _: () = assert!(NAME_BYTES_MAX < 1 << NAME_LENGTH_BITS);
