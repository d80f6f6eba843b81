//! A recording may be anything: whatever is changed in one, a replay says in a sentence what
//! is wrong, or goes through. It does not panic, and takes no more memory than its world may.
//!
//! `MUTATIONS=30000` changes more of them, `MUTATION_SEED=7` others.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use durability::annotations::Annotations;
use durability::recording::{RecordingReader, RecordingWriter, Sink};
use gpu_kernels::{Frame, StateHash};
use server::commands::replay::{Replayed, replay_recording};
use shared::wire::codec;
use shared::world::logic::Text;
use shared::world::source::{Origin, Source};
use shared::{InterestMode, WorldConfig};
use testkit::dice::{Dice, Seed};
use testkit::oracle::Oracle;
use testkit::world::Play;
use tick::backend::{BackendChoice, BackendOptions};
use world_file::StoredWorld;

use crate::common::run_alone;

/// Memory is that of a process: other tests take some, too.
#[test]
fn a_changed_recording_is_replayed_or_rejected_with_a_sentence() {
    run_alone("hostile_recordings::changed_recordings_alone_in_their_process");
}

#[test]
#[ignore = "a_changed_recording_is_replayed_or_rejected_with_a_sentence runs it"]
fn changed_recordings_alone_in_their_process() {
    let number = |name: &str, default: u64| {
        let value = std::env::var(name).ok();
        value.map_or(default, |value| value.parse().expect(name))
    };
    let (mutations, seed) = (number("MUTATIONS", 800), number("MUTATION_SEED", 1));
    let _seed = Seed(seed);
    let recordings: Vec<Vec<u8>> = (0..RECORDINGS).map(record).collect();
    let mut dice = Dice::new(seed);
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    let mut panics = vec![];
    for mutation in 0..mutations {
        let base = &recordings[dice.below(recordings.len())];
        let bytes = mutate(&mut dice, base, &recordings);
        match catch_unwind(AssertUnwindSafe(|| replay(&bytes))) {
            Ok(end) => *ends.entry(end).or_default() += 1,
            Err(_) => panics.push(mutation),
        }
    }
    println!("{ends:?}");
    assert!(panics.is_empty(), "seed {seed}: mutations {panics:?} panic");
    for end in ["a bad world", "a bad tick", "another state", "broken off"] {
        let times = ends.get(end).copied().unwrap_or(0);
        assert!(times * 200 > mutations, "{end}: {times} of {mutations}");
    }
    #[cfg(target_os = "linux")]
    assert!(peak_bytes() < PEAK_BYTES_MAX, "{} bytes", peak_bytes());
}

#[test]
fn every_world_of_a_file_can_be_recorded() {
    let mut worlds: Vec<WorldConfig> = WORLDS
        .iter()
        .map(|text| world_file::parse(text, "a test's world").expect("a valid world"))
        .collect();
    let hollow = concat!(env!("CARGO_MANIFEST_DIR"), "/worlds/hollow.toml");
    worlds.push(world_file::load(hollow.as_ref()).expect("a valid world"));
    worlds.extend((0..40).map(|seed| random_play(&mut Dice::new(seed)).config));
    for world in worlds {
        let name = world.schema.world.name.clone();
        let bytes = codec::to_bytes(&StoredWorld::of(&world));
        let read: StoredWorld = codec::from_bytes::<{ 20 << 20 }, _>(&bytes).expect("whole");
        let read = read
            .restore(&name)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(read, world, "{name}");
    }
}

#[test]
fn a_world_that_no_file_gives_is_named_with_its_mistake() {
    let world = world_file::parse(WORLDS[2], "a test's world").expect("a valid world");
    let reason = |change: &dyn Fn(&mut Source)| {
        let mut source = Source::clone(&world.source.0);
        change(&mut source);
        let changed = WorldConfig {
            source: Origin(Arc::new(source)),
            ..world.clone()
        };
        let file = write(&changed, &[]);
        let failure = RecordingReader::read(&file[..], "file")
            .map(|_| ())
            .unwrap_err();
        let text = format!("{failure:#}");
        let begin = "file has a world that can't be one: ";
        text.strip_prefix(begin).expect(&text).to_owned()
    };
    let rejected = reason(&|s| {
        s.text
            .push_str("\n[limits]\nclient_hearings_per_tick = 1048576")
    });
    let expected = "limits.client_hearings_per_tick: expected 1 to 1024, found 1048576";
    assert!(rejected.ends_with(expected), "{rejected}");
    let rejected = reason(&|s| s.overrides.tick_hz = Some(0));
    assert!(
        rejected.contains("world.tick_hz: expected 1 to 1000, found 0"),
        "{rejected}"
    );
    let rejected = reason(&|s| s.logic.texts.push(Text::new("a.rs", "fn")));
    assert!(rejected.contains("error: "), "{rejected}");
}

#[test]
fn other_scripts_with_a_budget_that_no_file_has_are_rejected_in_their_tick() {
    let world = world_file::default();
    let mut oracle = Oracle::new(&world);
    let first = Frame::new(shared::Tick(0));
    let hash = oracle.tick(&first).hash;
    let mut second = Frame::new(shared::Tick(1));
    let mut logic = world.logic.clone();
    logic.budget.visits = u32::MAX;
    second.logic = Some(Box::new(logic));
    let file = write(&world, &[(first, hash.clone()), (second, hash)]);
    let recording = RecordingReader::read(&file[..], "file").unwrap();
    let failure = replay_recording(recording, cpu(), 1, Some(MEMORY)).unwrap_err();
    let failure = format!("{failure:#}");
    assert!(failure.starts_with("tick 1: the frame's scripts can't run: "));
    let expected = "logic.visits: expected 1 to 1048576, found 4294967295";
    assert!(failure.ends_with(expected), "{failure}");
}

#[test]
fn a_length_that_no_record_has_is_rejected_before_anything_is_read() {
    let world = world_file::default();
    let mut file = write(
        &world,
        &[(Frame::new(shared::Tick(0)), StateHash::default())],
    );
    let second = 8 + 8 + u32::from_le_bytes(file[8..12].try_into().unwrap()) as usize;
    file[second..second + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    // It would take long to read it to its end.
    let endless = io::Read::chain(&file[..], io::repeat(0));
    let recording = RecordingReader::read(endless, "file").unwrap();
    let replayed = replay_recording(recording, cpu(), 1, Some(MEMORY)).unwrap();
    let reason = replayed.broken_off.unwrap();
    let expected = format!("byte {second}: a record claims 4294967295 bytes, where at most ");
    assert!(reason.starts_with(&expected), "{reason}");
}

/// Replays, and says how it ended. Panics if the reason is not a sentence with a place.
fn replay(bytes: &[u8]) -> &'static str {
    let recording = match RecordingReader::read(bytes, "file") {
        Ok(recording) => recording,
        Err(error) => {
            assert!(format!("{error:#}").starts_with("file "), "{error:#}");
            return "a bad world";
        }
    };
    match replay_recording(recording, cpu(), 1, Some(MEMORY)) {
        Ok(Replayed {
            broken_off: None, ..
        }) => "whole",
        Ok(Replayed {
            broken_off: Some(reason),
            ..
        }) => {
            assert!(reason.starts_with("byte "), "{reason}");
            "broken off"
        }
        Err(error) => match format!("{error:#}") {
            text if text.contains("differs from the recorded one in") => "another state",
            text if text.contains("bytes of memory") => "too large a world",
            text => {
                assert!(text.starts_with("tick "), "{text}");
                "a bad tick"
            }
        },
    }
}

/// A random world as a file may give it: only configs have other forms of interest.
fn random_play(dice: &mut Dice) -> Play {
    let mut play = Play::new(dice);
    play.config.interest = InterestMode::Exact;
    play
}

/// A random world, played for some ticks.
fn record(seed: u64) -> Vec<u8> {
    let mut dice = Dice::new(seed);
    let play = random_play(&mut dice);
    let mut oracle = Oracle::new(&play.config);
    let ticks: Vec<(Frame, StateHash)> = (0..TICKS)
        .map(|tick| {
            let mut frame = play.frame(&mut dice, &oracle);
            if tick == TICK_OF_OTHER_SCRIPTS {
                let mut logic = play.config.logic.clone();
                logic.budget.steps -= 1;
                frame.logic = Some(Box::new(logic));
            }
            let hash = oracle.tick(&frame).hash;
            (frame, hash)
        })
        .collect();
    let file = write(&play.config, &ticks);
    assert_eq!(replay(&file), "whole", "seed {seed}");
    file
}

fn write(config: &WorldConfig, ticks: &[(Frame, StateHash)]) -> Vec<u8> {
    let memory = Memory::default();
    let mut recording = RecordingWriter::to(memory.clone(), config).unwrap();
    for (frame, hash) in ticks {
        assert!(recording.record(&mut frame.clone(), Annotations::default(), hash));
    }
    recording.finish().unwrap();
    let bytes = memory.0.lock().unwrap();
    bytes.clone()
}

/// Another recording, most of whose records are whole.
fn mutate(dice: &mut Dice, base: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    let mut file = base.to_vec();
    if dice.once_in(20) {
        for _ in 0..=dice.below(4) {
            let place = dice.below(file.len());
            file[place] ^= 1 << dice.below(8);
        }
        return file;
    }
    let mut payloads = payloads(&file);
    match dice.below(12) {
        0 => {
            let [a, b] = [(); 2].map(|()| dice.below(payloads.len()));
            payloads.swap(a, b);
        }
        1 => {
            let other = self::payloads(&others[dice.below(others.len())]);
            let place = dice.below(payloads.len());
            payloads[place] = other[dice.below(other.len())].clone();
        }
        2 => payloads.truncate(1 + dice.below(payloads.len())),
        _ => {
            // The world decides most, so it is changed most.
            let record = if dice.once_in(2) {
                0
            } else {
                dice.below(payloads.len())
            };
            for _ in 0..=dice.below(3) {
                change(dice, &mut payloads[record]);
            }
        }
    }
    let mut file = file[..8].to_vec();
    for payload in payloads {
        file.extend((payload.len() as u32).to_le_bytes());
        file.extend(crc32fast::hash(&payload).to_le_bytes());
        file.extend(payload);
    }
    if dice.once_in(20) {
        file.truncate(dice.below(file.len()));
    }
    file
}

fn payloads(file: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &file[8..];
    let mut payloads = vec![];
    while let Some((length, behind)) = rest.split_first_chunk() {
        let (payload, next) = behind[4..].split_at(u32::from_le_bytes(*length) as usize);
        payloads.push(payload.to_vec());
        rest = next;
    }
    payloads
}

/// One change of a payload, at a place that is rarely in the text of a script.
fn change(dice: &mut Dice, payload: &mut Vec<u8>) {
    if payload.is_empty() {
        return;
    }
    let texts = |&place: &usize| {
        let around = &payload[place.saturating_sub(8)..(place + 8).min(payload.len())];
        around
            .iter()
            .filter(|byte| (32..127).contains(*byte))
            .count()
            < 14
    };
    let places: Vec<usize> = (0..9).map(|_| dice.below(payload.len())).collect();
    let place = places.iter().copied().find(texts).unwrap_or(places[0]);
    match dice.below(8) {
        0 | 1 => payload[place] ^= 1 << dice.below(8),
        2 | 3 => payload[place] = dice.pick(&[0, 1, 2, 3, 64, 127, 128, 250, 251, 252, 253, 255]),
        4 => payload[place] = payload[place].wrapping_add(dice.pick(&[1, 2, 254, 255])),
        5 => {
            payload.remove(place);
        }
        6 => {
            // A number of the codec in 2, 4 or 8 bytes.
            let (tag, bytes) = dice.pick(&[(251, 2), (252, 4), (253, 8)]);
            let number = dice.pick(&[u64::MAX, u64::MAX >> 1, 1 << 31, 1 << 24, 1 << 12, 300]);
            let number = number.to_le_bytes();
            payload.splice(
                place..=place,
                std::iter::once(tag).chain(number[..bytes].to_vec()),
            );
        }
        _ => {
            let end = (place + 1 + dice.below(16)).min(payload.len());
            let part = payload[place..end].to_vec();
            let to = dice.below(payload.len());
            payload.splice(to..to, part);
        }
    }
}

/// A recording in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Memory {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the process's status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
    kilobytes.expect("a peak").parse::<u64>().expect("a number") * 1024
}

fn cpu() -> BackendOptions {
    BackendOptions {
        backend: BackendChoice::Cpu,
        ..BackendOptions::default()
    }
}

/// Worlds with everything that a file can say.
const WORLDS: [&str; 6] = [
    "",
    include_str!("../worlds/arena.toml"),
    "
    [[kind]]
    name = 'player'
    born = 'roam'
    attributes = [
        { name = 'hp', type = 'i32', min = 0, default = { from = 5, to = 9 }, audience = 'state' },
        { name = 'team', type = 'symbol', symbols = ['red', 'blue', 'green'], default = { in_turn = ['green', 'red'] }, audience = 'state' },
        { name = 'luck', type = 'fixed', default = { one_of = [0.5, -1.25, 3] }, audience = 'private' },
    ]
    [[every]]
    kind = 'player'
    ticks = 3
    command = 'blast'
    at = 'own'
    ",
    include_str!("../../shared/tests/worlds/rich.toml"),
    include_str!("../../shared/tests/worlds/deep.toml"),
    include_str!("../../shared/tests/worlds/wide.toml"),
];
const RECORDINGS: u64 = 12;
const TICKS: usize = 8;
const TICK_OF_OTHER_SCRIPTS: usize = 3;
/// The memory that a replay may take for its world.
const MEMORY: u64 = 256 << 20;
/// The same, with all recordings, compiled scripts and the test itself.
#[cfg(target_os = "linux")]
const PEAK_BYTES_MAX: u64 = 1 << 30;
