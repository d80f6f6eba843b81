//! Records: one a tick, each bound to the one before by its checksum.
//!
//! | part | bytes |
//! | --- | --- |
//! | mark, other in each version of the format | 4 |
//! | length of what follows the head | 4 |
//! | CRC-32C of all that follows | 4 |
//! | CRC-32C of the record before | 4 |
//! | epoch of the server that wrote it | 4 |
//! | version of the tick | 4 |
//! | tick | 8 |
//! | ticks whose records were not synced when this one was written | 1 to 10 |
//! | parts of the state hash before the tick: their number, then 8 each | 1 + 8 each |
//! | frame and annotations, see [`frame_code`](super::frame_code) | |
//! | changes of the roster: length, then their bytes | |
//!
//! Numbers of fixed length have their lowest byte first.

use std::sync::Arc;

use device::cpu::Workers;
use gpu_kernels::{Frame, StateHash};
use shared::Tick;
use shared::wire::codec;
use thiserror::Error;

use super::annotations::Annotations;
use super::code::{Bytes, CodeError, put};
use super::epoch::Epoch;
use super::frame_code::FrameCoder;
use super::roster::RosterChange;

/// The contents of a record.
#[derive(Clone, Debug)]
pub struct Entry {
    pub frame: Arc<Frame>,
    pub annotations: Annotations,
    /// The state before the tick.
    pub before: StateHash,
    /// The changes of clients since the record before.
    pub changes: Vec<RosterChange>,
}

/// The head of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHead {
    /// The checksum of the record before.
    pub previous: u32,
    pub epoch: Epoch,
    pub tick_version: u32,
    pub tick: u64,
    /// The first tick whose record may not be synced.
    pub unsynced: u64,
}

/// A record whose checksum is right.
#[derive(Clone, Copy, Debug)]
pub struct Checked<'a> {
    pub head: RecordHead,
    pub checksum: u32,
    /// Of the whole record, in bytes.
    pub length: usize,
    /// It was written by an earlier version, and can't be decoded.
    pub is_old: bool,
    rest: Bytes<'a>,
}

/// Why there is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoRecord {
    #[error("nothing was written there")]
    Empty,
    #[error("a record does not begin there")]
    NoMark,
    #[error("the record is not complete")]
    CutShort,
    #[error("the record's checksum is wrong")]
    Checksum,
    #[error("it is not the record that comes next")]
    NotNext,
    #[error("the segment's head is damaged")]
    Head,
    #[error(
        "an earlier version of Myriad wrote it: start that version and stop it with Ctrl-C first"
    )]
    Version,
    #[error("the record can't be read: {0}")]
    Unreadable(#[from] CodeError),
}

/// Appends a record and returns its checksum.
pub fn encode(
    head: &RecordHead,
    entry: &Entry,
    coder: &mut FrameCoder,
    workers: &Workers,
    out: &mut Vec<u8>,
) -> u32 {
    let start = out.len();
    out.extend_from_slice(&MARK);
    out.extend_from_slice(&[0; 8]);
    for number in [head.previous, head.epoch.0, head.tick_version] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&head.tick.to_le_bytes());
    put(out, head.tick.saturating_sub(head.unsynced));
    put(out, entry.before.parts.len() as u64);
    for part in &entry.before.parts {
        out.extend_from_slice(&part.to_le_bytes());
    }
    coder.encode(workers, (&entry.frame, &entry.annotations), out);
    let changes = codec::to_bytes(&entry.changes);
    put(out, changes.len() as u64);
    out.extend_from_slice(&changes);
    // A frame is bounded by its world's limits, far below 4 GiB.
    let length = u32::try_from(out.len() - start - HEAD_BYTES).unwrap_or(u32::MAX);
    out[start + LENGTH_AT..][..4].copy_from_slice(&length.to_le_bytes());
    let checksum = crc32c::crc32c(&out[start + PREVIOUS_AT..]);
    out[start + CHECKSUM_AT..][..4].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

/// Checks the record with which these bytes begin.
pub fn check(bytes: &[u8]) -> Result<Checked<'_>, NoRecord> {
    let (head, body) = split(bytes)?;
    let length = HEAD_BYTES + body.len();
    if crc32c::crc32c(&bytes[PREVIOUS_AT..length]) != number(head, CHECKSUM_AT) {
        return Err(NoRecord::Checksum);
    }
    checked(head, body)
}

/// The same for a record that was checked before.
pub fn check_again(bytes: &[u8]) -> Result<Checked<'_>, NoRecord> {
    let (head, body) = split(bytes)?;
    checked(head, body)
}

/// The head of the record with which these bytes begin, and its body.
fn split(bytes: &[u8]) -> Result<(&[u8; HEAD_BYTES], &[u8]), NoRecord> {
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
        let is_empty = bytes.iter().all(|&byte| byte == 0);
        return Err(if is_empty {
            NoRecord::Empty
        } else {
            NoRecord::CutShort
        });
    };
    if *head == [0; HEAD_BYTES] {
        return Err(NoRecord::Empty);
    }
    if !is_mark(&head[..MARK.len()]) {
        return Err(NoRecord::NoMark);
    }
    let length = number(head, LENGTH_AT) as usize;
    match rest.get(..length) {
        Some(body) => Ok((head, body)),
        None => Err(NoRecord::CutShort),
    }
}

fn checked<'a>(fixed: &[u8; HEAD_BYTES], body: &'a [u8]) -> Result<Checked<'a>, NoRecord> {
    let number = |at| number(fixed, at);
    let mut rest = Bytes(body);
    let tick = u64::from(number(TICK_AT)) | u64::from(number(TICK_AT + 4)) << 32;
    let unsynced = tick.saturating_sub(rest.number()?);
    let head = RecordHead {
        previous: number(PREVIOUS_AT),
        epoch: Epoch(number(PREVIOUS_AT + 4)),
        tick_version: number(PREVIOUS_AT + 8),
        tick,
        unsynced,
    };
    Ok(Checked {
        head,
        checksum: number(CHECKSUM_AT),
        is_old: fixed[..MARK.len()] == OLD_MARK,
        length: HEAD_BYTES + body.len(),
        rest,
    })
}

fn number(head: &[u8; HEAD_BYTES], at: usize) -> u32 {
    let number = head[at..].first_chunk().copied().unwrap_or_default();
    u32::from_le_bytes(number)
}

impl Checked<'_> {
    /// Decodes the record, its frame into the memory of another one. All records of a
    /// segment must be read in order.
    pub fn decode(
        &self,
        coder: &mut FrameCoder,
        workers: &Workers,
        memory: Frame,
    ) -> Result<Entry, NoRecord> {
        if self.is_old {
            return Err(NoRecord::Version);
        }
        let mut rest = self.rest;
        let count: usize = rest.small("a number of hashes")?;
        let mut parts = vec![];
        for _ in 0..count {
            parts.push(u64::from_le_bytes(*rest.array()?));
        }
        let tick = tick_of(self.head.tick)?;
        let (frame, annotations) = coder.decode(workers, tick, &mut rest, memory)?;
        let changes = codec::from_bytes::<CHANGES_BYTES_MAX, _>(rest.slice()?)
            .map_err(|_| CodeError::Malformed("changes of clients can't be read"))?;
        if !rest.0.is_empty() {
            return Err(CodeError::Malformed("it is too long").into());
        }
        Ok(Entry {
            frame: Arc::new(frame),
            annotations,
            before: StateHash { parts },
            changes,
        })
    }
}

/// A tick as it is on disk.
pub fn tick_of(number: u64) -> Result<Tick, CodeError> {
    let tick = Some(Tick(number)).filter(|&tick| tick <= Tick::MAX);
    tick.ok_or(CodeError::OutOfRange {
        what: "a tick",
        found: number,
    })
}

/// Where the next mark is, from `start` on.
pub fn find_mark(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = bytes.get(start..)?;
    let found = rest.windows(MARK.len()).position(is_mark);
    found.map(|at| start + at)
}

fn is_mark(bytes: &[u8]) -> bool {
    bytes == MARK || bytes == OLD_MARK
}

const MARK: [u8; 4] = [0xd1, b'T', b'I', b'L'];
/// Of records whose frames are coded otherwise.
const OLD_MARK: [u8; 4] = [0xd1, b'T', b'I', b'K'];
const LENGTH_AT: usize = 4;
const CHECKSUM_AT: usize = 8;
const PREVIOUS_AT: usize = 12;
const TICK_AT: usize = 24;
pub const HEAD_BYTES: usize = 32;
/// On a par with the longest record.
const CHANGES_BYTES_MAX: usize = 1 << 32;

#[cfg(test)]
mod tests {
    use shared::{ClientRow, CommandKind, EntityId};

    use super::*;

    fn head() -> RecordHead {
        RecordHead {
            previous: 0x0102_0304,
            epoch: Epoch(5),
            tick_version: 6,
            tick: 70_000,
            unsynced: 69_998,
        }
    }

    fn entry() -> Entry {
        let mut frame = Frame::new(Tick(70_000));
        let entity = EntityId::new(9, 2);
        frame.push(entity, 300, CommandKind(4), &[-5, 1000]);
        frame.push(entity, 301, CommandKind(4), &[1, 2]);
        frame.forget.push(ClientRow(3));
        Entry {
            frame: Arc::new(frame),
            annotations: Annotations::default(),
            before: StateHash { parts: vec![1, 2] },
            changes: vec![RosterChange::Row(ClientRow(3), None)],
        }
    }

    fn bytes() -> Vec<u8> {
        let mut bytes = vec![];
        let workers = Workers::new(1).unwrap();
        encode(
            &head(),
            &entry(),
            &mut FrameCoder::new(16),
            &workers,
            &mut bytes,
        );
        bytes
    }

    /// Folders of earlier servers can be read as long as this holds.
    #[test]
    fn the_bytes_of_a_record_stay_the_same() {
        let expected = [
            // mark, length, checksum
            "d154494c",
            "2f000000",
            "????????",
            // record before, epoch, version of the tick, tick
            "04030201",
            "05000000",
            "06000000",
            "7011010000000000",
            // two unsynced, two hashes
            "02",
            "02",
            "0100000000000000",
            "0200000000000000",
            // two commands, in a chunk of 11 bytes and 4 words
            "02",
            "0b",
            "04",
            // of slot 9, with generation and sequence; the next in line
            "24",
            "0a",
            "02",
            "ac02",
            "09",
            "d00f",
            "27",
            "02",
            "04",
            // none for later; observers, regions, forget, release, logic, people, said
            "00",
            "08",
            "0000",
            "0103",
            "00",
            "00",
            "0000",
            // one change: a free row
            "04",
            "01",
            "00",
            "03",
            "00",
        ];
        let mut text = String::new();
        for byte in bytes() {
            text += &format!("{byte:02x}");
        }
        text.replace_range(16..24, "????????");
        assert_eq!(text, expected.concat());
    }

    #[test]
    fn a_record_comes_back() {
        let bytes = bytes();
        let checked = check(&bytes).unwrap();
        assert_eq!((checked.head, checked.length), (head(), bytes.len()));
        let workers = Workers::new(1).unwrap();
        let read = checked.decode(&mut FrameCoder::new(16), &workers, Frame::default());
        let read = read.unwrap();
        let expected = entry();
        assert_eq!(read.frame.commands, expected.frame.commands);
        assert_eq!(read.frame.words, expected.frame.words);
        assert_eq!(read.before, expected.before);
        assert_eq!(read.changes, expected.changes);
    }

    /// So a world that was stopped continues from its checkpoint with records of either before it.
    #[test]
    fn a_record_of_an_earlier_version_is_checked_and_not_decoded() {
        let mut bytes = bytes();
        bytes[..MARK.len()].copy_from_slice(&OLD_MARK);
        let checked = check(&bytes).unwrap();
        assert_eq!((checked.head, checked.length), (head(), bytes.len()));
        let workers = Workers::new(1).unwrap();
        let read = checked.decode(&mut FrameCoder::new(16), &workers, Frame::default());
        assert_eq!(read.unwrap_err(), NoRecord::Version);
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_found() {
        let bytes = bytes();
        for length in 0..bytes.len() {
            assert!(check(&bytes[..length]).is_err(), "{length} bytes");
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(check(&flipped).is_err(), "bit {bit}");
        }
        assert_eq!(check(&[0; 100]).unwrap_err(), NoRecord::Empty);
    }
}
