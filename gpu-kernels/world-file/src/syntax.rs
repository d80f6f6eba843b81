//! What is wrong with a file before it has keys: TOML's own syntax.

use toml::de::Error;

use super::check::Problem;
use super::lines::Lines;

/// What TOML rejects.
pub(super) struct Syntax {
    pub problems: Vec<Problem>,
    /// Whether they are of single keys, so that the others can be read.
    pub are_of_keys: bool,
}

/// One problem a line: what follows on a line mostly follows from the first.
pub(super) fn problems(text: &str, errors: Vec<Error>, lines: &Lines<'_>) -> Syntax {
    let mut problems: Vec<Problem> = vec![];
    let mut are_of_keys = true;
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let is_double = error.message() == "duplicate key";
        are_of_keys &= is_double;
        let line = lines.line_at(span.start);
        let mut known = problems.iter().filter_map(|problem| problem.place);
        if problems.len() == PROBLEMS_MAX || known.any(|place| lines.line_at(place) == line) {
            continue;
        }
        let (key, message) = match text.get(span.clone()) {
            Some(name) if is_double => {
                let key = lines.key_like(span.start, name);
                let message = match lines.line(&key).filter(|&first| first < line) {
                    Some(first) => format!("duplicate key `{name}`, which line {first} has, too"),
                    None => format!("duplicate key `{name}`"),
                };
                (key, message)
            }
            _ => (String::new(), error.message().to_owned()),
        };
        problems.push(Problem {
            key,
            message,
            place: Some(span.start),
        });
    }
    Syntax {
        problems,
        are_of_keys,
    }
}

/// The most problems of a file's syntax.
const PROBLEMS_MAX: usize = 64;
