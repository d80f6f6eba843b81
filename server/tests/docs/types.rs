//! A match over the types of attributes lists them all, so that a new type compiles only where
//! each place says what it does with it.

use super::sources::crates;

#[test]
fn no_match_over_types_of_attributes_has_a_wildcard() {
    let mut wrong = vec![];
    for (folder, sources) in crates() {
        for (path, text) in sources {
            let found = wildcards(&text);
            let found = found.map(|line| format!("{folder}/{}:{line}", path.display()));
            wrong.extend(found);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_wildcard_is_found_behind_the_arms_of_its_match() {
    let found = |text: &str| wildcards(text).collect::<Vec<usize>>();
    let all = "match ty {\n    AttributeType::Bool => 1,\n    AttributeType::I32 => 2,\n}\n";
    assert!(found(&format!("{all}match other {{\n    _ => 3,\n}}")).is_empty());
    assert_eq!(found(&all.replace("AttributeType::I32", "_")), [3]);
    assert_eq!(found(&all.replace("AttributeType::I32", "other")), [3]);
    let pairs = all.replace("AttributeType::Bool", "(AttributeType::Bool, 1)");
    assert_eq!(
        found(&pairs.replace("AttributeType::I32", "(other, _)")),
        [3]
    );
    let block = all.replace("1,", "{\n        1\n    }");
    assert_eq!(found(&block.replace("AttributeType::I32", "_ if c")), [5]);
}

/// The lines, from 1 on, with an arm for all other types. Formatted code has the arms of a match at
/// one depth.
fn wildcards(text: &str) -> impl Iterator<Item = usize> {
    let mut found = vec![];
    // How deep the arms of a match over types are.
    let mut arms: Option<usize> = None;
    for (line, number) in text.lines().zip(1..) {
        let inner = line.trim_start();
        let depth = line.len() - inner.len();
        if arms.is_some_and(|arms| depth < arms && !inner.is_empty()) {
            arms = None;
        }
        let pattern = inner.trim_start_matches("Some(").trim_start_matches('(');
        if pattern.starts_with("AttributeType::") && inner.contains("=>") {
            arms = Some(depth);
        } else if arms == Some(depth) && inner.contains("=>") {
            let first = pattern.chars().next().unwrap_or_default();
            // With guards, the types are in another arm, too.
            if first == '_' || first.is_lowercase() && !inner.contains(" if ") {
                found.push(number);
            }
        }
    }
    found.into_iter()
}
