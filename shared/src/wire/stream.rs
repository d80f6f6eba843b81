//! Frames of the reliable stream: messages that must neither be lost nor reordered.
//!
//! A frame is its length, then one tick's messages, bit by bit: the low
//! bits of the tick (16), then for each message a tag (4) and its fields, then the end tag.
//!
//! | message | fields |
//! | --- | --- |
//! | leave | slot |
//! | enter | entity, kind, own (1), then every attribute that the receiver may know, by ascending column; its velocity: see `velocity`. A thing has no position and no velocity, and is own if it is in the bag of the client's entity |
//! | state | slot, number of attributes (6), each: column (6), value |
//! | reborn | entity |
//! | answer | request (32), granted (1), else the reason: its bytes (10), each 8 |
//! | notice | see [`super::notice`] |
//! | full | none |
//! | lost | id (32) |
//! | servers | how many (4), each: its bytes (8), each 8: where to try if this server is gone, in this order |
//! | name | slot of an entity that has entered, bytes (6), each 8: the name of its player |
//! | talk | its bytes (16), each 8: an encoded [`Talk`] |
//! | refused | low bits of a sequence number (16), how many commands from it on, minus one: a Rice code of parameter 1; why (4): a [`Refusal`], or `IDLE_BECAUSE` or `UNMET_BECAUSE` with the number of a reason (8) |
//! | layer | hash (64), offset (32), bytes (16), each 8: the next part of a layer's [content](super::layers) |
//! | rare | which (4), see below |
//! | rare 0: restart | none: the next message of the stream is a welcome. It stands alone in its frame. To clients before [`RARE_VERSION`] without `which` |
//! | rare 1: ranking | see [`super::rankings`] |
//! | rare 2: texts | request (32): it is granted; how many (6), each: handle (32), its bytes (8; 0: the world has it no more), each 8 |
//! | rare 4: edits | how many (16), each: its layer (2), the cell (26), and what it is: 1 bit, 16 or 8: see [`super::layers`] |
//! | rare 5: members | see [`super::members`] |
//! | interface | its bytes (20), each 8: an encoded [`Interface`]. It stands alone in its frame |

use super::bits::{BitReader, BitWriter};
use super::codec;
use super::control::{ADDRESS_BYTES_MAX, Interface, SERVERS_MAX};
use super::fields::{COLUMN_COUNT_BITS, FieldCodec, put_bytes, put_name, read_bytes, read_name};
use super::layers::LAYER_PART_BYTES_MAX;
use super::length;
use super::members::{self, MemberMessage};
use super::notice::{Notice, NoticeCodec};
use super::rankings::{self, Ranked, Standing};
use super::request::{ANSWER_BYTES_MAX, Answer, GivenText, TEXTS_MAX};
use super::talk::{TALK_BYTES_MAX, Talk};
use super::velocity::{self, PackedVelocity};
use super::{DecodeError, FRAME_BYTES_MAX, RARE_VERSION};
use crate::world::attribute::Audience;
use crate::world::command::{REASONS_MAX, Refusal};
use crate::world::course::Course;
use crate::world::edit::{Edit, LayerKind};
use crate::world::id::{EntityId, Slot, Tick};
use crate::world::layer::CELLS_MAX;
use crate::world::schema::Schema;
use crate::world::talk::{Name, Text};
use crate::world::words::{LENGTH_MAX, TextHandle};

/// Encodes and decodes frames in one world.
#[derive(Clone, Debug)]
pub struct StreamCodec {
    fields: FieldCodec,
    dimensions: usize,
    notices: NoticeCodec,
    /// By kind: whether its entities are things.
    things: Vec<bool>,
    /// By kind: the columns in an enter, for clients that don't own the entity.
    public: Vec<Vec<u16>>,
    /// By kind: the columns in an enter, for the entity's own client.
    own: Vec<Vec<u16>>,
}

/// One message of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The entity is in view from this tick on.
    Enter {
        entity: EntityId,
        kind: u16,
        /// Whether it is the client's own entity, or a thing that this holds, directly or in other
        /// things.
        own: bool,
        /// The attributes that the client may know: (column, value).
        values: Vec<(u16, i32)>,
        /// The velocity of its course from this tick on; 0 on axes that the world lacks.
        velocity: [i32; 3],
    },
    /// The entity is no longer in view.
    Leave(Slot),
    /// Lasting attributes of an entity in view changed: (column, value).
    State { slot: Slot, values: Vec<(u16, i32)> },
    /// The client's entity had died; from now on the client acts as this one.
    Reborn(EntityId),
    /// The reply to a request. It takes effect in this frame's tick, and stands before
    /// the other messages of that tick.
    Answer(Answer),
    /// A change or notification that the client subscribed to, or that reached it by place.
    Notice(Notice),
    /// The client reached its limit of notices in this tick: the rest is left out.
    Full,
    /// The server had no room to keep the subscription of this id. The client may
    /// subscribe again.
    Lost(u32),
    /// Commands of the client had no effect.
    Refused {
        /// The low 16 bits of the first one's sequence number, see
        /// [`nearest_sequence`](super::movement::nearest_sequence). The others follow it.
        first_low: u16,
        /// How many there are, at least one.
        count: u32,
        reason: Refusal,
        /// Of an idle or unmet command, what its script says of that: the number of a reason in
        /// the welcome, or in the newest interface.
        because: Option<u8>,
    },
    /// The world's commands or notifications have changed.
    Interface(Interface),
    /// The other servers of the world from now on, as in the welcome.
    Servers(Vec<String>),
    /// The session begins anew over this connection: the next message of the stream is a welcome,
    /// with which the client continues as after a connection that was lost.
    Restart,
    /// The name of an entity's player; behind the entity's enter.
    Name { slot: Slot, name: Name },
    /// Talk of players.
    Talk(Talk),
    /// A part of the content of the layer with this hash, as it travels, from an offset on.
    Layer {
        hash: u64,
        offset: u32,
        bytes: Vec<u8>,
    },
    /// A ranking that the client has asked for has changed.
    Ranking(Standing),
    /// Texts of the world, as a request asked for them: its answer.
    Texts { request: u32, texts: Vec<GivenText> },
    /// Cells of layers, as they are after this frame's tick, one after another.
    Edits(Vec<Edit>),
    /// What has changed among the members of the client's groups, and what they share with it.
    Members(MemberMessage),
}

/// The messages of one tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub tick: Tick,
    pub messages: Vec<Message>,
}

impl StreamCodec {
    pub fn new(schema: &Schema) -> StreamCodec {
        let kinds = 0..schema.kinds.len();
        let is_thing = |kind: usize| u16::try_from(kind).is_ok_and(|kind| schema.is_thing(kind));
        let things: Vec<bool> = kinds.clone().map(is_thing).collect();
        let dimensions = schema.dimensions();
        let columns = |kind: usize, own: bool| {
            let known = |column: u16| match schema.attributes[usize::from(column)].audience {
                Audience::Movement | Audience::State => true,
                Audience::Private => own,
                Audience::Hidden => false,
            };
            // A thing has no place.
            let is_nowhere = |column: u16| things[kind] && usize::from(column) < dimensions;
            let all = schema.kinds[kind].attributes.iter().map(|a| a.column);
            let all = all.filter(|&column| known(column) && !is_nowhere(column));
            all.collect::<Vec<_>>()
        };
        StreamCodec {
            fields: FieldCodec::new(schema),
            dimensions,
            notices: NoticeCodec::new(schema),
            public: kinds.clone().map(|k| columns(k, false)).collect(),
            own: kinds.map(|k| columns(k, true)).collect(),
            things,
        }
    }

    /// Starts a frame in an empty writer.
    pub fn begin(&self, writer: &mut BitWriter, tick: Tick) {
        writer.put(tick.low().into(), TICK_BITS);
    }

    /// Writes that an entity has left the view.
    pub fn leave(&self, writer: &mut BitWriter, slot: Slot) {
        writer.put(TAG_LEAVE, TAG_BITS);
        self.fields.put_slot(writer, slot);
    }

    /// Writes that an entity has entered the view, or a thing. `course` holds from the frame's tick
    /// on, and is not used for things. `row` has a value for each column; those of the position are
    /// not used.
    pub fn enter(
        &self,
        writer: &mut BitWriter,
        entity: EntityId,
        kind: u16,
        own: bool,
        course: &Course,
        row: &[i32],
    ) {
        writer.put(TAG_ENTER, TAG_BITS);
        self.fields.put_entity(writer, entity);
        self.fields.put_kind(writer, kind);
        writer.put(u64::from(own), 1);
        for &column in &self.columns(own)[usize::from(kind)] {
            let own_column = usize::from(column);
            let value = match own_column < self.dimensions {
                true => course.position[own_column],
                false => row[own_column],
            };
            self.fields.put_value(writer, column, value);
        }
        if !self.things[usize::from(kind)] {
            PackedVelocity::new(&course.velocity[..self.dimensions]).put(writer);
        }
    }

    /// Writes changed attributes of an entity in view: (column, value).
    pub fn state(
        &self,
        writer: &mut BitWriter,
        slot: Slot,
        values: impl ExactSizeIterator<Item = (u16, i32)>,
    ) {
        writer.put(TAG_STATE, TAG_BITS);
        self.fields.put_slot(writer, slot);
        writer.put(values.len() as u64, COLUMN_COUNT_BITS);
        for (column, value) in values {
            self.fields.put_column(writer, column);
            self.fields.put_value(writer, column, value);
        }
    }

    /// Writes which entity the client acts as from now on.
    pub fn reborn(&self, writer: &mut BitWriter, entity: EntityId) {
        writer.put(TAG_REBORN, TAG_BITS);
        self.fields.put_entity(writer, entity);
    }

    /// Writes an answer. A reason beyond [`ANSWER_BYTES_MAX`] is cut between characters.
    pub fn answer(&self, writer: &mut BitWriter, answer: &Answer) {
        writer.put(TAG_ANSWER, TAG_BITS);
        writer.put(u64::from(answer.request), 32);
        writer.put(u64::from(answer.result.is_ok()), 1);
        let Err(reason) = &answer.result else { return };
        let end = reason.floor_char_boundary(ANSWER_BYTES_MAX);
        put_bytes(writer, &reason.as_bytes()[..end], REASON_LENGTH_BITS);
    }

    /// Writes the name of an entity's player, behind its enter.
    pub fn name(&self, writer: &mut BitWriter, slot: Slot, name: &Name) {
        writer.put(TAG_NAME, TAG_BITS);
        self.fields.put_slot(writer, slot);
        put_name(writer, name);
    }

    /// Writes talk.
    pub fn talk(&self, writer: &mut BitWriter, talk: &Talk) {
        writer.put(TAG_TALK, TAG_BITS);
        put_bytes(writer, &codec::to_bytes(talk), TALK_LENGTH_BITS);
    }

    /// Writes a notice.
    ///
    /// # Panics
    /// For a notification that the world lacks, or one with too few words.
    pub fn notice(&self, writer: &mut BitWriter, notice: &Notice) {
        writer.put(TAG_NOTICE, TAG_BITS);
        self.notices.put(&self.fields, writer, notice);
    }

    /// Writes that the rest of the tick's notices is left out.
    pub fn full(&self, writer: &mut BitWriter) {
        writer.put(TAG_FULL, TAG_BITS);
    }

    /// Writes that the server has dropped a subscription.
    pub fn lost(&self, writer: &mut BitWriter, subscription: u32) {
        writer.put(TAG_LOST, TAG_BITS);
        writer.put(u64::from(subscription), 32);
    }

    /// Writes that `count` commands, at least one, had no effect. `because` is the number of a reason,
    /// of idle and unmet commands.
    pub fn refused(
        &self,
        writer: &mut BitWriter,
        first: u32,
        count: u32,
        (reason, because): (Refusal, Option<u8>),
    ) {
        writer.put(TAG_REFUSED, TAG_BITS);
        writer.put(u64::from(first), 16);
        writer.put_rice(count.saturating_sub(1), REFUSED_PARAMETER);
        let extended = match reason {
            Refusal::Idle => Some(IDLE_BECAUSE),
            Refusal::Unmet => Some(UNMET_BECAUSE),
            _ => None,
        };
        match extended.zip(because) {
            Some((extended, because)) => {
                writer.put(extended, REFUSAL_BITS);
                writer.put(u64::from(because), BECAUSE_BITS);
            }
            None => writer.put(reason as u64, REFUSAL_BITS),
        }
    }

    /// Writes a part of a layer's content, at most
    /// [`LAYER_PART_BYTES_MAX`] bytes.
    pub fn layer(&self, writer: &mut BitWriter, hash: u64, offset: u32, bytes: &[u8]) {
        writer.put(TAG_LAYER, TAG_BITS);
        writer.put(hash, 64);
        writer.put(offset.into(), 32);
        put_bytes(writer, bytes, LAYER_LENGTH_BITS);
    }

    /// Writes the commands and notifications of the world. It must stand alone in its frame, since
    /// the messages behind it may depend on it.
    pub fn interface(&self, writer: &mut BitWriter, interface: &Interface) {
        let bytes = codec::to_bytes(interface);
        writer.put(TAG_INTERFACE, TAG_BITS);
        put_bytes(writer, &bytes, INTERFACE_LENGTH_BITS);
    }

    /// Writes the other servers of the world. Addresses beyond
    /// [`ADDRESS_BYTES_MAX`], and those after the first [`SERVERS_MAX`], are left out.
    pub fn servers<'a>(&self, writer: &mut BitWriter, servers: impl Iterator<Item = &'a str>) {
        let servers = servers.filter(|address| address.len() <= ADDRESS_BYTES_MAX);
        let servers: Vec<&str> = servers.take(SERVERS_MAX).collect();
        writer.put(TAG_SERVERS, TAG_BITS);
        writer.put(servers.len() as u64, SERVERS_BITS);
        for address in servers {
            put_bytes(writer, address.as_bytes(), ADDRESS_LENGTH_BITS);
        }
    }

    /// Writes that a welcome follows the frame, for a client of a version. It must stand alone in
    /// it.
    pub fn restart(&self, writer: &mut BitWriter, version: u16) {
        writer.put(TAG_RARE, TAG_BITS);
        if version >= RARE_VERSION {
            writer.put(RARE_RESTART, RARE_BITS);
        }
    }

    /// Writes how the ranking of a number stands for the client: the place of its entity, and the
    /// first ones if they have changed.
    pub fn ranking(&self, writer: &mut BitWriter, number: u8, own: u32, first: Option<&[Ranked]>) {
        writer.put(TAG_RARE, TAG_BITS);
        writer.put(RARE_RANKING, RARE_BITS);
        rankings::put(&self.fields, writer, (number, own), first);
    }

    /// Writes texts that a request asked for, at most [`TEXTS_MAX`]. One that is too long for an
    /// attribute counts as gone.
    pub fn texts(&self, writer: &mut BitWriter, request: u32, texts: &[GivenText]) {
        writer.put(TAG_RARE, TAG_BITS);
        writer.put(RARE_TEXTS, RARE_BITS);
        writer.put(u64::from(request), 32);
        let texts = &texts[..texts.len().min(TEXTS_MAX)];
        writer.put(texts.len() as u64, TEXTS_BITS);
        for GivenText { handle, text } in texts {
            writer.put(u64::from(handle.0.cast_unsigned()), 32);
            let text = text.as_ref().map_or("", |text| text);
            let fits = text.len() <= usize::from(LENGTH_MAX);
            let bytes = text.as_bytes().get(..text.len()).filter(|_| fits);
            put_bytes(writer, bytes.unwrap_or_default(), TEXT_LENGTH_BITS);
        }
    }

    /// Writes what cells of layers are from now on, at most [`EDITS_MAX`].
    pub fn edits(&self, writer: &mut BitWriter, edits: &[Edit]) {
        writer.put(TAG_RARE, TAG_BITS);
        writer.put(RARE_EDITS, RARE_BITS);
        let edits = &edits[..edits.len().min(EDITS_MAX)];
        writer.put(edits.len() as u64, EDITS_BITS);
        for &Edit { layer, cell, value } in edits {
            let bits = layer.bits();
            let value = u64::from(value.cast_unsigned()) & ((1 << bits) - 1);
            writer.put(layer as u64, EDIT_LAYER_BITS);
            writer.put(u64::from(cell), EDIT_CELL_BITS);
            writer.put(value, bits);
        }
    }

    /// Writes that the client shares no group with a member any more.
    pub fn member_left(&self, writer: &mut BitWriter, slot: Slot) {
        self.members_tag(writer);
        members::put_left(&self.fields, writer, slot);
    }

    /// Writes changed attributes that a member shares: (column, value).
    pub fn member_changed(
        &self,
        writer: &mut BitWriter,
        slot: Slot,
        values: impl ExactSizeIterator<Item = (u16, i32)>,
    ) {
        self.members_tag(writer);
        members::put_changed(&self.fields, writer, slot, values);
    }

    /// Writes a member of groups to which these columns refer, with all that it shares.
    pub fn member(
        &self,
        writer: &mut BitWriter,
        who: (EntityId, Option<&Name>),
        groups: &[u16],
        values: impl ExactSizeIterator<Item = (u16, i32)>,
    ) {
        self.members_tag(writer);
        members::put_member(&self.fields, writer, who, groups, values);
    }

    fn members_tag(&self, writer: &mut BitWriter) {
        writer.put(TAG_RARE, TAG_BITS);
        writer.put(RARE_MEMBERS, RARE_BITS);
    }

    /// Ends the frame and appends it, with its length, to `out`.
    pub fn finish(&self, writer: &mut BitWriter, out: &mut Vec<u8>) {
        writer.put(TAG_END, TAG_BITS);
        length::put(writer.bit_len().div_ceil(8), out);
        writer.finish_into(out);
    }

    /// Decodes a frame's bytes, without their length. `newest` is the newest tick that is
    /// known: the frame's is near it.
    pub fn decode(&self, bytes: &[u8], newest: Tick) -> Result<Frame, DecodeError> {
        if bytes.len() > FRAME_BYTES_MAX {
            return Err(DecodeError::TooLong {
                found: bytes.len(),
                limit: FRAME_BYTES_MAX,
            });
        }
        let mut reader = BitReader::new(bytes);
        let tick = newest.nearest(reader.get_as(TICK_BITS)?, TICK_BITS);
        let mut messages = vec![];
        while let Some(message) = self.read_message(&mut reader)? {
            messages.push(message);
        }
        reader.finish()?;
        Ok(Frame { tick, messages })
    }

    /// The next message; `None` at the end tag.
    fn read_message(&self, reader: &mut BitReader<'_>) -> Result<Option<Message>, DecodeError> {
        let tag = reader.get(TAG_BITS)?;
        Ok(Some(match tag {
            TAG_END => return Ok(None),
            TAG_LEAVE => Message::Leave(self.fields.slot(reader)?),
            TAG_ENTER => self.read_enter(reader)?,
            TAG_STATE => self.read_state(reader)?,
            TAG_REBORN => Message::Reborn(self.fields.entity(reader)?),
            TAG_ANSWER => Message::Answer(read_answer(reader)?),
            TAG_NOTICE => Message::Notice(self.notices.read(&self.fields, reader)?),
            TAG_FULL => Message::Full,
            TAG_LOST => Message::Lost(reader.get_as(32)?),
            TAG_INTERFACE => Message::Interface(read_interface(reader)?),
            TAG_REFUSED => {
                let first_low = reader.get_as(16)?;
                let count = reader.get_rice(REFUSED_PARAMETER)?.saturating_add(1);
                let (reason, because) = read_refusal(reader)?;
                Message::Refused {
                    first_low,
                    count,
                    reason,
                    because,
                }
            }
            TAG_SERVERS => {
                let count = reader.get(SERVERS_BITS)?;
                let servers = (0..count).map(|_| {
                    let bytes = read_bytes(reader, ADDRESS_LENGTH_BITS)?;
                    read_text(bytes, "a server's address")
                });
                Message::Servers(servers.collect::<Result<_, _>>()?)
            }
            TAG_RARE => self.read_rare(reader)?,
            TAG_NAME => Message::Name {
                slot: self.fields.slot(reader)?,
                name: read_name(reader)?,
            },
            TAG_TALK => {
                let bytes = read_bytes(reader, TALK_LENGTH_BITS)?;
                Message::Talk(codec::from_wire::<TALK_BYTES_MAX, _>(&bytes)?)
            }
            TAG_LAYER => Message::Layer {
                hash: reader.get(64)?,
                offset: reader.get_as(32)?,
                bytes: read_bytes(reader, LAYER_LENGTH_BITS)?,
            },
            _ => {
                return Err(DecodeError::OutOfRange {
                    what: "a message's tag",
                    found: tag,
                });
            }
        }))
    }

    fn read_enter(&self, reader: &mut BitReader<'_>) -> Result<Message, DecodeError> {
        let entity = self.fields.entity(reader)?;
        let kind = self.fields.kind(reader)?;
        let own = reader.get_bool()?;
        let columns = &self.columns(own)[usize::from(kind)];
        let values = columns
            .iter()
            .map(|&column| Ok((column, self.fields.value(reader, column)?)))
            .collect::<Result<Vec<_>, DecodeError>>()?;
        Ok(Message::Enter {
            entity,
            kind,
            own,
            values,
            velocity: match self.things[usize::from(kind)] {
                true => [0; 3],
                false => velocity::get(reader, self.dimensions)?,
            },
        })
    }

    fn read_state(&self, reader: &mut BitReader<'_>) -> Result<Message, DecodeError> {
        let slot = self.fields.slot(reader)?;
        let count = reader.get(COLUMN_COUNT_BITS)?;
        let values = (0..count)
            .map(|_| {
                let column = self.fields.column(reader)?;
                Ok((column, self.fields.value(reader, column)?))
            })
            .collect::<Result<Vec<_>, DecodeError>>()?;
        Ok(Message::State { slot, values })
    }

    fn read_rare(&self, reader: &mut BitReader<'_>) -> Result<Message, DecodeError> {
        match reader.get(RARE_BITS)? {
            RARE_RESTART => Ok(Message::Restart),
            RARE_RANKING => Ok(Message::Ranking(Standing::read(&self.fields, reader)?)),
            RARE_TEXTS => read_texts(reader),
            RARE_EDITS => read_edits(reader),
            RARE_MEMBERS => Ok(Message::Members(members::read(&self.fields, reader)?)),
            found => Err(DecodeError::OutOfRange {
                what: "the number of a rare message",
                found,
            }),
        }
    }

    fn columns(&self, own: bool) -> &[Vec<u16>] {
        if own { &self.own } else { &self.public }
    }
}

fn read_answer(reader: &mut BitReader<'_>) -> Result<Answer, DecodeError> {
    let request = reader.get_as(32)?;
    if reader.get_bool()? {
        return Ok(Answer {
            request,
            result: Ok(()),
        });
    }
    let bytes = read_bytes(reader, REASON_LENGTH_BITS)?;
    let reason = read_text(bytes, "the reason in an answer")?;
    Ok(Answer {
        request,
        result: Err(reason),
    })
}

fn read_texts(reader: &mut BitReader<'_>) -> Result<Message, DecodeError> {
    let request = reader.get_as(32)?;
    let count = reader.get(TEXTS_BITS)?;
    if count > TEXTS_MAX as u64 {
        return Err(DecodeError::OutOfRange {
            what: "the number of texts",
            found: count,
        });
    }
    let texts = (0..count).map(|_| {
        let handle = TextHandle(reader.get_as::<u32>(32)?.cast_signed());
        let bytes = read_bytes(reader, TEXT_LENGTH_BITS)?;
        let text = match bytes.is_empty() {
            true => None,
            false => {
                let text = Text::new(read_text(bytes, "a text")?);
                Some(text.map_err(|error| DecodeError::Malformed(error.to_string()))?)
            }
        };
        Ok(GivenText { handle, text })
    });
    Ok(Message::Texts {
        request,
        texts: texts.collect::<Result<_, DecodeError>>()?,
    })
}

fn read_edits(reader: &mut BitReader<'_>) -> Result<Message, DecodeError> {
    let count = reader.get(EDITS_BITS)?;
    let edits = (0..count).map(|_| {
        let number: u8 = reader.get_as(EDIT_LAYER_BITS)?;
        let layer = LayerKind::of(number.into()).ok_or(DecodeError::OutOfRange {
            what: "the layer of an edit",
            found: number.into(),
        })?;
        let cell = reader.get_as(EDIT_CELL_BITS)?;
        let bits: u16 = reader.get_as(layer.bits())?;
        let value = match layer {
            LayerKind::Height => i32::from(bits.cast_signed()),
            LayerKind::Blocked | LayerKind::Tag => i32::from(bits),
        };
        Ok(Edit { layer, cell, value })
    });
    Ok(Message::Edits(edits.collect::<Result<_, DecodeError>>()?))
}

fn read_refusal(reader: &mut BitReader<'_>) -> Result<(Refusal, Option<u8>), DecodeError> {
    let found = reader.get(REFUSAL_BITS)?;
    let extended = match found {
        IDLE_BECAUSE => Some(Refusal::Idle),
        UNMET_BECAUSE => Some(Refusal::Unmet),
        _ => None,
    };
    if let Some(reason) = extended {
        return Ok((reason, Some(reader.get_as(BECAUSE_BITS)?)));
    }
    let reason = Refusal::of(found).ok_or(DecodeError::OutOfRange {
        what: "the reason of a refusal",
        found,
    })?;
    Ok((reason, None))
}

fn read_interface(reader: &mut BitReader<'_>) -> Result<Interface, DecodeError> {
    let bytes = read_bytes(reader, INTERFACE_LENGTH_BITS)?;
    codec::from_wire::<FRAME_BYTES_MAX, _>(&bytes)
}

fn read_text(bytes: Vec<u8>, what: &str) -> Result<String, DecodeError> {
    let text = String::from_utf8(bytes);
    text.map_err(|error| DecodeError::Malformed(format!("{what}: {error}")))
}

const TICK_BITS: u32 = 16;
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
const TAG_INTERFACE: u64 = 9;
const TAG_REFUSED: u64 = 10;
const TAG_SERVERS: u64 = 11;
/// Which of the rare messages it is, follows.
const TAG_RARE: u64 = 12;
const TAG_LAYER: u64 = 13;
const TAG_NAME: u64 = 14;
const TAG_TALK: u64 = 15;
const RARE_BITS: u32 = 4;
const RARE_RESTART: u64 = 0;
const RARE_RANKING: u64 = 1;
const RARE_TEXTS: u64 = 2;
const RARE_EDITS: u64 = 4;
const RARE_MEMBERS: u64 = 5;
/// Holds [`EDITS_MAX`].
const EDITS_BITS: u32 = 16;
/// The most edits of a message.
pub const EDITS_MAX: usize = (1 << EDITS_BITS) - 1;
const EDIT_LAYER_BITS: u32 = 2;
/// Holds the number of any cell of a layer.
const EDIT_CELL_BITS: u32 = 26;
const _: () = assert!(CELLS_MAX as u64 * CELLS_MAX as u64 <= 1 << EDIT_CELL_BITS);
/// Holds [`TEXTS_MAX`].
const TEXTS_BITS: u32 = 6;
const _: () = assert!(TEXTS_MAX < 1 << TEXTS_BITS);
/// Holds [`LENGTH_MAX`].
const TEXT_LENGTH_BITS: u32 = 8;
const REFUSED_PARAMETER: u32 = 1;
const REFUSAL_BITS: u32 = 4;
/// Instead of the numbers of [`Refusal::Idle`] and [`Refusal::Unmet`]: that of a reason follows.
const IDLE_BECAUSE: u64 = 14;
const UNMET_BECAUSE: u64 = 15;
/// Holds the number of a reason.
const BECAUSE_BITS: u32 = 8;
const _: () = assert!(REASONS_MAX == 1 << BECAUSE_BITS);
const _: () = assert!((Refusal::ALL.len() as u64) <= IDLE_BECAUSE);
/// A schema is smaller than a welcome, which has at most a MiB.
const INTERFACE_LENGTH_BITS: u32 = 20;
/// Holds [`ANSWER_BYTES_MAX`].
const REASON_LENGTH_BITS: u32 = 10;
/// Holds [`ADDRESS_BYTES_MAX`].
const ADDRESS_LENGTH_BITS: u32 = 8;
/// Of the number of servers.
const SERVERS_BITS: u32 = 4;
const _: () = assert!(SERVERS_MAX < 1 << SERVERS_BITS);
/// Holds [`TALK_BYTES_MAX`].
const TALK_LENGTH_BITS: u32 = 16;
/// Holds [`LAYER_PART_BYTES_MAX`].
const LAYER_LENGTH_BITS: u32 = 16;

const _: () = assert!(ADDRESS_BYTES_MAX < 1 << ADDRESS_LENGTH_BITS);
const _: () = assert!(TALK_BYTES_MAX < 1 << TALK_LENGTH_BITS);
const _: () = assert!(LAYER_PART_BYTES_MAX < 1 << LAYER_LENGTH_BITS);
