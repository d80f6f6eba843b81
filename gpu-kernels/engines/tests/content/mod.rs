//! Every way of matching finds what a direct evaluation finds.

mod direct;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod gpu;
mod ways;
mod world;

use gpu_kernels::content::{AutoMatcher, Batch, Limits, Matches, SubscribeError, Subscriptions};
use shared::predicate::{Notification, Predicate, PredicateLimits, Value, ValueType, Vocabulary};
use testkit::dice::{Dice, Seed};
use world::World;

/// Subscribes, matches on every way, and compares with the oracle.
fn check(world: &mut World, notifications: &[Notification]) {
    let expected = world.expected(notifications);
    let mut batch = Batch::new();
    for notification in notifications {
        batch.push(notification).unwrap();
    }
    let mut hashes = vec![];
    for (label, matches) in ways::match_all(&mut world.subscriptions, &batch) {
        assert_eq!(matches.len(), notifications.len(), "{label}");
        for (i, expected) in expected.iter().enumerate() {
            assert_eq!(matches.of(i), expected, "{label}, {:?}", notifications[i]);
        }
        hashes.push(matches.hash());
    }
    assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn random_worlds_match_as_a_direct_evaluation() {
    for seed in 0..40 {
        let _seed = Seed(seed);
        let mut dice = Dice::new(seed);
        let mut world = World::new(&mut dice);
        for _ in 0..3 {
            let count = dice.below(400);
            world.subscribe_some(&mut dice, count);
            let notifications = world.notifications(&mut dice, 60);
            check(&mut world, &notifications);
            let count = dice.below(world.held.len() + 1);
            world.unsubscribe_some(&mut dice, count);
            check(&mut world, &notifications);
        }
        world.unsubscribe_some(&mut dice, usize::MAX);
        assert_eq!(world.subscriptions.filters(), 0);
        assert_eq!(
            world.subscriptions.index_nodes(),
            0,
            "nothing is left behind"
        );
        let notifications = world.notifications(&mut dice, 5);
        check(&mut world, &notifications);
    }
}

#[test]
fn many_filters_of_the_same_names_part_by_their_values() {
    let mut dice = Dice::new(7);
    let mut world = World::of_names(&[("a", ValueType::Integer), ("b", ValueType::Integer)]);
    for i in 0..3000 {
        let text = match i % 3 {
            0 => format!("a == {} && b > {}", i % 50, i % 70),
            1 => format!("a > {} && b < {}", i % 90, i % 110),
            _ => format!("a != {} && b == {} && a < 80", i % 40, i % 60),
        };
        world.subscribe_text(i % 64, &text);
    }
    let notifications: Vec<_> = (0..200)
        .map(|_| {
            let [a, b] = [0, 1].map(|_| Value::Integer(i64::from(dice.within(0..=120))));
            world.notification(&[("a", a), ("b", b)])
        })
        .collect();
    check(&mut world, &notifications);
    world.unsubscribe_some(&mut dice, 2500);
    check(&mut world, &notifications);
}

#[test]
fn the_papers_examples_match_as_it_says() {
    let names = [
        ("area", ValueType::String),
        ("temp", ValueType::Integer),
        ("wind", ValueType::Integer),
    ];
    let mut world = World::of_names(&names);
    world.subscribe_text(0, r#"area == "area1" && temp > 30"#);
    world.subscribe_text(
        1,
        r#"(area == "area1" && temp > 30) || (area == "area2" && wind > 20)"#,
    );
    world.subscribe_text(2, r#"area == "area1" && temp > 20 || wind > 20"#);
    let event = |area: &str, temp, wind| {
        let (temp, wind) = (Value::Integer(temp), Value::Integer(wind));
        [("area", area.into()), ("temp", temp), ("wind", wind)]
    };
    let notifications = [
        event("area1", 25, 15),
        event("area1", 31, 15),
        event("area2", 31, 21),
    ];
    let notifications = notifications.map(|attributes| world.notification(&attributes));
    assert_eq!(
        world.expected(&notifications),
        [vec![2], vec![0, 1, 2], vec![1, 2]]
    );
    check(&mut world, &notifications);
}

#[test]
fn numbers_compare_by_value_across_types_and_to_infinity() {
    let names = [("i", ValueType::Integer), ("f", ValueType::Float)];
    let mut world = World::of_names(&names);
    let constants = [
        "30",
        "30.5",
        "-0.0",
        "0",
        "inf",
        "-inf",
        "9223372036854775807",
        "-9223372036854775808",
        "9.3e18",
        "-9.3e18",
        "9007199254740993",
        "9007199254740992.0",
        "1e300",
        "5e-324",
    ];
    let mut subscriber = 0;
    for name in ["i", "f"] {
        for operator in ["==", "!=", "<", "<=", ">", ">="] {
            for constant in constants {
                world.subscribe_text(subscriber, &format!("{name} {operator} {constant}"));
                subscriber += 1;
            }
        }
    }
    let integers = [
        i64::MIN,
        i64::MIN + 1,
        -1,
        0,
        30,
        31,
        1 << 53,
        (1 << 53) + 1,
        i64::MAX - 1,
        i64::MAX,
    ];
    let two_63 = 2f64.powi(63);
    let floats = [
        f64::NEG_INFINITY,
        -two_63,
        -0.0,
        0.0,
        5e-324,
        30.0,
        30.5,
        9007199254740992.0,
        9007199254740994.0,
        two_63,
        two_63.next_down(),
        1e300,
        f64::INFINITY,
    ];
    let integers = integers.map(|i| world.notification(&[("i", Value::Integer(i))]));
    let floats = floats.map(|f| world.notification(&[("f", Value::Float(f))]));
    check(&mut world, &integers);
    check(&mut world, &floats);
}

#[test]
fn patterns_look_at_characters_not_at_their_halves() {
    let mut world = World::of_names(&[("s", ValueType::String)]);
    let parts = [
        "", "ö", "öß", "日本", "本", "n", "no", "north", "🦀", "\u{308}",
    ];
    for (i, part) in parts.iter().enumerate() {
        for (j, operator) in ["==", "!=", "prefix", "suffix", "contains"]
            .iter()
            .enumerate()
        {
            world.subscribe_text((i * 5 + j) as u32, &format!("s {operator} {part:?}"));
        }
    }
    let texts = [
        "",
        "ö",
        "öß",
        "ßö",
        "日本語",
        "north",
        "nnorth🦀",
        "o\u{308}",
        "\u{c3}",
        "🦀🦀",
    ];
    let notifications = texts.map(|text| world.notification(&[("s", text.into())]));
    check(&mut world, &notifications);
}

#[test]
fn empty_sets_are_sets() {
    let mut world = World::of_names(&[("a", ValueType::Integer)]);
    let nothing = world.notification(&[]);
    let something = world.notification(&[("a", Value::Integer(1))]);
    check(&mut world, &[]);
    check(&mut world, &[nothing.clone(), something.clone()]);
    world.subscribe_text(3, "true");
    world.subscribe_text(4, "false");
    world.subscribe_text(5, "a != 2");
    world.subscribe_text(6, "a > 2 && a < 1");
    let notifications = [nothing, something];
    assert_eq!(world.expected(&notifications), [vec![3], vec![3, 5]]);
    check(&mut world, &notifications);
}

#[test]
fn a_refused_subscription_changes_nothing() {
    let mut vocabulary = Vocabulary::new();
    let a = vocabulary.declare("a", ValueType::String).unwrap();
    let limits = Limits {
        predicate: PredicateLimits {
            filters: 8,
            ..PredicateLimits::default()
        },
        subscribers: 4,
        filters: 6,
        constraints: 7,
    };
    let mut subscriptions = Subscriptions::new(vocabulary.clone(), limits);
    let predicate =
        |text: &str| Predicate::parse(text, &vocabulary, &PredicateLimits::default()).unwrap();
    let four = predicate(r#"a == "1" || a == "2" || a == "3" || a prefix "4""#);
    subscriptions.subscribe(0, &four).unwrap();
    let changes = subscriptions.changes();
    let subscriber = subscriptions.subscribe(4, &four);
    assert_eq!(
        subscriber,
        Err(SubscribeError::Subscriber {
            found: 4,
            subscribers: 4
        })
    );
    let filters = subscriptions.subscribe(1, &four);
    assert_eq!(
        filters,
        Err(SubscribeError::Filters {
            needed: 8,
            limit: 6
        })
    );
    let constraints = subscriptions.subscribe(
        1,
        &predicate(r#"a prefix "1" && a suffix "2" && a != "3" && a != "4""#),
    );
    assert_eq!(
        constraints,
        Err(SubscribeError::Constraints {
            needed: 8,
            limit: 7
        })
    );
    let mut wrong = predicate(r#"a == "5" || a == "6""#);
    wrong.filters[1].constraints[0].value = Value::Integer(6);
    assert!(matches!(
        subscriptions.subscribe(1, &wrong),
        Err(SubscribeError::Predicate(_))
    ));
    assert_eq!(
        (subscriptions.filters(), subscriptions.subscribers()),
        (4, 1)
    );
    assert_eq!(subscriptions.changes(), changes);
    let mut batch = Batch::new();
    let five = Notification::new(&vocabulary, [(a, "5".into())]).unwrap();
    batch.push(&five).unwrap();
    for (label, matches) in ways::match_all(&mut subscriptions, &batch) {
        assert_eq!(matches.total(), 0, "{label}");
    }
}

#[test]
fn a_subscription_ends_once() {
    let mut world = World::of_names(&[("a", ValueType::Integer)]);
    let id = world.subscribe_text(0, "a > 1");
    assert!(world.subscriptions.unsubscribe(id));
    assert!(!world.subscriptions.unsubscribe(id));
    let again = world.subscribe_text(0, "a > 2");
    assert!(
        !world.subscriptions.unsubscribe(id),
        "the slot is another's now"
    );
    assert!(world.subscriptions.unsubscribe(again));
}

/// Subscriptions come and go between batches, and each batch finds those that there are
/// then.
#[test]
fn subscriptions_come_and_go_between_batches() {
    let _seed = Seed(11);
    let mut dice = Dice::new(11);
    let mut world = World::new(&mut dice);
    world.subscribe_some(&mut dice, 1000);
    let mut matcher = AutoMatcher::new(&mut world.subscriptions, 2, 0).unwrap();
    let mut matches = Matches::new();
    for _ in 0..200 {
        world.subscribe_some(&mut dice, 3);
        world.unsubscribe_some(&mut dice, 3);
        let notifications = world.notifications(&mut dice, 4);
        let mut batch = Batch::new();
        for notification in &notifications {
            batch.push(notification).unwrap();
        }
        matcher.match_batch(&mut world.subscriptions, &batch, &mut matches);
        for (i, expected) in world.expected(&notifications).iter().enumerate() {
            assert_eq!(matches.of(i), expected, "{:?}", notifications[i]);
        }
    }
}

/// The cost of a subscription is the number of index entries that it writes. It doesn't
/// grow with the number of subscriptions. Equal ones share a bucket, which moves when it
/// has doubled: seldom, and alone.
#[test]
fn a_change_costs_the_same_however_many_subscriptions_there_are() {
    let names = [("a", ValueType::Integer), ("b", ValueType::Integer)];
    let cost = |held: u32, text: &dyn Fn(u32) -> String| {
        let mut world = World::of_names(&names);
        for i in 0..held {
            world.subscribe_text(i % 64, &text(i));
        }
        let (mut most, mut before) = (0, world.subscriptions.index_moves());
        let start = before;
        for i in 0..500 {
            // One comes and goes.
            let id = world.subscribe_text(1, &text(held + i));
            assert!(world.subscriptions.unsubscribe(id));
            let after = world.subscriptions.index_moves();
            most = most.max(after - before);
            before = after;
        }
        (before - start, most)
    };
    let varied = |i: u32| format!("a == {} && b > {}", i, i % 70);
    let (few, most_of_few) = cost(100, &varied);
    let (many, most_of_many) = cost(10_000, &varied);
    assert!(many <= few + few / 10, "{few}, {many}");
    assert!(
        most_of_few <= 16 && most_of_many <= 16,
        "{most_of_few}, {most_of_many}"
    );
    let alike = |_| "a > 3".to_owned();
    let (few, _) = cost(100, &alike);
    // The worst case: the number passes a power of two again and again.
    for held in [1023, 1024, 4095, 4096, 10_000] {
        let (many, most) = cost(held, &alike);
        assert!(most <= 2 * u64::from(held), "{most}");
        assert!(many <= few + 2 * u64::from(held), "{few}, {many} at {held}");
    }
}

/// With more attributes than the search of subsets takes, and filters of few and of many
/// names.
#[test]
fn notifications_of_many_attributes_find_filters_of_any_size() {
    for (seed, attributes) in [(1, 10), (2, 14), (3, 40), (4, 190)] {
        let _seed = Seed(seed);
        let mut dice = Dice::new(seed);
        let names: Vec<String> = (0..200).map(|i| format!("n{i}")).collect();
        let declared: Vec<_> = names
            .iter()
            .map(|name| (name.as_str(), ValueType::Integer))
            .collect();
        let mut world = World::of_names(&declared);
        for subscriber in 0..2000 {
            let size = 1 + dice.below(9);
            let constraints: Vec<String> = (0..size)
                .map(|_| {
                    let name = dice.below(attributes + 4);
                    format!(
                        "n{name} {} {}",
                        dice.pick(&["==", "!=", ">="]),
                        dice.below(2)
                    )
                })
                .collect();
            world.subscribe_text(subscriber, &constraints.join(" && "));
        }
        let notifications: Vec<_> = (0..20)
            .map(|_| {
                let values: Vec<_> = declared[..attributes]
                    .iter()
                    .map(|(name, _)| (*name, Value::Integer(dice.below(2) as i64)))
                    .collect();
                world.notification(&values)
            })
            .collect();
        let expected = world.expected(&notifications);
        assert!(expected.iter().any(|found| !found.is_empty()));
        check(&mut world, &notifications);
    }
}
