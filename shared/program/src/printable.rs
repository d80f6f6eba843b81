//! Text of others, as it can be shown on a terminal or written into a log.

use std::fmt::{self, Write};

/// A text on one line: line ends, escape sequences, direction controls and all else that is not
/// seen as itself are written as `\n`, `\u{1b}` and so on. A backslash is doubled, so that no
/// two texts look alike.
#[derive(Clone, Copy, Debug)]
pub struct OneLine<'a>(pub &'a str);

/// The same between quotation marks.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

/// The same for a text of several lines: line ends and tabs stay, and so do backslashes.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a>(pub &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        put(f, self.0, |c| c != '\\' && is_seen(c))
    }
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        put(f, self.0, |c| c != '\\' && c != '"' && is_seen(c))?;
        f.write_char('"')
    }
}

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        put(f, self.0, |c| matches!(c, '\n' | '\t') || is_seen(c))
    }
}

fn put(f: &mut fmt::Formatter<'_>, text: &str, stays: impl Fn(char) -> bool) -> fmt::Result {
    for c in text.chars() {
        match stays(c) {
            true => f.write_char(c)?,
            false => write!(f, "{}", c.escape_debug())?,
        }
    }
    Ok(())
}

/// Whether a character is shown as itself: it is no control, no format character, no separator
/// but the blank, and Unicode has assigned it.
pub fn is_seen(c: char) -> bool {
    if c.is_ascii() {
        return c == ' ' || c.is_ascii_graphic();
    }
    // Behind a letter, so that marks which belong to one are as good as letters.
    let mut bytes = [b'a'; 5];
    let length = 1 + c.encode_utf8(&mut bytes[1..]).len();
    let pair = std::str::from_utf8(&bytes[..length]).unwrap_or_default();
    pair.escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_as_itself_is_written_out() {
        for (text, expected) in [
            (
                "Zoë says 你好 हिन्दी e\u{301}",
                "Zoë says 你好 हिन्दी e\u{301}",
            ),
            ("a \"b\" 'c'", "a \"b\" 'c'"),
            ("a\nb\r\tc\0", r"a\nb\r\tc\0"),
            ("a\\nb", r"a\\nb"),
            ("\u{1b}[2J\u{7}\u{7f}", r"\u{1b}[2J\u{7}\u{7f}"),
            ("\u{9b}2J\u{85}", r"\u{9b}2J\u{85}"),
            ("\u{2028}\u{2029}\u{202e}", r"\u{2028}\u{2029}\u{202e}"),
            ("\u{feff}\u{200b}\u{e0041}", r"\u{feff}\u{200b}\u{e0041}"),
        ] {
            assert_eq!(OneLine(text).to_string(), expected);
        }
        assert_eq!(Quoted("a \"b\"\n").to_string(), r#""a \"b\"\n""#);
    }

    #[test]
    fn lines_stay_lines_and_nothing_else_does() {
        let text = "error: `a\\b`\n\tline \u{1b}[31mred\r\n";
        let expected = "error: `a\\b`\n\tline \\u{1b}[31mred\\r\n";
        assert_eq!(Lines(text).to_string(), expected);
    }
}
