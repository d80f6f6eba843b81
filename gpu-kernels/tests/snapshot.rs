//! A world goes on from a snapshot as it did before, impossible snapshots are refused, and
//! the state hash sees every part of a snapshot.

use std::sync::Arc;

use gpu_kernels::{
    Backend, Frame, Observer, RestoreError, SlotState, Snapshot, Target, TickOutput, TimedCommand,
    Track,
};
use shared::{EntityId, Tick, WorldConfig};
use testkit::agree::assert_same;
use testkit::backends::{backends, starters};
use testkit::scenario::{self, Scenario};
use testkit::snapshots::{Change, assert_hash_sees, assert_refused, out_of_range, wrong_size};

#[test]
fn a_restored_world_goes_on_as_it_did_before() {
    for starter in starters() {
        for mut scenario in [
            scenario::generations(120, 30),
            scenario::fight(80, 20),
            scenario::crowd(100, 10),
            scenario::embers(120, 20),
        ] {
            let mut backend = starter.start(&scenario.config);
            play(&mut *backend, &mut scenario, 20);
            let snapshot = backend.snapshot().unwrap();
            let (frames, outputs) = play(&mut *backend, &mut scenario, 20);

            backend.restore(&snapshot).unwrap();
            replay(&mut *backend, &frames, &outputs, &starter.label);
            let mut fresh = starter.start(&scenario.config);
            fresh.restore(&snapshot).unwrap();
            assert_eq!(fresh.snapshot().unwrap(), snapshot);
            replay(&mut *fresh, &frames, &outputs, &starter.label);
        }
    }
}

/// A copy is what the world was when it began, however many ticks come before its end.
#[test]
fn a_copy_of_the_state_is_of_the_tick_in_which_it_began() {
    for starter in starters() {
        for mut scenario in [
            scenario::generations(120, 30),
            scenario::fight(80, 20),
            scenario::embers(120, 20),
        ] {
            let mut backend = starter.start(&scenario.config);
            play(&mut *backend, &mut scenario, 20);
            let mut expected = backend.snapshot().unwrap();
            expected.known.iter_mut().for_each(Vec::clear);
            expected.behind.clear();
            backend.start_copy().unwrap();
            play(&mut *backend, &mut scenario, 1);
            let copy = loop {
                play(&mut *backend, &mut scenario, 1);
                if let Some(copy) = backend.continue_copy().unwrap() {
                    break copy;
                }
            };
            assert_eq!(copy, expected, "{}", starter.label);
            assert_eq!(backend.continue_copy().unwrap(), None);
        }
    }
}

/// Only what clients know of each other depends on what each is sent.
#[test]
fn a_quiet_world_reaches_the_same_state_but_for_what_clients_know() {
    for starter in starters() {
        for mut scenario in [
            scenario::generations(120, 30),
            scenario::fight(80, 20),
            scenario::crowd(100, 10),
            scenario::embers(120, 20),
            scenario::market(100, 20),
        ] {
            let mut backend = starter.start(&scenario.config);
            let (frames, outputs) = play(&mut *backend, &mut scenario, 30);
            let mut quiet = starter.start(&scenario.config);
            quiet.set_quiet(true);
            for (frame, expected) in frames.iter().zip(&outputs) {
                let output = quiet.tick(frame).unwrap();
                assert!(
                    output.hash.agrees_but_for_known(&expected.hash),
                    "{}",
                    starter.label
                );
                assert_eq!(output.births, expected.births);
                assert_eq!(output.deaths, expected.deaths);
                assert_eq!(output.counts.deliveries, 0);
            }
            quiet.set_quiet(false);
            let again = backend.snapshot().unwrap();
            let mut caught_up = quiet.snapshot().unwrap();
            assert!(caught_up.known.iter().all(Vec::is_empty));
            caught_up.known = again.known.clone();
            caught_up.behind = again.behind.clone();
            assert_eq!(caught_up, again, "{}", starter.label);
            play(&mut *quiet, &mut scenario, 5);
        }
    }
}

fn play(
    backend: &mut dyn Backend,
    scenario: &mut Scenario,
    ticks: u32,
) -> (Vec<Frame>, Vec<Arc<TickOutput>>) {
    let mut frames = vec![];
    let mut outputs = vec![];
    for _ in 0..ticks {
        let frame = scenario.frame();
        let output = backend.tick(&frame).unwrap();
        scenario.observe(&output.births, &output.deaths);
        frames.push(frame);
        outputs.push(output);
    }
    (frames, outputs)
}

fn replay(backend: &mut dyn Backend, frames: &[Frame], outputs: &[Arc<TickOutput>], label: &str) {
    for (frame, before) in frames.iter().zip(outputs) {
        let again = backend.tick(frame).unwrap();
        assert_same(before, &again, &format!("{label}, tick {}", frame.tick));
    }
}

#[test]
fn the_hash_sees_every_part_of_the_state() {
    let (config, base) = rich_state();
    let changes: [(&str, Change); 47] = [
        ("tick and scripts", |s| s.tick = Tick(s.tick.0 + 1)),
        ("slots", |s| s.generations[LIVE] += 1),
        ("slots", |s| s.generations[RESTING] += 1),
        ("slots", |s| s.generations[RELEASED] += 1),
        ("slots", |s| s.generations[NEVER_FILLED] += 1),
        ("slots", |s| s.kinds[LIVE] = 1),
        ("slots", |s| s.states[RESTING] = SlotState::Free),
        ("slots", |s| s.states[RELEASED] = SlotState::Resting),
        ("slots", |s| s.states[NEVER_FILLED] = SlotState::Resting),
        ("slots", |s| s.states[FALLEN] = SlotState::Reserved),
        ("slots", |s| s.states[RESERVED] = SlotState::Fallen),
        ("slots", |s| s.due[FALLEN].0 += 1),
        ("slots", |s| s.due.swap(FALLEN, RESERVED)),
        ("slots", |s| s.ready[USER * RESTING_COMMANDS].0 -= 1),
        ("slots", |s| s.ready[USER * RESTING_COMMANDS] = Tick(0)),
        // The same rest, of another command; and of another entity.
        ("slots", |s| {
            s.ready.swap(LIVE, USER * RESTING_COMMANDS);
        }),
        ("slots", |s| {
            s.ready
                .swap(USER * RESTING_COMMANDS, USER * RESTING_COMMANDS + 1);
        }),
        ("attribute x", |s| s.rows[LIVE * COLUMNS] ^= 1),
        ("attribute y", |s| s.rows[LIVE * COLUMNS + 1] ^= 1),
        ("attribute hp", |s| s.rows[LIVE * COLUMNS + 2] ^= 1),
        ("attribute owner", |s| s.rows[LIVE * COLUMNS + 3] ^= 1),
        ("tracks", |s| s.tracks[LIVE].glides = false),
        ("tracks", |s| s.tracks[LIVE].step[0] += 1),
        ("tracks", |s| s.tracks[LIVE].offset[1] -= 1),
        // The same track, of another entity.
        ("tracks", |s| s.tracks.swap(LIVE, LIVE + 1)),
        ("observers", |s| follower(s).radius -= 1),
        ("observers", |s| {
            follower(s).target = Target::Entity(EntityId::new(0, 2));
        }),
        ("observers", |s| {
            follower(s).target = Target::Entity(EntityId::new(1, 1));
        }),
        ("observers", |s| {
            follower(s).target = Target::Point([0, 1, 0]);
        }),
        ("observers", |s| point(s)[0] ^= 1),
        ("observers", |s| point(s)[1] ^= 1),
        ("observers", |s| s.observers[FOLLOWER] = None),
        // The same observers in swapped places.
        ("observers", |s| s.observers.swap(FOLLOWER, FIXED)),
        ("known", |s| {
            s.known[0].pop();
        }),
        // The same sets, of other clients.
        ("known", |s| s.known.swap(0, 1)),
        ("known", |s| s.behind.clear()),
        ("timed", |s| s.timed[0].due.0 += 1),
        ("timed", |s| s.timed[0].sequence += 1),
        ("timed", |s| s.timed[0].entity.slot.0 += 1),
        ("timed", |s| s.timed[0].entity.generation += 1),
        ("timed", |s| s.timed[0].kind += 1),
        ("timed", |s| s.timed[0].word_count += 1),
        ("timed", |s| s.timed[0].words[0] ^= 1),
        ("timed", |s| s.timed[0].words[1] ^= 1),
        // The same commands, scheduled in the other order.
        ("timed", |s| {
            let [first, second] = [s.timed[1], s.timed[0]];
            s.timed = vec![
                TimedCommand {
                    sequence: 2,
                    ..first
                },
                TimedCommand {
                    sequence: 5,
                    ..second
                },
            ];
        }),
        ("timed", |s| {
            s.timed.pop();
        }),
        ("timed", |s| s.next_sequence += 1),
    ];
    assert_hash_sees(&config, &base, &changes);
}

#[test]
fn births_and_deaths_change_the_hash_of_every_column() {
    let (config, base) = rich_state();
    for (label, mut backend) in backends(&config) {
        backend.restore(&base).unwrap();
        let before = backend.state_hash().unwrap();
        let mut changed = base.clone();
        changed.states[LIVE] = SlotState::Free;
        changed.tracks[LIVE] = Track::default();
        changed.rows[LIVE * COLUMNS..][..COLUMNS].fill(0);
        backend.restore(&changed).unwrap();
        let after = backend.state_hash().unwrap();
        for part in gpu_kernels::tick::state::part::COLUMNS..before.parts.len() {
            assert_ne!(
                before.parts[part], after.parts[part],
                "{label}, part {part}"
            );
        }
    }
}

#[test]
fn a_snapshot_of_wrong_sizes_is_refused() {
    let (config, base) = rich_state();
    let cases: &[(Change, RestoreError)] = &[
        (
            |s| s.states.truncate(3),
            wrong_size("slot states", CAPACITY, 3),
        ),
        (
            |s| s.generations.clear(),
            wrong_size("generations", CAPACITY, 0),
        ),
        (
            |s| s.kinds.push(0),
            wrong_size("kinds", CAPACITY, CAPACITY + 1),
        ),
        (|s| s.tracks.truncate(2), wrong_size("tracks", CAPACITY, 2)),
        (
            |s| s.rows.truncate(1),
            wrong_size("values", CAPACITY * COLUMNS, 1),
        ),
        (
            |s| s.due.clear(),
            wrong_size("ticks of rebirths", CAPACITY, 0),
        ),
        (
            |s| s.ready.truncate(1),
            wrong_size("ticks of rests", CAPACITY * RESTING_COMMANDS, 1),
        ),
        (|s| s.observers.truncate(2), wrong_size("observers", 6, 2)),
        (|s| s.known.push(vec![]), wrong_size("clients", 3, 4)),
    ];
    assert_refused(&config, &base, cases);
}

#[test]
fn a_snapshot_with_impossible_entities_is_refused() {
    let (config, base) = rich_state();
    let cases: &[(Change, RestoreError)] = &[
        (|s| s.kinds[LIVE] = 2, out_of_range("kinds", 2)),
        (|s| s.kinds[RESTING] = 1, out_of_range("kinds", 1)),
        (|s| s.rows[LIVE * COLUMNS] = -1, out_of_range("values", -1)),
        (
            |s| s.rows[LIVE * COLUMNS + 1] = SIDE,
            out_of_range("values", i64::from(SIDE)),
        ),
        (
            |s| s.rows[LIVE * COLUMNS + 2] = 101,
            out_of_range("values", 101),
        ),
        (
            |s| s.rows[RESTING * COLUMNS + 3] = 5,
            out_of_range("values", 5),
        ),
        (
            |s| {
                s.kinds[LIVE] = 1;
                s.rows[LIVE * COLUMNS + 2] = 0;
            },
            out_of_range("slots of the fallen", LIVE as i64),
        ),
        // Entities of the first kind are not born again.
        (|s| s.kinds[FALLEN] = 0, out_of_range("kinds", 0)),
        (|s| s.kinds[RESERVED] = 2, out_of_range("kinds", 2)),
        (
            |s| s.rows[FALLEN * COLUMNS + 2] = 7,
            out_of_range("values", 7),
        ),
        (
            |s| s.due[FALLEN] = Tick(1_000_040),
            out_of_range("ticks of rebirths", 1_000_040),
        ),
        (
            |s| s.due[RESTING] = Tick(41),
            out_of_range("ticks of rebirths", 41),
        ),
    ];
    assert_refused(&config, &base, cases);
}

#[test]
fn a_snapshot_with_impossible_tracks_is_refused() {
    let (config, base) = rich_state();
    let cases: &[(Change, RestoreError)] = &[
        (
            |s| s.tracks[RESTING].step[0] = 1,
            out_of_range("slots with tracks", RESTING as i64),
        ),
        (
            |s| s.tracks[LIVE].step[0] = i32::MIN,
            out_of_range("steps", i64::from(i32::MIN)),
        ),
        (|s| s.tracks[LIVE].step[2] = 1, out_of_range("steps", 1)),
        // Within the tolerance of 4 steps, but outside of the world.
        (
            |s| s.tracks[LIVE].offset[0] = -1,
            out_of_range("offsets", -1),
        ),
        (
            |s| s.tracks[LIVE + 1].offset[0] = 5,
            out_of_range("offsets", 5),
        ),
        (|s| s.tracks[LIVE].offset[2] = 1, out_of_range("offsets", 1)),
    ];
    assert_refused(&config, &base, cases);
}

#[test]
fn a_snapshot_with_impossible_rests_is_refused() {
    let (config, base) = rich_state();
    let cases: &[(Change, RestoreError)] = &[
        (
            |s| s.ready[RESTING * RESTING_COMMANDS] = Tick(7),
            out_of_range("ticks of rests", 7),
        ),
        // One that was used in the last tick rests for 4 more.
        (
            |s| s.ready[USER * RESTING_COMMANDS] = Tick(45),
            out_of_range("ticks of rests", 45),
        ),
    ];
    assert_refused(&config, &base, cases);
}

#[test]
fn a_snapshot_with_impossible_clients_is_refused() {
    let (config, base) = rich_state();
    let cases: &[(Change, RestoreError)] = &[
        (
            |s| follower(s).radius = -1,
            out_of_range("observers' radii", -1),
        ),
        (
            |s| follower(s).radius = i32::MAX,
            out_of_range("observers' radii", i64::from(i32::MAX)),
        ),
        (
            |s| point(s)[0] = i32::MIN,
            out_of_range("observers' points", i64::from(i32::MIN)),
        ),
        (|s| point(s)[2] = 1, out_of_range("observers' points", 1)),
        (
            |s| s.known[2] = (0..9).collect(),
            out_of_range("number of known entities", 9),
        ),
        (
            |s| s.known[2] = vec![1, 1],
            out_of_range("known entities' order", 2),
        ),
        (
            |s| s.known[2] = vec![1, CAPACITY as u32],
            out_of_range("known entities", CAPACITY as i64),
        ),
        (
            |s| s.behind = vec![1, 1],
            out_of_range("order of clients behind", 2),
        ),
        (|s| s.behind = vec![3], out_of_range("clients behind", 3)),
    ];
    assert_refused(&config, &base, cases);
}

#[test]
fn a_snapshot_with_impossible_timed_commands_is_refused() {
    let (config, base) = rich_state();
    let cases: &[(Change, RestoreError)] = &[
        (
            |s| s.timed = vec![s.timed[0]; 5],
            out_of_range("number of timed commands", 5),
        ),
        (
            |s| s.timed.swap(0, 1),
            out_of_range("timed commands' order", 2),
        ),
        (
            |s| s.timed[1].sequence = s.timed[0].sequence,
            out_of_range("timed commands' order", 2),
        ),
        (
            |s| s.next_sequence = 5,
            out_of_range("next sequence number", 5),
        ),
        (
            |s| s.timed[0].due = Tick(39),
            out_of_range("ticks in which commands are due", 39),
        ),
        (
            |s| s.timed[0].due = Tick(1_000_040),
            out_of_range("ticks in which commands are due", 1_000_040),
        ),
        (
            |s| s.timed[1].word_count = 6,
            out_of_range("timed commands' word counts", 6),
        ),
        (
            |s| s.timed[1].words[4] = 9,
            out_of_range("timed commands' unused words", 9),
        ),
    ];
    assert_refused(&config, &base, cases);
}

#[test]
fn nothing_is_restored_while_a_tick_is_in_flight() {
    let (config, base) = rich_state();
    for (label, mut backend) in backends(&config) {
        let ticket = backend.submit(&Frame::new(Tick(0))).unwrap();
        assert_eq!(
            backend.restore(&base),
            Err(RestoreError::InFlight),
            "{label}"
        );
        backend.collect(ticket).unwrap();
        assert_eq!(backend.restore(&base), Ok(()), "{label}");
    }
}

const CAPACITY: usize = 12;
const COLUMNS: usize = 4;
const RESTING_COMMANDS: usize = 2;
/// The world's side in raw units.
const SIDE: i32 = 100 * 4096;
// Slots of the rich state.
const LIVE: usize = 0;
const USER: usize = 2;
const RESTING: usize = 4;
const RELEASED: usize = 5;
const FALLEN: usize = 6;
const RESERVED: usize = 7;
const NEVER_FILLED: usize = 11;
// Observers of the rich state.
const FOLLOWER: usize = 0;
const FIXED: usize = 3;

fn follower(snapshot: &mut Snapshot) -> &mut Observer {
    snapshot.observers[FOLLOWER].as_mut().unwrap()
}

fn point(snapshot: &mut Snapshot) -> &mut [i32; 3] {
    match &mut snapshot.observers[FIXED].as_mut().unwrap().target {
        Target::Point(point) => point,
        Target::Entity(_) => unreachable!(),
    }
}

/// A state in which every part of a snapshot has entries.
fn rich_state() -> (WorldConfig, Snapshot) {
    let attributes = "[{ name = \"hp\", type = \"i32\", min = 0, max = 100, default = 50, \
                      audience = \"state\" }, \
                      { name = \"owner\", type = \"entity\", audience = \"hidden\" }]";
    let falling = attributes.replace("default = 50", "default = 50, falls_at = 0");
    let config = world_file::parse(
        &format!(
            "[world]\nsize = [100.0, 100.0]\naoi = 20.0\ncapacity = {CAPACITY}\n\
             visible_max = 8\nwire_tolerance = 0.001\n[limits]\nclients = 3\ntimed_commands = 4\nobservers_per_client = 2\n\
             [commands]\nmove.cooldown = 5\nheal.cooldown = 9\n\
             [[kind]]\nname = \"a\"\nattributes = {attributes}\n\
             [[kind]]\nname = \"b\"\nrespawn_ticks = 3\nattributes = {falling}\n"
        ),
        "rich",
    )
    .unwrap();
    let empty = |n| vec![0; n];
    let mut snapshot = Snapshot {
        tick: Tick(40),
        states: vec![SlotState::Free; CAPACITY],
        generations: empty(CAPACITY),
        kinds: vec![0; CAPACITY],
        due: vec![Tick(0); CAPACITY],
        rows: vec![0; CAPACITY * COLUMNS],
        tracks: vec![Track::default(); CAPACITY],
        past: vec![],
        ready: vec![Tick(0); CAPACITY * RESTING_COMMANDS],
        observers: vec![None; 6],
        regions: vec![],
        publications: vec![],
        subscriptions: vec![],
        known: vec![vec![0, 2], vec![3, RESTING as u32], vec![]],
        behind: vec![1],
        timed: vec![
            TimedCommand {
                sequence: 2,
                ..TimedCommand::new(Tick(43), EntityId::new(0, 1), 2, &[3, 4])
            },
            TimedCommand {
                sequence: 5,
                ..TimedCommand::new(Tick(41), EntityId::NONE, 0, &[1, -1])
            },
        ],
        next_sequence: 6,
        edits: vec![],
        fields: vec![],
        deferred: vec![],
        logic: config.logic.clone(),
    };
    for slot in 0..4 {
        snapshot.states[slot] = SlotState::Live;
        snapshot.generations[slot] = 1 + slot as u32;
        snapshot.rows[slot * COLUMNS..][..COLUMNS].copy_from_slice(&[
            slot as i32 * 4096,
            7,
            50,
            -1,
        ]);
    }
    snapshot.tracks[LIVE] = Track {
        glides: true,
        step: [5, -3, 0],
        offset: [2, 1, 0],
    };
    // The first can be used again, and the second rests.
    snapshot.ready[USER * RESTING_COMMANDS] = Tick(31);
    snapshot.ready[USER * RESTING_COMMANDS + 1] = Tick(44);
    snapshot.states[RESTING] = SlotState::Resting;
    snapshot.generations[RESTING] = 1;
    snapshot.generations[RELEASED] = 3;
    for (slot, state, due) in [
        (FALLEN, SlotState::Fallen, 42),
        // Overdue, since some client did not know of the fall.
        (RESERVED, SlotState::Reserved, 39),
    ] {
        snapshot.states[slot] = state;
        snapshot.generations[slot] = 1;
        snapshot.kinds[slot] = 1;
        snapshot.due[slot] = Tick(due);
    }
    snapshot.observers[FOLLOWER] = Some(Observer {
        target: Target::Entity(EntityId::new(0, 1)),
        radius: 4096,
    });
    snapshot.observers[FIXED] = Some(Observer {
        target: Target::Point([9, 8, 0]),
        radius: 0,
    });
    (config, snapshot)
}
