//! Finds what keeps a text from being split into words and signs: brackets and quotes
//! without a counterpart, and characters without a meaning.

use std::ops::Range;

/// The place, and what is wrong there; `None` if it is something else.
pub fn open_end(text: &str) -> Option<(Range<usize>, String)> {
    let mut open: Vec<(usize, char)> = vec![];
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        let here = at..at + letter.len_utf8();
        at = match letter {
            '/' if rest.starts_with("//") => at + rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => match comment(rest) {
                Some(length) => at + length,
                None => return Some((at..at + 2, "this comment is never closed".to_owned())),
            },
            '"' => match string(rest) {
                Some(length) => at + length,
                None => return Some((here, "this quote is never closed".to_owned())),
            },
            '\'' => match character(rest) {
                Some(length) => at + length,
                None => return Some((here, "texts stand in double quotes".to_owned())),
            },
            '(' | '[' | '{' => {
                open.push((at, letter));
                here.end
            }
            ')' | ']' | '}' => match open.pop() {
                Some((_, opened)) if closing(opened) == letter => here.end,
                Some((opened_at, opened)) if open.iter().any(|o| closing(o.1) == letter) => {
                    let message = format!("this `{opened}` is never closed");
                    return Some((opened_at..opened_at + 1, message));
                }
                _ => return Some((here, format!("this `{letter}` closes nothing"))),
            },
            letter if has_meaning(letter) => here.end,
            letter => {
                let message = format!("`{}` has no meaning here", letter.escape_debug());
                return Some((here, message));
            }
        };
    }
    let (at, opened) = open.pop()?;
    Some((at..at + 1, format!("this `{opened}` is never closed")))
}

fn closing(opened: char) -> char {
    match opened {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

/// The length of the comment with which a text begins. Comments nest.
fn comment(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    loop {
        let rest = &text.as_bytes()[at..];
        match rest {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return Some(at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            [_, ..] => at += 1,
            [] => return None,
        }
    }
}

/// The length of the text in quotes with which a text begins.
fn string(text: &str) -> Option<usize> {
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some(at + 1),
            '\\' => {
                letters.next();
            }
            _ => {}
        }
    }
    None
}

/// The length of the character or loop label with which a text begins.
fn character(text: &str) -> Option<usize> {
    let mut letters = text.char_indices().skip(1);
    let (_, first) = letters.next()?;
    if first == '\\' {
        return text[2..].find('\'').map(|at| at + 3);
    }
    let (at, second) = letters.next()?;
    if second == '\'' {
        return Some(at + 1);
    }
    // A label is a word with no quote after it.
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let end = text[1..].find(|letter| !is_word(letter));
    let end = end.map_or(text.len(), |end| end + 1);
    (end > 1 && !text[end..].starts_with('\'')).then_some(end)
}

fn has_meaning(letter: char) -> bool {
    letter.is_alphanumeric() || letter.is_whitespace() || "_+-*/%^!&|=<>@.,;:#$?~".contains(letter)
}
