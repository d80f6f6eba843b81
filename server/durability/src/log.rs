//! Reads a journal, and distinguishes a torn end from damage.
//!
//! After a crash the last records may be torn, or missing with later ones present: writes reach
//! the disk in any order until a sync. The journal ends there. A record that was synced and
//! can't be read is damage. Each record has the number of those before it that were not synced
//! yet, and checkpoints are written after the records before them.

use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::time::{Duration, Instant};

use device::cpu::{ThreadError, Workers};
use gpu_kernels::Frame;
use thiserror::Error;

use super::disk::Disk;
use super::frame_code::FrameCoder;
use super::mark;
use super::record::{self, Checked, Entry, NoRecord, RecordHead};
use super::segment::{self, SegmentName};

/// A journal, record by record.
pub struct Log<P> {
    /// A reference to the disk.
    disk: P,
    segments: Vec<SegmentName>,
    /// All records before this tick were synced, as a checkpoint or the mark says.
    synced: u64,
    decoder: Decoder,
    /// The tick of the next record.
    next: u64,
    /// The checksum of the record before it; `None` if it is not known.
    previous: Option<u32>,
    open: Option<Open>,
    /// Memory of segments, for reuse.
    spent: Vec<Arc<Vec<u8>>>,
    /// How long the disk has taken to read segments.
    reading: Duration,
}

/// Decodes the records of a journal, in order.
pub struct Decoder {
    coder: FrameCoder,
    workers: Workers,
}

/// A segment in memory.
struct Open {
    index: usize,
    bytes: Arc<Vec<u8>>,
    offset: usize,
    /// The tick of the record at `offset`, and the checksum of the one before.
    tick: u64,
    previous: u32,
}

/// A record whose checksum is right, in the memory of its segment.
pub struct RawRecord {
    pub head: RecordHead,
    pub checksum: u32,
    segment: Arc<Vec<u8>>,
    range: Range<usize>,
    /// It comes before the tick at which the journal was opened.
    pub is_before: bool,
    is_old: bool,
}

/// A record that was read.
#[derive(Debug)]
pub struct DecodedRecord {
    pub head: RecordHead,
    pub checksum: u32,
    /// In bytes.
    pub length: usize,
    pub entry: Entry,
}

/// Where a journal ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The tick that comes next.
    pub tick: u64,
    /// The segment that breaks off, and at what byte.
    pub torn: Option<(SegmentName, u64)>,
    /// Why the record after the last can't be read.
    pub reason: Option<NoRecord>,
}

#[derive(Debug, Error)]
pub enum LogError {
    #[error(
        "the record of tick {tick} is damaged, and it was synced: {reason} (byte {offset} of {name})"
    )]
    Damaged {
        tick: u64,
        name: String,
        offset: u64,
        reason: NoRecord,
    },
    #[error(
        "the journal ends before tick {tick}, and the world came to tick {synced}: records that \
         were synced are missing. Restore them, or continue without them in another folder: \
         `myriad fork DIR --at {tick} --to NEW`"
    )]
    Missing { tick: u64, synced: u64 },
    #[error("the record of tick {tick} can't be read: {reason}")]
    Unreadable { tick: u64, reason: NoRecord },
    #[error("cannot read the journal: {0}")]
    Disk(#[from] io::Error),
    #[error(transparent)]
    Threads(#[from] ThreadError),
}

impl<P: Deref<Target: Disk + Sized>> Log<P> {
    /// Opens a journal at a tick of a world with this many slots. `previous` is the checksum
    /// of the record before, if it is known.
    pub fn open(
        disk: P,
        capacity: u32,
        tick: u64,
        previous: Option<u32>,
    ) -> Result<Log<P>, LogError> {
        Ok(Log {
            segments: segment::segments(&*disk)?,
            synced: mark::synced(&*disk)?,
            disk,
            decoder: Decoder::new(capacity, 1)?,
            next: tick,
            previous,
            open: None,
            spent: vec![],
            reading: Duration::ZERO,
        })
    }

    /// The tick of the next record.
    pub fn next_tick(&self) -> u64 {
        self.next
    }

    /// The checksum of the record before the next.
    pub fn previous(&self) -> Option<u32> {
        self.previous
    }

    /// Reads the next record, or returns where the journal ends.
    pub fn read(&mut self) -> Result<Result<DecodedRecord, End>, LogError> {
        loop {
            let found = match self.next_record()? {
                Ok(found) => found,
                Err(end) => return Ok(Err(end)),
            };
            if let Some(read) = self.decoder.decode(&found, Frame::default())? {
                return Ok(Ok(read));
            }
        }
    }

    /// Reads the bytes of the next record, and whether a segment begins with it.
    pub fn read_bytes(&mut self) -> Result<Result<(Vec<u8>, bool), End>, LogError> {
        loop {
            match self.next_record()? {
                Ok(found) if found.is_before => {}
                Ok(found) => return Ok(Ok((found.bytes().to_vec(), found.begins_segment()))),
                Err(end) => return Ok(Err(end)),
            }
        }
    }

    /// Finds the next record, for a [`Decoder`]. Those of its segment that are before the tick
    /// at which the journal was opened come first.
    pub fn next_record(&mut self) -> Result<Result<RawRecord, End>, LogError> {
        let mut found = match self.find()? {
            Ok(found) => found,
            Err(end) => return Ok(Err(end)),
        };
        found.is_before = !self.pass(&found);
        Ok(Ok(found))
    }

    /// A decoder for the record after the last that was read, with so many threads.
    pub fn into_decoder(self, threads: usize) -> Result<Decoder, ThreadError> {
        Ok(Decoder {
            workers: Workers::new(threads)?,
            ..self.decoder
        })
    }

    /// How long the disk has taken to read segments.
    pub fn reading(&self) -> Duration {
        self.reading
    }

    /// The checksum of the record before the end, if there is one in the segment of the end.
    pub fn checksum_at_end(&self) -> Option<u32> {
        let open = self.open.as_ref()?;
        (open.tick == self.next).then_some(open.previous)
    }

    /// The record at the place that was reached. It may be one before the next.
    fn find(&mut self) -> Result<Result<RawRecord, End>, LogError> {
        let before = self
            .segments
            .partition_point(|name| name.first <= self.next);
        let Some(index) = before.checked_sub(1) else {
            return self.end(None, 0, None).map(Err);
        };
        if self.open.as_ref().is_none_or(|open| open.index != index)
            && let Err(reason) = self.open_segment(index)?
        {
            return self.end(Some(index), 0, Some(reason)).map(Err);
        }
        let Some(open) = &self.open else {
            return self.end(None, 0, None).map(Err);
        };
        let offset = open.offset;
        let checked = match open.check() {
            Ok(checked) => checked,
            Err(reason) => return self.end(Some(index), offset, Some(reason)).map(Err),
        };
        let is_bound =
            open.tick != self.next || self.previous.is_none_or(|p| p == checked.head.previous);
        if !is_bound {
            let reason = Some(NoRecord::NotNext);
            return self.end(Some(index), offset, reason).map(Err);
        }
        Ok(Ok(RawRecord {
            head: checked.head,
            checksum: checked.checksum,
            range: offset..offset + checked.length,
            is_before: false,
            is_old: checked.is_old,
            segment: open.bytes.clone(),
        }))
    }

    /// Advances behind a record. False if it was one before the next.
    fn pass(&mut self, found: &RawRecord) -> bool {
        if let Some(open) = &mut self.open {
            open.offset = found.range.end;
            open.tick += 1;
            open.previous = found.checksum;
        }
        if found.head.tick < self.next {
            return false;
        }
        self.next += 1;
        self.previous = Some(found.checksum);
        true
    }

    /// Reads a segment's bytes. The inner error is the reason why it has no records.
    fn open_segment(&mut self, index: usize) -> Result<Result<(), NoRecord>, LogError> {
        let name = self.segments[index];
        self.spent.extend(self.open.take().map(|open| open.bytes));
        // One that is not read any more.
        let unread = self
            .spent
            .iter_mut()
            .position(|b| Arc::get_mut(b).is_some());
        let spent = unread.map(|at| self.spent.swap_remove(at));
        let mut bytes = spent.and_then(Arc::into_inner).unwrap_or_default();
        let begun = Instant::now();
        self.disk.read_into(&name.to_string(), &mut bytes)?;
        self.reading += begun.elapsed();
        if let Some(next) = self.segments.get(index + 1) {
            self.disk.expect(&next.to_string());
        }
        self.decoder.begin_segment();
        let head = segment::check_head(&bytes, name.first);
        self.open = Some(Open {
            index,
            bytes: Arc::new(bytes),
            offset: segment::HEAD_BYTES,
            tick: name.first,
            previous: head.unwrap_or(0),
        });
        Ok(head.map(drop).ok_or(NoRecord::Head))
    }

    /// The end of the journal, unless there is a sign that the next record was synced.
    fn end(
        &self,
        index: Option<usize>,
        offset: usize,
        reason: Option<NoRecord>,
    ) -> Result<End, LogError> {
        let tick = self.next;
        if self.was_synced(index, offset)? {
            let damaged = index.zip(reason);
            return Err(match damaged {
                Some((index, reason)) => LogError::Damaged {
                    tick,
                    name: self.segments[index].to_string(),
                    offset: offset as u64,
                    reason,
                },
                None => LogError::Missing {
                    tick,
                    synced: self.synced,
                },
            });
        }
        Ok(End {
            tick,
            torn: index.map(|index| (self.segments[index], offset as u64)),
            reason,
        })
    }

    /// Whether a later record shows that the next one was synced.
    fn was_synced(&self, index: Option<usize>, offset: usize) -> Result<bool, LogError> {
        if self.synced > self.next {
            return Ok(true);
        }
        for later in index.unwrap_or(0)..self.segments.len() {
            let start = if Some(later) == index { offset } else { 0 };
            let open = self.open.as_ref().filter(|open| open.index == later);
            let says = match open {
                Some(open) => self.says_synced(&open.bytes, start),
                None => {
                    let name = self.segments[later].to_string();
                    self.says_synced(&self.disk.read(&name)?, start)
                }
            };
            if says {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn says_synced(&self, bytes: &[u8], start: usize) -> bool {
        let mut at = start;
        while let Some(mark) = record::find_mark(bytes, at) {
            match record::check(&bytes[mark..]) {
                Ok(record) if record.head.unsynced > self.next => return true,
                Ok(record) => at = mark + record.length,
                Err(_) => at = mark + 1,
            }
        }
        false
    }
}

impl RawRecord {
    pub fn bytes(&self) -> &[u8] {
        &self.segment[self.range.clone()]
    }

    /// Whether a segment begins with it.
    pub fn begins_segment(&self) -> bool {
        self.range.start == segment::HEAD_BYTES
    }
}

impl Decoder {
    /// A decoder for a world with this many slots, with so many threads.
    pub fn new(capacity: u32, threads: usize) -> Result<Decoder, ThreadError> {
        Ok(Decoder {
            coder: FrameCoder::new(capacity),
            workers: Workers::new(threads)?,
        })
    }

    /// The next record begins a segment.
    pub fn begin_segment(&mut self) {
        self.coder.reset();
    }

    /// Decodes the next record, of which only the checksum was checked.
    pub fn decode_checked(
        &mut self,
        record: &Checked<'_>,
        memory: Frame,
    ) -> Result<Entry, NoRecord> {
        record.decode(&mut self.coder, &self.workers, memory)
    }

    /// A frame whose memory was too small for a record.
    pub fn take_outgrown(&mut self) -> Option<Frame> {
        self.coder.take_outgrown()
    }

    /// Decodes the next record, its frame into the memory of another one. `None`: it is only
    /// needed for those after it.
    pub fn decode(
        &mut self,
        found: &RawRecord,
        memory: Frame,
    ) -> Result<Option<DecodedRecord>, LogError> {
        if found.begins_segment() {
            self.begin_segment();
        }
        if found.is_before && found.is_old {
            return Ok(None);
        }
        let checked = record::check_again(found.bytes());
        let decoded = checked.and_then(|checked| self.decode_checked(&checked, memory));
        // Its checksum is right, so it was written like this.
        let entry = decoded.map_err(|reason| LogError::Unreadable {
            tick: found.head.tick,
            reason,
        })?;
        Ok((!found.is_before).then_some(DecodedRecord {
            head: found.head,
            checksum: found.checksum,
            length: found.range.len(),
            entry,
        }))
    }
}

/// The first tick of the oldest segment.
pub fn first(disk: &impl Disk) -> io::Result<Option<u64>> {
    Ok(segment::segments(disk)?.first().map(|name| name.first))
}

/// Cuts everything behind the end, so that another server can continue there. That includes
/// records which a later segment was to replace, and did not.
///
/// No record before the end can be lost once this returns: those of a server that was killed may be
/// only in the system's memory, and the next server's first sync says that they are synced.
pub fn cut(disk: &impl Disk, end: &End) -> io::Result<()> {
    let segments = segment::segments(disk)?;
    let count = segments.partition_point(|name| name.first < end.tick);
    let (before, behind) = segments.split_at(count);
    if let Some(last) = before.last() {
        let name = last.to_string();
        let bytes = disk.read(&name)?;
        let used = used_before(&bytes, end.tick);
        if mark::synced(disk)? < end.tick {
            rewrite(disk, &name, &bytes[..used])?;
        } else if used < bytes.len() {
            disk.cut(&name, used as u64)?;
        }
    }
    for name in behind {
        disk.remove(&name.to_string())?;
    }
    disk.sync_names()
}

/// Writes the records of a segment anew. To sync the file is not enough: if an earlier sync has
/// failed, the system reports success though the records are not on the disk.
fn rewrite(disk: &impl Disk, name: &str, used: &[u8]) -> io::Result<()> {
    match disk.put(name, used) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => {
            disk.cut(name, used.len() as u64)
        }
        result => result,
    }
}

/// The bytes of a segment up to the end of the last record before a tick.
fn used_before(bytes: &[u8], tick: u64) -> usize {
    let mut used = segment::HEAD_BYTES.min(bytes.len());
    while let Ok(record) = record::check(&bytes[used..])
        && record.head.tick < tick
    {
        used += record.length;
    }
    used
}

impl Open {
    /// The record at `offset`, if it is the one that follows there.
    fn check(&self) -> Result<Checked<'_>, NoRecord> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let checked = record::check(rest)?;
        let head = checked.head;
        match (head.tick, head.previous) == (self.tick, self.previous) {
            true => Ok(checked),
            false => Err(NoRecord::NotNext),
        }
    }
}
