//! What players call themselves, and what they say: text that is bounded and fit to show.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The name of a player or of a channel: 1 to [`NAME_BYTES_MAX`] bytes that can be shown in
/// a line, without blanks at its ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// What somebody says at once: 1 to [`TEXT_BYTES_MAX`] bytes that can be shown in a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Text(String);

/// Why a text can't be a name or be said.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TextError {
    #[error("{what} is empty")]
    Empty { what: &'static str },
    #[error("{what} has {found} bytes, expected at most {limit}")]
    TooLong {
        what: &'static str,
        found: usize,
        limit: usize,
    },
    #[error("{what} has the character U+{character:04X}, which can't be shown in a line")]
    Character { what: &'static str, character: u32 },
    #[error("{what} begins or ends with a blank")]
    Blank { what: &'static str },
}

impl Name {
    pub fn new(text: impl Into<String>) -> Result<Name, TextError> {
        let (text, what) = (text.into(), "a name");
        check(&text, what, NAME_BYTES_MAX)?;
        match text.trim().len() == text.len() {
            true => Ok(Name(text)),
            false => Err(TextError::Blank { what }),
        }
    }
}

impl Text {
    pub fn new(text: impl Into<String>) -> Result<Text, TextError> {
        let text = text.into();
        check(&text, "a text", TEXT_BYTES_MAX)?;
        Ok(Text(text))
    }
}

fn check(text: &str, what: &'static str, limit: usize) -> Result<(), TextError> {
    if text.is_empty() {
        return Err(TextError::Empty { what });
    }
    if text.len() > limit {
        let found = text.len();
        return Err(TextError::TooLong { what, found, limit });
    }
    match text.chars().find(|&c| c.is_control() || is_unseen(c)) {
        Some(character) => Err(TextError::Character {
            what,
            character: u32::from(character),
        }),
        None => Ok(()),
    }
}

/// Characters that show nothing by themselves, or turn the text around them: what a client can
/// do without tables of Unicode. A server takes fewer into names, and compares them by such
/// tables.
fn is_unseen(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// What reads as the text that it is, and is made of texts that pass its checks.
macro_rules! checked_text {
    ($name:ident) => {
        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = TextError;

            fn try_from(text: String) -> Result<$name, TextError> {
                $name::new(text)
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> String {
                text.0
            }
        }
    };
}

checked_text!(Name);
checked_text!(Text);

/// The most bytes of a name.
pub const NAME_BYTES_MAX: usize = 32;
/// The most bytes of what is said at once.
pub const TEXT_BYTES_MAX: usize = 512;
/// What all clients of a world together may say in a tick.
pub const SAYINGS_MAX: usize = 4096;
/// The bytes of that in a frame: texts, and whom they are for.
pub const TALK_BYTES_MAX: usize = SAYINGS_MAX * (TEXT_BYTES_MAX + NAME_BYTES_MAX + 16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_shows_all_that_it_is() {
        for good in [
            "a",
            "Édith",
            "two words",
            "李",
            "x#2",
            &"x".repeat(NAME_BYTES_MAX),
        ] {
            assert_eq!(&*Name::new(good).unwrap(), good);
        }
        let long = "é".repeat(NAME_BYTES_MAX / 2 + 1);
        for bad in [
            "",
            " a",
            "a ",
            "a\nb",
            "a\0",
            "a\u{200b}b",
            "\u{202e}olleh",
            &long,
        ] {
            assert!(Name::new(bad).is_err(), "{bad:?}");
        }
        assert_eq!(
            Name::new(long).unwrap_err().to_string(),
            "a name has 34 bytes, expected at most 32"
        );
    }

    #[test]
    fn a_text_is_bounded_and_stays_in_its_line() {
        assert!(Text::new("x".repeat(TEXT_BYTES_MAX)).is_ok());
        for bad in [
            String::new(),
            "x".repeat(TEXT_BYTES_MAX + 1),
            "a\r\nb".to_owned(),
        ] {
            assert!(Text::new(bad).is_err());
        }
    }
}
