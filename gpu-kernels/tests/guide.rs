//! What the guide for game designers says of numbers, places and orders; on every backend and in
//! the oracle.

use gpu_kernels::Frame;
use shared::world::logic::Text;
use shared::{EntityId, Tick, WorldConfig};
use testkit::oracle::OracleOutput;
use testkit::parity::Parity;
use testkit::scripts::with_texts;

const GUIDE: &str = include_str!("../../server/worlds/logic.md");
const UNIT: i32 = 4096;
const ME: EntityId = EntityId::new(0, 1);

const WORLD: &str = "
    [world]
    size = [100, 100]
    aoi = 10
    capacity = 8
    [limits]
    clients = 8
    client_commands_per_tick = 16
    [[kind]]
    name = 'player'
    attributes = [
        { name = 'seen', type = 'i32', merge = 'last', audience = 'state' },
        { name = 'far', type = 'fixed', merge = 'last', audience = 'state' },
        { name = 'target', type = 'entity', merge = 'last', audience = 'state' },
        { name = 'hp', type = 'i32', default = 90, min = 0, max = 100, audience = 'state' },
        { name = 'score', type = 'i32', audience = 'state' },
    ]
";

/// A world with players at these places, the first of which gives a command.
fn after(body: &str, places: &[[i32; 2]]) -> (WorldConfig, OracleOutput) {
    let text = format!("#[command(clients)] fn test(me: Entity, n: i32) {{ {body} }}");
    let config = world_file::parse(WORLD, "world").unwrap();
    let config = with_texts(&config, vec![Text::new("test.rs", text)]);
    let command = config.schema.command_named("test").unwrap().kind;
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    for (token, [x, y]) in (0..).zip(places) {
        frame.spawn_at(0, token, &[x * UNIT, y * UNIT]);
    }
    parity.tick(&frame);
    frame.reset(Tick(1));
    frame.push(ME, 0, command, &[0]);
    let output = parity.tick(&frame);
    (config, output)
}

/// What the command changed an attribute of its player to.
fn value((config, output): &(WorldConfig, OracleOutput), attribute: &str) -> i32 {
    let column = config.schema.column(attribute).unwrap() as u16;
    output.changes[&(ME.slot.0, column)]
}

/// The guide says so, wherever its lines end.
fn says(sentence: &str) {
    let guide: Vec<&str> = GUIDE.split_whitespace().collect();
    assert!(guide.join(" ").contains(sentence), "{sentence}");
}

#[test]
fn near_goes_through_squares_row_by_row_and_by_slot_in_a_square() {
    says(
        "`near` goes through squares whose edge is `aoi`, row by row, along `x` in a row and by \
         slot in a square; `nearest` takes the first of those that are equally near.",
    );
    let order = "let mut order = 0;
        for it in near(point(0.0, 0.0), 100.0) {
            let mark = if it == me { 1 } else { it.position.x as i32 };
            order = order * if mark > 9 { 100 } else { 10 } + mark;
        }
        me.seen = order;";
    // Slots 1 to 4 stand at x = 25, 5, 8 and 3: a square to the right, and two rows of one.
    let places = [[5, 25], [9, 5], [5, 5], [2, 8], [4, 1], [19, 0]];
    let done = after(order, &places);
    // In the first square by slot, then the one to its right, at 19; `me` in the third row.
    let expected = 9_524_191;
    assert_eq!(value(&done, "seen"), expected);
    let nearest = "let it = nearest(point(20.0, 20.0), 50.0); me.seen = it.position.x as i32;";
    // Both are 10 away; the square of the second comes first.
    let done = after(nearest, &[[99, 99], [20, 30], [20, 10]]);
    let found = value(&done, "seen");
    assert_eq!(found, 20);
    let nearest = "let it = nearest(point(20.0, 20.0), 50.0); me.seen = it.position.y as i32;";
    let done = after(nearest, &[[99, 99], [20, 30], [20, 10]]);
    assert_eq!(value(&done, "seen"), 10);
}

#[test]
fn the_place_of_nobody_is_the_corner_of_the_world() {
    says(
        "`none` is at the world's corner, where all axes are 0, so `distance(me, none)` is how far",
    );
    let done = after("me.far = distance(me, none);", &[[30, 40]]);
    assert_eq!(value(&done, "far"), 50 * UNIT);
    let done = after("me.far = distance(me, me.target);", &[[30, 40]]);
    assert_eq!(value(&done, "far"), 50 * UNIT);
    let done = after(
        "if is_within(me, none, 100.0) { me.seen = 1; } else { me.seen = 2; }",
        &[[30, 40]],
    );
    assert_eq!(value(&done, "seen"), 2);
}

#[test]
fn by_zero_everything_is_zero_and_a_range_without_numbers_is_its_first() {
    says("`n / 0` and `n % 0` are 0.");
    says("`random(6, 1)`, an empty range, gives 6.");
    for (expression, expected) in [
        ("7 / n", 0),
        ("7 % n", 0),
        ("(7.5 / (n as Fixed)) as i32", 0),
        ("(7.5 % (n as Fixed)) as i32", 0),
        ("random(6, 1)", 6),
        ("random(6, n)", 6),
    ] {
        // 0 would be what it was.
        let done = after(&format!("me.seen = 100 + {expression};"), &[[1, 1]]);
        assert_eq!(value(&done, "seen"), 100 + expected, "{expression}");
    }
}

#[test]
fn a_sum_is_clamped_and_never_wraps_around() {
    says("or to what its type holds: a sum never wraps around.");
    let most = i32::MAX;
    let add = |n: i32| format!("me.score += {n};");
    let done = after(&add(most).repeat(3), &[[1, 1]]);
    assert_eq!(value(&done, "score"), most);
    let done = after(&add(-most).repeat(3), &[[1, 1]]);
    assert_eq!(value(&done, "score"), i32::MIN);
    // Only what comes out is clamped, not what is on the way there.
    let done = after("me.hp += 50; me.hp -= 45;", &[[1, 1]]);
    assert_eq!(value(&done, "hp"), 95);
    let done = after("me.hp += 50;", &[[1, 1]]);
    assert_eq!(value(&done, "hp"), 100);
}
