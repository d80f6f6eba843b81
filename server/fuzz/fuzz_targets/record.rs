#![no_main]

//! Records of a journal: any body is read or refused, and what was read is read again once it
//! is written. The bytes are bodies without their heads, whose checksums no fuzzer would
//! guess: each a length of two bytes, and what follows a record's head.

use device::cpu::Workers;
use gpu_kernels::{Frame, StateHash};
use libfuzzer_sys::fuzz_target;
use durability::epoch::Epoch;
use durability::frame_code::FrameCoder;
use durability::record::{self, Entry, RecordHead};

fuzz_target!(|bytes: &[u8]| {
    let mut reader = FrameCoder::new(SLOTS);
    let [mut writer, mut second_reader, mut second_writer] =
        [(); 3].map(|()| FrameCoder::new(SLOTS));
    let workers = Workers::new(1).unwrap();
    let (mut rest, mut tick) = (bytes, 0);
    while let Some((&length, behind)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(length));
        let (body, next) = behind.split_at(length.min(behind.len()));
        let bytes = with_head(tick, body);
        let Ok(checked) = record::check(&bytes) else {
            return;
        };
        // A journal is read up to the first record that can't be.
        let Ok(entry) = checked.decode(&mut reader, &workers, Frame::default()) else {
            return;
        };
        let mut written = vec![];
        record::encode(&checked.head, &entry, &mut writer, &workers, &mut written);
        let again = record::check(&written).unwrap();
        let head = again.head;
        assert_eq!(head, checked.head);
        let again = again
            .decode(&mut second_reader, &workers, Frame::default())
            .unwrap();
        // Bytes, as a number that is none differs from itself.
        let mut twice = vec![];
        record::encode(&head, &again, &mut second_writer, &workers, &mut twice);
        assert_eq!(twice, written);
        (rest, tick) = (next, tick + 1);
    }
});

/// A record with this body.
fn with_head(tick: u64, body: &[u8]) -> Vec<u8> {
    let head = RecordHead {
        previous: 0,
        epoch: Epoch(1),
        tick_version: 1,
        tick,
        unsynced: tick,
    };
    let empty = Entry {
        frame: Default::default(),
        annotations: Default::default(),
        before: StateHash { parts: vec![] },
        changes: vec![],
    };
    let mut bytes = vec![];
    let coder = &mut FrameCoder::new(1);
    record::encode(&head, &empty, coder, &Workers::new(1).unwrap(), &mut bytes);
    bytes.truncate(HEAD_BYTES);
    bytes.extend_from_slice(body);
    bytes[4..8].copy_from_slice(&(body.len() as u32).to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[12..]);
    bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

const HEAD_BYTES: usize = 32;

/// Some numbers of slots are beyond it.
const SLOTS: u32 = 100;
