//! Stores a migrated world in the folder of the one before. Nothing is overwritten before a copy
//! of everything is complete, and the new state comes into force with one rename.

use std::io;

use durability::characters;
use durability::checkpoint::{self, Head};
use durability::disk::{Disk, DiskFile};
use durability::mark;
use durability::segment::{self, SegmentName};

/// Copies a world from one folder to another, which is empty or has a part of a copy.
pub fn archive<D: Disk, A: Disk>(from: &D, to: &A) -> io::Result<()> {
    for name in to.names()?.iter().filter(|name| is_of_world(name)) {
        to.remove(name)?;
    }
    for name in from.names()?.iter().filter(|name| is_of_world(name)) {
        let bytes = from.read(name)?;
        let mut file = to.create(name, bytes.len() as u64)?;
        file.write_at(&bytes, 0)?;
        file.sync()?;
    }
    to.sync_names()
}

/// Brings another state into force before the tick with which the journal ends. Until the
/// checkpoint has its name, the world is the one before.
pub fn commit<D: Disk>(disk: &D, head: &Head, body: &[u8]) -> io::Result<()> {
    begin_journal(disk, head)?;
    checkpoint::write(disk, head, body)?;
    // Frames of the world before are none of this one.
    for name in segment::segments(disk)? {
        disk.remove(&name.to_string())?;
    }
    for tick in checkpoint::ticks(disk)? {
        if tick != head.tick {
            disk.remove(&checkpoint::name_of(tick))?;
        }
    }
    disk.sync_names()
}

/// Begins a segment without records: a server that starts from the new checkpoint, before the
/// segments of the world before are removed, reads this one.
fn begin_journal<D: Disk>(disk: &D, head: &Head) -> io::Result<()> {
    let segments = segment::segments(disk)?;
    let last = segments.iter().rfind(|name| name.first == head.tick);
    let name = SegmentName {
        first: head.tick,
        number: last.map_or(1, |last| last.number + 1),
    };
    let bytes = segment::head(head.tick, head.previous);
    let mut file = disk.create(&name.to_string(), bytes.len() as u64)?;
    file.write_at(&bytes, 0)?;
    file.sync()?;
    disk.sync_names()
}

/// Whether a file is a part of a world, and not of its use or of another archive.
fn is_of_world(name: &str) -> bool {
    let is_kept = [
        "certificate.pem",
        "key.pem",
        "reset.key",
        characters::file::FILE,
        characters::MARKER,
        mark::FILE,
    ]
    .contains(&name);
    is_kept || name.starts_with("checkpoint-") || SegmentName::parse(name).is_some()
}
