//! The values that entities are born with, on every backend and in the oracle.

use gpu_kernels::Frame;
use shared::world::given;
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, Slot, Tick, WorldConfig};
use testkit::parity::Parity;
use testkit::scripts::with_texts;

const UNIT: i32 = 4096;

/// Players with a team in turn, luck drawn and a rank of a list; wolves that fall.
const WORLD: &str = r#"
[world]
size = [100, 100]
capacity = 400
[limits]
clients = 100

[[kind]]
name = "player"
attributes = [
    { name = "team", type = "symbol", symbols = ["blue", "green", "red"], audience = "state", default = { in_turn = ["red", "blue"] } },
    { name = "luck", type = "fixed", audience = "state", default = { from = -1, to = 0.5 } },
    { name = "rank", type = "i32", audience = "state", default = { one_of = [7, 7, 7, 9] } },
]

[[kind]]
name = "wolf"
population = 200
respawn_ticks = 2
attributes = [
    { name = "hp", type = "i32", audience = "state", min = 0, max = 60, default = { from = 50, to = 60 }, falls_at = 10 },
    { name = "team", type = "symbol", symbols = ["blue", "green", "red"], audience = "state", default = { in_turn = ["green", "red"] } },
]
"#;

const TEAM: usize = 2;
const LUCK: usize = 3;
const RANK: usize = 4;
const HP: usize = 5;
// The symbols are sorted by name.
const BLUE: i32 = 0;
const GREEN: i32 = 1;
const RED: i32 = 2;

fn world() -> WorldConfig {
    world_file::parse(WORLD, "births").unwrap()
}

/// The rows of newborns.
fn rows(config: &WorldConfig, rows: &[i32]) -> Vec<Vec<i32>> {
    let columns = config.schema.attributes.len();
    rows.chunks(columns).map(<[i32]>::to_vec).collect()
}

#[test]
fn populations_have_all_values_of_their_range_and_no_others() {
    let config = world();
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    let born = Parity::new(&config).tick(&frame).birth_rows;
    let hp: Vec<i32> = rows(&config, &born).iter().map(|row| row[HP]).collect();
    assert_eq!(hp.len(), 200);
    for value in 50..=60 {
        let share = hp.iter().filter(|&&hp| hp == value).count();
        // 18 are expected of each.
        assert!((6..=36).contains(&share), "{share} wolves with {value} hp");
    }
    assert!(hp.iter().all(|hp| (50..=60).contains(hp)), "{hp:?}");
}

#[test]
fn a_population_takes_values_in_turn() {
    let config = world();
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    let born = Parity::new(&config).tick(&frame).birth_rows;
    let of_team = |team| {
        rows(&config, &born)
            .iter()
            .filter(|r| r[TEAM] == team)
            .count()
    };
    assert_eq!([BLUE, GREEN, RED].map(of_team), [0, 100, 100]);
}

#[test]
fn clients_take_values_by_their_number_whenever_and_wherever_they_are_born() {
    let config = world();
    let mut parity = Parity::new(&config);
    let teams =
        |born: &[i32]| -> Vec<i32> { rows(&config, born).iter().map(|row| row[TEAM]).collect() };
    let mut frame = Frame::new(Tick(0));
    for client in [0, 1, 2, 3, 50, 51] {
        frame.spawn(0, client);
    }
    let born = parity.tick(&frame).birth_rows;
    assert_eq!(teams(&born), [RED, BLUE, RED, BLUE, RED, BLUE]);
    // Client 3 is born again, in another slot: it stays with its team.
    frame.reset(Tick(1));
    frame.push(EntityId::new(3, 1), 0, CommandKind::DESPAWN, &[]);
    parity.tick(&frame);
    frame.reset(Tick(2));
    frame.spawn_at(0, 3, &[UNIT, UNIT]);
    let born = parity.tick(&frame).birth_rows;
    assert_eq!(teams(&born), [BLUE]);
    assert_eq!(born[..2], [UNIT, UNIT]);
}

#[test]
fn a_value_is_drawn_as_often_as_a_list_names_it() {
    let config = world();
    let mut frame = Frame::new(Tick(0));
    for client in 0..100 {
        frame.spawn(0, client);
    }
    let born = rows(&config, &Parity::new(&config).tick(&frame).birth_rows);
    let nines = born.iter().filter(|row| row[RANK] == 9).count();
    assert!((8..=45).contains(&nines), "{nines} of 100");
    assert!(born.iter().all(|row| [7, 9].contains(&row[RANK])));
    let luck = born.iter().map(|row| row[LUCK]);
    assert!(luck.clone().all(|luck| (-UNIT..=UNIT / 2).contains(&luck)));
    let (least, most) = (luck.clone().min().unwrap(), luck.max().unwrap());
    assert!(least < -UNIT / 2 && most > 0, "{least} to {most}");
}

#[test]
fn the_reborn_draw_again() {
    let starve = "#[command(rules)] fn starve(me: Entity) { me.hp -= 60; }";
    let config = with_texts(&world(), vec![Text::new("starve.rs", starve)]);
    let starve = config.schema.command_named("starve").unwrap().kind;
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    let first = rows(&config, &parity.tick(&frame).birth_rows);
    frame.reset(Tick(1));
    for slot in 0..200 {
        frame.push(EntityId::new(slot, 1), 0, starve, &[]);
    }
    assert_eq!(parity.tick(&frame).deaths.len(), 200);
    frame.reset(Tick(2));
    frame.release = (0..200).map(Slot).collect();
    parity.tick(&frame);
    let again = rows(&config, &parity.tick(&Frame::new(Tick(3))).birth_rows);
    assert_eq!(again.len(), 200);
    assert!(again.iter().all(|row| (50..=60).contains(&row[HP])));
    let changed = first.iter().zip(&again).filter(|(a, b)| a[HP] != b[HP]);
    assert!(changed.count() > 120);
    // Turns go by slot, and the same slots are filled.
    let teams = |rows: &[Vec<i32>]| rows.iter().map(|row| row[TEAM]).collect::<Vec<_>>();
    assert_eq!(teams(&first), teams(&again));
}

/// A world with a command for newborn players.
fn with_first_command(limits: &str) -> WorldConfig {
    let text = WORLD.replace("[limits]", &format!("[limits]\n{limits}"));
    let config = world_file::parse(&text, "births").unwrap();
    let arm = "#[command] fn arm(me: Entity) { me.rank += 100; }";
    let mut config = with_texts(&config, vec![Text::new("arm.rs", arm)]);
    let arm = config.schema.command_named("arm").unwrap();
    assert!(arm.is_for_newborns());
    config.born[0] = Some(arm.kind);
    config.hooks = WorldConfig::hooks_of_born(&config.born).collect();
    config
}

#[test]
fn newborns_give_the_command_of_their_kind_in_the_next_tick_and_once() {
    let config = with_first_command("timed_commands = 500");
    // Other scripts must keep it.
    let mut logic = config.logic.clone();
    logic.texts.retain(|text| text.is_builtin);
    let problems = script::logic::with_logic(&config, &logic).unwrap_err();
    assert!(
        problems[0].to_string().starts_with("kind.player.born: "),
        "{problems:?}"
    );

    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    for client in 0..250 {
        frame.spawn(0, client);
    }
    // There are slots for 400, and 200 wolves are born first or last.
    let output = parity.tick(&frame);
    assert_eq!(output.counts.births_refused, 50);
    assert_eq!(output.counts.timed, 200);
    let ranks = |parity: &Parity| -> Vec<i32> {
        let players = parity.oracle.slots.iter().filter(|slot| slot.kind == 0);
        players.map(|slot| slot.row[RANK]).collect()
    };
    assert!(ranks(&parity).iter().all(|rank| [7, 9].contains(rank)));
    for tick in 1..4 {
        let output = parity.tick(&Frame::new(Tick(tick)));
        assert_eq!(output.counts.timed, 0);
        let ranks = ranks(&parity);
        assert_eq!(ranks.len(), 200);
        assert!(
            ranks.iter().all(|rank| [107, 109].contains(rank)),
            "{ranks:?}"
        );
    }
}

#[test]
fn rebirths_take_no_room_from_the_commands_of_newborns() {
    let config = with_first_command("timed_commands = 2");
    let wolf = config.schema.kind("wolf").unwrap() as u16;
    let hurt = "#[command(rules)] fn hurt(me: Entity) { me.hp -= 60; }";
    let config = with_texts(&config, vec![Text::new("hurt.rs", hurt)]);
    let hurt = config.schema.command_named("hurt").unwrap().kind;
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    for _ in 0..2 {
        frame.spawn(wolf, 0);
    }
    parity.tick(&frame);
    frame.reset(Tick(1));
    for slot in 0..2 {
        frame.push(EntityId::new(slot, 1), 0, hurt, &[]);
    }
    frame.spawn(0, 1);
    frame.spawn(0, 2);
    let output = parity.tick(&frame);
    assert_eq!((output.counts.timed, output.counts.timed_dropped), (2, 0));
    assert_eq!(output.counts.respawns, 2);
    let waiting: Vec<u16> = parity.oracle.timed.iter().map(|timed| timed.kind).collect();
    let arm = config.schema.command_named("arm").unwrap().kind.id();
    assert_eq!(waiting, [arm, arm]);
}

/// Wolves are born again where wolves are born: within a circle, or from corner to corner.
#[test]
fn who_falls_is_born_again_in_the_area_of_its_kind() {
    for (area, size) in [
        ("spawn = { center = [20, 30], radius = 4 }", "[100, 100]"),
        ("spawn = { area = [[70, 80], [72, 81]] }", "[100, 100]"),
        (
            "spawn = { center = [1, 1, 1], radius = 3 }",
            "[100, 100, 50]",
        ),
        (
            "spawn = { area = [[70, 80, 5], [72, 81, 7]] }",
            "[100, 100, 50]",
        ),
    ] {
        let text = WORLD
            .replace("size = [100, 100]", &format!("size = {size}"))
            .replace("respawn_ticks = 2", &format!("respawn_ticks = 2\n{area}"));
        let config = world_file::parse(&text, "births").unwrap();
        let all_die = "#[command(rules)] fn wither(me: Entity) { me.hp -= 100; }";
        let mut config = with_texts(&config, vec![Text::new("wither.rs", all_die)]);
        let wither = config.schema.command_named("wither").unwrap().kind;
        config.every.push(shared::Every {
            kind: 1,
            ticks: 3,
            command: wither,
            words: vec![],
            own_place: None,
            of_ended: None,
        });
        let mut parity = Parity::new(&config);
        let mut places = std::collections::BTreeSet::new();
        let axes = config.dimensions();
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        let mut reborn = 0;
        for tick in 0..12 {
            let output = parity.tick(&frame);
            frame.reset(Tick(tick + 1));
            frame
                .release
                .extend(output.deaths.iter().map(|dead| dead.slot));
            let born = rows(&config, &output.birth_rows);
            reborn += born.len() * usize::from(tick > 0);
            places.extend(born.iter().map(|row| row[..axes].to_vec()));
        }
        assert!(reborn > 200, "{reborn}");
        // Hardly two wolves have the same place.
        assert!(places.len() > reborn, "{} of {reborn}", places.len());
        for place in &places {
            let units: Vec<f64> = place.iter().map(|&axis| f64::from(axis) / 4096.0).collect();
            let is_in = match axes {
                _ if area.contains("area") => {
                    let low = [70.0, 80.0, 5.0];
                    let high = [72.0, 81.0, 7.0];
                    (0..axes).all(|axis| (low[axis]..=high[axis]).contains(&units[axis]))
                }
                2 => (units[0] - 20.0).hypot(units[1] - 30.0) <= 4.0,
                // Beyond the world's edge, a place is at the edge.
                _ => units.iter().all(|axis| (0.0..=4.0).contains(axis)),
            };
            assert!(is_in, "{units:?} is not in {area}");
        }
    }
}

#[test]
fn a_birth_can_say_what_all_columns_are() {
    let config = world();
    let columns = config.schema.attributes.len();
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    let row = |kind_has: &[(usize, i32)]| {
        let mut row = vec![7; columns];
        kind_has
            .iter()
            .for_each(|&(column, value)| row[column] = value);
        row
    };
    frame.spawn_as(
        0,
        0,
        &row(&[
            (0, UNIT),
            (1, 2 * UNIT),
            (TEAM, GREEN),
            (LUCK, -5),
            (RANK, 3),
        ]),
    );
    // Each is clamped to the bounds of the kind; what the kind lacks is 0.
    frame.spawn_as(0, 1, &row(&[(0, -1), (1, i32::MAX), (TEAM, 99), (HP, 50)]));
    frame.spawn_as(1, 2, &row(&[(HP, 1000), (TEAM, -1)]));
    // Neither a place nor all columns.
    frame.push(EntityId::NONE, 9, CommandKind::SPAWN, &[0, 3, 1, 1, 1]);
    let output = parity.tick(&frame);
    assert_eq!(output.counts.malformed, 1);
    let born = rows(&config, &output.birth_rows);
    assert_eq!(born[0], [UNIT, 2 * UNIT, GREEN, -5, 3, 0]);
    assert_eq!(born[1], [0, 100 * UNIT - 1, RED, 7, 7, 0]);
    assert_eq!(born[2], [7, 7, BLUE, 0, 0, 60]);
    parity.restart(true);
}

/// Piles, which hold what they are given.
const PILES: &str = r#"
[world]
size = [100, 100]
capacity = 40
[limits]
timed_commands = 8

[[kind]]
name = "player"
attributes = [
    { name = "gold", type = "i32", audience = "state" },
    { name = "holds", type = "symbol", symbols = ["iron", "silk"], audience = "state" },
]

[[kind]]
name = "old_pile"
attributes = [
    { name = "holds", type = "symbol", symbols = ["iron", "wood"], default = "wood", audience = "state" },
    { name = "count", type = "i32", min = 1, max = 50, default = { from = 5, to = 9 }, audience = "state" },
    { name = "weight", type = "fixed", min = -2, audience = "private" },
    { name = "owner", type = "entity", audience = "hidden" },
    { name = "open", type = "bool", audience = "state" },
    { name = "best", type = "i32", merge = "max", audience = "state" },
]
"#;

/// A world of piles with a script, in which one player lives.
fn piles(script: &str, limits: &str) -> (WorldConfig, Parity) {
    let world = PILES.replace("timed_commands = 8", limits);
    let config = world_file::parse(&world, "piles").unwrap();
    let config = with_texts(&config, vec![Text::new("drop.rs", script)]);
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(0, 0, &[7 * UNIT, 8 * UNIT]);
    parity.tick(&frame);
    (config, parity)
}

/// The rows that are born in the tick after the player gave `test`.
fn dropped(config: &WorldConfig, parity: &mut Parity, words: &[i32]) -> Vec<Vec<i32>> {
    let test = config.schema.command_named("test").unwrap().kind;
    let mut frame = Frame::new(Tick(1));
    frame.push(EntityId::new(0, 1), 0, test, words);
    let given = parity.tick(&frame);
    assert_eq!(given.refused, []);
    frame.reset(Tick(2));
    let output = parity.tick(&frame);
    assert_eq!(output.counts.malformed, 0);
    parity.restart(true);
    rows(config, &output.birth_rows)
}

/// A value of an attribute in a row.
fn value(config: &WorldConfig, row: &[i32], name: &str) -> i32 {
    row[config.schema.column(name).unwrap()]
}

#[test]
fn a_script_gives_newborns_values_and_the_file_gives_the_rest() {
    let script = "#[command(clients)] fn test(me: Entity, n: i32) {
        spawn(OldPile { holds: \"iron\", count: n * 2, owner: me, open: n > 3 }, me);
        spawn(\"old_pile\", point(1.0, 2.0));
        spawn(OldPile {}, point(1.0, 3.0));
        spawn(OldPile { best: -7, weight: 0.5 }, point(-1.0, 4.0));
    }";
    let (config, mut parity) = piles(script, "timed_commands = 8");
    let born = dropped(&config, &mut parity, &[7]);
    let of = |n: usize, name: &str| value(&config, &born[n], name);
    assert_eq!(born.len(), 4);
    assert_eq!(born[0][..2], [7 * UNIT, 8 * UNIT]);
    let iron = of(0, "holds");
    assert_eq!(config.schema.symbols[iron as usize], "iron");
    let owner = EntityId::new(0, 1).reference().0;
    let named = ["count", "owner", "open", "best", "weight"].map(|name| of(0, name));
    assert_eq!(named, [14, owner, 1, 0, 0]);
    for n in [1, 2, 3] {
        assert_eq!(config.schema.symbols[of(n, "holds") as usize], "wood");
        assert!((5..=9).contains(&of(n, "count")), "{born:?}");
    }
    assert_eq!([of(3, "best"), of(3, "weight")], [-7, UNIT / 2]);
    assert_eq!(born[3][..2], [0, 4 * UNIT]);
}

#[test]
fn given_values_are_clamped_to_the_bounds_of_the_kind() {
    let script = "#[command(clients)] fn test(me: Entity, n: i32) {
        spawn(OldPile { count: n, weight: -9.0 }, me);
        spawn(OldPile { count: -n }, me);
    }";
    let (config, mut parity) = piles(script, "timed_commands = 8");
    let born = dropped(&config, &mut parity, &[1000]);
    let counts = [0, 1].map(|n: usize| value(&config, &born[n], "count"));
    assert_eq!(counts, [50, 1]);
    assert_eq!(value(&config, &born[0], "weight"), -2 * UNIT);
}

#[test]
fn a_symbol_that_the_kind_lacks_leaves_the_value_of_the_file() {
    let script = "#[command(clients)] fn test(me: Entity, what: Symbol<holds>) {
        me.holds = what;
        spawn(OldPile { holds: what, count: 3 }, me);
        spawn(OldPile { holds: me.holds }, me);
    }";
    for (given, found) in [("iron", "iron"), ("silk", "wood"), ("wood", "wood")] {
        let (config, mut parity) = piles(script, "timed_commands = 8");
        let number = config.schema.symbols.iter().position(|s| s == given);
        let born = dropped(&config, &mut parity, &[number.unwrap() as i32]);
        let holds = value(&config, &born[0], "holds");
        assert_eq!(config.schema.symbols[holds as usize], found, "{given}");
        assert_eq!(value(&config, &born[0], "count"), 3, "{given}");
        // Before the command, the player held the default, which piles can have.
        let holds = value(&config, &born[1], "holds");
        assert_eq!(config.schema.symbols[holds as usize], "iron", "{given}");
    }
}

#[test]
fn a_birth_without_room_leaves_its_values_to_nobody() {
    let script = "#[command(clients)] fn test(me: Entity, n: i32) {
        spawn(OldPile { count: n }, me);
        spawn(OldPile { count: n + 1 }, me);
    }";
    // The second birth is one command too many, but its values wait.
    let (config, mut parity) = piles(script, "timed_commands = 3");
    let born = dropped(&config, &mut parity, &[20]);
    let counts: Vec<i32> = born
        .iter()
        .map(|row| value(&config, row, "count"))
        .collect();
    assert_eq!(counts, [20]);
}

#[test]
fn only_values_right_before_a_birth_are_its_own() {
    let (config, mut parity) = piles("#[command] fn test(me: Entity) {}", "timed_commands = 8");
    let count = config.schema.column("count").unwrap() as u16;
    let none = given::NO_COLUMN;
    let values = |n: i32| [given::values_word([count, none, none, none]), n, 0, 0, 0];
    let birth = |commands| [given::birth_word(1, commands), -1];
    let mut frame = Frame::new(Tick(1));
    let mut push = |words: &[i32]| frame.push(EntityId::NONE, 0, CommandKind::SPAWN, words);
    push(&values(41));
    push(&values(42));
    push(&birth(1));
    // None of its own, and more than there are.
    push(&birth(1));
    push(&values(43));
    push(&birth(2));
    push(&values(44));
    push(&birth(0));
    // Values of two commands: the first counts.
    push(&values(45));
    push(&values(46));
    push(&birth(2));
    // Not a birth: too many commands with values, or too few words.
    push(&birth(3));
    push(&values(47)[..4]);
    let output = parity.tick(&frame);
    assert_eq!(output.counts.malformed, 2);
    let born = rows(&config, &output.birth_rows);
    let counts: Vec<i32> = born
        .iter()
        .map(|row| value(&config, row, "count"))
        .collect();
    assert_eq!((counts[0], counts[2], counts[4]), (42, 43, 45));
    for n in [1, 3] {
        assert!((5..=9).contains(&counts[n]), "{counts:?}");
    }
}

#[test]
fn an_atomic_command_gives_newborns_what_it_took() {
    let script = "#[command(clients, atomic)] fn test(me: Entity, n: i32) {
        require(me.gold >= n);
        me.gold -= n;
        spawn(OldPile { count: n, best: me.gold, owner: me }, me);
    }
    #[on(birth, kind = \"player\")] fn begin(me: Entity) { me.gold += 30; }";
    let (config, mut parity) = piles(script, "timed_commands = 8\natomic_per_tick = 8");
    let mut born = vec![];
    let test = config.schema.command_named("test").unwrap().kind;
    for tick in 1..5 {
        let mut frame = Frame::new(Tick(tick));
        if tick == 2 {
            frame.push(EntityId::new(0, 1), 0, test, &[20]);
            frame.push(EntityId::new(0, 1), 1, test, &[20]);
        }
        born.extend(rows(&config, &parity.tick(&frame).birth_rows));
    }
    let of = |name: &str| born.iter().map(|row| value(&config, row, name)).collect();
    let (counts, bests): (Vec<i32>, Vec<i32>) = (of("count"), of("best"));
    assert_eq!((counts, bests), (vec![20], vec![10]));
}

#[test]
fn a_world_begins_with_entities_at_the_places_of_their_kind() {
    let text = PILES.replace(
        "name = \"old_pile\"",
        "name = \"old_pile\"\nplaces = [[10, 10], [12.5, 10]]\npopulation = 2\n\
         spawn = { center = [50, 50] }",
    );
    let config = world_file::parse(&text, "places").unwrap();
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    frame.order(config.seed);
    let mut parity = Parity::new(&config);
    let born = rows(&config, &parity.tick(&frame).birth_rows);
    let mut places: Vec<[i32; 2]> = born.iter().map(|row| [row[0], row[1]]).collect();
    places.sort_unstable();
    let middle = [50 * UNIT, 50 * UNIT];
    let expected = [
        [10 * UNIT, 10 * UNIT],
        [12 * UNIT + UNIT / 2, 10 * UNIT],
        middle,
        middle,
    ];
    assert_eq!(places, expected);
    // The file says what else they are, as with a population.
    for row in &born {
        assert!((5..=9).contains(&value(&config, row, "count")));
    }
}

/// Runs the world until a tick, which is not run. Returns the last output.
fn run_until(parity: &mut Parity, until: u64) {
    while parity.oracle.tick.0 < until {
        parity.tick(&Frame::new(parity.oracle.tick));
    }
}

/// Gives `test` in the next tick.
fn give(config: &WorldConfig, parity: &mut Parity, words: &[i32]) {
    let test = config.schema.command_named("test").unwrap().kind;
    let mut frame = Frame::new(parity.oracle.tick);
    frame.push(EntityId::new(0, 1), 0, test, words);
    parity.tick(&frame);
}

/// An attribute of the entity in a slot.
fn now(parity: &Parity, slot: usize, name: &str) -> i32 {
    let column = parity.oracle.config.schema.column(name).unwrap();
    parity.oracle.slots[slot].row[column]
}

/// What scripts schedule for piles: `rot` and `lift` by the pile, `claim` by its owner.
const NEWBORN: &str = "
    #[command] fn rot(me: Entity) { me.count -= 1; }
    #[command] fn lift(me: Entity, by: Entity, n: i32, m: i32) {
        me.owner = by;
        me.best.max(n * 100 + m);
    }
    #[command] fn claim(me: Entity, pile: Entity, n: i32) {
        require(exists(pile) && pile.owner == none);
        me.gold += pile.count * 10 + n;
    }
    #[command] fn meet(a: Entity, b: Entity) { a.best.max(8); b.weight -= 0.5; }
";

#[test]
fn a_newborn_gives_a_command_so_many_ticks_after_its_spawn_and_not_before_it_lives() {
    let script = "#[command(clients)] fn test(me: Entity, n: i32) {
        let pile = spawn(OldPile { count: 20 }, me);
        after(n, rot(pile));
    }";
    // Born in tick 2, it can give commands from tick 3 on.
    for (ticks, expected) in [(-7, 3), (0, 3), (1, 3), (2, 3), (3, 4), (6, 7)] {
        let (config, mut parity) = piles(&[script, NEWBORN].concat(), "timed_commands = 8");
        give(&config, &mut parity, &[ticks]);
        run_until(&mut parity, expected);
        assert_eq!(now(&parity, 1, "count"), 20, "{ticks}");
        parity.restart(true);
        run_until(&mut parity, expected + 1);
        assert_eq!(now(&parity, 1, "count"), 19, "{ticks}");
    }
}

#[test]
fn a_newborn_is_an_argument_of_a_command_that_another_entity_gives() {
    let script = "#[command(clients)] fn test(me: Entity, n: i32) {
        let pile = spawn(OldPile { count: 20 }, me);
        let other = spawn(\"old_pile\", point(1.0, 2.0));
        after(1, claim(me, pile, n));
        after(1, lift(other, me, n, 4));
        after(2, meet(pile, pile));
    }";
    let (config, mut parity) = piles(&[script, NEWBORN].concat(), "timed_commands = 8");
    give(&config, &mut parity, &[3]);
    run_until(&mut parity, 4);
    assert_eq!(now(&parity, 0, "gold"), 203);
    assert_eq!(now(&parity, 2, "owner"), EntityId::new(0, 1).reference().0);
    assert_eq!(now(&parity, 2, "best"), 304);
    assert_eq!(now(&parity, 1, "best"), 8);
    assert_eq!(now(&parity, 1, "weight"), -UNIT / 2);
}

#[test]
fn each_newborn_of_a_loop_is_named_whatever_else_is_scheduled_between() {
    let script = "#[command(clients)] fn test(me: Entity, n: i32) {
        for i in 0..n {
            let pile = spawn(OldPile { count: 10 + i }, point(1.0, 2.0));
            after(9, rot(me));
            after(9, rot(resolve(5)));
            if i != 1 {
                after(3, lift(pile, me, i, 1));
                let second = spawn(\"old_pile\", me);
                after(1, lift(second, me, i, 2));
            }
            after(2, lift(pile, me, i, 3));
        }
    }";
    let (config, mut parity) = piles(&[script, NEWBORN].concat(), "timed_commands = 90");
    give(&config, &mut parity, &[3]);
    let bests =
        |parity: &Parity| -> Vec<i32> { (1..6).map(|slot| now(parity, slot, "best")).collect() };
    run_until(&mut parity, 4);
    assert_eq!(bests(&parity), [3, 2, 103, 203, 202]);
    run_until(&mut parity, 5);
    assert_eq!(bests(&parity), [1, 2, 103, 201, 202]);
    let counts: Vec<i32> = [1, 3, 4].map(|slot| now(&parity, slot, "count")).into();
    assert_eq!(counts, [10, 11, 12]);
}

#[test]
fn a_command_that_names_a_newborn_without_a_slot_is_stale() {
    let script = "#[command(clients)] fn test(me: Entity, n: i32) {
        for i in 0..n {
            let pile = spawn(OldPile { count: 20 + i }, me);
            after(1, rot(pile));
            after(1, claim(me, pile, 1));
        }
    }";
    let text = [script, NEWBORN].concat();
    let (config, mut parity) = piles(&text, "timed_commands = 900");
    let free = config.schema.world.capacity as i32 - 1;
    give(&config, &mut parity, &[free + 2]);
    let output = parity.tick(&Frame::new(parity.oracle.tick));
    assert_eq!(output.counts.births_refused, 2);
    assert_eq!(output.counts.stale, 4);
    assert_eq!(output.counts.timed, 2 * free as u64);
}

#[test]
fn a_command_that_has_no_room_leaves_its_newborn_without_it() {
    let script = "#[command(clients)] fn test(me: Entity, n: i32) {
        let pile = spawn(OldPile { count: 20 }, me);
        after(1, rot(pile));
        let other = spawn(OldPile { count: 30 }, me);
        after(1, rot(other));
    }";
    // Of the second pile, the values and the birth fit, but not its command.
    let (config, mut parity) = piles(&[script, NEWBORN].concat(), "timed_commands = 5");
    give(&config, &mut parity, &[0]);
    run_until(&mut parity, 5);
    assert_eq!([1, 2].map(|slot| now(&parity, slot, "count")), [19, 30]);
}

#[test]
fn atomic_commands_name_newborns_and_refused_ones_have_none() {
    let script = "#[command(clients, atomic)] fn test(me: Entity, n: i32) {
        let pile = spawn(OldPile { count: 20 }, me);
        after(1, claim(me, pile, n));
        require(n > 3);
    }";
    let limits = "timed_commands = 8\natomic_per_tick = 8";
    for (n, gold) in [(3, 0), (4, 204)] {
        let (config, mut parity) = piles(&[script, NEWBORN].concat(), limits);
        give(&config, &mut parity, &[n]);
        run_until(&mut parity, 4);
        assert_eq!(now(&parity, 0, "gold"), gold);
    }
}

#[test]
fn a_frame_has_no_commands_that_name_newborns() {
    let (_, mut parity) = piles(NEWBORN, "timed_commands = 8");
    let follow_up = given::FollowUp {
        command: CommandKind::DESPAWN.id(),
        words: 0,
        newborn: 0,
        is_giver: true,
    };
    let mut frame = Frame::new(Tick(1));
    frame.push(EntityId::NONE, 0, CommandKind::SPAWN, &[1, -1]);
    let words = [follow_up.word(), 1 << given::TICK_BITS | 1, 0, 0, 0];
    frame.push(EntityId::NONE, 1, CommandKind::SPAWN, &words);
    let output = parity.tick(&frame);
    assert_eq!((output.counts.malformed, output.counts.births), (1, 1));
    assert_eq!(output.counts.timed, 0);
}
