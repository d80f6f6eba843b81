//! Built-in texts with words left out, doubled, swapped and taken from elsewhere: each one
//! is compiled or rejected, and nothing panics.

use crate::common;
use proptest::prelude::*;
use script::builtin;
use shared::world::logic::Text;

/// Of a text: its words, signs and the space between them.
fn words(text: &str) -> Vec<&str> {
    let mut words = vec![];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

/// What happens to a word.
#[derive(Clone, Debug)]
enum Change {
    LeaveOut(usize),
    Double(usize),
    Swap(usize, usize),
    Replace(usize, usize),
    /// A part of the text once more, elsewhere.
    Copy(usize, usize, usize),
    CutOff(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<usize>;
    prop_oneof![
        at().prop_map(Change::LeaveOut),
        at().prop_map(Change::Double),
        (at(), at()).prop_map(|(a, b)| Change::Swap(a, b)),
        (at(), at()).prop_map(|(a, b)| Change::Replace(a, b)),
        (at(), at(), 1..30usize).prop_map(|(a, b, n)| Change::Copy(a, b, n)),
        at().prop_map(Change::CutOff),
    ]
}

fn changed(text: &str, all: &[&str], changes: &[Change]) -> String {
    let mut words = words(text);
    for change in changes {
        if words.is_empty() {
            break;
        }
        let n = words.len();
        match *change {
            Change::LeaveOut(at) => {
                words.remove(at % n);
            }
            Change::Double(at) => words.insert(at % n, words[at % n]),
            Change::Swap(a, b) => words.swap(a % n, b % n),
            Change::Replace(at, with) => words[at % n] = all[with % all.len()],
            Change::Copy(from, to, length) => {
                let from = from % n;
                let part: Vec<_> = words[from..n.min(from + length)].to_vec();
                words.splice(to % n..to % n, part);
            }
            Change::CutOff(at) => words.truncate(at % n),
        }
    }
    words.concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_texts_are_compiled_or_rejected(
        text in 0..builtin::names().count(),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        let texts: Vec<String> = builtin::names()
            .filter_map(builtin::text)
            .map(|text| text.text)
            .collect();
        let all: Vec<&str> = texts.iter().flat_map(|text| words(text)).collect();
        let text = changed(&texts[text], &all, &changes);
        common::compile_and_run(&[Text::new("test.rs", text)]);
    }

    #[test]
    fn any_texts_are_compiled_or_rejected(text in ".*") {
        common::compile_and_run(&[Text::new("test.rs", text)]);
    }
}
