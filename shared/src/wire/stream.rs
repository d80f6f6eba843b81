//! Frames of the reliable stream: what must neither be lost nor reordered.
//!
//! Each frame is its length (4 bytes, little-endian), then one tick's items, bit
//! by bit: the tick (32), then for each item a tag (4) and its fields, then the
//! end tag.
//!
//! | item | fields |
//! | --- | --- |
//! | leave | slot |
//! | enter | slot, generation (32), kind (8), own (1), then every attribute that the receiver may know, by ascending column |
//! | state | slot, number of attributes (6), each: column (6), value |
//! | reborn | slot, generation (32) |
//! | answer | request (32), granted (1), else the reason: its bytes (10), each 8 |
//! | notice | see [`super::notice`] |
//! | full | none |
//! | lost | id (32) |

use super::bits::{BitReader, BitWriter};
use super::commands::get_word;
use super::notice::Notice;
use super::request::{ANSWER_BYTES_MAX, Answer};
use super::{DecodeError, FRAME_BYTES_MAX};
use crate::world::attribute::{Attribute, AttributeType, Audience, bits_for};
use crate::world::id::{EntityId, Slot, Tick};
use crate::world::notification::NotificationKind;
use crate::world::schema::Schema;

/// Encodes and decodes frames in one world.
#[derive(Clone, Debug)]
pub struct StreamCodec {
    slot_bits: u32,
    capacity: u32,
    attributes: Vec<Attribute>,
    symbols: u32,
    /// By kind of notification: its words' types, where the world has it.
    notifications: Vec<Option<Vec<AttributeType>>>,
    /// By kind: the columns in an enter for anyone, and for the owner.
    public: Vec<Vec<u16>>,
    own: Vec<Vec<u16>>,
}

/// One thing that a client is told reliably.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The entity is in view from this tick on, with these attributes.
    Enter {
        entity: EntityId,
        kind: u16,
        own: bool,
        values: Vec<(u16, i32)>,
    },
    /// The entity is in view no more.
    Leave(Slot),
    /// Lasting attributes changed.
    State { slot: Slot, values: Vec<(u16, i32)> },
    /// The client, whose entity had died, acts as this one from now on.
    Reborn(EntityId),
    /// What became of a message of the client's. It holds from this frame's tick on,
    /// whose other items come after.
    Answer(Answer),
    /// Something that the client subscribed to, or can hear.
    Notice(Notice),
    /// The notices of this tick are as many as a client may be told of: what more
    /// there was is left out.
    Full,
    /// A subscription that was granted has ended by itself, by the client's number:
    /// the server had no room to keep it. It may be asked for again.
    Lost(u32),
}

/// One tick's items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub tick: Tick,
    pub items: Vec<Item>,
}

impl StreamCodec {
    pub fn new(schema: &Schema) -> StreamCodec {
        let columns = |kind: usize, own: bool| {
            let known = |column: u16| match schema.attributes[usize::from(column)].audience {
                Audience::Movement | Audience::State => true,
                Audience::Private => own,
                Audience::Hidden => false,
            };
            let all = schema.kinds[kind].attributes.iter().map(|a| a.column);
            all.filter(|&c| known(c)).collect::<Vec<_>>()
        };
        let kinds = 0..schema.kinds.len();
        StreamCodec {
            slot_bits: bits_for(u64::from(schema.world.capacity) - 1),
            capacity: schema.world.capacity,
            attributes: schema.attributes.clone(),
            symbols: schema.symbols.len() as u32,
            notifications: NotificationKind::ALL
                .into_iter()
                .map(|kind| {
                    let fields = &schema.notification(kind)?.fields;
                    Some(fields.iter().map(|field| field.ty).collect())
                })
                .collect(),
            public: kinds.clone().map(|k| columns(k, false)).collect(),
            own: kinds.map(|k| columns(k, true)).collect(),
        }
    }

    /// Starts a frame in an empty writer.
    pub fn begin(&self, writer: &mut BitWriter, tick: Tick) {
        writer.put(u64::from(tick.0), 32);
    }

    pub fn leave(&self, writer: &mut BitWriter, slot: Slot) {
        writer.put(TAG_LEAVE, TAG_BITS);
        writer.put(u64::from(slot.0), self.slot_bits);
    }

    /// Writes an enter of an entity whose row of all columns is `row`.
    pub fn enter(
        &self,
        writer: &mut BitWriter,
        entity: EntityId,
        kind: u16,
        own: bool,
        row: &[i32],
    ) {
        writer.put(TAG_ENTER, TAG_BITS);
        writer.put(u64::from(entity.slot.0), self.slot_bits);
        writer.put(u64::from(entity.generation), 32);
        writer.put(u64::from(kind), 8);
        writer.put(u64::from(own), 1);
        for &column in &self.columns(own)[usize::from(kind)] {
            self.put_value(writer, column, row[usize::from(column)]);
        }
    }

    /// Writes changed attributes of an entity in view.
    pub fn state(
        &self,
        writer: &mut BitWriter,
        slot: Slot,
        values: impl ExactSizeIterator<Item = (u16, i32)>,
    ) {
        writer.put(TAG_STATE, TAG_BITS);
        writer.put(u64::from(slot.0), self.slot_bits);
        writer.put(values.len() as u64, 6);
        for (column, value) in values {
            writer.put(u64::from(column), 6);
            self.put_value(writer, column, value);
        }
    }

    /// Writes who the client is from now on.
    pub fn reborn(&self, writer: &mut BitWriter, entity: EntityId) {
        writer.put(TAG_REBORN, TAG_BITS);
        self.put_entity(writer, entity);
    }

    /// Writes an answer; its text is cut to [`ANSWER_BYTES_MAX`].
    pub fn answer(&self, writer: &mut BitWriter, answer: &Answer) {
        writer.put(TAG_ANSWER, TAG_BITS);
        writer.put(u64::from(answer.request), 32);
        writer.put(u64::from(answer.result.is_ok()), 1);
        let Err(reason) = &answer.result else { return };
        let end = reason.floor_char_boundary(ANSWER_BYTES_MAX);
        writer.put(end as u64, TEXT_LENGTH_BITS);
        for byte in reason[..end].bytes() {
            writer.put(u64::from(byte), 8);
        }
    }

    pub(super) fn begin_notice(&self, writer: &mut BitWriter) {
        writer.put(TAG_NOTICE, TAG_BITS);
    }

    /// Writes that notices may have been left out.
    pub fn full(&self, writer: &mut BitWriter) {
        writer.put(TAG_FULL, TAG_BITS);
    }

    /// Writes that a subscription has ended by itself.
    pub fn lost(&self, writer: &mut BitWriter, subscription: u32) {
        writer.put(TAG_LOST, TAG_BITS);
        writer.put(u64::from(subscription), 32);
    }

    /// Ends the frame and appends it, with its length, to `out`.
    pub fn finish(&self, writer: &mut BitWriter, out: &mut Vec<u8>) {
        writer.put(TAG_END, TAG_BITS);
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        writer.finish_into(out);
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Decodes a frame's bytes, without their length.
    pub fn decode(&self, bytes: &[u8]) -> Result<Frame, DecodeError> {
        if bytes.len() > FRAME_BYTES_MAX {
            return Err(DecodeError::TooLong {
                found: bytes.len(),
                limit: FRAME_BYTES_MAX,
            });
        }
        let mut reader = BitReader::new(bytes);
        let tick = Tick(reader.get(32)? as u32);
        let mut items = vec![];
        loop {
            let tag = reader.get(TAG_BITS)?;
            items.push(match tag {
                TAG_END => break,
                TAG_LEAVE => Item::Leave(self.slot(&mut reader)?),
                TAG_ENTER => self.read_enter(&mut reader)?,
                TAG_STATE => self.read_state(&mut reader)?,
                TAG_REBORN => Item::Reborn(self.entity(&mut reader)?),
                TAG_ANSWER => Item::Answer(read_answer(&mut reader)?),
                TAG_NOTICE => Item::Notice(self.read_notice(&mut reader)?),
                TAG_FULL => Item::Full,
                TAG_LOST => Item::Lost(reader.get(32)? as u32),
                _ => {
                    return Err(DecodeError::OutOfRange {
                        what: "an item's tag",
                        found: tag,
                    });
                }
            });
        }
        reader.finish()?;
        Ok(Frame { tick, items })
    }

    fn read_enter(&self, reader: &mut BitReader<'_>) -> Result<Item, DecodeError> {
        let entity = self.entity(reader)?;
        let kind = self.kind(reader)?;
        let own = reader.get_bool()?;
        let columns = &self.columns(own)[usize::from(kind)];
        let values = columns
            .iter()
            .map(|&column| Ok((column, self.value(reader, column)?)))
            .collect::<Result<Vec<_>, DecodeError>>()?;
        Ok(Item::Enter {
            entity,
            kind,
            own,
            values,
        })
    }

    fn read_state(&self, reader: &mut BitReader<'_>) -> Result<Item, DecodeError> {
        let slot = self.slot(reader)?;
        let count = reader.get(6)?;
        let values = (0..count)
            .map(|_| {
                let column = self.column(reader)?;
                Ok((column, self.value(reader, column)?))
            })
            .collect::<Result<Vec<_>, DecodeError>>()?;
        Ok(Item::State { slot, values })
    }

    fn columns(&self, own: bool) -> &[Vec<u16>] {
        if own { &self.own } else { &self.public }
    }

    fn slot(&self, reader: &mut BitReader<'_>) -> Result<Slot, DecodeError> {
        let slot = reader.get(self.slot_bits)?;
        if slot < u64::from(self.capacity) {
            Ok(Slot(slot as u32))
        } else {
            Err(DecodeError::OutOfRange {
                what: "a slot",
                found: slot,
            })
        }
    }

    pub(super) fn entity(&self, reader: &mut BitReader<'_>) -> Result<EntityId, DecodeError> {
        Ok(EntityId {
            slot: self.slot(reader)?,
            generation: reader.get(32)? as u32,
        })
    }

    pub(super) fn put_entity(&self, writer: &mut BitWriter, entity: EntityId) {
        writer.put(u64::from(entity.slot.0), self.slot_bits);
        writer.put(u64::from(entity.generation), 32);
    }

    pub(super) fn kind(&self, reader: &mut BitReader<'_>) -> Result<u16, DecodeError> {
        let kind = reader.get(8)?;
        if (kind as usize) < self.public.len() {
            Ok(kind as u16)
        } else {
            Err(DecodeError::OutOfRange {
                what: "a kind",
                found: kind,
            })
        }
    }

    pub(super) fn column(&self, reader: &mut BitReader<'_>) -> Result<u16, DecodeError> {
        let column = reader.get(6)?;
        if (column as usize) < self.attributes.len() {
            Ok(column as u16)
        } else {
            Err(DecodeError::OutOfRange {
                what: "an attribute's column",
                found: column,
            })
        }
    }

    /// The types of a notification's words, if the world has it.
    pub(super) fn words_of(&self, notification: u16) -> Option<&[AttributeType]> {
        self.notifications
            .get(usize::from(notification))?
            .as_deref()
    }

    pub(super) fn read_word(
        &self,
        reader: &mut BitReader<'_>,
        ty: AttributeType,
    ) -> Result<i32, DecodeError> {
        get_word(reader, ty, self.symbols)
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
        let value = i64::from(attribute.min) + reader.get(attribute.bits())? as i64;
        if value > i64::from(attribute.max) {
            return Err(DecodeError::OutOfRange {
                what: "an attribute",
                found: value as u64,
            });
        }
        Ok(value as i32)
    }
}

fn read_answer(reader: &mut BitReader<'_>) -> Result<Answer, DecodeError> {
    let request = reader.get(32)? as u32;
    if reader.get_bool()? {
        return Ok(Answer {
            request,
            result: Ok(()),
        });
    }
    let length = reader.get(TEXT_LENGTH_BITS)?;
    let bytes = (0..length)
        .map(|_| Ok(reader.get(8)? as u8))
        .collect::<Result<Vec<_>, DecodeError>>()?;
    let reason = String::from_utf8(bytes)
        .map_err(|error| DecodeError::Malformed(format!("an answer's text: {error}")))?;
    Ok(Answer {
        request,
        result: Err(reason),
    })
}

const TAG_BITS: u32 = 4;
const TAG_END: u64 = 0;
const TAG_LEAVE: u64 = 1;
const TAG_ENTER: u64 = 2;
const TAG_STATE: u64 = 3;
const TAG_REBORN: u64 = 4;
const TAG_ANSWER: u64 = 5;
const TAG_NOTICE: u64 = 6;
const TAG_FULL: u64 = 7;
const TAG_LOST: u64 = 8;
/// Holds [`ANSWER_BYTES_MAX`].
const TEXT_LENGTH_BITS: u32 = 10;
