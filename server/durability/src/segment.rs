//! Segments: files of records from one tick on.
//!
//! | part of the head | bytes |
//! | --- | --- |
//! | `MYRIADS1` | 8 |
//! | the first tick | 8 |
//! | CRC-32C of the record before | 4 |
//! | CRC-32C of the head up to here | 4 |

use std::io;

use super::disk::Disk;

/// The name of a segment. Where a disk has failed, there are several of a tick; the one of
/// the highest number holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentName {
    pub first: u64,
    pub number: u32,
}

impl SegmentName {
    pub fn parse(name: &str) -> Option<SegmentName> {
        let rest = name.strip_prefix(PREFIX)?;
        let (first, number) = match rest.split_once('-') {
            Some((first, number)) => (first, number.parse().ok()?),
            None => (rest, 1),
        };
        Some(SegmentName {
            first: first.parse().ok()?,
            number,
        })
    }
}

impl std::fmt::Display for SegmentName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{PREFIX}{:020}", self.first)?;
        match self.number {
            1 => Ok(()),
            number => write!(f, "-{number}"),
        }
    }
}

/// All segments, in order.
pub fn segments(disk: &impl Disk) -> io::Result<Vec<SegmentName>> {
    let names = disk.names()?;
    let mut segments: Vec<_> = names.iter().filter_map(|n| SegmentName::parse(n)).collect();
    segments.sort_unstable();
    Ok(segments)
}

/// The first bytes of a segment.
pub fn head(first: u64, previous: u32) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&first.to_le_bytes());
    head[16..20].copy_from_slice(&previous.to_le_bytes());
    let checksum = crc32c::crc32c(&head[..20]);
    head[20..].copy_from_slice(&checksum.to_le_bytes());
    head
}

/// The checksum of the record before a segment that begins with this tick; `None` if the
/// head is damaged.
pub fn check_head(bytes: &[u8], first: u64) -> Option<u32> {
    let found = bytes.first_chunk::<HEAD_BYTES>()?;
    let previous = u32::from_le_bytes(*found[16..].first_chunk()?);
    (*found == head(first, previous)).then_some(previous)
}

const PREFIX: &str = "journal-";
pub const MAGIC: &[u8; 8] = b"MYRIADS1";
pub const HEAD_BYTES: usize = 24;
