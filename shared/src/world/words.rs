//! Texts of attributes, such as the words of a sign: the world has a number for each, its handle.
//!
//! Equal texts have the same handle as long as something refers to them, so comparing handles is
//! comparing texts. A handle is drawn at random: who has it, may read its text.
//!
//! | part of a handle | bits |
//! | --- | --- |
//! | 0 | 1 |
//! | length of the text in bytes | 8 |
//! | random | 23 |
//!
//! So the largest value of an attribute says how long its texts can be.

use serde::{Deserialize, Serialize};

use super::attribute::{Attribute, AttributeType, Content};
use super::schema::Schema;

/// A text of the world, by its number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TextHandle(pub i32);

impl TextHandle {
    /// That of the empty text.
    pub const EMPTY: TextHandle = TextHandle(0);

    /// A handle of a text of so many bytes, 1 to [`LENGTH_MAX`]; of `random` its low bits count.
    pub const fn new(length: u8, random: u32) -> TextHandle {
        let low = random & RANDOM_MAX;
        TextHandle(((length as u32) << RANDOM_BITS | low).cast_signed())
    }

    /// The bytes of its text.
    pub const fn length(self) -> u32 {
        (self.0.cast_unsigned() >> RANDOM_BITS) & LENGTH_MAX as u32
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The largest handle of texts of at most so many bytes.
    pub const fn max_of(length: u8) -> i32 {
        TextHandle::new(length, RANDOM_MAX).0
    }
}

/// The most bytes of a text of an attribute.
pub const LENGTH_MAX: u8 = 255;
const RANDOM_BITS: u32 = 23;
const RANDOM_MAX: u32 = (1 << RANDOM_BITS) - 1;

impl Attribute {
    /// How many bytes its texts can have; 0 for other attributes.
    pub fn text_bytes(&self) -> u32 {
        match self.ty.content() {
            Content::Text => TextHandle(self.max).length(),
            Content::Value | Content::Entity => 0,
        }
    }
}

impl Schema {
    /// The columns of texts.
    pub fn text_columns(&self) -> impl Iterator<Item = usize> {
        let all = self.attributes.iter().enumerate();
        all.filter(|(_, attribute)| attribute.ty == AttributeType::Text)
            .map(|(column, _)| column)
    }

    /// Whether the world has texts: commands and notifications have some only where attributes do.
    pub fn has_texts(&self) -> bool {
        self.text_columns().next().is_some()
    }

    /// The bytes of the longest text that an attribute can have.
    pub fn text_bytes_max(&self) -> u32 {
        let lengths = self.attributes.iter().map(Attribute::text_bytes);
        lengths.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_has_the_length_of_its_text() {
        for length in [1, 7, 128, LENGTH_MAX] {
            for random in [0, 1, u32::MAX] {
                let handle = TextHandle::new(length, random);
                assert!(handle.0 > 0 && !handle.is_empty());
                assert_eq!(handle.length(), u32::from(length));
                assert!(handle.0 <= TextHandle::max_of(length));
                assert!(handle.0 > TextHandle::max_of(length - 1) || length == 1);
            }
        }
        assert_eq!(TextHandle::EMPTY.length(), 0);
        assert_eq!(TextHandle::max_of(LENGTH_MAX), i32::MAX);
    }
}
