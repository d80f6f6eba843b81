//! The values that entities are born with, on every backend and in the oracle.

use gpu_kernels::Frame;
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
