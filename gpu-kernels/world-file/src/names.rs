//! Names of attributes, as scripts and predicates write them.

use super::check::{Problem, unexpected};

/// Checks that scripts can write a name, and that it means nothing else there. `key` is
/// where the file has it.
pub(super) fn check(key: &str, name: &str) -> Result<(), Problem> {
    let found = format!("{name:?}");
    let mut letters = name.chars();
    let begins = letters.next().is_some_and(is_first) && name != "_";
    if !begins || !letters.all(|letter| is_first(letter) || letter.is_ascii_digit()) {
        let expected = "a name of the letters a to z and A to Z, digits and `_`, which does not \
                        begin with a digit";
        return unexpected(key, found, expected);
    }
    if AXES.contains(&name) || ENGINES.contains(&name) {
        let expected =
            "another name: every entity has `position` with `x`, `y` and `z`, and `kind`";
        return unexpected(key, found, expected);
    }
    if KEYWORDS.contains(&name) {
        let expected =
            "another name: this word is a part of the language of scripts, as Rust has it";
        return unexpected(key, found, expected);
    }
    Ok(())
}

/// Checks that a key of a map can be a part of a name.
pub(super) fn check_key(at: &str, name: &str) -> Result<(), Problem> {
    let mut letters = name.chars();
    let begins = letters.next().is_some_and(is_first);
    if !begins || !letters.all(|letter| is_first(letter) || letter.is_ascii_digit()) {
        let expected = "keys of the letters a to z and A to Z, digits and `_`, which do not begin \
                        with a digit";
        return unexpected(at, format!("{name:?}"), expected);
    }
    Ok(())
}

fn is_first(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

const AXES: [&str; 3] = ["x", "y", "z"];
/// What scripts read of every entity, besides its attributes.
const ENGINES: [&str; 2] = ["position", "kind"];
/// Rust's keywords, and the words that it keeps for later.
const KEYWORDS: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "if", "impl", "in",
    "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "Self", "static", "struct", "super", "trait", "true", "try", "type",
    "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
