//! The journal of a running world: records go into segments, and are synced.
//!
//! Records that are not synced yet stay in memory. If a sync fails, the disk may have any part
//! of them, and a second sync of the same file would prove nothing: systems drop pages that
//! they could not write, and then report success. So these records are written again, into a
//! new segment. If that fails too, the journal ends.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use device::cpu::Workers;
use thiserror::Error;

use super::disk::{Disk, DiskFile};
use super::epoch::Epoch;
use super::frame_code::FrameCoder;
use super::mark::Mark;
use super::record::{self, Entry, RecordHead};
use super::segment::{self, SegmentName};

/// Appends records.
pub struct Journal<D: Disk> {
    disk: D,
    settings: Settings,
    workers: Workers,
    coder: FrameCoder,
    segment: Option<Segment<D::File>>,
    /// Room for the next segment.
    spare: Option<D::File>,
    /// None before the first sync.
    mark: Option<Mark<D::File>>,
    /// The next record.
    next: u64,
    previous: u32,
    /// Of the record before the first that is not synced.
    synced_checksum: u32,
    /// Records that are not synced, oldest first, with their checksums.
    unsynced: VecDeque<(Arc<Entry>, u32)>,
    /// The longest record so far, in bytes.
    longest: u64,
    /// How the disk failed to sync for the first time.
    failure: Option<String>,
    /// The newest record.
    bytes: Vec<u8>,
    /// Whether a segment begins with it.
    is_first: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The slots of the world.
    pub capacity: u32,
    pub epoch: Epoch,
    pub tick_version: u32,
    pub segment_bytes: u64,
}

/// Where a journal continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    pub tick: u64,
    /// The checksum of the record before.
    pub previous: u32,
}

/// A file of records.
struct Segment<F> {
    name: SegmentName,
    file: F,
    bytes: u64,
    used: u64,
}

/// Why the journal ends.
#[derive(Debug, Error)]
pub enum JournalError {
    #[error("the disk is full")]
    Full,
    #[error("the disk has failed twice: {0}; then {1}")]
    Twice(String, io::Error),
    #[error("the record of tick {found} is appended where tick {expected} is next")]
    WrongTick { expected: u64, found: u64 },
}

impl<D: Disk> Journal<D> {
    /// A journal that continues in a new segment.
    pub fn new(disk: D, settings: Settings, start: Start, workers: Workers) -> Journal<D> {
        Journal {
            disk,
            settings,
            workers,
            coder: FrameCoder::new(settings.capacity),
            segment: None,
            spare: None,
            mark: None,
            next: start.tick,
            previous: start.previous,
            synced_checksum: start.previous,
            unsynced: VecDeque::new(),
            longest: 0,
            failure: None,
            bytes: vec![],
            is_first: false,
        }
    }

    /// The first tick whose record is not synced.
    pub fn unsynced(&self) -> u64 {
        self.next - self.unsynced.len() as u64
    }

    /// The next tick.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The checksum of the newest record.
    pub fn previous(&self) -> u32 {
        self.previous
    }

    /// The bytes of the newest record, and whether a segment begins with it.
    pub fn newest(&self) -> (&[u8], bool) {
        (&self.bytes, self.is_first)
    }

    /// How the disk failed, if it did.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Preallocates the next segment, so that a full disk is met before a record
    /// needs the room.
    pub fn preallocate(&mut self) -> io::Result<()> {
        if self.spare.is_none() {
            self.spare = Some(self.disk.create(SPARE, self.settings.segment_bytes)?);
        }
        Ok(())
    }

    /// The bytes that are left in all segments.
    pub fn room(&self) -> u64 {
        let left = self.segment.as_ref().map_or(0, |s| s.bytes - s.used);
        let spare = self.spare.as_ref().map(|_| self.settings.segment_bytes);
        left + spare.unwrap_or(0)
    }

    /// Appends a record. It may be lost until the next [`Journal::sync`].
    pub fn append(&mut self, entry: Arc<Entry>) -> Result<(), JournalError> {
        let found = entry.frame.tick.0;
        if found != self.next {
            let expected = self.next;
            return Err(JournalError::WrongTick { expected, found });
        }
        let written = match self.write(&entry) {
            Ok(Some(checksum)) => Ok(checksum),
            // There is no room in this segment.
            Ok(None) => self.end_segment().and_then(|()| {
                let checksum = self.write(&entry).map_err(disk_error)?;
                checksum.ok_or(JournalError::Full)
            }),
            Err(error) => self.renew(error).and_then(|()| {
                let checksum = self.write(&entry).map_err(|e| self.twice(e))?;
                checksum.ok_or(JournalError::Full)
            }),
        };
        let checksum = written?;
        self.unsynced.push_back((entry, checksum));
        self.previous = checksum;
        self.next += 1;
        Ok(())
    }

    /// Returns once no record can be lost. Returns those that are synced now.
    pub fn sync(&mut self) -> Result<Vec<Arc<Entry>>, JournalError> {
        if self.unsynced.is_empty() {
            return Ok(vec![]);
        }
        let synced = match &mut self.segment {
            Some(segment) => segment.file.sync(),
            None => Ok(()),
        };
        if let Err(error) = synced {
            self.renew(error)?;
            if let Some(segment) = &mut self.segment {
                let again = segment.file.sync();
                again.map_err(|error| self.twice(error))?;
            }
        }
        self.synced_checksum = self.previous;
        self.note_synced();
        Ok(self.unsynced.drain(..).map(|(entry, _)| entry).collect())
    }

    /// Notes beside the journal how far it is synced. An older note is still true, so a failure
    /// does no harm.
    fn note_synced(&mut self) {
        let noted = match &mut self.mark {
            Some(mark) => mark.note(self.next),
            None => Mark::begin(&self.disk, self.next).map(|mark| self.mark = Some(mark)),
        };
        if noted.is_err() {
            self.mark = None;
        }
    }

    /// Whether there is room for another segment.
    pub fn has_spare(&self) -> bool {
        self.spare.is_some()
    }

    /// Syncs, and lets the next record begin a segment.
    pub fn end_segment(&mut self) -> Result<(), JournalError> {
        self.sync()?;
        if let Some(segment) = self.segment.take() {
            // Releases preallocated room that was not used. If that fails, only room is lost.
            let _ = self.disk.cut(&segment.name.to_string(), segment.used);
        }
        Ok(())
    }

    /// Releases the room that was preallocated for the next segment.
    pub fn release_preallocated(&mut self) {
        if self.spare.take().is_some() {
            // If that fails, the next server does it.
            let _ = self.disk.remove(SPARE);
        }
    }

    /// Whether so little room is left that the next records may find none.
    pub fn is_room_scarce(&self) -> bool {
        let longest = 16 * self.longest;
        self.room() < longest.max(self.settings.segment_bytes / 4)
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// Writes the next record and returns its checksum; `None` if there is no room for it.
    fn write(&mut self, entry: &Entry) -> io::Result<Option<u32>> {
        let head = RecordHead {
            previous: self.previous,
            epoch: self.settings.epoch,
            tick_version: self.settings.tick_version,
            tick: self.next,
            unsynced: self.unsynced(),
        };
        let is_new = self.segment.is_none();
        self.is_first = is_new;
        if is_new {
            self.coder.reset();
        }
        self.bytes.clear();
        let (coder, bytes) = (&mut self.coder, &mut self.bytes);
        let checksum = record::encode(&head, entry, coder, &self.workers, bytes);
        let length = self.bytes.len() as u64;
        self.longest = self.longest.max(length);
        if is_new {
            self.begin_segment(length)?;
        }
        let Some(segment) = &mut self.segment else {
            return Ok(None);
        };
        if segment.used + length > segment.bytes {
            return Ok(None);
        }
        segment.file.write_at(&self.bytes, segment.used)?;
        segment.used += length;
        Ok(Some(checksum))
    }

    /// Begins a segment with room for at least this many bytes of records.
    fn begin_segment(&mut self, bytes: u64) -> io::Result<()> {
        let head = segment::head(self.next, self.previous);
        let needed = bytes + head.len() as u64;
        let name = self.free_name()?;
        let (file, bytes) = match self.spare.take() {
            Some(file) if needed <= self.settings.segment_bytes => {
                self.disk.rename(SPARE, &name.to_string())?;
                (file, self.settings.segment_bytes)
            }
            spare => {
                self.spare = spare;
                let bytes = self.settings.segment_bytes.max(needed);
                (self.disk.create(&name.to_string(), bytes)?, bytes)
            }
        };
        let mut segment = Segment {
            name,
            file,
            bytes,
            used: head.len() as u64,
        };
        segment.file.write_at(&head, 0)?;
        // A record in a file without a name is lost.
        self.disk.sync_names()?;
        self.segment = Some(segment);
        Ok(())
    }

    fn free_name(&self) -> io::Result<SegmentName> {
        let own = segment::segments(&self.disk)?;
        let last = own.iter().rfind(|name| name.first == self.next);
        Ok(SegmentName {
            first: self.next,
            number: last.map_or(1, |last| last.number + 1),
        })
    }

    /// Writes unsynced records into a new segment.
    fn renew(&mut self, error: io::Error) -> Result<(), JournalError> {
        if self.failure.is_some() {
            return Err(self.twice(error));
        }
        self.failure = Some(error.to_string());
        self.segment = None;
        let entries = std::mem::take(&mut self.unsynced);
        self.next -= entries.len() as u64;
        self.previous = self.synced_checksum;
        for (entry, _) in entries {
            let written = self.write(&entry).map_err(|error| self.twice(error))?;
            let checksum = written.ok_or(JournalError::Full)?;
            self.unsynced.push_back((entry, checksum));
            self.previous = checksum;
            self.next += 1;
        }
        Ok(())
    }

    fn twice(&self, error: io::Error) -> JournalError {
        match &self.failure {
            Some(first) if error.kind() != io::ErrorKind::StorageFull => {
                JournalError::Twice(first.clone(), error)
            }
            _ => disk_error(error),
        }
    }
}

fn disk_error(error: io::Error) -> JournalError {
    match error.kind() {
        io::ErrorKind::StorageFull => JournalError::Full,
        _ => JournalError::Twice("it could not begin a segment".to_owned(), error),
    }
}

pub const SPARE: &str = "spare";
