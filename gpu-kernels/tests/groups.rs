//! Groups: things of which players are members. On every backend what the oracle sees.

use gpu_kernels::{Frame, SlotState};
use shared::world::logic::Text;
use shared::{EntityId, Slot, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::scripts::{command, with_texts, without_limits};

const WORLD: &str = r#"
[world]
size = [60, 60]
aoi = 20
capacity = 120
[limits]
clients = 8
timed_commands = 1000
atomic_per_tick = 50
[logic]
builtin = []

[[kind]]
name = "player"
population = 20
attributes = [
    { name = "party", type = "entity", group = true, audience = "state" },
    { name = "guild", type = "entity", group = true, audience = "private", merge = "first" },
    { name = "seen", type = "i32", merge = "last", audience = "state", shared_with = ["party"] },
]

[[kind]]
name = "chest"
population = 3
attributes = [{ name = "party", type = "entity", audience = "state" }]

[[kind]]
name = "team"
place = "none"
population = 6
attributes = [{ name = "size", type = "i32", min = 0, max = 3, merge = "last", audience = "state" }]

[[kind]]
name = "coin"
place = "none"
population = 5
"#;

const SCRIPT: &str = r#"
#[command(clients)]
fn join(me: Entity, team: Entity) { me.party = team; }

#[command(clients)]
fn swear(me: Entity, team: Entity) { me.guild = team; }

#[command(clients)]
fn part(me: Entity) { me.party = none; me.guild = none; }

#[command(clients)]
fn look(me: Entity) {
    let mut seen = count_members(me.party, "party") + 100 * count_members(me.guild, "guild");
    for other in members(me.party, "party") { seen = seen * 3 + other.seen % 7; }
    me.seen = seen;
}

#[command(clients)]
fn cheer(me: Entity) { for other in members(me.party, "party") { other.seen = 1; } }

#[command(clients)]
fn hold(me: Entity, thing: Entity) { thing.holder = me; }

#[command(clients)]
fn smash(me: Entity, it: Entity) { despawn(it); }

#[command(clients, atomic)]
fn enter(me: Entity, team: Entity) {
    require(team.size < 3 && me.party == none);
    team.size += 1;
    me.party = team;
}
"#;

fn world() -> WorldConfig {
    let config = world_file::parse(WORLD, "world").unwrap_or_else(|error| panic!("{error}"));
    let config = with_texts(&config, vec![Text::new("gather.rs", SCRIPT.to_owned())]);
    without_limits(&config)
}

/// A world whose population is born.
fn begun() -> (WorldConfig, Parity) {
    let config = world();
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    parity.tick(&frame);
    (config, parity)
}

fn value(config: &WorldConfig, parity: &Parity, entity: EntityId, attribute: &str) -> i32 {
    let column = config.schema.column(attribute).unwrap();
    parity.oracle.slots[entity.slot.index()].row[column]
}

/// Runs a tick in which entities give commands.
fn give(config: &WorldConfig, parity: &mut Parity, commands: &[(EntityId, &str, &[i32])]) {
    let mut frame = Frame::new(parity.oracle.tick);
    for (sequence, &(entity, name, words)) in (0..).zip(commands) {
        frame.push(entity, sequence, command(config, name), words);
    }
    frame.order(config.seed);
    parity.tick(&frame);
}

#[test]
fn members_of_a_group_are_those_that_referred_to_it_at_the_start_of_the_tick() {
    let (config, mut parity) = begun();
    let players = parity.oracle.living_of("player");
    let team = parity.oracle.living_of("team")[0].reference().0;
    let join = |player: usize| (players[player], "join", [team]);
    let joins = [join(0), join(1), join(2)];
    let joins: Vec<(EntityId, &str, &[i32])> = (joins.iter())
        .map(|(player, name, words)| (*player, *name, &words[..]))
        .chain([(players[0], "look", &[][..])])
        .collect();
    give(&config, &mut parity, &joins);
    assert_eq!(value(&config, &parity, players[0], "seen"), 0, "not yet");
    give(&config, &mut parity, &[(players[0], "swear", &[team])]);
    give(&config, &mut parity, &[(players[0], "look", &[])]);
    // Three of the party and one of the guild: a hundred and three, then a fold over three.
    assert_eq!(value(&config, &parity, players[0], "seen"), 103 * 27);
    give(&config, &mut parity, &[(players[1], "cheer", &[])]);
    let seen = |player: usize| value(&config, &parity, players[player], "seen");
    assert_eq!([0, 1, 2, 3].map(seen), [1, 1, 1, 0]);
}

#[test]
fn only_players_are_members_and_only_things_have_some() {
    let (config, mut parity) = begun();
    let me = parity.oracle.living_of("player")[0];
    let chests = parity.oracle.living_of("chest");
    let team = parity.oracle.living_of("team")[0].reference().0;
    give(
        &config,
        &mut parity,
        &[(chests[0], "join", &[team]), (me, "join", &[team])],
    );
    give(&config, &mut parity, &[(me, "look", &[])]);
    assert_eq!(value(&config, &parity, me, "seen"), 3, "a chest is none");
    let chest = chests[1].reference().0;
    give(&config, &mut parity, &[(me, "join", &[chest])]);
    give(&config, &mut parity, &[(me, "look", &[])]);
    assert_eq!(value(&config, &parity, me, "seen"), 0);
    assert_eq!(
        value(&config, &parity, me, "party"),
        -1,
        "a chest is no group"
    );
}

#[test]
fn a_group_that_has_ended_has_no_members_and_they_leave_it_in_the_next_tick() {
    let (config, mut parity) = begun();
    let players = parity.oracle.living_of("player");
    let teams = parity.oracle.living_of("team");
    let words = [teams[0].reference().0];
    let joins = [
        (players[0], "join", &words[..]),
        (players[1], "join", &words),
        (players[1], "swear", &words),
        (players[2], "smash", &words),
    ];
    give(&config, &mut parity, &joins);
    // The command of the tick before despawns in this one, which still sees the members.
    give(&config, &mut parity, &[(players[0], "look", &[])]);
    assert_eq!(
        parity.oracle.slots[teams[0].slot.index()].state,
        SlotState::Resting
    );
    assert_eq!(value(&config, &parity, players[0], "seen"), 18);
    give(&config, &mut parity, &[(players[0], "look", &[])]);
    assert_eq!(value(&config, &parity, players[0], "seen"), 0);
    for (player, group) in [(0, "party"), (1, "party"), (1, "guild")] {
        assert_eq!(value(&config, &parity, players[player], group), -1);
    }
}

#[test]
fn of_many_who_enter_a_group_at_once_no_more_do_than_it_has_room_for() {
    let (config, mut parity) = begun();
    let players = parity.oracle.living_of("player");
    let team = parity.oracle.living_of("team")[0];
    let words = [team.reference().0];
    let all: Vec<(EntityId, &str, &[i32])> = (players.iter())
        .map(|player| (*player, "enter", &words[..]))
        .collect();
    give(&config, &mut parity, &all);
    let entered = |player: &&EntityId| value(&config, &parity, **player, "party") == words[0];
    assert_eq!(players.iter().filter(entered).count(), 3);
    assert_eq!(value(&config, &parity, team, "size"), 3);
}

#[test]
fn every_backend_has_the_same_members_as_the_oracle_in_any_tick() {
    let (config, mut parity) = begun();
    let mut dice = Dice::new(12);
    let [mut changes, mut deaths] = [0u64; 2];
    let names = [
        "join", "swear", "part", "look", "look", "cheer", "hold", "smash", "enter",
    ];
    for tick in 1..120 {
        let mut frame = Frame::new(Tick(tick));
        let living = parity.oracle.living();
        for sequence in 0..dice.below(30) as u32 {
            let name = dice.pick(&names);
            if name == "smash" && !dice.once_in(6) {
                continue;
            }
            let of_teams = parity.oracle.living_of("team");
            let words = &config.schema.command_named(name).unwrap().words;
            let words: Vec<i32> = words
                .iter()
                .map(|_| match of_teams.is_empty() || dice.once_in(4) {
                    true => dice.pick(&living).reference().0,
                    false => dice.pick(&of_teams).reference().0,
                })
                .collect();
            let by = dice.pick(&living);
            frame.push(by, sequence, command(&config, name), &words);
        }
        frame.release = released(&parity);
        frame.order(config.seed);
        let out = parity.tick(&frame);
        changes += out.counts.changes;
        deaths += out.deaths.len() as u64;
        if tick % 20 == 9 {
            parity.restart(tick % 40 == 9);
        }
    }
    assert!(changes > 300 && deaths > 10, "{changes} {deaths}");
}

/// The slots of the dead, which can be reused at once: no client knows them.
fn released(parity: &Parity) -> Vec<Slot> {
    let slots = (0..).zip(&parity.oracle.slots);
    let resting = slots.filter(|(_, slot)| slot.state == SlotState::Resting);
    resting.map(|(slot, _)| Slot(slot)).collect()
}
