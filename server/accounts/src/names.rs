//! Valid names of players and channels, and which count as equal.
//!
//! Names are prepared and compared as nicknames are by RFC 8266 (PRECIS), with the tables of
//! Unicode. Names that were stored under other rules are read as they are: only their keys are new.

use std::borrow::Cow;

use clap::ValueEnum;
use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::props::{BidiControl, DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};
use shared::Name;
use shared::world::talk::TextError;
use unicode_security::confusable_detection::skeleton;

/// Which names count as equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum NameRule {
    /// Those that differ by capitals, widths, forms of letters, blanks or unseen characters
    #[default]
    Forms,
    /// Also those whose letters look alike, such as Latin and Cyrillic ones (UTS 39)
    Confusables,
}

impl NameRule {
    /// Names with equal keys are the same.
    pub fn key(self, name: &str) -> String {
        let folded = folded(name);
        match self {
            NameRule::Forms => folded,
            NameRule::Confusables => prototype(&folded),
        }
    }
}

/// A name as a player wishes it: in its usual form. Characters that show nothing are rejected, and
/// so are blanks at its ends.
pub fn wished(text: &str) -> Result<Name, TextError> {
    let what = "a name";
    if text.trim_matches(is_blank).len() < text.len() {
        return Err(TextError::Blank { what });
    }
    match text.chars().find(|&c| is_unseen(c)) {
        Some(character) => Err(TextError::Character {
            what,
            character: u32::from(character),
        }),
        None => Name::new(usual(text)),
    }
}

/// A name that a token proves: in its usual form, without characters that show nothing, as its
/// player can't write another one.
pub fn proven(text: &str) -> Result<Name, TextError> {
    Name::new(usual(&seen(text)))
}

/// Characters that show nothing by themselves, turn the text around them, or mean something to
/// some programs only.
pub fn is_unseen(character: char) -> bool {
    is_ignorable(character)
        || CodePointSetData::new::<BidiControl>().contains(character)
        || matches!(
            CodePointMapData::<GeneralCategory>::new().get(character),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
                | GeneralCategory::PrivateUse
                | GeneralCategory::Surrogate
                | GeneralCategory::Unassigned
        )
}

/// Characters without which a text means the same.
pub fn is_ignorable(character: char) -> bool {
    CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
}

/// A text in which compatible characters are one, and blanks are single and inside.
fn usual(text: &str) -> String {
    blanks_collapsed(&nfkc().normalize(text))
}

/// A text by which names are compared, whatever their forms.
fn folded(text: &str) -> String {
    let text = fold(&seen(text));
    // Of folded characters that were ignored, or became blanks.
    blanks_collapsed(&seen(&text))
}

/// A key that is equal for all texts that look like this one in any of their capitals: I looks
/// like l, and so i is the same as both.
fn prototype(folded: &str) -> String {
    let letters = DecomposingNormalizerBorrowed::new_nfd()
        .normalize(folded)
        .into_owned();
    fold(&letters.chars().map(look).collect::<String>())
}

/// How a letter looks as a capital, by skeletons; where that is the letter itself, the capital of
/// its own skeleton.
fn look(letter: char) -> String {
    let capital = |letter: char| {
        let capital: String = letter.to_uppercase().collect();
        fold(&skeleton(&capital).collect::<String>())
    };
    let (alone, look) = (String::from(letter), capital(letter));
    match look == alone {
        true => fold(&skeleton(&alone).collect::<String>())
            .chars()
            .map(capital)
            .collect(),
        false => look,
    }
}

/// Twice: folding may give letters that compose, and fold again.
fn fold(text: &str) -> String {
    let case = CaseMapper::new();
    let mut text = nfkc().normalize(text).into_owned();
    for _ in 0..2 {
        text = nfkc().normalize(&case.fold_string(&text)).into_owned();
    }
    text
}

fn seen(text: &str) -> Cow<'_, str> {
    match text.contains(is_unseen) {
        true => Cow::Owned(text.chars().filter(|&c| !is_unseen(c)).collect()),
        false => Cow::Borrowed(text),
    }
}

fn blanks_collapsed(text: &str) -> String {
    let words = text.split(is_blank).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// A blank; one of Braille shows nothing, either.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{2800}'
}

fn nfkc() -> ComposingNormalizerBorrowed<'static> {
    ComposingNormalizerBorrowed::new_nfkc()
}

#[cfg(test)]
mod tests {
    use shared::world::talk::NAME_BYTES_MAX;

    use super::*;

    /// Whether a second name can't be had beside a first one: it is rejected, or the same.
    fn is_kept_out(first: &str, second: &str, rule: NameRule) -> bool {
        let first = wished(first).expect("a name");
        wished(second).is_err_and(|_| true)
            || rule.key(&wished(second).unwrap()) == rule.key(&first)
    }

    #[test]
    fn names_that_look_alike_in_their_forms_are_the_same() {
        let pairs = [
            ("Bob", "BOB"),
            ("Bob", "\u{ff22}\u{ff4f}\u{ff42}"),
            ("Bob", "\u{1d401}\u{1d428}\u{1d41b}"),
            ("Bob", "\u{24b7}\u{24de}\u{24d1}"),
            ("Bob", " Bob"),
            ("Bob", "Bob\u{a0}"),
            ("Bob", "Bo\u{34f}b"),
            ("Bob", "Bo\u{200d}b"),
            ("Bob", "Bob\u{17b4}"),
            ("Bob", "Bob\u{180b}"),
            ("Bob", "Bob\u{2064}"),
            ("Bob", "Bob\u{fe0f}"),
            ("Bob", "Bob\u{e0100}"),
            ("Bob", "Bob\u{e007f}"),
            ("Bob", "Bob\u{1bca0}"),
            ("Bob", "Bob\u{1d173}"),
            ("Bob", "Bob\u{2800}"),
            ("Bob", "\u{202e}boB"),
            ("Bob", "\u{2067}Bob\u{2069}"),
            ("Bob", "Bob\u{e000}"),
            ("Bob", "Bob\u{10ffff}"),
            ("Bob B", "Bob  B"),
            ("Bob B", "Bob\u{a0}B"),
            ("Bob B", "Bob\u{2003}\u{3000}B"),
            ("Straße", "STRASSE"),
            ("Straße", "STRA\u{1e9e}E"),
            ("Kim", "\u{212a}im"),
            ("sis", "\u{17f}i\u{17f}"),
            ("office", "o\u{fb03}ce"),
            ("Édith", "E\u{301}dith"),
            ("ǰ", "J\u{30c}"),
            ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
            ("\u{1f88}", "\u{1f00}\u{3b9}"),
            ("가", "\u{1100}\u{1161}"),
            ("ガ", "\u{ff76}\u{ff9e}"),
            ("x2", "x²"),
        ];
        for (first, second) in pairs {
            assert!(is_kept_out(first, second, NameRule::Forms), "{second:?}");
        }
        for (first, second) in [("Bob", "Bobo"), ("e", "é"), ("李", "季"), ("a b", "ab")] {
            for rule in [NameRule::Forms, NameRule::Confusables] {
                assert!(!is_kept_out(first, second, rule), "{second:?}");
            }
        }
    }

    #[test]
    fn letters_of_other_scripts_that_look_alike_are_the_same_by_uts_39() {
        let pairs = [
            ("Bob", "B\u{43e}b"),
            ("paypal", "р\u{430}ура\u{4cf}"),
            ("admin", "ad\u{217f}in"),
            ("scope", "ѕсоре"),
            ("ABC", "АВС"),
            ("abc", "АВС"),
            ("alpha", "\u{251}lph\u{251}"),
            ("Ivan", "lvan"),
            ("Ivan", "ivan"),
            ("ivan", "1van"),
            ("modern", "modem"),
            ("Bob", "\u{13f4}o\u{185}"),
        ];
        for (first, second) in pairs {
            assert!(
                is_kept_out(first, second, NameRule::Confusables),
                "{second:?}"
            );
        }
        assert!(!is_kept_out("Bob", "B\u{43e}b", NameRule::Forms));
    }

    #[test]
    fn a_key_is_its_own_key() {
        for text in [
            "Straße",
            "ΰ",
            "\u{1e9b}\u{323}",
            "İstanbul",
            "ŉ",
            "ﷺ",
            "Ⅷ",
            "ᾳ",
        ] {
            for rule in [NameRule::Forms, NameRule::Confusables] {
                let key = rule.key(text);
                assert_eq!(rule.key(&key), key, "{text:?}");
            }
        }
    }

    #[test]
    fn whatever_the_character_a_name_is_in_its_usual_form_once_and_for_all() {
        for number in (0..0x2_0000).chain(0xe_0000..0xe_0200) {
            let Some(character) = char::from_u32(number) else {
                continue;
            };
            let text = format!("a{character}b");
            let Ok(name) = wished(&text) else { continue };
            assert_eq!(wished(&name).as_ref(), Ok(&name), "U+{number:04X}");
            assert_eq!(proven(&text).as_ref(), Ok(&name), "U+{number:04X}");
            let key = NameRule::Forms.key(&name);
            assert_eq!(NameRule::Forms.key(&text), key, "U+{number:04X}");
            assert_eq!(NameRule::Forms.key(&key), key, "U+{number:04X}");
        }
    }

    #[test]
    fn a_name_of_a_token_loses_what_shows_nothing_and_keeps_its_player_in() {
        assert_eq!(&*proven("A\u{200d}l\u{202e}ice").unwrap(), "Alice");
        assert_eq!(&*proven("  Alice \u{3000} B ").unwrap(), "Alice B");
        assert!(proven("\u{200b}").is_err());
        let long = "\u{fdfa}".repeat(NAME_BYTES_MAX / 3);
        assert!(proven(&long).is_err(), "too long in its usual form");
    }
}
