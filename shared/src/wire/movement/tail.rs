//! The fields of an entity beside its position.

use crate::wire::DecodeError;
use crate::wire::bits::{BitReader, BitWriter};
use crate::wire::velocity::{self, PackedVelocity};
use crate::world::attribute::Audience;
use crate::world::schema::Schema;

/// Further attributes and the velocity of an entity, packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    low: u64,
    high: u64,
    len: u32,
    velocity: PackedVelocity,
}

/// Packs and reads tails.
#[derive(Clone, Debug)]
pub(super) struct TailCodec {
    /// Columns of audience `movement` that are not part of the position.
    extras: Vec<Extra>,
    /// By kind: a bit for each extra that it has.
    kind_extras: Vec<u64>,
}

#[derive(Clone, Debug)]
struct Extra {
    column: u16,
    /// Of the value above `min`, in steps.
    bits: u32,
    step: u32,
    min: i32,
    max: i32,
}

impl TailCodec {
    pub fn new(schema: &Schema) -> TailCodec {
        let extras: Vec<Extra> = schema
            .attributes
            .iter()
            .enumerate()
            .skip(schema.dimensions())
            .filter(|(_, attribute)| attribute.audience == Audience::Movement)
            .map(|(column, attribute)| Extra {
                column: u16::try_from(column).unwrap_or(u16::MAX),
                bits: attribute.bits().saturating_sub(attribute.step),
                step: attribute.step,
                min: attribute.min,
                max: attribute.max,
            })
            .collect();
        let kind_extras = schema
            .kinds
            .iter()
            .map(|kind| {
                let has = |e: &Extra| kind.attributes.iter().any(|a| a.column == e.column);
                let extras = extras.iter().take(64).enumerate();
                extras.fold(0, |mask, (i, extra)| mask | u64::from(has(extra)) << i)
            })
            .collect();
        TailCodec {
            extras,
            kind_extras,
        }
    }

    /// The most bits of the attributes.
    pub fn bits_max(&self) -> u32 {
        self.extras.iter().map(|extra| 1 + extra.bits).sum()
    }

    pub fn fits_a_mask(&self) -> bool {
        self.extras.len() <= 64
    }

    pub fn pack(&self, kind: u16, velocity: &[i32], row: &[i32]) -> Tail {
        let mut tail = Tail {
            velocity: PackedVelocity::new(velocity),
            ..Tail::default()
        };
        let mask = self.kind_extras.get(usize::from(kind));
        let mask = mask.copied().unwrap_or(0);
        for (i, extra) in self.extras.iter().enumerate() {
            let present = mask >> i & 1;
            tail.push(present, 1);
            if present == 1 {
                tail.push(extra.steps(row[usize::from(extra.column)]), extra.bits);
            }
        }
        tail
    }

    /// Reads a tail of so many axes: passes on (column, value) of each further attribute,
    /// and returns the velocity.
    pub fn read(
        &self,
        reader: &mut BitReader<'_>,
        dimensions: usize,
        mut extra: impl FnMut(u16, i32),
    ) -> Result<[i32; 3], DecodeError> {
        for own in &self.extras {
            if reader.get_bool()? {
                extra(own.column, own.value(reader.get(own.bits)?)?);
            }
        }
        velocity::get(reader, dimensions)
    }
}

impl Extra {
    /// The nearest step to a value that is not above the largest value.
    fn steps(&self, value: i32) -> u64 {
        let half = (1i64 << self.step) >> 1;
        let range = i64::from(self.max) - i64::from(self.min);
        let above = i64::from(value) - i64::from(self.min);
        ((above + half).min(range) >> self.step) as u64
    }

    fn value(&self, steps: u64) -> Result<i32, DecodeError> {
        let value = i64::from(self.min) + ((steps as i64) << self.step);
        match i32::try_from(value) {
            Ok(value) if value <= self.max => Ok(value),
            _ => Err(DecodeError::OutOfRange {
                what: "an attribute",
                found: value.cast_unsigned(),
            }),
        }
    }
}

impl Tail {
    fn push(&mut self, value: u64, bits: u32) {
        if bits == 0 {
            // A constant behind 128 bits of others: the shift below would overflow.
            return;
        }
        let value = u128::from(value & ((1 << bits) - 1)) << self.len;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the next line has the rest"
        )]
        let low = value as u64;
        self.low |= low;
        self.high |= (value >> 64) as u64;
        self.len += bits;
    }

    pub(super) fn put(&self, writer: &mut BitWriter) {
        if self.len > 0 {
            writer.put(self.low, self.len.min(64));
            writer.put(self.high, self.len.saturating_sub(64));
        }
        self.velocity.put(writer);
    }

    pub(super) fn bits(&self) -> u32 {
        self.len + self.velocity.bits()
    }
}
