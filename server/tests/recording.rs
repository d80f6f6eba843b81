//! A recording replays to the same states, and any difference is found.

use std::fs;
use std::path::{Path, PathBuf};

use client_bot::BehaviourKind;
use durability::annotations::Annotations;
use durability::recording::{NextTick, RecordingReader, RecordingWriter};
use gpu_kernels::{Frame, StateHash};
use script::builtin;
use server::commands::replay::{Replayed, replay};
use tick::backend::{BackendChoice, BackendOptions};

use crate::common;
use crate::common::{Bots, scratch, start_with, ticks, units};

const FIGHT: &str = "
    [world]
    size = [60, 60]
    aoi = 30
    capacity = 64
    tick_hz = 20

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
    ]

    [[kind]]
    name = 'item'
    population = 10
    attributes = [{ name = 'owner', type = 'entity', merge = 'first', audience = 'state', tells_owner = true }]

    [[every]]
    kind = 'item'
    ticks = 5
    command = 'roam'
";

#[tokio::test]
async fn a_recording_replays_the_same_with_any_number_of_shards_and_threads() {
    for shards in [1, 3] {
        let file = Recording::new(&format!("any-{shards}"));
        let recorded = record(&file.0, shards).await;
        for threads in [1, 2, 8] {
            let replayed = replay(&file.0, cpu(), threads).unwrap();
            assert_eq!(replayed, whole(recorded), "{shards} shards, {threads}");
        }
    }
}

#[tokio::test]
async fn damage_is_found() {
    let file = Recording::new("damaged");
    let recorded = record(&file.0, 2).await;
    let bytes = fs::read(&file.0).unwrap();
    let changed = Recording::new("changed");

    // A flipped byte in the middle.
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 0x40;
    fs::write(&changed.0, &flipped).unwrap();
    let up_to = replay(&changed.0, cpu(), 2).unwrap();
    assert!(0 < up_to.ticks && up_to.ticks < recorded, "{up_to:?}");
    let reason = up_to.broken_off.expect("a reason");
    let damage = [
        "a record's checksum is wrong",
        "it ends inside a record",
        "where at most",
    ];
    assert!(damage.iter().any(|what| reason.contains(what)), "{reason}");

    // The last record cut short.
    fs::write(&changed.0, &bytes[..bytes.len() - 3]).unwrap();
    let up_to = replay(&changed.0, cpu(), 2).unwrap();
    assert_eq!(up_to.ticks, recorded - 1);
    let reason = up_to.broken_off.expect("a reason");
    let (place, what) = reason.split_once(": ").expect("a place");
    assert_eq!(what, "it ends inside a record");
    let place: usize = place.strip_prefix("byte ").unwrap().parse().unwrap();
    assert!((bytes.len() / 2..bytes.len()).contains(&place), "{place}");

    // Another kind of file.
    fs::write(&changed.0, "not a recording").unwrap();
    let failure = replay(&changed.0, cpu(), 2).unwrap_err();
    assert!(failure.to_string().contains("is not a recording"));
}

#[tokio::test]
async fn a_difference_is_found_in_its_tick() {
    let file = Recording::new("original");
    let recorded = record(&file.0, 2).await;
    let (config, ticks) = read(&file.0);
    let changed = Recording::new("different");

    // The place of a step that is long enough to make a difference.
    let firm_step = |frame: &Frame| {
        let mut moves = frame.commands.iter();
        let x = |c: &gpu_kernels::Command| frame.words[c.word_start as usize];
        let is_firm =
            |c: &&gpu_kernels::Command| c.kind == builtin::MOVE.id() && x(c).abs() > units(0.2);
        moves.find(is_firm).map(|c| c.word_start as usize)
    };
    let moving: Vec<usize> = (0..ticks.len())
        .filter(|&i| firm_step(&ticks[i].0).is_some())
        .collect();
    let middle = moving[moving.len() / 2];
    let names = StateHash::part_names(&config.schema);
    let hp = names.iter().position(|n| n == "attribute hp").unwrap();
    let rewrite = |change: &dyn Fn(&mut Frame, &mut StateHash)| {
        let mut recording = RecordingWriter::create(&changed.0, &config).unwrap();
        for (i, (frame, hash)) in ticks.iter().enumerate() {
            let (mut frame, mut hash) = (frame.clone(), hash.clone());
            if i == middle {
                change(&mut frame, &mut hash);
            }
            assert!(recording.record(&mut frame, Annotations::default(), &hash));
        }
        recording.finish().unwrap();
        replay(&changed.0, cpu(), 2)
    };
    assert_eq!(rewrite(&|_, _| ()).unwrap(), whole(recorded));

    // A changed hash.
    let failure = rewrite(&|_, hash| hash.parts[hp] ^= 1).unwrap_err();
    assert_eq!(
        failure.to_string(),
        format!(
            "tick {middle}: the cpu backend's state differs from the recorded one in attribute hp"
        )
    );

    // A changed step.
    let failure = rewrite(&|frame, _| {
        let x = firm_step(frame).expect("a player moves");
        frame.words[x] = -frame.words[x];
    })
    .unwrap_err();
    let text = failure.to_string();
    assert!(text.starts_with(&format!("tick {middle}: ")), "{text}");
    assert!(text.contains("attribute x"), "{text}");
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_world_keeps_running_when_the_disk_of_its_recording_is_full() {
    let server = start_with(FIGHT, |options| {
        options.record = Some(PathBuf::from("/dev/full"));
    });
    let bots = Bots::start(&server, 20, BehaviourKind::Fight).await;
    // Some hundred bytes a tick: several times the buffer.
    ticks(&server, 100).await;
    bots.go_home();
    common::eventually("all have left", || server.stats().figures().clients == 0).await;
    let ended = format!("{:#}", server.stop().unwrap_err());
    assert!(
        ended.starts_with("the recording ends before tick "),
        "{ended}"
    );
    assert!(
        ended.ends_with("No space left on device (os error 28)"),
        "{ended}"
    );
}

#[tokio::test]
async fn regions_of_clients_are_recorded_too() {
    let file = Recording::new("regions");
    let world = format!("{FIGHT}\n[limits]\nregions_per_client = 2");
    let recorded = record_bots(&file.0, 2, &world, BehaviourKind::Survey).await;
    let (_, ticks) = read(&file.0);
    let changes: usize = ticks.iter().map(|(frame, _)| frame.regions.len()).sum();
    // Each bot sets two regions, which end with it.
    assert!(changes >= 20 * 4, "{changes} changes");
    let replayed = replay(&file.0, cpu(), 2).unwrap();
    assert_eq!(replayed, whole(recorded));
}

/// Records bots that join, fight and leave, and gives the number of ticks.
async fn record(file: &Path, shards: usize) -> u64 {
    record_bots(file, shards, FIGHT, BehaviourKind::Fight).await
}

async fn record_bots(file: &Path, shards: usize, world: &str, behaviour: BehaviourKind) -> u64 {
    let server = start_with(world, |options| {
        options.shards = shards;
        options.record = Some(file.to_owned());
    });
    let bots = Bots::start(&server, 20, behaviour).await;
    ticks(&server, 30).await;
    bots.go_home();
    common::eventually("all have left", || server.stats().figures().clients == 0).await;
    server.stop().unwrap();
    read(file).1.len() as u64
}

fn whole(ticks: u64) -> Replayed {
    Replayed {
        ticks,
        broken_off: None,
    }
}

fn read(file: &Path) -> (shared::WorldConfig, Vec<(Frame, StateHash)>) {
    let mut recording = RecordingReader::open(file).unwrap();
    let mut ticks = vec![];
    loop {
        match recording.next_tick() {
            NextTick::Tick(next) => ticks.push((*next.frame, next.hash)),
            NextTick::End => return (recording.config, ticks),
            NextTick::BrokenOff(reason) => panic!("a whole recording breaks off: {reason}"),
        }
    }
}

/// A file that is removed when the test ends.
struct Recording(PathBuf);

impl Recording {
    fn new(name: &str) -> Recording {
        Recording(scratch(&format!("recording-{name}.recording")))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // The test may have failed before it made the file.
        let _ = fs::remove_file(&self.0);
    }
}

fn cpu() -> BackendOptions {
    BackendOptions {
        backend: BackendChoice::Cpu,
        ..BackendOptions::default()
    }
}
