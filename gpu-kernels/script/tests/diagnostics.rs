//! Every problem and every warning that a text can have, as designers see it.
//!
//! `tests/diagnostics/*.rs` holds the texts, one after another: a line `//- name` begins
//! one. The `.txt` beside it holds what is drawn. After a change of wording,
//! `UPDATE_DIAGNOSTICS=1 cargo test -p script --test it diagnostics` writes them anew; then
//! read the difference.

use crate::common;
use std::fs;
use std::path::Path;

#[test]
fn every_problem_is_drawn_as_it_was_approved() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let mut wrong = vec![];
    let mut inputs: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    inputs.sort();
    for input in inputs {
        let drawn = drawn_all(&fs::read_to_string(&input).unwrap());
        let golden = input.with_extension("txt");
        if std::env::var_os("UPDATE_DIAGNOSTICS").is_some() {
            fs::write(&golden, drawn).unwrap();
        } else if fs::read_to_string(&golden).ok().as_ref() != Some(&drawn) {
            wrong.push((golden, drawn));
        }
    }
    for (golden, drawn) in &wrong {
        println!("{} should now be:\n{drawn}", golden.display());
    }
    assert!(wrong.is_empty(), "{} files differ", wrong.len());
}

fn drawn_all(input: &str) -> String {
    let mut drawn = String::new();
    for case in input.split("//- ").skip(1) {
        let (name, text) = case.split_once('\n').unwrap();
        let problems = match common::compile(text) {
            Ok(_) => common::drawn_warnings(text),
            Err(_) => common::drawn(text),
        };
        drawn += &format!("==== {name}\n{}\n\n", problems.trim_end());
    }
    drawn.trim_end().to_owned() + "\n"
}
