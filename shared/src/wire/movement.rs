//! Movement datagrams: courses and the other attributes of audience `movement`.
//!
//! An entity is in a datagram if it does not go on as the client was told, or if it may be
//! that the client was not told. Position and velocity hold from the datagram's tick on.
//!
//! No datagram depends on an earlier one, so any may be lost. Where the entities lie as
//! close together as in one area of interest, positions are sent as low bits, and each
//! datagram names the corner that completes them. This is lossless, and with a radius of
//! 50 takes at most 19 bits an axis, however large the world is. Elsewhere, positions are
//! sent in full.
//!
//! | field | bits |
//! | --- | --- |
//! | epoch, low bits of the tick | 8, 16 |
//! | whether it is the tick's only one | 1 |
//! | if not: part number, whether it is the tick's last | 4, 1 |
//! | low bits of the sequence number of the last processed command | 16 |
//! | number of entities: its length, then its bits below the highest | 4, length − 1 |
//! | unless 0: wide (positions in full), gap parameter | 1, 5 |
//! | unless wide: corner per axis, in whole units | the axis's width − 12 |
//! | per entity: gap to the slot before, minus one | a Rice code |
//! | per entity: position, then each further attribute: present, value | as the schema says |
//! | per entity: velocity | see `velocity` |

use thiserror::Error;

use super::bits::{BitReader, BitWriter};
use super::velocity::{self, PackedVelocity};
use super::{DATAGRAM_BYTES_MAX, DecodeError};
use crate::world::attribute::{Audience, bits_for};
use crate::world::course::Course;
use crate::world::fixed::Fixed;
use crate::world::id::{Slot, Tick};
use crate::world::schema::Schema;

/// Encodes and decodes movement in one world.
#[derive(Clone, Debug)]
pub struct MovementCodec {
    axes: Vec<Axis>,
    /// Columns of audience `movement` that are not part of the position.
    extras: Vec<Extra>,
    /// By kind: a bit for each extra that it has.
    kind_extras: Vec<u64>,
    capacity: u32,
}

#[derive(Clone, Debug)]
struct Axis {
    /// Bits of a full position.
    bits: u32,
    /// Bits of a position that are sent beside a corner.
    low_bits: u32,
    max: i32,
}

#[derive(Clone, Debug)]
struct Extra {
    column: u16,
    bits: u32,
    min: i32,
    max: i32,
}

/// An entity's movement, packed. It is packed once a tick and copied into the datagrams
/// of all clients that see the entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    low: u64,
    high: u64,
    len: u32,
    velocity: PackedVelocity,
}

/// An entity that a datagram tells of.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    pub kind: u16,
    /// From the datagram's tick on.
    pub course: Course,
    /// A value for each column; those of the position are not used.
    pub row: &'a [i32],
    /// All of this, packed.
    pub packed: Packed,
}

/// The part of a datagram before its entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub epoch: u8,
    pub tick: Tick,
    /// The sequence number of the client's last command that the world has processed.
    pub processed: u32,
}

/// A decoded datagram. Reused for the next one, it soon allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Movement {
    pub epoch: u8,
    /// The low 16 bits of the tick; see [`nearest`].
    pub tick_low: u16,
    pub part: u8,
    pub is_last_part: bool,
    /// The low 16 bits of the sequence number; see [`nearest`].
    pub processed_low: u16,
    pub slots: Vec<Slot>,
    /// Positions: [`Schema::dimensions`] values for each entity.
    pub positions: Vec<i32>,
    /// Velocities: as many values, in raw units a tick.
    pub velocities: Vec<i32>,
    /// The other movement attributes: (index of the entity in `slots`, column, value).
    pub extras: Vec<(u32, u16, i32)>,
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

impl MovementCodec {
    /// The codec of a world. Fails where entities take more than
    /// [`MOVEMENT_BITS_MAX`] bits.
    pub fn new(schema: &Schema) -> Result<MovementCodec, TooWide> {
        let dimensions = schema.dimensions();
        let span = 2 * i64::from(schema.world.aoi.raw()) + i64::from(Fixed::ONE.raw());
        let axes: Vec<Axis> = schema.attributes[..dimensions]
            .iter()
            .map(|attribute| Axis {
                bits: attribute.bits(),
                low_bits: attribute.bits().min(bits_for(span as u64)),
                max: attribute.max,
            })
            .collect();
        let extras: Vec<Extra> = schema
            .attributes
            .iter()
            .enumerate()
            .skip(dimensions)
            .filter(|(_, attribute)| attribute.audience == Audience::Movement)
            .map(|(column, attribute)| Extra {
                column: column as u16,
                bits: attribute.bits(),
                min: attribute.min,
                max: attribute.max,
            })
            .collect();
        let bits = axes.iter().map(|a| a.bits).sum::<u32>()
            + extras.iter().map(|e| 1 + e.bits).sum::<u32>();
        if bits > MOVEMENT_BITS_MAX || extras.len() > 64 {
            return Err(TooWide { bits });
        }
        let kind_extras = schema
            .kinds
            .iter()
            .map(|kind| {
                let has = |e: &Extra| kind.attributes.iter().any(|a| a.column == e.column);
                (0..extras.len()).fold(0, |mask, i| mask | u64::from(has(&extras[i])) << i)
            })
            .collect();
        Ok(MovementCodec {
            axes,
            extras,
            kind_extras,
            capacity: schema.world.capacity,
        })
    }

    /// Packs the course and the row of one entity.
    pub fn pack(&self, kind: u16, course: &Course, row: &[i32]) -> Packed {
        self.pack_as(kind, course, row, false)
    }

    fn pack_as(&self, kind: u16, course: &Course, row: &[i32], wide: bool) -> Packed {
        let mut packed = Packed {
            velocity: PackedVelocity::new(&course.velocity[..self.axes.len()]),
            ..Packed::default()
        };
        for (axis, value) in self.axes.iter().zip(course.position) {
            let bits = if wide { axis.bits } else { axis.low_bits };
            packed.push(value as u64, bits);
        }
        let mask = self
            .kind_extras
            .get(usize::from(kind))
            .copied()
            .unwrap_or(0);
        for (i, extra) in self.extras.iter().enumerate() {
            let present = mask >> i & 1;
            packed.push(present, 1);
            if present == 1 {
                let value = i64::from(row[usize::from(extra.column)]) - i64::from(extra.min);
                packed.push(value as u64, extra.bits);
            }
        }
        packed
    }

    /// Encodes entities into as few datagrams as possible, at least one, and passes each
    /// to `send`. `slots` ascends; `entity` returns what is told of one. Returns the number of entities that don't fit into [`PARTS_MAX`] datagrams:
    /// the last of `slots`.
    pub fn encode<'a>(
        &self,
        header: Header,
        slots: &[u32],
        entity: impl Fn(u32) -> Told<'a>,
        writer: &mut BitWriter,
        mut send: impl FnMut(Vec<u8>),
    ) -> usize {
        let corner = match self.is_shorter_with_corner(slots.len()) {
            true => self.corner(slots, |slot| entity(slot).course.position),
            false => None,
        };
        let gap_mean = match slots.last() {
            Some(&last) => (last + 1) / slots.len() as u32,
            None => 0,
        };
        let parameter = gap_mean.checked_ilog2().unwrap_or(0);
        let fixed_bits = HEADER_BITS + self.axes.iter().map(|a| a.bits).sum::<u32>();
        let entity_bits = |slot: u32, previous: Option<u32>| {
            let gap = slot - previous.map_or(0, |p| p + 1);
            let packed = entity(slot).packed;
            let bits = match corner {
                Some(_) => packed.len,
                None => MOVEMENT_BITS_MAX,
            };
            (bits + packed.velocity.bits() + BitWriter::rice_bits(gap, parameter)) as usize
        };
        let mut rest = slots;
        for part in 0..PARTS_MAX {
            let mut taken = 0;
            let mut bits = fixed_bits as usize;
            while taken < rest.len() && taken < ENTITIES_MAX {
                bits += entity_bits(rest[taken], taken.checked_sub(1).map(|i| rest[i]));
                if bits > DATAGRAM_BYTES_MAX * 8 {
                    break;
                }
                taken += 1;
            }
            let (now, later) = rest.split_at(taken);
            let is_last = later.is_empty() || part == PARTS_MAX - 1;
            self.encode_part(
                &Part {
                    header,
                    part,
                    is_last,
                    parameter,
                    corner: &corner,
                },
                now,
                &entity,
                writer,
            );
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

    /// Whether low bits save more than the corner takes.
    fn is_shorter_with_corner(&self, entities: usize) -> bool {
        let saved = self.axes.iter().map(|a| a.bits - a.low_bits).sum::<u32>();
        let corner = self.axes.iter().map(Axis::corner_bits).sum::<u32>();
        entities as u64 * u64::from(saved) >= u64::from(corner)
    }

    /// The corner that completes low bits, in whole units; `None` where the entities lie
    /// too far apart for low bits.
    fn corner(&self, slots: &[u32], position: impl Fn(u32) -> [i32; 3]) -> Option<[i32; 3]> {
        let (mut low, mut high) = ([i32::MAX; 3], [0; 3]);
        for &slot in slots {
            for (axis, value) in position(slot).into_iter().enumerate() {
                low[axis] = low[axis].min(value);
                high[axis] = high[axis].max(value);
            }
        }
        let mut corner = [0; 3];
        for (i, axis) in self.axes.iter().enumerate() {
            if axis.low_bits == axis.bits || slots.is_empty() {
                continue;
            }
            corner[i] = low[i] >> Fixed::FRACTION_BITS;
            let span = i64::from(high[i]) - (i64::from(corner[i]) << Fixed::FRACTION_BITS);
            if span >= 1 << axis.low_bits {
                return None;
            }
        }
        Some(corner)
    }

    fn encode_part<'a>(
        &self,
        part: &Part,
        slots: &[u32],
        entity: &impl Fn(u32) -> Told<'a>,
        writer: &mut BitWriter,
    ) {
        writer.put(u64::from(part.header.epoch), 8);
        writer.put(u64::from(part.header.tick.0), 16);
        let is_only = part.part == 0 && part.is_last;
        writer.put(u64::from(is_only), 1);
        if !is_only {
            writer.put(part.part as u64, 4);
            writer.put(u64::from(part.is_last), 1);
        }
        writer.put(u64::from(part.header.processed), 16);
        let length = usize::BITS - slots.len().leading_zeros();
        writer.put(u64::from(length), COUNT_LENGTH_BITS);
        if slots.is_empty() {
            return;
        }
        writer.put(slots.len() as u64, length - 1);
        writer.put(u64::from(part.corner.is_none()), 1);
        writer.put(u64::from(part.parameter), 5);
        if let Some(corner) = part.corner {
            for (axis, &corner) in self.axes.iter().zip(corner) {
                writer.put(corner as u64, axis.corner_bits());
            }
        }
        let mut next = 0;
        for &slot in slots {
            writer.put_rice(slot - next, part.parameter);
            next = slot + 1;
            let told = entity(slot);
            let packed = match part.corner {
                Some(_) => told.packed,
                None => self.pack_as(told.kind, &told.course, told.row, true),
            };
            writer.put(packed.low, packed.len.min(64));
            writer.put(packed.high, packed.len.saturating_sub(64));
            packed.velocity.put(writer);
        }
    }

    /// Decodes a datagram into `out`, whose content it replaces.
    pub fn decode(&self, bytes: &[u8], out: &mut Movement) -> Result<(), DecodeError> {
        out.slots.clear();
        out.positions.clear();
        out.velocities.clear();
        out.extras.clear();
        let mut reader = BitReader::new(bytes);
        out.epoch = reader.get(8)? as u8;
        out.tick_low = reader.get(16)? as u16;
        (out.part, out.is_last_part) = match reader.get_bool()? {
            true => (0, true),
            false => (reader.get(4)? as u8, reader.get_bool()?),
        };
        out.processed_low = reader.get(16)? as u16;
        let count = read_count(&mut reader)?;
        if count == 0 {
            return reader.finish();
        }
        let wide = reader.get_bool()?;
        let parameter = reader.get(5)? as u32;
        let mut corner = [0; 3];
        if !wide {
            for (axis, corner) in self.axes.iter().zip(&mut corner) {
                *corner = (reader.get(axis.corner_bits())? as i64) << Fixed::FRACTION_BITS;
            }
        }
        let mut next: u64 = 0;
        for index in 0..count as u32 {
            let slot = next + u64::from(reader.get_rice(parameter)?);
            if slot >= u64::from(self.capacity) {
                return Err(DecodeError::OutOfRange {
                    what: "a slot",
                    found: slot,
                });
            }
            next = slot + 1;
            out.slots.push(Slot(slot as u32));
            for (axis, &corner) in self.axes.iter().zip(&corner) {
                out.positions
                    .push(axis.position(&mut reader, wide, corner)?);
            }
            for extra in &self.extras {
                if reader.get_bool()? {
                    let value = extra.min as i64 + reader.get(extra.bits)? as i64;
                    if value > i64::from(extra.max) {
                        return Err(DecodeError::OutOfRange {
                            what: "an attribute",
                            found: value as u64,
                        });
                    }
                    out.extras.push((index, extra.column, value as i32));
                }
            }
            let velocity = velocity::get(&mut reader, self.axes.len())?;
            out.velocities.extend(&velocity[..self.axes.len()]);
        }
        reader.finish()
    }
}

/// The number of entities.
fn read_count(reader: &mut BitReader<'_>) -> Result<u64, DecodeError> {
    let length = reader.get(COUNT_LENGTH_BITS)? as u32;
    if length > COUNT_BITS {
        return Err(DecodeError::OutOfRange {
            what: "the length of a number of entities",
            found: length.into(),
        });
    }
    match length {
        0 => Ok(0),
        _ => Ok(1 << (length - 1) | reader.get(length - 1)?),
    }
}

struct Part<'a> {
    header: Header,
    part: usize,
    is_last: bool,
    parameter: u32,
    corner: &'a Option<[i32; 3]>,
}

impl Axis {
    /// Bits of the corner; 0 where low bits are the whole position.
    fn corner_bits(&self) -> u32 {
        if self.low_bits == self.bits {
            0
        } else {
            self.bits.saturating_sub(Fixed::FRACTION_BITS)
        }
    }

    fn position(
        &self,
        reader: &mut BitReader<'_>,
        wide: bool,
        corner: i64,
    ) -> Result<i32, DecodeError> {
        let bits = if wide { self.bits } else { self.low_bits };
        let low = reader.get(bits)? as i64;
        // The only number in corner..corner + 2^bits that ends in these bits.
        let value = corner + (low - corner).rem_euclid(1 << bits);
        if value > i64::from(self.max) {
            return Err(DecodeError::OutOfRange {
                what: "a position",
                found: value as u64,
            });
        }
        Ok(value as i32)
    }
}

impl Packed {
    fn push(&mut self, value: u64, bits: u32) {
        if bits == 0 {
            // A constant behind 128 bits of others: the shift below would overflow.
            return;
        }
        let value = u128::from(value & ((1 << bits) - 1)) << self.len;
        self.low |= value as u64;
        self.high |= (value >> 64) as u64;
        self.len += bits;
    }
}

/// The number nearest to `reference` whose low 16 bits are `low`.
pub const fn nearest(low: u16, reference: u32) -> u32 {
    reference.wrapping_add(low.wrapping_sub(reference as u16) as i16 as u32)
}

const COUNT_LENGTH_BITS: u32 = 4;
const COUNT_BITS: u32 = 10;
/// The most bits before the corner.
const HEADER_BITS: u32 = 8 + 16 + 1 + 4 + 1 + 16 + COUNT_LENGTH_BITS + COUNT_BITS - 1 + 1 + 5;
const ENTITIES_MAX: usize = (1 << COUNT_BITS) - 1;
