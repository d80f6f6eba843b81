//! The forms of a position.

use super::BASE_BITS;
use crate::wire::DecodeError;
use crate::wire::bits::{BitReader, BitWriter, unzigzag, zigzag};
use crate::world::attribute::bits_for;
use crate::world::course::Course;
use crate::world::fixed::Fixed;
use crate::world::id::Tick;
use crate::world::schema::Schema;

/// The axes of a world.
#[derive(Clone, Debug)]
pub(super) struct Axes {
    axes: Vec<Axis>,
    /// The largest coordinates.
    max: [i32; 3],
}

#[derive(Clone, Debug)]
struct Axis {
    /// A step is 2 to the power of this, in raw units. At most a unit.
    step: u32,
    max: i32,
    /// Of positions in steps.
    steps: Width,
    /// Of positions in raw units.
    exact: Width,
}

#[derive(Clone, Copy, Debug)]
struct Width {
    /// Bits of a full position.
    bits: u32,
    /// Bits of a position that are sent beside a corner.
    low_bits: u32,
    /// Bits of a unit.
    unit_bits: u32,
}

/// A position on its way into a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedPosition {
    form: Form,
    /// The position in raw units, or the difference in steps as 0, -1, 1, -2, … on each
    /// axis.
    values: [u32; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Difference,
    /// Low bits or wide, in steps or exact, which is chosen for all of a datagram.
    Full,
}

/// How a datagram writes positions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forms {
    /// Ticks since the base; 0: there are no differences.
    pub base_ticks: u32,
    /// Bits of a difference on each axis.
    difference_bits: u32,
    others: usize,
    /// Whether positions are in raw units, as one of them is no multiple of the steps.
    is_exact: bool,
    /// The corner that completes low bits, in whole units. `None`: wide.
    corner: Option<[u32; 3]>,
}

/// A position as it was read.
pub(super) enum Read {
    Position([i32; 3]),
    /// In steps.
    Difference([i32; 3]),
}

impl EncodedPosition {
    pub fn full(position: [i32; 3]) -> EncodedPosition {
        EncodedPosition {
            form: Form::Full,
            values: position.map(|value| value as u32),
        }
    }
}

impl Axes {
    pub fn new(schema: &Schema) -> Axes {
        let span = 2 * i64::from(schema.world.aoi_leave.raw()) + i64::from(Fixed::ONE.raw());
        let dimensions = schema.dimensions();
        let axes: Vec<Axis> = schema.attributes[..dimensions]
            .iter()
            .map(|attribute| {
                let width = |step: u32| {
                    let bits = bits_for((attribute.max >> step) as u64);
                    // Rounding moves two positions apart by up to a step.
                    let span = (span >> step) as u64 + u64::from(step > 0);
                    Width {
                        bits,
                        low_bits: bits.min(bits_for(span)),
                        unit_bits: Fixed::FRACTION_BITS - step,
                    }
                };
                Axis {
                    step: attribute.step,
                    max: attribute.max,
                    steps: width(attribute.step),
                    exact: width(0),
                }
            })
            .collect();
        let mut max = [0; 3];
        for (max, axis) in max.iter_mut().zip(&axes) {
            *max = axis.max;
        }
        Axes { axes, max }
    }

    pub fn count(&self) -> usize {
        self.axes.len()
    }

    fn have_steps(&self) -> bool {
        self.axes.iter().any(|axis| axis.step > 0)
    }

    /// The most bits of a position.
    pub fn bits(&self) -> u32 {
        self.axes.iter().map(|axis| axis.exact.bits).sum()
    }

    /// About as many bits as a place takes in a datagram with others like it.
    pub fn bits_about(&self, place: &EncodedPosition) -> u32 {
        let axes = self.axes.iter().zip(place.values);
        let bits = axes.map(|(axis, value)| match place.form {
            Form::Difference => u32::BITS - value.leading_zeros(),
            Form::Full => axis.steps.low_bits,
        });
        2 + bits.sum::<u32>()
    }

    pub fn rounded(&self, position: [i32; 3], expected: [i32; 3]) -> [i32; 3] {
        if !self.have_steps() {
            return position;
        }
        let half = |axis: &Axis| 1 << axis.step >> 1;
        let mut axes = self.axes.iter().zip(position.iter().zip(&expected));
        if axes.all(|(axis, (a, b))| a.abs_diff(*b) <= half(axis)) {
            return expected;
        }
        let mut rounded = position;
        for (value, axis) in rounded.iter_mut().zip(&self.axes) {
            let nearest = value.saturating_add(half(axis) as i32).min(axis.max);
            *value = nearest >> axis.step << axis.step;
        }
        rounded
    }

    pub fn expected(&self, course: &Course, tick: Tick, velocity: &[i32; 3]) -> [i32; 3] {
        let mut position = course.at(tick.before(1), &self.max);
        if *velocity == [0; 3] {
            return position;
        }
        for axis in 0..3 {
            let ahead = position[axis].saturating_add(velocity[axis]);
            position[axis] = ahead.clamp(0, self.max[axis]);
        }
        position
    }

    /// `None` if the difference is none of whole steps, or low bits are as short.
    pub fn difference(&self, position: &[i32; 3], expected: &[i32; 3]) -> Option<EncodedPosition> {
        let mut values = [0; 3];
        for (i, axis) in self.axes.iter().enumerate() {
            let difference = position[i] - expected[i];
            values[i] = zigzag(difference >> axis.step);
            let is_short = values[i] >> axis.steps.low_bits.saturating_sub(1) == 0;
            if !is_short || !axis.is_on_grid(difference) {
                return None;
            }
        }
        Some(EncodedPosition {
            form: Form::Difference,
            values,
        })
    }

    /// The position that is so many steps from an expected one.
    pub fn resolve(
        &self,
        expected: [i32; 3],
        difference: [i32; 3],
    ) -> Result<[i32; 3], DecodeError> {
        let mut position = [0; 3];
        for (i, axis) in self.axes.iter().enumerate() {
            let value = i64::from(expected[i]) + (i64::from(difference[i]) << axis.step);
            position[i] = axis.checked(value)?;
        }
        Ok(position)
    }
}

impl Axis {
    /// Whether a position or difference is one of whole steps.
    fn is_on_grid(&self, value: i32) -> bool {
        value & ((1 << self.step) - 1) == 0
    }

    fn checked(&self, value: i64) -> Result<i32, DecodeError> {
        match i32::try_from(value) {
            Ok(value) if (0..=self.max).contains(&value) => Ok(value),
            _ => Err(DecodeError::OutOfRange {
                what: "a position",
                found: value.cast_unsigned(),
            }),
        }
    }
}

impl Width {
    /// Bits of the corner; 0 where low bits are the whole position.
    fn corner_bits(&self) -> u32 {
        if self.low_bits == self.bits {
            0
        } else {
            self.bits.saturating_sub(self.unit_bits)
        }
    }

    /// The only position from the corner on that ends in these bits.
    fn complete(&self, low: u64, corner: u64) -> i64 {
        let corner = (corner << self.unit_bits) as i64;
        corner + (low as i64 - corner).rem_euclid(1 << self.low_bits)
    }
}

impl Forms {
    /// The forms that suit all of these places.
    pub fn of<'a>(
        places: impl Iterator<Item = &'a EncodedPosition> + Clone,
        base_ticks: Option<u32>,
        axes: &Axes,
    ) -> Forms {
        let mut forms = Forms::default();
        let mut differences = 0;
        let mut all = 0;
        for place in places.clone() {
            match place.form {
                Form::Difference => {
                    differences += 1;
                    all |= place.values[0] | place.values[1] | place.values[2];
                }
                Form::Full => {
                    forms.others += 1;
                    let mut values = axes.axes.iter().zip(place.values);
                    forms.is_exact |= values.any(|(axis, value)| !axis.is_on_grid(value as i32));
                }
            }
        }
        if differences > 0 {
            debug_assert!(base_ticks.is_some(), "a difference needs a base");
            forms.base_ticks = base_ticks.unwrap_or(0);
            forms.difference_bits = u32::BITS - all.leading_zeros();
        }
        let widths = forms.widths(axes);
        let saved: u32 = widths.map(|width| width.bits - width.low_bits).sum();
        if forms.others as u64 * u64::from(saved) > u64::from(forms.corner_bits(axes)) {
            let full = places.filter(|place| place.form == Form::Full);
            forms.corner = forms.corner_of(axes, full);
        }
        forms
    }

    fn widths<'a>(&self, axes: &'a Axes) -> impl Iterator<Item = &'a Width> {
        let is_exact = self.is_exact;
        axes.axes.iter().map(move |axis| match is_exact {
            true => &axis.exact,
            false => &axis.steps,
        })
    }

    /// The step of full positions.
    fn step(&self, axis: &Axis) -> u32 {
        if self.is_exact { 0 } else { axis.step }
    }

    fn corner_bits(&self, axes: &Axes) -> u32 {
        self.widths(axes).map(Width::corner_bits).sum()
    }

    /// `None` where places lie too far apart for low bits.
    fn corner_of<'a>(
        &self,
        axes: &Axes,
        places: impl Iterator<Item = &'a EncodedPosition>,
    ) -> Option<[u32; 3]> {
        let (mut low, mut high) = ([u32::MAX; 3], [0; 3]);
        for place in places {
            for axis in 0..axes.count() {
                low[axis] = low[axis].min(place.values[axis]);
                high[axis] = high[axis].max(place.values[axis]);
            }
        }
        let mut corner = [0; 3];
        for (i, (axis, width)) in axes.axes.iter().zip(self.widths(axes)).enumerate() {
            if width.low_bits == width.bits {
                continue;
            }
            corner[i] = low[i] >> Fixed::FRACTION_BITS;
            let span = high[i] - (corner[i] << Fixed::FRACTION_BITS);
            if u64::from(span >> self.step(axis)) >= 1 << width.low_bits {
                return None;
            }
        }
        Some(corner)
    }

    /// The bits that [`Forms::put`] appends.
    pub fn bits(&self, axes: &Axes) -> u32 {
        let mut bits = BASE_BITS;
        if self.base_ticks > 0 {
            bits += 1 + DIFFERENCE_LENGTH_BITS;
        }
        if self.others > 0 {
            bits += u32::from(axes.have_steps()) + 1;
            if self.corner.is_some() {
                bits += self.corner_bits(axes);
            }
        }
        bits
    }

    pub fn put(&self, writer: &mut BitWriter, axes: &Axes) {
        writer.put(u64::from(self.base_ticks), BASE_BITS);
        if self.base_ticks > 0 {
            writer.put(u64::from(self.others == 0), 1);
            writer.put(u64::from(self.difference_bits), DIFFERENCE_LENGTH_BITS);
        }
        if self.others > 0 {
            if axes.have_steps() {
                writer.put(u64::from(self.is_exact), 1);
            }
            writer.put(u64::from(self.corner.is_none()), 1);
            if let Some(corner) = self.corner {
                for (width, &corner) in self.widths(axes).zip(&corner) {
                    writer.put(u64::from(corner), width.corner_bits());
                }
            }
        }
    }

    /// The bits that [`Forms::put_place`] appends.
    pub fn place_bits(&self, axes: &Axes, place: &EncodedPosition) -> u32 {
        let mut bits = u32::from(self.is_mixed());
        match place.form {
            Form::Full => {
                for width in self.widths(axes) {
                    bits += self.full_bits(width);
                }
            }
            Form::Difference if self.difference_bits > 0 => {
                bits += 1;
                if place.values != [0; 3] {
                    for _ in 0..axes.count() {
                        bits += self.difference_bits;
                    }
                }
            }
            Form::Difference => {}
        }
        bits
    }

    pub fn put_place(&self, writer: &mut BitWriter, axes: &Axes, place: &EncodedPosition) {
        if self.is_mixed() {
            writer.put(u64::from(place.form == Form::Difference), 1);
        }
        match place.form {
            Form::Full => {
                for (i, (axis, width)) in axes.axes.iter().zip(self.widths(axes)).enumerate() {
                    let value = place.values[i] >> self.step(axis);
                    writer.put(u64::from(value), self.full_bits(width));
                }
            }
            Form::Difference if self.difference_bits > 0 => {
                let is_zero = place.values == [0; 3];
                writer.put(u64::from(!is_zero), 1);
                if !is_zero {
                    for value in &place.values[..axes.count()] {
                        writer.put(u64::from(*value), self.difference_bits);
                    }
                }
            }
            Form::Difference => {}
        }
    }

    /// Whether each entity has a bit for its form.
    fn is_mixed(&self) -> bool {
        self.base_ticks > 0 && self.others > 0
    }

    fn full_bits(&self, width: &Width) -> u32 {
        match self.corner {
            Some(_) => width.low_bits,
            None => width.bits,
        }
    }

    /// Reads the output of [`Forms::put`].
    pub fn read(reader: &mut BitReader<'_>, axes: &Axes) -> Result<Forms, DecodeError> {
        let mut forms = Forms {
            base_ticks: reader.get_as(BASE_BITS)?,
            ..Forms::default()
        };
        let mut has_others = true;
        if forms.base_ticks > 0 {
            has_others = !reader.get_bool()?;
            forms.difference_bits = reader.get_as(DIFFERENCE_LENGTH_BITS)?;
        }
        if has_others {
            forms.others = 1;
            forms.is_exact = axes.have_steps() && reader.get_bool()?;
            let is_wide = reader.get_bool()?;
            if !is_wide {
                let mut corner = [0; 3];
                for (width, corner) in forms.widths(axes).zip(&mut corner) {
                    *corner = reader.get_as(width.corner_bits())?;
                }
                forms.corner = Some(corner);
            }
        }
        Ok(forms)
    }

    /// Reads the output of [`Forms::put_place`].
    pub fn read_place(&self, reader: &mut BitReader<'_>, axes: &Axes) -> Result<Read, DecodeError> {
        let is_difference = match self.is_mixed() {
            true => reader.get_bool()?,
            false => self.base_ticks > 0,
        };
        let mut place = [0; 3];
        if is_difference {
            if self.difference_bits > 0 && reader.get_bool()? {
                for steps in &mut place[..axes.count()] {
                    *steps = unzigzag(reader.get_as(self.difference_bits)?);
                }
            }
            return Ok(Read::Difference(place));
        }
        for (i, (axis, width)) in axes.axes.iter().zip(self.widths(axes)).enumerate() {
            let bits = reader.get(self.full_bits(width))?;
            let value = match self.corner {
                Some(corner) => width.complete(bits, u64::from(corner[i])),
                None => bits.cast_signed(),
            };
            place[i] = axis.checked(value << self.step(axis))?;
        }
        Ok(Read::Position(place))
    }
}

/// Differences take at most 31 bits an axis: one less than a full position.
const DIFFERENCE_LENGTH_BITS: u32 = 5;
