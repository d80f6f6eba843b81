use super::*;

fn world(attributes: &str) -> WorldConfig {
    let text = format!("[[kind]]\nname = 'player'\nattributes = [{attributes}]");
    world_file::parse(&text, "a test's world").unwrap()
}

const BEFORE: &str = "
    { name = 'gold', type = 'i32', min = 0, persist = true, audience = 'private' },
    { name = 'luck', type = 'fixed', default = 1.5, persist = true, audience = 'state' },
    { name = 'team', type = 'symbol', symbols = ['red', 'blue'], persist = true, audience = 'state' },
    { name = 'hp', type = 'i32', audience = 'state' },
";

#[test]
fn another_world_finds_values_by_name_and_keeps_them_within_its_bounds() {
    let folder = std::env::temp_dir().join(format!("myriad-characters-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let before = world(BEFORE);
    let mut own = Character::new(&before);
    let values = serde_json::json!({ "gold": 70, "luck": -2.25, "team": "blue" });
    names::change(&before, &mut own, values.as_object().unwrap()).unwrap();
    let store = CharacterStore::open(&folder, None, 0).unwrap();
    store
        .put(&before, &[("ann".to_owned(), own.clone())].into(), 3)
        .unwrap();
    drop(store);
    let store = CharacterStore::open(&folder, None, 3).unwrap();
    let ann = Account::new("ann").unwrap();
    assert_eq!(
        store.load(&before).unwrap(),
        ByAccount::from([(ann.clone(), own)])
    );
    let after = world(
        "{ name = 'team', type = 'symbol', symbols = ['amber', 'red'], persist = true, audience = 'state' },
         { name = 'fame', type = 'i32', default = 4, persist = true, audience = 'state' },
         { name = 'gold', type = 'i32', min = 0, max = 50, persist = true, audience = 'state' }",
    );
    let own = store.load(&after).unwrap().remove(&ann).unwrap();
    let found = Value::Object(names::write(&after, &own));
    let expected = serde_json::json!({ "team": "amber", "fame": 4, "gold": 50 });
    assert_eq!(found, expected);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_number_of_64_bits_is_one_value_of_a_character() {
    let before = world(
        "{ name = 'luck', type = 'i32', persist = true, audience = 'state' },
         { name = 'gold', type = 'i64', default = 5_000_000_000, max = 9_000_000_000, persist = true, audience = 'private' }",
    );
    let mut own = Character::new(&before);
    let shown = |own: &Character| Value::Object(names::write(&before, own));
    let expected = serde_json::json!({ "luck": 0, "gold": 5_000_000_000i64 });
    assert_eq!(shown(&own), expected);
    let given = serde_json::json!({ "gold": -6_000_000_000i64 });
    names::change(&before, &mut own, given.as_object().unwrap()).unwrap();
    assert_eq!(shown(&own)["gold"], -6_000_000_000i64);
    let given = serde_json::json!({ "gold": 9_000_000_001i64 });
    let error = names::change(&before, &mut own, given.as_object().unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "gold: expected -9223372036854775808 to 9000000000, found 9000000001"
    );
    // A character of a world in which it had 32 bits, and one beyond the bounds.
    for (gold, expected) in [(-7i64, -7), (1 << 40, 9_000_000_000i64)] {
        let character = serde_json::json!({ "gold": gold });
        let own = names::read(&before, character.as_object().unwrap());
        assert_eq!(shown(&own)["gold"], expected);
    }
}

#[test]
fn a_renamed_attribute_keeps_the_values_of_accounts() {
    let folder = std::env::temp_dir().join(format!("myriad-renamed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let before = world(BEFORE);
    let mut own = Character::new(&before);
    let gold = serde_json::json!({ "gold": 70 });
    names::change(&before, &mut own, gold.as_object().unwrap()).unwrap();
    let store = CharacterStore::open(&folder, None, 0).unwrap();
    let ann = Account::new("ann").unwrap();
    store
        .put(&before, &[("ann".to_owned(), own.clone())].into(), 3)
        .unwrap();
    let after = world(
        &BEFORE
            .replace("'gold'", "'coins'")
            .replace("min = 0", "default = 5"),
    );
    assert_eq!(store.load(&after).unwrap()[&ann].row[0], 5);
    let renames = [("gold".to_owned(), "coins".to_owned())];
    // An attempt that was interrupted afterwards, while the world before continues.
    store.rename(&renames, 4).unwrap();
    assert_eq!(store.load(&before).unwrap()[&ann], own);
    own.row[0] = 71;
    store
        .put(&before, &[("ann".to_owned(), own)].into(), 5)
        .unwrap();
    store.rename(&renames, 6).unwrap();
    assert_eq!(store.load(&after).unwrap()[&ann].row[0], 71);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn values_of_arrays_and_maps_are_kept_by_index_and_key() {
    let folder = std::env::temp_dir().join(format!("myriad-kept-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let with = |bag: &str, keys: &str| {
        world(&format!(
            "
            {{ name = 'slot', type = {{ array = 'fixed', length = 2 }}, persist = true, audience = 'state' }},
            {{ name = '{bag}', type = {{ map = 'i32', keys = [{keys}] }}, persist = true, audience = 'state' }},"
        ))
    };
    let before = with("bag", "'wood', 'ore'");
    let mut own = Character::new(&before);
    let given = serde_json::json!({ "slot[1]": 1.5, "bag.wood": 4 });
    names::change(&before, &mut own, given.as_object().unwrap()).unwrap();
    let shown = Value::Object(names::write(&before, &own));
    let expected =
        serde_json::json!({ "slot[0]": 0.0, "slot[1]": 1.5, "bag.ore": 0, "bag.wood": 4 });
    assert_eq!(shown, expected);
    let store = CharacterStore::open(&folder, None, 0).unwrap();
    store
        .put(&before, &[("ann".to_owned(), own)].into(), 3)
        .unwrap();
    store
        .rename(&[("bag".to_owned(), "sack".to_owned())], 4)
        .unwrap();
    let after = with("sack", "'axe', 'wood'");
    let row = store
        .load(&after)
        .unwrap()
        .remove(&Account::new("ann").unwrap())
        .unwrap();
    assert_eq!(row.row, [0, 6144, 0, 4]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn accounts_keep_only_what_scripts_can_give() {
    let text = "[[kind]]\nname = 'player'\nattributes = [\n\
        { name = 'gold coins', type = 'i32', persist = true, audience = 'state' }]";
    let refused = world_file::parse(text, "a test's world").unwrap_err();
    let expected = "gold coins.persist: only attributes whose names scripts can write persist";
    assert!(refused.to_string().contains(expected), "{refused}");
}

#[test]
fn an_account_keeps_no_symbol_of_another_attribute() {
    let world = world(
        "{ name = 'rank', type = 'symbol', symbols = ['novice', 'expert'], persist = true, audience = 'state' },
         { name = 'metal', type = 'symbol', symbols = ['gold', 'iron'], audience = 'state' }",
    );
    assert_eq!(world.schema.symbols, ["expert", "gold", "iron", "novice"]);
    let mut own = Character::new(&world);
    let gold = serde_json::json!({ "rank": "gold" });
    let problem = names::change(&world, &mut own, gold.as_object().unwrap()).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "rank: expected one of [\"expert\", \"novice\"], found \"gold\""
    );
    assert_eq!(own.row, [3]);
    // Of a world in which it was one.
    assert_eq!(names::read(&world, gold.as_object().unwrap()).row, [3]);
    let expert = serde_json::json!({ "rank": "expert" });
    names::change(&world, &mut own, expert.as_object().unwrap()).unwrap();
    assert_eq!(own.row, [0]);
}

const THINGS_OF: &str = "
[[kind]]
name = 'player'
attributes = [
    { name = 'gold', type = 'i32', min = 0, persist = true, audience = 'private' },
    { name = 'motto', type = 'text', length = 12, persist = true, audience = 'state' },
]
[[kind]]
name = 'bag'
place = 'none'
persist = true
attributes = [{ name = 'maker', type = 'entity', audience = 'state' }]
[[kind]]
name = 'axe'
place = 'none'
persist = true
attributes = [
    { name = 'wear', type = 'i32', default = 1, min = 0, max = 9, audience = 'state' },
    { name = 'label', type = 'text', length = 8, audience = 'state' },
]
[[kind]]
name = 'curse'
place = 'none'
";

fn of_things(file: &str) -> WorldConfig {
    world_file::parse(file, "a test's world").unwrap()
}

fn named(world: &WorldConfig, character: &Character) -> Value {
    Value::Object(names::write(world, character))
}

#[test]
fn a_character_has_texts_and_things_within_things_by_name() {
    let world = of_things(THINGS_OF);
    let mut own = Character::new(&world);
    let given = serde_json::json!({
        "gold": 3, "motto": "Onwards",
        "things": [
            { "kind": "bag", "maker": 0, "things": [{ "kind": "axe", "wear": 4, "label": "old" }] },
            { "kind": "axe" },
        ],
    });
    names::change(&world, &mut own, given.as_object().unwrap()).unwrap();
    let holders: Vec<u32> = own.things.iter().map(|thing| thing.holder).collect();
    assert_eq!(holders, [0, 1, 0]);
    let expected = serde_json::json!({
        "gold": 3, "motto": "Onwards",
        "things": [
            { "kind": "bag", "maker": 0, "things": [{ "kind": "axe", "wear": 4, "label": "old" }] },
            { "kind": "axe", "wear": 1, "label": "" },
        ],
    });
    assert_eq!(named(&world, &own), expected);
    assert_eq!(names::read(&world, expected.as_object().unwrap()), own);
    // Others stay.
    let gold = serde_json::json!({ "gold": 5, "motto": "" });
    names::change(&world, &mut own, gold.as_object().unwrap()).unwrap();
    assert_eq!((own.things.len(), own.row[0]), (3, 5));
    assert!(own.texts.is_empty());
}

#[test]
fn things_that_a_world_cannot_have_are_refused_by_name() {
    let world = of_things(THINGS_OF);
    for (things, reason) in [
        (serde_json::json!(3), "expected a list"),
        (
            serde_json::json!([{ "kind": "curse" }]),
            "one of [\"bag\", \"axe\"]",
        ),
        (
            serde_json::json!([{ "kind": "axe", "wear": 10 }]),
            "wear: expected 0 to 9, found 10",
        ),
        (
            serde_json::json!([{ "kind": "axe", "size": 1 }]),
            "a `axe` has no `size`",
        ),
        (
            serde_json::json!([{ "kind": "axe", "label": "much too long" }]),
            "at most 8 bytes",
        ),
        (
            serde_json::json!([{ "kind": "axe", "things": [{ "kind": "bag" }] }]),
            "a thing of kind `bag` can't be held there",
        ),
    ] {
        let mut own = Character::new(&world);
        let given = serde_json::json!({ "things": things });
        let error = names::change(&world, &mut own, given.as_object().unwrap()).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn things_in_a_thing_of_a_kind_that_is_gone_are_held_by_the_player() {
    let before = of_things(THINGS_OF);
    let mut own = Character::new(&before);
    let given = serde_json::json!({
        "things": [{ "kind": "bag", "things": [{ "kind": "axe", "wear": 4 }] }],
    });
    names::change(&before, &mut own, given.as_object().unwrap()).unwrap();
    let after = of_things(
        &THINGS_OF
            .replace("'bag'", "'sack'")
            .replace("max = 9", "max = 2"),
    );
    let read = names::read(&after, &names::write(&before, &own));
    let things = named(&after, &read)["things"].clone();
    assert_eq!(
        things,
        serde_json::json!([{ "kind": "axe", "wear": 2, "label": "" }])
    );
}

#[test]
fn what_comes_into_the_world_leaves_the_rest_with_the_account() {
    let world = of_things(THINGS_OF);
    let mut own = Character::new(&world);
    let given = serde_json::json!({
        "things": [
            { "kind": "bag", "things": [{ "kind": "axe", "wear": 4 }, { "kind": "axe", "wear": 5 }] },
            { "kind": "bag", "maker": 4, "things": [{ "kind": "axe", "wear": 6 }] },
        ],
    });
    names::change(&world, &mut own, given.as_object().unwrap()).unwrap();
    own.take_things(&world, 2);
    let things = named(&world, &own)["things"].clone();
    let expected = serde_json::json!([
        { "kind": "axe", "wear": 5, "label": "" },
        { "kind": "bag", "maker": 2, "things": [{ "kind": "axe", "wear": 6, "label": "" }] },
    ]);
    assert_eq!(things, expected);
    let other = own.clone();
    own.add_things(&world, other);
    let things = named(&world, &own)["things"].clone();
    assert_eq!(things[3]["maker"], 5);
    assert_eq!(things[3]["things"][0]["wear"], 6);
}
