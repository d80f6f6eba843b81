//! Movement datagrams: courses and the other attributes of audience `movement`.
//!
//! An entity is in a datagram if it departs from the course that the client was sent, or if
//! that course may have been lost.
//!
//! A position has one of three forms:
//!
//! - The **difference** from where the client expects the entity. Client and server
//!   both have the entity's course in the base, the newest tick that the client has
//!   acknowledged. An entity that has turned since is exactly one step of its new velocity
//!   from where the old course led to in the tick before, which costs a bit or two.
//! - **Low bits**, for entities that the base lacks. The datagram names the
//!   corner that completes them. With a radius of 50 they take at most 19 bits an axis,
//!   however large the world is.
//! - In full (**wide**), where the entities lie too far apart for low bits.
//!
//! No datagram depends on one that the client may not have, so any may be lost. All forms
//! are exact; a world with a `wire_step` leaves out the bits below it.
//!
//! | field | bits |
//! | --- | --- |
//! | low bits of the tick | 16 |
//! | whether it is the tick's only one | 1 |
//! | if not: part number, whether it is the tick's last | 4, 1 |
//! | in the tick's last one: whether nothing is left to send | 1 |
//! | low bits of the sequence number of the last processed command | 16 |
//! | kept tick, beside the datagram's: see `kept` | 2 or 8 |
//! | by how many ticks commands came too early: see `margin` | 1 or 6 |
//! | how busy the server is: see `busy` | 1 or 4 |
//! | number of entities: its length, then its bits below the highest | 4, length − 1 |
//! | unless 0: gap parameter, ticks since the base (0: no differences) | 5, 4 |
//! | with a base: whether all are differences, bits of a difference on each axis | 1, 5 |
//! | unless all are differences, in a world with steps: exact, not in steps | 1 |
//! | unless all are differences: wide | 1 |
//! | unless wide: corner per axis, in whole units | the axis's width − 12 |
//! | per entity: gap to the slot before, minus one | a Rice code |
//! | per entity, with a base, unless all are: whether it is a difference | 1 |
//! | per entity, a difference with bits: whether it is not 0 | 1 |
//! | per entity: position, or difference as 0, -1, 1, -2, … | as above |
//! | per entity, and further attribute: present, value | 1, by the schema |
//! | per entity: velocity | see `velocity` |

mod busy;
mod decode;
mod kept;
mod margin;
mod place;
mod tail;

use thiserror::Error;

use super::DATAGRAM_BYTES_MAX;
use super::bits::BitWriter;
use crate::world::course::Course;
use crate::world::id::{Slot, Tick};
use crate::world::schema::Schema;
pub use busy::SEND_EVERY_MAX;
pub use margin::MARGIN_MAX;
pub use place::EncodedPosition;
use place::{Axes, Forms};
pub use tail::Tail;
use tail::TailCodec;

/// Encodes and decodes movement in one world.
#[derive(Clone, Debug)]
pub struct MovementCodec {
    axes: Axes,
    tails: TailCodec,
    capacity: u32,
}

/// An entity of a datagram, packed.
#[derive(Clone, Copy, Debug)]
pub struct PackedEntity {
    /// Where it is in the datagram's tick.
    pub place: EncodedPosition,
    /// The rest, packed.
    pub tail: Tail,
}

/// The part of a datagram before its entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub tick: Tick,
    /// The tick that differences build on. One that is older than
    /// [`BASE_TICKS_MAX`] stands for none.
    pub base: Option<Tick>,
    /// The sequence number of the client's last command that the world has processed.
    pub processed: u32,
    /// The newest tick that can't be lost; `None` in a world that is not persistent.
    pub kept: Option<Tick>,
    /// By how many ticks commands came too early, of those processed since the last one that
    /// was sent: the least. 0 is just in time, and one below 0 came too late.
    /// `None` if there are none that were meant for a tick.
    pub margin: Option<i32>,
    /// 1, or a busy server sends to each client about every so many ticks.
    pub send_every: u32,
    /// Whether the tick has everything that the client may lack; else some of it is deferred
    /// or, where the tick has no entity, may be on its way.
    pub is_whole: bool,
}

/// Buffers of [`MovementCodec::encode`]; one set serves all clients in turn.
#[derive(Default)]
pub struct MovementScratch {
    writer: BitWriter,
    entities: Vec<Entity>,
}

/// An entity as it is written.
struct Entity {
    slot: u32,
    packed: PackedEntity,
}

/// A decoded datagram. Reused for the next one, it soon allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Movement {
    pub tick: Tick,
    pub part: u8,
    pub is_last_part: bool,
    /// In the last part: whether nothing is left to send. Otherwise, entities that the tick
    /// does not name may have departed from their courses.
    pub is_whole: bool,
    /// The low 16 bits of the sequence number; see [`nearest_sequence`].
    pub processed_low: u16,
    /// As in the [`Header`].
    pub kept: Option<Tick>,
    /// As in the [`Header`], at most [`MARGIN_MAX`] and at least -[`MARGIN_MAX`] − 1.
    pub margin: Option<i32>,
    /// As in the [`Header`], at most [`SEND_EVERY_MAX`].
    pub send_every: u32,
    /// The tick that differences build on.
    pub base: Option<Tick>,
    pub slots: Vec<Slot>,
    /// Positions: [`Schema::dimensions`] values for each entity.
    pub positions: Vec<i32>,
    /// Velocities: as many values, in raw units a tick.
    pub velocities: Vec<i32>,
    /// The other movement attributes: (index of the entity in `slots`, column, value).
    pub extras: Vec<(u32, u16, i32)>,
    /// Entities that are left out above, as the base lacks them.
    pub unknown: usize,
}

/// A world whose entities take too many bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an entity's movement takes {bits} bits, where at most {MOVEMENT_BITS_MAX} are allowed")]
pub struct TooWide {
    pub bits: u32,
}

/// The most bits that the position and movement attributes of an entity can take, without
/// its velocity.
pub const MOVEMENT_BITS_MAX: u32 = 128;
/// The most datagrams of one tick for one client.
pub const PARTS_MAX: usize = 16;
/// The age of the oldest base, in ticks.
pub const BASE_TICKS_MAX: u32 = (1 << BASE_BITS) - 1;

impl Header {
    /// The ticks since the base; `None` if no differences can build on it.
    pub fn base_ticks(&self) -> Option<u32> {
        let age = self.tick.since(self.base?);
        (1..=BASE_TICKS_MAX).contains(&age).then_some(age)
    }
}

impl MovementCodec {
    /// The codec of a world. Fails where entities take more than
    /// [`MOVEMENT_BITS_MAX`] bits.
    pub fn new(schema: &Schema) -> Result<MovementCodec, TooWide> {
        let (axes, tails) = (Axes::new(schema), TailCodec::new(schema));
        let bits = axes.bits() + tails.bits_max();
        if bits > MOVEMENT_BITS_MAX || !tails.fits_a_mask() {
            return Err(TooWide { bits });
        }
        Ok(MovementCodec {
            axes,
            tails,
            capacity: schema.world.capacity,
        })
    }

    /// Packs the fields of an entity beside its position. They are the same for all clients,
    /// and in all ticks until the entity gets a new course.
    pub fn tail(&self, kind: u16, velocity: &[i32; 3], row: &[i32]) -> Tail {
        self.tails.pack(kind, &velocity[..self.axes.count()], row)
    }

    /// The position that is sent of an entity which clients expect elsewhere: at
    /// most half a `wire_step` away. It is the expected one, or one of whole steps.
    pub fn rounded(&self, position: [i32; 3], expected: [i32; 3]) -> [i32; 3] {
        self.axes.rounded(position, expected)
    }

    /// Where a client expects an entity in a tick, by a course from before this tick and its
    /// new velocity.
    pub fn expected(&self, course: &Course, tick: Tick, velocity: &[i32; 3]) -> [i32; 3] {
        self.axes.expected(course, tick, velocity)
    }

    /// A position in full.
    pub fn full(&self, position: [i32; 3]) -> EncodedPosition {
        EncodedPosition::full(position)
    }

    /// A position as the difference from the [expected](MovementCodec::expected) one. `None`
    /// if it is shorter in full. A datagram without a base has room for none.
    pub fn difference(&self, position: &[i32; 3], expected: &[i32; 3]) -> Option<EncodedPosition> {
        self.axes.difference(position, expected)
    }

    /// Encodes entities into as few datagrams as possible, at least one, and passes each
    /// to `send`. `slots` ascends; `entity` returns one, by its index in
    /// `slots`. Returns the number of entities that don't fit into [`PARTS_MAX`] datagrams or
    /// `bytes_max`: the last of `slots`. The first entity is encoded however few bytes are
    /// allowed, so that a tick without entities has none deferred.
    pub fn encode(
        &self,
        header: Header,
        slots: &[u32],
        bytes_max: usize,
        mut entity: impl FnMut(usize) -> PackedEntity,
        scratch: &mut MovementScratch,
        mut send: impl FnMut(Vec<u8>),
    ) -> usize {
        let MovementScratch { writer, entities } = scratch;
        entities.clear();
        let all = slots.iter().enumerate();
        entities.extend(all.map(|(i, &slot)| Entity {
            slot,
            packed: entity(i),
        }));
        let places = entities.iter().map(|entity| &entity.packed.place);
        let forms = Forms::of(places, header.base_ticks(), &self.axes);
        let gap_mean = match slots.last() {
            Some(&last) => (last + 1) / u32::try_from(slots.len()).unwrap_or(u32::MAX),
            None => 0,
        };
        let parameter = gap_mean.checked_ilog2().unwrap_or(0);
        let mut rest = entities.as_slice();
        let mut left = bytes_max;
        for part in 0..PARTS_MAX {
            let room = left.min(DATAGRAM_BYTES_MAX);
            let fitting = self.count_that_fits(rest, &forms, parameter, room);
            let least = usize::from(part == 0).min(rest.len());
            let (now, later) = rest.split_at(fitting.max(least));
            left -= room;
            let is_last = later.is_empty() || part == PARTS_MAX - 1 || left < PART_BYTES_MIN;
            let header = Header {
                is_whole: header.is_whole && later.is_empty(),
                ..header
            };
            put_header(writer, &header, part, is_last, now.len());
            if !now.is_empty() {
                writer.put(u64::from(parameter), GAP_PARAMETER_BITS);
                forms.put(writer, &self.axes);
                self.put_entities(writer, now, &forms, parameter);
            }
            let mut bytes = Vec::with_capacity(writer.bit_len().div_ceil(8));
            writer.finish_into(&mut bytes);
            send(bytes);
            rest = later;
            if is_last {
                break;
            }
        }
        rest.len()
    }

    /// About as many bits as an entity takes in a datagram with others like it.
    pub fn bits_about(&self, entity: &PackedEntity) -> u32 {
        GAP_BITS_ABOUT + self.axes.bits_about(&entity.place) + entity.tail.bits()
    }

    /// The number of entities that fit into one datagram.
    fn count_that_fits(
        &self,
        entities: &[Entity],
        forms: &Forms,
        parameter: u32,
        bytes_max: usize,
    ) -> usize {
        let mut bits = HEADER_BITS_MAX + forms.bits(&self.axes);
        let mut next = 0;
        let fitting = entities.iter().take(ENTITIES_MAX).take_while(|entity| {
            bits += BitWriter::rice_bits(entity.slot - next, parameter)
                + forms.place_bits(&self.axes, &entity.packed.place)
                + entity.packed.tail.bits();
            next = entity.slot + 1;
            bits as usize <= bytes_max * 8
        });
        fitting.count()
    }

    fn put_entities(
        &self,
        writer: &mut BitWriter,
        entities: &[Entity],
        forms: &Forms,
        parameter: u32,
    ) {
        let mut next = 0;
        for entity in entities {
            writer.put_rice(entity.slot - next, parameter);
            next = entity.slot + 1;
            forms.put_place(writer, &self.axes, &entity.packed.place);
            entity.packed.tail.put(writer);
        }
    }
}

fn put_header(writer: &mut BitWriter, header: &Header, part: usize, is_last: bool, count: usize) {
    writer.put(header.tick.low().into(), 16);
    let is_only = part == 0 && is_last;
    writer.put(u64::from(is_only), 1);
    if !is_only {
        writer.put(part as u64, 4);
        writer.put(u64::from(is_last), 1);
    }
    if is_last {
        writer.put(u64::from(header.is_whole), 1);
    }
    writer.put(u64::from(header.processed), 16);
    kept::put(writer, header.tick, header.kept);
    margin::put(writer, header.margin);
    busy::put(writer, header.send_every);
    let length = usize::BITS - count.leading_zeros();
    writer.put(u64::from(length), COUNT_LENGTH_BITS);
    if count > 0 {
        writer.put(count as u64, length - 1);
    }
}

/// Urgency of an entity, by tier of distance: entities are sent in the
/// order of this times the ticks that they have waited.
pub const URGENCIES: [u32; 4] = [8, 4, 2, 1];

/// The most ticks that an entity of the last tier waits, of so many in view that all have
/// news in each tick, where so many are sent in a tick.
///
/// Let p be the largest product of urgency and wait. Each tick adds at most the sum S of all
/// urgencies to the sum of products; while one entity of the last tier waits for p ticks,
/// tick t of them takes away at least `sent` × t. The sum is never above `in_view` × p, so p
/// is at most 2 (`in_view` + S) / `sent`.
pub fn wait_ticks_max(in_view: usize, sent: usize) -> u32 {
    let all = in_view * (1 + URGENCIES[0] as usize);
    u32::try_from((2 * all).div_ceil(sent.max(1))).unwrap_or(u32::MAX)
}

/// The sequence number nearest to `reference` whose low 16 bits are `low`; they wrap around.
pub const fn nearest_sequence(low: u16, reference: u32) -> u32 {
    let ahead = low.wrapping_sub((reference & 0xffff) as u16);
    reference.wrapping_add_signed(ahead.cast_signed() as i32)
}

const COUNT_LENGTH_BITS: u32 = 4;
const COUNT_BITS: u32 = 10;
const GAP_PARAMETER_BITS: u32 = 5;
const BASE_BITS: u32 = 4;
/// The most bits before those of the forms.
const HEADER_BITS_MAX: u32 = 16
    + 1
    + 4
    + 1
    + 1
    + 16
    + kept::BITS_MAX
    + margin::BITS_MAX
    + busy::BITS_MAX
    + COUNT_LENGTH_BITS
    + COUNT_BITS
    - 1
    + GAP_PARAMETER_BITS;
/// Another datagram with fewer would have room for few entities beside its headers, or none.
const PART_BYTES_MIN: usize = 48;
const GAP_BITS_ABOUT: u32 = 6;
const ENTITIES_MAX: usize = (1 << COUNT_BITS) - 1;
