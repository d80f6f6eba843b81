//! Values of attributes, of commands' arguments and of notifications' fields: what their 32 bits
//! mean, or two times 32, as numbers, as text and as JSON.

use std::fmt;

use serde::{Serialize, Serializer};

use super::attribute::{AttributeType, halves, joined};
use super::fixed::Fixed;
use super::id::EntityRef;
use super::words::TextHandle;

/// A value, with its type. A `match` names all types, so that a new one is missed nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    I32(i32),
    Fixed(Fixed),
    Bool(bool),
    /// [`EntityRef::NONE`]: no entity.
    Entity(EntityRef),
    Symbol(Symbol),
    /// [`TextHandle::EMPTY`]: no text. Which text it is, only a server or client knows that has it.
    Text(TextHandle),
    I64(i64),
    /// The high half of a number, by itself.
    High(i32),
}

/// A place in [`Schema::symbols`](crate::Schema).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol(pub i32);

/// A value as people and other programs have it: a symbol by its name, a fraction in units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plain<'a> {
    Whole(i64),
    Fraction(f64),
    Truth(bool),
    Text(&'a str),
    /// No entity, or a symbol that the world does not have.
    Nothing,
}

impl AttributeValue {
    /// The meaning of a raw word, and for a number of 64 bits of the word in the next column.
    pub const fn of(ty: AttributeType, [raw, high]: [i32; 2]) -> AttributeValue {
        match ty {
            AttributeType::I32 => AttributeValue::I32(raw),
            AttributeType::Fixed => AttributeValue::Fixed(Fixed::from_raw(raw)),
            AttributeType::Bool => AttributeValue::Bool(raw != 0),
            AttributeType::Entity => AttributeValue::Entity(EntityRef(raw)),
            AttributeType::Symbol => AttributeValue::Symbol(Symbol(raw)),
            AttributeType::Text => AttributeValue::Text(TextHandle(raw)),
            AttributeType::I64 => AttributeValue::I64(joined([raw, high])),
            AttributeType::High => AttributeValue::High(raw),
        }
    }

    /// The meaning of a word of a command or a notification, none of which has 64 bits.
    pub const fn of_word(ty: AttributeType, word: i32) -> AttributeValue {
        AttributeValue::of(ty, [word, 0])
    }

    /// The value in a column of a row.
    pub fn in_row(ty: AttributeType, row: &[i32], column: usize) -> AttributeValue {
        AttributeValue::of(ty, words_at(row, column))
    }

    pub const fn ty(self) -> AttributeType {
        match self {
            AttributeValue::I32(_) => AttributeType::I32,
            AttributeValue::Fixed(_) => AttributeType::Fixed,
            AttributeValue::Bool(_) => AttributeType::Bool,
            AttributeValue::Entity(_) => AttributeType::Entity,
            AttributeValue::Symbol(_) => AttributeType::Symbol,
            AttributeValue::Text(_) => AttributeType::Text,
            AttributeValue::I64(_) => AttributeType::I64,
            AttributeValue::High(_) => AttributeType::High,
        }
    }

    /// The raw word, and the one for the next column if the value has two.
    pub const fn words(self) -> (i32, Option<i32>) {
        match self {
            AttributeValue::I64(number) => {
                let [low, high] = halves(number);
                (low, Some(high))
            }
            AttributeValue::I32(_)
            | AttributeValue::Fixed(_)
            | AttributeValue::Bool(_)
            | AttributeValue::Entity(_)
            | AttributeValue::Symbol(_)
            | AttributeValue::Text(_)
            | AttributeValue::High(_) => (self.raw(), None),
        }
    }

    /// The raw word; of a number of 64 bits its low half.
    pub const fn raw(self) -> i32 {
        match self {
            AttributeValue::I32(number) | AttributeValue::High(number) => number,
            AttributeValue::I64(number) => halves(number)[0],
            AttributeValue::Fixed(number) => number.raw(),
            AttributeValue::Bool(truth) => truth as i32,
            AttributeValue::Entity(entity) => entity.0,
            AttributeValue::Symbol(symbol) => symbol.0,
            AttributeValue::Text(handle) => handle.0,
        }
    }

    /// The value as a number, for programs that have only those: fractions in units, booleans
    /// as 0 and 1, symbols by their number, entities by their reference, texts by their handle. It is exact, but for
    /// numbers beyond [`EXACT_MAX`].
    pub fn number(self) -> f64 {
        match self {
            AttributeValue::Fixed(number) => number.to_f64(),
            AttributeValue::I64(number) => number as f64,
            AttributeValue::I32(_)
            | AttributeValue::Bool(_)
            | AttributeValue::Entity(_)
            | AttributeValue::Symbol(_)
            | AttributeValue::Text(_)
            | AttributeValue::High(_) => f64::from(self.raw()),
        }
    }

    /// The value of a [number](AttributeValue::number), or what was expected.
    pub fn of_number(ty: AttributeType, number: f64) -> Result<AttributeValue, String> {
        let whole = |low: f64, high: f64| {
            let fits = number.fract() == 0.0 && (low..=high).contains(&number);
            fits.then_some(AttributeValue::of(ty, halves(number as i64)))
                .ok_or_else(|| {
                    format!("expected a whole number from {low} to {high}, found {number}")
                })
        };
        match ty {
            AttributeType::Fixed => Fixed::from_f64(number)
                .map(AttributeValue::Fixed)
                .ok_or_else(|| format!("expected a number within ±524,288, found {number}")),
            AttributeType::Bool => whole(0.0, 1.0),
            AttributeType::I64 => whole(-EXACT_MAX, EXACT_MAX),
            AttributeType::I32
            | AttributeType::Symbol
            | AttributeType::Entity
            | AttributeType::Text
            | AttributeType::High => whole(f64::from(i32::MIN), f64::from(i32::MAX)),
        }
    }

    /// The value for people and other programs, in a world with these symbols. Those have numbers
    /// of their own for entities: `entity` gives it, also for no entity. A text is its handle:
    /// callers that have the texts look it up first.
    pub fn plain<'a>(
        self,
        symbols: &'a [String],
        entity: impl FnOnce(EntityRef) -> Plain<'a>,
    ) -> Plain<'a> {
        match self {
            AttributeValue::I32(number) | AttributeValue::High(number) => {
                Plain::Whole(number.into())
            }
            AttributeValue::I64(number) => Plain::Whole(number),
            AttributeValue::Fixed(number) => Plain::Fraction(number.to_f64()),
            AttributeValue::Bool(truth) => Plain::Truth(truth),
            AttributeValue::Entity(reference) => entity(reference),
            AttributeValue::Symbol(symbol) => {
                symbol.name(symbols).map_or(Plain::Nothing, Plain::Text)
            }
            AttributeValue::Text(TextHandle::EMPTY) => Plain::Text(""),
            AttributeValue::Text(handle) => Plain::Whole(handle.0.into()),
        }
    }

    /// The value of what a person or another program wrote; `None` if it is of another type, and
    /// of entities, which each of them names in its own way. A text is empty or its handle: only a
    /// server makes one of the words themselves.
    pub fn of_plain(
        ty: AttributeType,
        plain: Plain<'_>,
        symbols: &[String],
    ) -> Option<AttributeValue> {
        match (ty, plain) {
            (AttributeType::I32, Plain::Whole(number)) => {
                Some(AttributeValue::I32(i32::try_from(number).ok()?))
            }
            (AttributeType::High, Plain::Whole(number)) => {
                Some(AttributeValue::High(i32::try_from(number).ok()?))
            }
            (AttributeType::I64, Plain::Whole(number)) => Some(AttributeValue::I64(number)),
            (AttributeType::Fixed, Plain::Whole(number)) => {
                Some(AttributeValue::Fixed(Fixed::from_f64(number as f64)?))
            }
            (AttributeType::Fixed, Plain::Fraction(number)) => {
                Some(AttributeValue::Fixed(Fixed::from_f64(number)?))
            }
            (AttributeType::Bool, Plain::Truth(truth)) => Some(AttributeValue::Bool(truth)),
            (AttributeType::Symbol, Plain::Text(name)) => {
                Some(AttributeValue::Symbol(Symbol::named(name, symbols)?))
            }
            (AttributeType::Text, Plain::Text("")) => Some(AttributeValue::Text(TextHandle::EMPTY)),
            (AttributeType::Text, Plain::Whole(number)) => Some(AttributeValue::Text(TextHandle(
                i32::try_from(number).ok()?,
            ))),
            (
                AttributeType::I32
                | AttributeType::Fixed
                | AttributeType::Bool
                | AttributeType::Entity
                | AttributeType::Symbol
                | AttributeType::Text
                | AttributeType::I64
                | AttributeType::High,
                _,
            ) => None,
        }
    }

    /// The value of a text, as of a command line: see [`AttributeValue::of_plain`].
    pub fn parse(ty: AttributeType, text: &str, symbols: &[String]) -> Option<AttributeValue> {
        let plain = match ty {
            AttributeType::I32 | AttributeType::I64 | AttributeType::High => {
                Plain::Whole(text.parse().ok()?)
            }
            AttributeType::Fixed => Plain::Fraction(text.parse().ok()?),
            AttributeType::Bool => Plain::Truth(text.parse().ok()?),
            AttributeType::Symbol => Plain::Text(text),
            AttributeType::Text => match text {
                "" => Plain::Text(text),
                handle => Plain::Whole(handle.parse().ok()?),
            },
            AttributeType::Entity => return None,
        };
        AttributeValue::of_plain(ty, plain, symbols)
    }
}

/// The word in a column of a row, and the one after it.
pub fn words_at(row: &[i32], column: usize) -> [i32; 2] {
    let word = |column: usize| row.get(column).copied().unwrap_or(0);
    [word(column), word(column + 1)]
}

/// Up to here each whole number is exact as an `f64`.
pub const EXACT_MAX: f64 = (1u64 << 53) as f64;

impl Symbol {
    /// Its name in a world with these symbols.
    pub fn name(self, symbols: &[String]) -> Option<&str> {
        let place = usize::try_from(self.0).ok()?;
        symbols.get(place).map(String::as_str)
    }

    pub fn named(name: &str, symbols: &[String]) -> Option<Symbol> {
        let place = symbols.iter().position(|own| own == name)?;
        i32::try_from(place).ok().map(Symbol)
    }
}

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plain::Whole(number) => number.fmt(f),
            Plain::Fraction(number) => number.fmt(f),
            Plain::Truth(truth) => truth.fmt(f),
            Plain::Text(text) => text.fmt(f),
            Plain::Nothing => "none".fmt(f),
        }
    }
}

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Plain::Whole(number) => serializer.serialize_i64(number),
            Plain::Fraction(number) => serializer.serialize_f64(number),
            Plain::Truth(truth) => serializer.serialize_bool(truth),
            Plain::Text(text) => serializer.serialize_str(text),
            Plain::Nothing => serializer.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [AttributeType; 8] = [
        AttributeType::Text,
        AttributeType::I64,
        AttributeType::High,
        AttributeType::I32,
        AttributeType::Fixed,
        AttributeType::Bool,
        AttributeType::Entity,
        AttributeType::Symbol,
    ];

    fn symbols() -> Vec<String> {
        ["red", "green"].map(str::to_owned).to_vec()
    }

    #[test]
    fn every_value_comes_back_from_its_word_its_number_and_its_plain_form() {
        let symbols = symbols();
        for ty in TYPES {
            for raw in [0, 1] {
                let value = AttributeValue::of(ty, [raw, 0]);
                assert_eq!((value.ty(), value.raw()), (ty, raw));
                let (low, high) = value.words();
                assert_eq!(AttributeValue::of(ty, [low, high.unwrap_or(0)]), value);
                assert_eq!(AttributeValue::of_number(ty, value.number()), Ok(value));
                let plain = value.plain(&symbols, |_| Plain::Nothing);
                let again = AttributeValue::of_plain(ty, plain, &symbols);
                let parsed = AttributeValue::parse(ty, &plain.to_string(), &symbols);
                let is_entity = ty == AttributeType::Entity;
                assert_eq!(again, (!is_entity).then_some(value), "{ty:?}");
                assert_eq!(parsed, again, "{ty:?}");
            }
        }
    }

    #[test]
    fn values_are_shown_in_units_and_by_name() {
        let symbols = symbols();
        let shown = |ty, raw| {
            let of = |entity: EntityRef| Plain::Whole(entity.slot().0.into());
            let plain = AttributeValue::of_word(ty, raw).plain(&symbols, of);
            (plain.to_string(), serde_json::to_string(&plain).unwrap())
        };
        let both = |text: &str, json: &str| (text.to_owned(), json.to_owned());
        assert_eq!(shown(AttributeType::I32, -7), both("-7", "-7"));
        assert_eq!(shown(AttributeType::Fixed, 6144), both("1.5", "1.5"));
        assert_eq!(shown(AttributeType::Bool, 1), both("true", "true"));
        assert_eq!(shown(AttributeType::Symbol, 1), both("green", "\"green\""));
        assert_eq!(shown(AttributeType::Symbol, 2), both("none", "null"));
    }

    #[test]
    fn a_number_of_64_bits_is_two_words() {
        for number in [i64::MIN, -5_000_000_000, -1, 0, 1 << 31, 1 << 40, i64::MAX] {
            let value = AttributeValue::I64(number);
            let (low, high) = value.words();
            let words = [low, high.unwrap()];
            assert_eq!(AttributeValue::of(AttributeType::I64, words), value);
            let plain = value.plain(&[], |_| Plain::Nothing);
            assert_eq!(serde_json::to_string(&plain).unwrap(), number.to_string());
        }
        assert_eq!(halves(-1), [-1, -1]);
        assert_eq!(halves(5_000_000_000), [705_032_704, 1]);
        let beyond = EXACT_MAX + 2.0;
        assert!(AttributeValue::of_number(AttributeType::I64, beyond).is_err());
    }

    #[test]
    fn what_does_not_fit_its_type_is_rejected() {
        let symbols = symbols();
        let of = |ty, plain| AttributeValue::of_plain(ty, plain, &symbols);
        assert_eq!(of(AttributeType::I32, Plain::Whole(1 << 40)), None);
        assert_eq!(of(AttributeType::I32, Plain::Fraction(1.0)), None);
        assert_eq!(of(AttributeType::Fixed, Plain::Fraction(1e9)), None);
        assert_eq!(of(AttributeType::Bool, Plain::Whole(1)), None);
        assert_eq!(of(AttributeType::Symbol, Plain::Text("blue")), None);
        assert!(AttributeValue::of_number(AttributeType::Bool, 2.0).is_err());
        assert!(AttributeValue::of_number(AttributeType::I32, 0.5).is_err());
        assert!(AttributeValue::of_number(AttributeType::Fixed, f64::NAN).is_err());
    }
}
