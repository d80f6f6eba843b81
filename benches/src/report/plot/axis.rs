use std::ops::Range;

use crate::report::markdown::grouped;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

#[derive(Clone, Debug)]
pub struct Axis {
    /// With its unit: "time (ms)".
    pub name: String,
    pub scale: Scale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From 0, or from the least value if it is below.
    Linear,
    /// Ticks at powers of two; in a narrow range at round numbers.
    Log2,
    /// Ticks at powers of ten; in a narrow range at other round numbers too.
    Log10,
}

impl Axis {
    pub fn linear(name: impl Into<String>) -> Axis {
        Axis::new(name, Scale::Linear)
    }

    pub fn log2(name: impl Into<String>) -> Axis {
        Axis::new(name, Scale::Log2)
    }

    pub fn log10(name: impl Into<String>) -> Axis {
        Axis::new(name, Scale::Log10)
    }

    fn new(name: impl Into<String>, scale: Scale) -> Axis {
        let name = name.into();
        Axis { name, scale }
    }
}

impl Scale {
    /// Whether an axis can show this value.
    pub fn shows(self, value: f64) -> bool {
        value.is_finite() && (self == Scale::Linear || value > 0.0)
    }

    /// To the scale on which equal distances are equal on paper; `raised` is the inverse.
    fn flat(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log2 => value.log2(),
            Scale::Log10 => value.log10(),
        }
    }

    fn raised(self, flat: f64) -> f64 {
        match self {
            Scale::Linear => flat,
            Scale::Log2 => flat.exp2(),
            // `powf` has rounding errors that `powi` does not have, and labels would show them.
            Scale::Log10 if flat.fract() == 0.0 => 10f64.powi(flat as i32),
            Scale::Log10 => 10f64.powf(flat),
        }
    }
}

/// The range of an axis and its ticks, as values.
pub struct Span {
    scale: Scale,
    from: f64,
    to: f64,
    ticks: Vec<f64>,
    /// Lines without a label.
    between: Vec<f64>,
}

impl Span {
    /// The span of all `values`: at least one, and all can be shown.
    pub fn around(scale: Scale, values: impl Iterator<Item = f64>) -> Span {
        let flat = values.map(|value| scale.flat(value));
        let (low, high) = flat.fold((f64::MAX, f64::MIN), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        match scale {
            Scale::Linear => Span::linear(low.min(0.0), high),
            Scale::Log2 | Scale::Log10 => Span::logarithmic(scale, low, high),
        }
    }

    /// A span that begins and ends at a tick.
    fn linear(low: f64, high: f64) -> Span {
        let high = if high > low { high } else { low + 1.0 };
        let ticks = round_ticks(low, high);
        Span {
            scale: Scale::Linear,
            from: ticks.first().map_or(low, |&first| first.min(low)),
            to: ticks.last().map_or(high, |&last| last.max(high)),
            ticks,
            between: vec![],
        }
    }

    /// A span that is a little wider than the values.
    fn logarithmic(scale: Scale, low: f64, high: f64) -> Span {
        let margin = ((high - low) * 0.03).max(0.05);
        let (from, to) = (low - margin, high + margin);
        let inside = |flat: &f64| (from..=to).contains(flat);
        let powers = from.floor() as i32..=to.ceil() as i32;
        let multiples = |factors: &'static [f64]| {
            let each = powers.clone().flat_map(move |power| {
                let power = scale.raised(f64::from(power));
                factors.iter().map(move |factor| power * factor)
            });
            let ticks = each.filter(|&value| inside(&scale.flat(value)));
            ticks.collect::<Vec<f64>>()
        };
        let mut ticks = multiples(&[1.0]);
        if ticks.len() < 3 && scale == Scale::Log10 {
            ticks = multiples(&[1.0, 2.0, 5.0]);
        }
        // In a narrow range a logarithmic scale is nearly linear.
        if ticks.len() < 3 {
            let even = round_ticks(scale.raised(from), scale.raised(to));
            ticks = even
                .into_iter()
                .filter(|&v| inside(&scale.flat(v)))
                .collect();
        }
        let every = ticks.len().div_ceil(TICKS_MAX as usize);
        let ticks = ticks.into_iter().step_by(every.max(1)).collect();
        let between = match scale {
            Scale::Log10 => multiples(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]),
            _ => multiples(&[1.0]),
        };
        Span {
            scale,
            from: scale.raised(from),
            to: scale.raised(to),
            ticks,
            between,
        }
    }
}

impl Ranged for Span {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let [from, to, at] = [self.from, self.to, *value].map(|v| self.scale.flat(v));
        first + (f64::from(last - first) * (at - from) / (to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match hint.weight().allow_light_points() {
            true => self.between.clone(),
            false => self.ticks.clone(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Span {
    fn format_ext(&self, value: &f64) -> String {
        label(*value)
    }
}

/// Round numbers from just below `low` to just above `high`; `low` is less.
fn round_ticks(low: f64, high: f64) -> Vec<f64> {
    let step = round_step((high - low) / f64::from(TICKS_MAX));
    let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
    (first..=last).map(|i| i as f64 * step).collect()
}

/// The next larger of 1, 2 or 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powi(step.log10().floor() as i32);
    let factors = [1.0, 2.0, 5.0];
    let enough = factors.iter().find(|&f| f * power >= step * 0.999_999);
    power * enough.unwrap_or(&10.0)
}

/// The value with as few digits as possible and grouped thousands; very large and very
/// small values as powers of ten.
fn label(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e9).contains(&size) {
        return format!("{value:.0e}");
    }
    // Steps like 0.1 add up to 0.30000000000000004.
    let millionths = (size * 1e6).round() as u64;
    let fraction = format!(".{:06}", millionths % 1_000_000);
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}{fraction}", grouped(millionths / 1_000_000))
}

const TICKS_MAX: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, values: &[f64]) -> Vec<String> {
        let span = Span::around(scale, values.iter().copied());
        for value in values {
            assert!((span.from..=span.to).contains(value), "{value}");
        }
        span.ticks.iter().map(|&tick| label(tick)).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(
            labels(Scale::Linear, &[0.11, 0.6]),
            [
                "0", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.5",
                "0.55", "0.6"
            ]
        );
        assert_eq!(
            labels(Scale::Linear, &[-3.0, 40_001.0]),
            [
                "-5,000", "0", "5,000", "10,000", "15,000", "20,000", "25,000", "30,000", "35,000",
                "40,000", "45,000"
            ]
        );
        assert_eq!(
            labels(Scale::Log2, &[512.0, 4096.0]),
            ["512", "1,024", "2,048", "4,096"]
        );
        assert_eq!(
            labels(Scale::Log10, &[0.02, 11_562.0]),
            ["0.1", "1", "10", "100", "1,000", "10,000"]
        );
        assert_eq!(
            labels(Scale::Log10, &[0.9, 21.0]),
            ["1", "2", "5", "10", "20"]
        );
    }

    #[test]
    fn a_narrow_logarithmic_range_has_ticks_too() {
        assert_eq!(
            labels(Scale::Log10, &[3.1, 3.9]),
            ["2.8", "3", "3.2", "3.4", "3.6", "3.8", "4", "4.2"]
        );
        let ticks = labels(Scale::Log2, &[100_000.0, 120_000.0]);
        assert_eq!(
            ticks,
            ["100,000", "105,000", "110,000", "115,000", "120,000"]
        );
    }

    #[test]
    fn a_logarithmic_axis_shows_what_is_above_0() {
        assert!(Scale::Log10.shows(1e-9));
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(!Scale::Log10.shows(value), "{value}");
        }
        assert!(Scale::Linear.shows(-1.0));
        assert!(!Scale::Linear.shows(f64::NAN));
    }

    #[test]
    fn equal_factors_are_equal_distances() {
        let span = Span::around(Scale::Log10, [1.0, 100.0].into_iter());
        let at = |value: f64| span.map(&value, (0, 1000));
        assert!((at(10.0) - at(1.0) - (at(100.0) - at(10.0))).abs() <= 1);
        assert!(at(1.0) > 0 && at(100.0) < 1000);
    }
}
