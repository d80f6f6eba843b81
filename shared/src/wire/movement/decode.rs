//! Reading of movement datagrams.

use super::place::{Forms, Read};
use super::{COUNT_BITS, COUNT_LENGTH_BITS, GAP_PARAMETER_BITS, Movement, MovementCodec};
use super::{busy, kept, margin};
use crate::wire::DecodeError;
use crate::wire::bits::BitReader;
use crate::world::course::Course;
use crate::world::id::{Slot, Tick};

impl MovementCodec {
    /// Decodes a datagram into `out`, whose content it replaces. `newest` is the newest
    /// tick that the receiver has, and `course` gives an entity's course as of a
    /// tick: the newest by then.
    pub fn decode(
        &self,
        bytes: &[u8],
        newest: Tick,
        course: impl Fn(Slot, Tick) -> Option<Course>,
        out: &mut Movement,
    ) -> Result<(), DecodeError> {
        out.clear();
        let mut reader = BitReader::new(bytes);
        out.tick = newest.nearest(reader.get_as(16)?, 16);
        (out.part, out.is_last_part) = match reader.get_bool()? {
            true => (0, true),
            false => (reader.get_as(4)?, reader.get_bool()?),
        };
        out.is_whole = out.is_last_part && reader.get_bool()?;
        out.processed_low = reader.get_as(16)?;
        out.kept = kept::read(&mut reader, out.tick)?;
        out.margin = margin::read(&mut reader)?;
        out.send_every = busy::read(&mut reader)?;
        let count = read_count(&mut reader)?;
        if count == 0 {
            return reader.finish();
        }
        let parameter = reader.get_as(GAP_PARAMETER_BITS)?;
        let forms = Forms::read(&mut reader, &self.axes)?;
        let base = out.tick.before(forms.base_ticks);
        out.base = (forms.base_ticks > 0).then_some(base);
        let dimensions = self.axes.count();
        let (mut index, mut next) = (0, 0u32);
        for _ in 0..count {
            let gap = reader.get_rice(parameter)?;
            let slot = next.saturating_add(gap);
            if slot >= self.capacity {
                return Err(DecodeError::OutOfRange {
                    what: "a slot",
                    found: u64::from(next) + u64::from(gap),
                });
            }
            next = slot + 1;
            let slot = Slot(slot);
            let read = forms.read_place(&mut reader, &self.axes)?;
            let extras = out.extras.len();
            let extra = |column, value| out.extras.push((index, column, value));
            let velocity = self.tails.read(&mut reader, dimensions, extra)?;
            let position = match read {
                Read::Position(position) => position,
                Read::Difference(difference) => {
                    let Some(course) = course(slot, base) else {
                        out.extras.truncate(extras);
                        out.unknown += 1;
                        continue;
                    };
                    let expected = self.expected(&course, out.tick, &velocity);
                    self.axes.resolve(expected, difference)?
                }
            };
            index += 1;
            out.slots.push(slot);
            out.positions.extend(&position[..dimensions]);
            out.velocities.extend(&velocity[..dimensions]);
        }
        reader.finish()
    }
}

impl Movement {
    fn clear(&mut self) {
        self.base = None;
        self.slots.clear();
        self.positions.clear();
        self.velocities.clear();
        self.extras.clear();
        self.unknown = 0;
    }
}

/// The number of entities.
fn read_count(reader: &mut BitReader<'_>) -> Result<u32, DecodeError> {
    let length: u32 = reader.get_as(COUNT_LENGTH_BITS)?;
    if length > COUNT_BITS {
        return Err(DecodeError::OutOfRange {
            what: "the length of a number of entities",
            found: length.into(),
        });
    }
    match length {
        0 => Ok(0),
        _ => Ok(1 << (length - 1) | reader.get_as::<u32>(length - 1)?),
    }
}
