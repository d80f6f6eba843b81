//! What the members of a client's groups share, apart from what the client sees: a rare message of the
//! stream.
//!
//! | message | fields |
//! | --- | --- |
//! | 0: left | slot: the client shares no group with the entity any more |
//! | 1: changed | slot, number of attributes (6), each: column (6), value |
//! | 2: member | entity, how many groups (3), each: the column (6) that refers to it; named (1), then its name: bytes (6), each 8; the attributes as above, all that it shares. It comes again, as a whole, when these groups are others |

use super::DecodeError;
use super::bits::{BitReader, BitWriter};
use super::fields::{COLUMN_COUNT_BITS, FieldCodec, put_name, read_name};
use crate::world::id::{EntityId, Slot};
use crate::world::talk::Name;

/// What has changed among the members of a client's groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberMessage {
    Left(Slot),
    /// Attributes that a member shares changed: (column, value).
    Changed {
        slot: Slot,
        values: Vec<(u16, i32)>,
    },
    Member {
        entity: EntityId,
        /// The columns that refer to the groups that it shares with the client's entity.
        groups: Vec<u16>,
        name: Option<Name>,
        values: Vec<(u16, i32)>,
    },
}

/// Writes that a member has left.
pub(super) fn put_left(fields: &FieldCodec, writer: &mut BitWriter, slot: Slot) {
    writer.put(LEFT, KIND_BITS);
    fields.put_slot(writer, slot);
}

/// Writes changed attributes of a member.
pub(super) fn put_changed(
    fields: &FieldCodec,
    writer: &mut BitWriter,
    slot: Slot,
    values: impl ExactSizeIterator<Item = (u16, i32)>,
) {
    writer.put(CHANGED, KIND_BITS);
    fields.put_slot(writer, slot);
    put_values(fields, writer, values);
}

/// Writes a member with all that it shares; of at most
/// [`GROUPS_MAX`](crate::world::group::GROUPS_MAX) groups.
pub(super) fn put_member(
    fields: &FieldCodec,
    writer: &mut BitWriter,
    (entity, name): (EntityId, Option<&Name>),
    groups: &[u16],
    values: impl ExactSizeIterator<Item = (u16, i32)>,
) {
    writer.put(MEMBER, KIND_BITS);
    fields.put_entity(writer, entity);
    writer.put(groups.len() as u64, GROUP_COUNT_BITS);
    for &column in groups {
        fields.put_column(writer, column);
    }
    writer.put(u64::from(name.is_some()), 1);
    if let Some(name) = name {
        put_name(writer, name);
    }
    put_values(fields, writer, values);
}

pub(super) fn read(
    fields: &FieldCodec,
    reader: &mut BitReader<'_>,
) -> Result<MemberMessage, DecodeError> {
    match reader.get(KIND_BITS)? {
        LEFT => Ok(MemberMessage::Left(fields.slot(reader)?)),
        CHANGED => Ok(MemberMessage::Changed {
            slot: fields.slot(reader)?,
            values: read_values(fields, reader)?,
        }),
        MEMBER => {
            let entity = fields.entity(reader)?;
            let groups = (0..reader.get(GROUP_COUNT_BITS)?).map(|_| fields.column(reader));
            let groups = groups.collect::<Result<_, _>>()?;
            let is_named = reader.get_bool()?;
            Ok(MemberMessage::Member {
                entity,
                groups,
                name: is_named.then(|| read_name(reader)).transpose()?,
                values: read_values(fields, reader)?,
            })
        }
        found => Err(DecodeError::OutOfRange {
            what: "the number of a message about members",
            found,
        }),
    }
}

fn put_values(
    fields: &FieldCodec,
    writer: &mut BitWriter,
    values: impl ExactSizeIterator<Item = (u16, i32)>,
) {
    writer.put(values.len() as u64, COLUMN_COUNT_BITS);
    for (column, value) in values {
        fields.put_column(writer, column);
        fields.put_value(writer, column, value);
    }
}

fn read_values(
    fields: &FieldCodec,
    reader: &mut BitReader<'_>,
) -> Result<Vec<(u16, i32)>, DecodeError> {
    let count = reader.get(COLUMN_COUNT_BITS)?;
    let values = (0..count).map(|_| {
        let column = fields.column(reader)?;
        Ok((column, fields.value(reader, column)?))
    });
    values.collect()
}

const KIND_BITS: u32 = 2;
const LEFT: u64 = 0;
const CHANGED: u64 = 1;
const MEMBER: u64 = 2;
/// Holds [`GROUPS_MAX`](crate::world::group::GROUPS_MAX).
const GROUP_COUNT_BITS: u32 = 3;
