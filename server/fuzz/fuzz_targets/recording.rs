#![no_main]

//! Any recording is replayed, or rejected with a reason. The bytes are records without their
//! checksums, which no fuzzer would guess: each a length of two bytes and a payload.

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use server::commands::replay::replay_recording;
use durability::recording::{RecordingReader, MAGIC, Record};
use tick::backend::{BackendChoice, BackendOptions};
use world_file::StoredWorld;
use shared::wire::codec;

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, mut rest)) = bytes.split_first() else {
        return;
    };
    let mut file = MAGIC.to_vec();
    // Most begin with a valid world, so that their ticks are reached.
    if choice > 64 {
        append(&mut file, &WORLDS[usize::from(choice) % WORLDS.len()]);
    }
    while let Some((&length, behind)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(length));
        let (payload, next) = behind.split_at(length.min(behind.len()));
        append(&mut file, payload);
        rest = next;
    }
    if let Ok(recording) = RecordingReader::read(&file[..], "a file") {
        let cpu = BackendOptions {
            backend: BackendChoice::Cpu,
            ..BackendOptions::default()
        };
        let _ = replay_recording(recording, cpu, 1, Some(MEMORY));
    }
});

fn append(file: &mut Vec<u8>, payload: &[u8]) {
    file.extend((payload.len() as u32).to_le_bytes());
    file.extend(crc32fast::hash(payload).to_le_bytes());
    file.extend(payload);
}

/// The first records of valid recordings.
static WORLDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    [
        "",
        include_str!("../../worlds/arena.toml"),
        include_str!("../../../shared/tests/worlds/rich.toml"),
    ]
    .map(|text| {
        let world = world_file::parse(text, "a test's world").unwrap();
        codec::to_bytes(&Record::Start(Box::new(StoredWorld::of(&world))))
    })
    .into()
});

/// The memory that a replay may take for its world.
const MEMORY: u64 = 256 << 20;
