//! The keys of `[limits]` and the ranges of their values, as the table of limits declares them.

use std::fmt::Display;

use serde::Deserialize;
use shared::Fixed;

use super::check::{Problem, Problems, in_range, unexpected};

macro_rules! declare {
    ($(
        #[doc = $meaning:literal]
        $key:ident: $ty:ident as $raw:ident $(= $default:literal)? $(by $words:literal)?,
            $min:expr => $max:expr $(, $range:literal)?;
    )*) => {
        /// The keys of `[limits]`, before any check.
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Limits {
            $( pub $key: Option<$raw>, )*
        }

        /// What each limit may be, and is if the file does not say it.
        pub struct Ranges {
            $( pub $key: Range<$raw>, )*
        }

        impl Ranges {
            /// As the table has them. Defaults that follow from other parts of the world are
            /// still missing.
            pub fn declared() -> Ranges {
                Ranges {
                    $( $key: Range {
                        default: None$(.or(Some($default)))?.unwrap_or_default(),
                        min: $min,
                        max: $max,
                        or_zero: false,
                    }, )*
                }
            }

            /// Checks all limits of a file.
            pub fn check(&self, given: &Limits, problems: &mut Problems) -> shared::Limits {
                shared::Limits {
                    $( $key: {
                        let checked = self.$key.check(
                            concat!("limits.", stringify!($key)),
                            given.$key,
                        );
                        <$ty>::of_checked(problems.take_or(self.$key.min, checked))
                    }, )*
                }
            }
        }
    };
}

shared::limits!(declare);

/// What a limit may be.
#[derive(Clone, Copy, Debug)]
pub struct Range<T> {
    pub default: T,
    pub min: T,
    pub max: T,
    /// Whether 0 is allowed, too.
    pub or_zero: bool,
}

impl<T: Copy + Default + Display + PartialOrd> Range<T> {
    fn check(&self, key: &str, given: Option<T>) -> Result<T, Problem> {
        let value = given.unwrap_or(self.default);
        if !self.or_zero {
            return in_range(key, value, self.min, self.max);
        }
        if value == T::default() || (self.min..=self.max).contains(&value) {
            return Ok(value);
        }
        unexpected(key, value, format!("0, or {} to {}", self.min, self.max))
    }

    /// The value of a limit on which others depend: the smallest one instead of one that is
    /// rejected.
    pub fn value(&self, given: Option<T>) -> T {
        self.check("", given).unwrap_or(self.min)
    }
}

/// A limit of a world, from a value that is in its range.
trait OfChecked<T> {
    fn of_checked(value: T) -> Self;
}

impl OfChecked<u32> for u32 {
    fn of_checked(value: u32) -> u32 {
        value
    }
}

/// Where files have more bits, larger values are out of the range.
impl OfChecked<u64> for u32 {
    fn of_checked(value: u64) -> u32 {
        u32::try_from(value).unwrap_or(u32::MAX)
    }
}

impl OfChecked<u64> for u64 {
    fn of_checked(value: u64) -> u64 {
        value
    }
}

impl OfChecked<bool> for bool {
    fn of_checked(value: bool) -> bool {
        value
    }
}

impl OfChecked<f64> for Fixed {
    fn of_checked(value: f64) -> Fixed {
        Fixed::from_f64(value).unwrap_or(Fixed::MAX)
    }
}
