//! Reads a journal ahead of the world that runs it again: one thread reads segments and checks
//! their records, another one decodes them on all cores, and a third one runs them.

use std::ops::Deref;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use gpu_kernels::Frame;

use super::disk::Disk;
use super::log::{DecodedRecord, Decoder, End, Log, LogError, RawRecord};

/// The cost of reading for each thread, without the time spent waiting for another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// From the disk, or the system's page cache.
    pub reading: Duration,
    /// Checksums, and the chain of records.
    pub checking: Duration,
    pub decoding: Duration,
    /// How long the world has waited for records.
    pub waiting: Duration,
    /// Of all records.
    pub bytes: u64,
}

/// How far the log was read.
pub struct ReadEnd {
    pub end: End,
    /// The checksum of the record before the end, if it is known.
    pub previous: Option<u32>,
    pub work: Work,
}

/// Reads the records of a log up to a tick (`None`: to the end), and hands each to `take`.
pub fn read<P: Deref<Target: Disk + Sized> + Send>(
    log: Log<P>,
    mut decoder: Decoder,
    until: Option<u64>,
    mut take: impl FnMut(DecodedRecord) -> Result<()>,
) -> Result<ReadEnd> {
    let work = &Mutex::new(Work::default());
    thread::scope(|scope| {
        let (to_decoder, found) = sync_channel(RECORDS_FOUND);
        let (to_world, decoded) = sync_channel(FRAMES_READY);
        let (returned, memory) = channel();
        spawn(scope, "journal-read", move || {
            check_all(log, until, &to_decoder, work);
        })?;
        spawn(scope, "journal-decode", move || {
            decode_all(&mut decoder, &found, memory, &to_world, work);
        })?;
        // The frame before the one that runs: nothing reads it any more. A backend may have
        // locked its memory, which is given back on this thread only.
        let mut before: Option<Arc<Frame>> = None;
        loop {
            let begun = Instant::now();
            let next = decoded.recv();
            change(work, |work| work.waiting += begun.elapsed());
            let read = match next.context("a thread that reads the journal has failed")? {
                Item::Record((read, _outgrown)) => read,
                Item::End((end, _memory), previous) => {
                    let work = *work.lock().unwrap_or_else(PoisonError::into_inner);
                    return Ok(ReadEnd {
                        end,
                        previous,
                        work,
                    });
                }
                Item::Failed(error) => return Err(error.into()),
            };
            let frame = read.entry.frame.clone();
            take(read)?;
            if let Some(frame) = before.replace(frame).and_then(Arc::into_inner) {
                // The decoding thread may have ended.
                let _ = returned.send(frame);
            }
        }
    })
}

/// An item of the pipeline between the threads: records, then one of the others.
enum Item<T, E> {
    Record(T),
    /// And the checksum of the record before, if it is known.
    End(E, Option<u32>),
    Failed(LogError),
}

type Checked = Item<RawRecord, End>;
/// With frames whose memory is no longer used.
type Decoded = Item<(DecodedRecord, Option<Frame>), (End, Receiver<Frame>)>;

/// Ends early once the receiver is gone.
fn check_all<P: Deref<Target: Disk + Sized>>(
    mut log: Log<P>,
    until: Option<u64>,
    to: &SyncSender<Checked>,
    work: &Mutex<Work>,
) {
    loop {
        if until == Some(log.next_tick()) {
            let end = End {
                tick: log.next_tick(),
                torn: None,
                reason: None,
            };
            let _ = to.send(Item::End(end, log.previous()));
            return;
        }
        let (begun, before) = (Instant::now(), log.reading());
        let found = log.next_record();
        let time = begun.elapsed();
        change(work, |work| {
            let reading = log.reading() - before;
            work.reading += reading;
            work.checking += time.saturating_sub(reading);
            if let Ok(Ok(found)) = &found {
                work.bytes += found.bytes().len() as u64;
            }
        });
        let (next, is_last) = match found {
            Ok(Ok(found)) => (Item::Record(found), false),
            Ok(Err(end)) => (Item::End(end, log.previous()), true),
            Err(error) => (Item::Failed(error), true),
        };
        if to.send(next).is_err() || is_last {
            return;
        }
    }
}

fn decode_all(
    decoder: &mut Decoder,
    records: &Receiver<Checked>,
    memory: Receiver<Frame>,
    to: &SyncSender<Decoded>,
    work: &Mutex<Work>,
) {
    for next in records {
        let next = match next {
            Item::Record(found) => {
                let begun = Instant::now();
                let frame = memory.try_recv().unwrap_or_default();
                let decoded = decoder.decode(&found, frame);
                change(work, |work| work.decoding += begun.elapsed());
                match decoded {
                    Ok(Some(read)) => Item::Record((read, decoder.take_outgrown())),
                    Ok(None) => continue,
                    Err(error) => Item::Failed(error),
                }
            }
            Item::End(end, previous) => {
                let _ = to.send(Item::End((end, memory), previous));
                return;
            }
            Item::Failed(error) => Item::Failed(error),
        };
        if to.send(next).is_err() {
            return;
        }
    }
}

fn spawn<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() + Send + 'scope,
) -> Result<()> {
    let thread = thread::Builder::new().name(name.to_owned());
    let spawned = thread.spawn_scoped(scope, work);
    spawned
        .map(drop)
        .with_context(|| format!("cannot start the thread {name}"))
}

fn change(work: &Mutex<Work>, change: impl FnOnce(&mut Work)) {
    change(&mut work.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Records that wait to be decoded. They keep their segments in memory.
const RECORDS_FOUND: usize = 8;
/// Frames that wait to be run: a large one has some 50 MB.
const FRAMES_READY: usize = 2;
