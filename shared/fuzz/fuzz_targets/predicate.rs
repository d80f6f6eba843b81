#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::predicate::{Predicate, PredicateLimits, ValueType, Vocabulary};

fuzz_target!(|text: &str| {
    let mut vocabulary = Vocabulary::new();
    for (name, value_type) in [
        ("a", ValueType::String),
        ("b", ValueType::Float),
        ("c", ValueType::Integer),
    ] {
        vocabulary.declare(name, value_type).unwrap();
    }
    let limits = PredicateLimits::default();
    if let Ok(predicate) = Predicate::parse(text, &vocabulary, &limits) {
        let again = predicate.display(&vocabulary).to_string();
        assert_eq!(
            Predicate::parse(&again, &vocabulary, &limits),
            Ok(predicate)
        );
    }
});
