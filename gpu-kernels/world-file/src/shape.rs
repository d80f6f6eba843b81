//! Serde's errors, without the names of Rust's types.

use std::ops::RangeInclusive;

use shared::predicate::nearest;

/// A text format, by what it calls what serde calls maps and sequences.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Toml,
    Json,
}

/// The same error as a sentence about the file: what was expected, then what was found.
pub fn plain(message: &str, format: Format) -> String {
    let message = message.trim_end();
    let (error, place) = match format {
        Format::Json => message.split_at(message.rfind(" at line ").unwrap_or(message.len())),
        Format::Toml => (message, ""),
    };
    let error = reworded(error, format).unwrap_or_else(|| error.to_owned());
    format!("{}{place}", without_controls(&error))
}

/// An unknown key, where those after `expected` are known.
pub(super) fn unknown_key(name: &str, expected: &str) -> String {
    // Names stand in backticks, and have none.
    let known = expected.split('`').skip(1).step_by(2);
    let question = match nearest(name, known) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    format!("unknown key `{name}`, expected {expected}{question}")
}

fn reworded(error: &str, format: Format) -> Option<String> {
    if let Some(name) = error.strip_prefix("missing field ") {
        return Some(format!("the key {name} is missing"));
    }
    if let Some(name) = error.strip_prefix("duplicate field ") {
        return Some(format!("duplicate key {name}"));
    }
    if let Some(rest) = error.strip_prefix("unknown field `") {
        return Some(match rest.rsplit_once("`, expected ") {
            Some((name, known)) => unknown_key(name, known),
            None => format!("unknown key `{}", rest.replace("fields", "keys")),
        });
    }
    match error {
        "wanted string or table" => return Some("expected a string".to_owned()),
        "integer number overflowed" => return Some("the number is too large".to_owned()),
        _ => {}
    }
    // What was found may be any text, also one with these words.
    let (found, expected) = error.rsplit_once(", expected ")?;
    if let Some(variant) = found.strip_prefix("unknown variant ") {
        return Some(format!("expected {expected}, found {variant}"));
    }
    let found = ["invalid type: ", "invalid value: ", "invalid length "]
        .iter()
        .find_map(|prefix| found.strip_prefix(prefix))?;
    let (expected, found) = (expected_of(expected, format), found_of(found, format));
    Some(format!("expected {expected}, found {found}"))
}

fn expected_of(expected: &str, format: Format) -> String {
    let expected = expected.trim_end();
    let number = expected.strip_prefix("a nonzero ").unwrap_or(expected);
    if let Some(range) = range_of(number) {
        let start = range.start() + u128::from(number != expected);
        return format!("a whole number from {start} to {}", range.end());
    }
    if let Some(range) = signed_range_of(number) {
        return format!("a whole number from {} to {}", range.start(), range.end());
    }
    let is = |prefix: &str| expected.starts_with(prefix);
    let plain = match (expected, format) {
        ("f32" | "f64", _) => "a number",
        ("a boolean" | "bool", _) => "true or false",
        ("a borrowed string" | "variant identifier" | "identifier" | "string or map", _) => {
            "a string"
        }
        ("a sequence", _) => "a list",
        (_, Format::Toml) if expected == "a map" || is("struct ") => "a table",
        (_, Format::Json) if expected == "a map" || is("struct ") => "an object",
        _ if is("enum ") => "a string",
        _ => {
            let lists = ["an array of length ", "a tuple of size "];
            let length = lists.iter().find_map(|list| expected.strip_prefix(list));
            return match length {
                Some(length) => format!("a list of {length}"),
                None => expected.to_owned(),
            };
        }
    };
    plain.to_owned()
}

fn found_of(found: &str, format: Format) -> String {
    let quoted = ["integer `", "floating point `", "boolean `", "character `"];
    let value = quoted.iter().find_map(|kind| found.strip_prefix(kind));
    if let Some(value) = value {
        // Of the largest, the type follows.
        return value.split('`').next().unwrap_or_default().to_owned();
    }
    match (found, format) {
        ("sequence", _) => "a list".to_owned(),
        ("map", Format::Toml) => "a table".to_owned(),
        ("map", Format::Json) => "an object".to_owned(),
        ("unit value", _) => "null".to_owned(),
        _ => found.strip_prefix("string ").unwrap_or(found).to_owned(),
    }
}

fn range_of(ty: &str) -> Option<RangeInclusive<u128>> {
    let max = match ty {
        "u8" => u8::MAX.into(),
        "u16" => u16::MAX.into(),
        "u32" => u32::MAX.into(),
        "u64" | "usize" => u64::MAX.into(),
        "u128" => u128::MAX,
        _ => return None,
    };
    Some(0..=max)
}

fn signed_range_of(ty: &str) -> Option<RangeInclusive<i128>> {
    Some(match ty {
        "i8" => i8::MIN.into()..=i8::MAX.into(),
        "i16" => i16::MIN.into()..=i16::MAX.into(),
        "i32" => i32::MIN.into()..=i32::MAX.into(),
        "i64" | "isize" => i64::MIN.into()..=i64::MAX.into(),
        "i128" => i128::MIN..=i128::MAX,
        _ => return None,
    })
}

/// Serde escapes what it found, but not the names of keys.
fn without_controls(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => escaped.extend(c.escape_default()),
            false => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::NonZeroU8;

    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        #[serde(rename = "size")]
        _size: u8,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Choice {
        Left,
        Right,
    }

    fn json<T: DeserializeOwned + std::fmt::Debug>(text: &str) -> String {
        plain(
            &serde_json::from_str::<T>(text).unwrap_err().to_string(),
            Format::Json,
        )
    }

    fn toml<T: DeserializeOwned + std::fmt::Debug>(value: &str) -> String {
        let text = format!("a = {value}");
        let error = toml::from_str::<BTreeMap<String, T>>(&text).unwrap_err();
        plain(error.message(), Format::Toml)
    }

    #[test]
    fn errors_of_shape_name_no_types_of_rust() {
        let output = [
            toml::<u32>("99999999999999999999"),
            toml::<u8>("\"x\""),
            toml::<u16>("-3"),
            toml::<u32>("1.5"),
            toml::<u64>("true"),
            toml::<usize>("[1]"),
            toml::<i8>("300"),
            toml::<i64>("{}"),
            toml::<NonZeroU8>("0"),
            toml::<f64>("\"far\""),
            toml::<bool>("1"),
            toml::<String>("2"),
            toml::<Vec<u8>>("3"),
            toml::<[u8; 2]>("[3]"),
            toml::<(u8, u8)>("4"),
            toml::<Entry>("5"),
            toml::<Choice>("\"up\""),
            toml::<Choice>("6"),
            toml::<u32>("99999999999999999999999999999999999999999999"),
        ];
        let expected = [
            "expected a whole number from 0 to 4294967295, found 99999999999999999999",
            "expected a whole number from 0 to 255, found \"x\"",
            "expected a whole number from 0 to 65535, found -3",
            "expected a whole number from 0 to 4294967295, found 1.5",
            "expected a whole number from 0 to 18446744073709551615, found true",
            "expected a whole number from 0 to 18446744073709551615, found a list",
            "expected a whole number from -128 to 127, found 300",
            "expected a whole number from -9223372036854775808 to 9223372036854775807, \
             found a table",
            "expected a whole number from 1 to 255, found 0",
            "expected a number, found \"far\"",
            "expected true or false, found 1",
            "expected a string, found 2",
            "expected a list, found 3",
            "expected a list of 2, found 1",
            "expected a list of 2, found 4",
            "expected a table, found 5",
            "expected `left` or `right`, found `up`",
            "expected a string",
            "the number is too large",
        ];
        assert_eq!(output, expected);
    }

    #[test]
    fn errors_of_keys_name_the_key_that_was_meant() {
        assert_eq!(toml::<Entry>("{}"), "the key `size` is missing");
        assert_eq!(
            toml::<Entry>("{ size = 1, sise = 1 }"),
            "unknown key `sise`, expected `size`; did you mean `size`?"
        );
        assert_eq!(
            toml::<Entry>("{ size = 1, colour = 1 }"),
            "unknown key `colour`, expected `size`"
        );
    }

    #[test]
    fn errors_of_json_keep_their_place_and_call_maps_objects() {
        assert_eq!(
            json::<Entry>("[3"),
            "EOF while parsing a list at line 1 column 2"
        );
        assert_eq!(
            json::<BTreeMap<String, u8>>("3"),
            "expected an object, found 3 at line 1 column 1"
        );
        assert_eq!(
            json::<u32>("null"),
            "expected a whole number from 0 to 4294967295, found null at line 1 column 4"
        );
    }

    #[test]
    fn what_was_found_may_be_any_text() {
        assert_eq!(
            toml::<u8>("\"x, expected u32\""),
            "expected a whole number from 0 to 255, found \"x, expected u32\""
        );
        assert_eq!(
            toml::<Choice>(r#""\u001b[2J""#),
            "expected `left` or `right`, found `\\u{1b}[2J`"
        );
    }
}
