//! The text form of predicates, names, and notifications.

use proptest::prelude::*;
use shared::predicate::{
    Constraint, Filter, NameError, NameId, Notification, NotificationError, Operator, Predicate,
    PredicateError, PredicateLimits, TextError, Value, ValueType, Vocabulary, filters_at_most,
};

fn vocabulary() -> Vocabulary {
    let mut vocabulary = Vocabulary::new();
    for (name, value_type) in [
        ("area", ValueType::String),
        ("temp", ValueType::Float),
        ("wind", ValueType::Integer),
    ] {
        vocabulary.declare(name, value_type).unwrap();
    }
    vocabulary
}

fn parse(text: &str) -> Result<Predicate, TextError> {
    Predicate::parse(text, &vocabulary(), &PredicateLimits::default())
}

fn constraint(name: u16, operator: Operator, value: Value) -> Constraint {
    let name = NameId(name);
    Constraint {
        name,
        operator,
        value,
    }
}

#[test]
fn the_papers_predicate_is_read() {
    let text = r#"(area == "area1" && temp > 30) || (area == "area2" && wind > 20)"#;
    let area = |text: &str| constraint(0, Operator::Equal, text.into());
    let temp = constraint(1, Operator::Greater, Value::Integer(30));
    let wind = constraint(2, Operator::Greater, Value::Integer(20));
    let filters = [vec![area("area1"), temp], vec![area("area2"), wind]];
    let filters = filters.map(|constraints| Filter { constraints }).into();
    assert_eq!(parse(text), Ok(Predicate { filters }));
}

#[test]
fn names_have_an_index_or_a_key() {
    let mut vocabulary = Vocabulary::new();
    for name in ["slot[0]", "slot[12]", "bag.wood"] {
        vocabulary.declare(name, ValueType::Integer).unwrap();
    }
    let parse = |text: &str| Predicate::parse(text, &vocabulary, &PredicateLimits::default());
    for text in ["slot[12] > 5 && bag.wood <= 3", "slot[0]!=1"] {
        let shown = parse(text).unwrap().display(&vocabulary).to_string();
        assert_eq!(parse(&shown), parse(text), "{shown}");
    }
    assert!(parse("slot[12]>5").unwrap() != parse("slot[0]>5").unwrap());
    let unknown = |text: &str| parse(text).unwrap_err().to_string();
    assert!(
        unknown("slot[3] > 5").contains("`slot[3]`"),
        "{}",
        unknown("slot[3] > 5")
    );
    for text in [
        "slot > 5",
        "slot[ > 5",
        "slot[] > 5",
        "slot[x] > 5",
        "slot[0 > 5",
        "[0] > 5",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
    for name in [
        "[0]",
        "slot[0",
        "slot[]",
        "slot[a]",
        "slot[0]x",
        "slot[0][1]",
    ] {
        let declared = vocabulary.declare(name, ValueType::Integer);
        assert_eq!(declared, Err(NameError::Invalid(name.to_owned())));
    }
}

#[test]
fn a_conjunction_of_disjunctions_is_multiplied_out() {
    let text = "(wind > 1 || wind < -1) && (temp > 0.5 || true)";
    let product = "wind > 1 && temp > 0.5 || wind > 1 || wind < -1 && temp > 0.5 || wind < -1";
    assert_eq!(parse(text), parse(product));
    assert_eq!(parse("wind > 1 && false"), Ok(Predicate::default()));
}

#[test]
fn errors_name_the_column_and_what_was_expected() {
    let cases = [
        (
            "",
            "column 1: expected a name, `(`, `true` or `false`, found the end",
        ),
        ("wind", "column 5: expected `==`"),
        ("wind = 3", "column 6: expected `==`"),
        ("wind > ", "column 8: expected a number"),
        ("wind > five", "column 8: expected a number"),
        ("wind > 1.2.3", "column 8: expected a number"),
        (
            "wind > 9223372036854775808",
            "column 8: expected an integer of 64 bits",
        ),
        (
            "wind > 3 wind < 4",
            "column 10: expected `&&`, `||` or the end, found `wind`",
        ),
        (
            "(wind > 3",
            "column 10: expected `&&`, `||` or `)`, found the end",
        ),
        (
            "wind > 3 && gust > 4",
            "column 13: expected a name that this world declares, found `gust`",
        ),
        // Columns count characters: the string before has two of several bytes.
        (r#"area == "öß" & wind > 3"#, "column 14: expected `&&`"),
        (
            r#"area == "north"#,
            "column 15: expected `\"`, found the end",
        ),
        (r#"area == "a\q""#, "column 11: expected `\\\"`"),
        (r#"area == "\u{d800}""#, "column 10: expected"),
        (
            r#"wind == "north""#,
            "column 1: expected a number for `wind`, found a string",
        ),
        (
            "area == 3",
            "column 1: expected a string for `area`, found an integer",
        ),
        (
            "wind prefix 3",
            "column 1: `prefix` compares strings, and `wind` is an integer",
        ),
        (
            r#"area < "b""#,
            "column 1: `<` compares numbers, and `area` is a string",
        ),
    ];
    for (text, expected) in cases {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?} gave {error:?}");
    }
}

#[test]
fn limits_hold_before_memory_is_spent() {
    let factor = "(wind > 1 || wind > 2 || wind > 3 || wind > 4)";
    let huge = [factor; 40].join(" && ");
    let error = parse(&huge).unwrap_err();
    let too_many = |error: &TextError| {
        matches!(
            error,
            TextError::Predicate {
                error: PredicateError::TooManyFilters { limit: 1024, .. },
                ..
            }
        )
    };
    assert!(too_many(&error), "{error}");
    let long = ["wind > 1"; 65].join(" && ");
    assert!(
        parse(&long)
            .unwrap_err()
            .to_string()
            .contains("65 constraints")
    );
    // Filters that `false` removes again have been multiplied out, too.
    let pairs = ["(wind > 1 || wind > 2)"; 10].join(" && ");
    let largest = format!("{pairs} && {}", ["wind > 3"; 54].join(" && "));
    assert_eq!(parse(&largest).unwrap().filters.len(), 1024);
    let wasted = format!("{largest} && false || ").repeat(5) + "wind > 4";
    let error = parse(&wasted).unwrap_err();
    assert!(
        matches!(error, TextError::TooManyCopies { limit: 262_144, .. }),
        "{error}"
    );
    let idle = format!("{pairs}{}", " && true".repeat(10_000));
    assert_eq!(parse(&idle), parse(&pairs));
    let deep = "(".repeat(100_000);
    assert_eq!(parse(&deep), Err(TextError::TooDeep { column: 65 }));
    let string = format!("area == \"{}\"", "x".repeat(256));
    assert!(
        parse(&string)
            .unwrap_err()
            .to_string()
            .contains("256 bytes")
    );
}

#[test]
fn notifications_hold_each_name_once_and_with_its_type() {
    let vocabulary = vocabulary();
    let made = |attributes: Vec<(u16, Value)>| {
        let attributes = attributes
            .into_iter()
            .map(|(name, value)| (NameId(name), value));
        Notification::new(&vocabulary, attributes)
    };
    let made_float = made(vec![(1, Value::Integer(3))]).unwrap();
    assert_eq!(made_float.attributes(), [(NameId(1), Value::Float(3.0))]);
    assert_eq!(
        made(vec![(1, Value::Float(f64::NAN))]),
        Err(NotificationError::NotANumber("temp".to_owned()))
    );
    let twice = made(vec![(2, Value::Integer(3)), (2, Value::Integer(4))]);
    assert_eq!(twice, Err(NotificationError::Duplicate("wind".to_owned())));
    assert!(matches!(
        made(vec![(0, Value::Integer(3))]),
        Err(NotificationError::WrongType { .. })
    ));
    assert!(matches!(
        made(vec![(9, Value::Integer(3))]),
        Err(NotificationError::UnknownName(_))
    ));
}

#[test]
fn names_are_declared_once() {
    let mut vocabulary = vocabulary();
    let again = vocabulary.declare("wind", ValueType::Float);
    assert_eq!(again, Err(NameError::Declared("wind".to_owned())));
    for name in ["", "3d", "a b", ".a", "ö"] {
        let invalid = vocabulary.declare(name, ValueType::Float);
        assert_eq!(invalid, Err(NameError::Invalid(name.to_owned())));
    }
    for name in ["prefix", "inf"] {
        let reserved = vocabulary.declare(name, ValueType::Float);
        assert_eq!(reserved, Err(NameError::Reserved(name.to_owned())));
    }
}

fn any_constraint() -> impl Strategy<Value = Constraint> {
    let numeric = prop::sample::select(&Operator::ALL[..6]);
    let textual = prop::sample::select(vec![
        Operator::Equal,
        Operator::NotEqual,
        Operator::Prefix,
        Operator::Suffix,
        Operator::Contains,
    ]);
    let number = prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        any::<f64>()
            .prop_filter("a number", |f| !f.is_nan())
            .prop_map(Value::Float),
    ];
    prop_oneof![
        (1u16..3, numeric, number).prop_map(|(n, o, v)| constraint(n, o, v)),
        (textual, ".{0,20}").prop_map(|(o, text)| constraint(0, o, text.as_str().into())),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        filters in prop::collection::vec(prop::collection::vec(any_constraint(), 0..5), 0..5)
    ) {
        let filters = filters.into_iter().map(|constraints| Filter { constraints }).collect();
        let predicate = Predicate { filters };
        let text = predicate.display(&vocabulary()).to_string();
        prop_assert_eq!(parse(&text), Ok(predicate), "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in r#"([()&|<>=! "\\.0-9a-z-]|area|wind|prefix|true){0,40}"#) {
        if let Ok(predicate) = parse(&text) {
            let again = predicate.display(&vocabulary()).to_string();
            prop_assert_eq!(parse(&again), Ok(predicate));
        }
    }
}

/// A text whose strings contain what would be operators outside of them.
fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("wind > 1".to_owned()),
        Just("true".to_owned()),
        Just(r#"area == "a || (b \" || c""#.to_owned()),
        Just(r#"area prefix "\\""#.to_owned()),
    ];
    part.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|text| format!("({text})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}||{b}")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{a} && {b}")),
        ]
    })
}

proptest! {
    #[test]
    fn the_filters_of_a_text_are_counted_without_multiplying_it_out(text in texts()) {
        let limits = PredicateLimits {
            filters: 1 << 20,
            constraints_per_filter: 1 << 20,
            ..PredicateLimits::default()
        };
        let predicate = Predicate::parse(&text, &vocabulary(), &limits);
        let predicate = predicate.map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
        prop_assert_eq!(filters_at_most(&text), predicate.filters.len(), "{}", text);
    }
}

#[test]
fn the_filters_of_a_huge_product_are_counted_at_once() {
    let pair = "(wind > 1 || wind < 0)";
    let text = vec![pair; 600].join("&&");
    assert_eq!(filters_at_most(&text), usize::MAX);
    assert_eq!(filters_at_most("((((\"||"), 1);
    assert_eq!(filters_at_most("))))||"), 2);
}
