//! A recording while the world runs.
//!
//! The world does not depend on its recording. A thread writes it; if the disk is full, fails
//! or is too slow, the recording ends there, and can be replayed up to there.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel,
};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use gpu_kernels::{Frame, StateHash};
use platform::private;
use platform::waits::Wait;
use shared::wire::codec;
use shared::{Tick, WorldConfig};
use tracing::error;
use world_file::StoredWorld;

use super::{MAGIC, Record, RecordedTick, tick_bytes_max};
use crate::annotations::Annotations;

/// Where a recording is written.
pub trait Sink: Write + Send + 'static {
    /// Returns once everything that was written can't be lost any more.
    fn sync(&mut self) -> io::Result<()>;
}

impl Sink for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// Writes a recording on a thread of its own.
pub struct RecordingWriter {
    /// None once the recording has stopped.
    records: Option<SyncSender<Queued>>,
    /// Frames that were written, for their memory.
    written: Receiver<Box<Frame>>,
    /// How writing ended.
    ended: Receiver<Result<()>>,
    queued_bytes: Arc<AtomicUsize>,
    stopped: Option<Stopped>,
}

/// A recording that ended before its world.
struct Stopped {
    /// The first tick that is not in it.
    tick: Tick,
    reason: String,
    ticks_lost: u64,
}

/// A record that waits for the thread.
struct Queued {
    record: Record<StoredWorld>,
    /// About its size in memory.
    bytes: usize,
}

impl RecordingWriter {
    /// Creates the file, or replaces it.
    pub fn create(path: &Path, config: &WorldConfig) -> Result<RecordingWriter> {
        // A pipe waits for its reader.
        let what = format!("the file of the recording, {}", path.display());
        let _wait = Wait::new(what, FINISH_PATIENCE);
        let file = private::create(path)
            .with_context(|| format!("cannot create the recording {}", path.display()))?;
        RecordingWriter::to(file, config)
    }

    /// Records into a sink.
    pub fn to(sink: impl Sink, config: &WorldConfig) -> Result<RecordingWriter> {
        RecordingWriter::with_queue(sink, config, QUEUE_RECORDS)
    }

    fn with_queue(
        sink: impl Sink,
        config: &WorldConfig,
        queue_records: usize,
    ) -> Result<RecordingWriter> {
        let (records, incoming) = sync_channel(queue_records);
        let (end, ended) = channel();
        let (returned, written) = channel();
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let start = Record::Start(Box::new(StoredWorld::of(config)));
        let bytes_max = tick_bytes_max(config);
        let mut thread = Thread {
            sink: BufWriter::new(sink),
            bytes_max,
            queued_bytes: queued_bytes.clone(),
            returned,
        };
        std::thread::Builder::new()
            .name("recording".to_owned())
            .spawn(move || {
                // The receiver is gone once the server has given up on the disk.
                let _ = end.send(thread.write_all(&start, &incoming));
            })
            .context("cannot start the recording's thread")?;
        Ok(RecordingWriter {
            records: Some(records),
            written,
            ended,
            queued_bytes,
            stopped: None,
        })
    }

    /// Appends a tick, without waiting for the disk. Takes its frame and leaves another
    /// one, with the memory of one that is written. False if the tick is not recorded, since
    /// the recording has ended.
    pub fn record(
        &mut self,
        frame: &mut Frame,
        annotations: Annotations,
        hash: &StateHash,
    ) -> bool {
        let Some(records) = &self.records else {
            self.count_lost();
            return false;
        };
        let (tick, bytes) = (frame.tick, bytes_of(frame));
        let waiting = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let mut own = self.written.try_iter().last().unwrap_or_default();
        std::mem::swap(&mut *own, frame);
        let queued = Queued {
            record: Record::Tick(RecordedTick {
                frame: own,
                annotations,
                hash: hash.clone(),
            }),
            bytes,
        };
        let reason = if waiting > QUEUE_BYTES_MAX {
            TOO_SLOW.to_owned()
        } else {
            match records.try_send(queued) {
                Ok(()) => return true,
                Err(TrySendError::Full(_)) => TOO_SLOW.to_owned(),
                Err(TrySendError::Disconnected(_)) => match self.ended.recv() {
                    Ok(Err(error)) => format!("{error:#}"),
                    _ => "the recording's thread has failed".to_owned(),
                },
            }
        };
        self.stop(tick, reason);
        false
    }

    /// Waits until everything is on disk. An error gives the tick and reason if the recording ended
    /// before the world.
    pub fn finish(mut self) -> Result<()> {
        self.records = None;
        let _wait = Wait::new("the disk to take the recording's end", FINISH_PATIENCE);
        if let Some(stopped) = &self.stopped {
            // Records that were queued before are still written, if the disk takes them.
            let _ = self.ended.recv_timeout(FINISH_PATIENCE);
            bail!("the recording {}", stopped.describe());
        }
        match self.ended.recv_timeout(FINISH_PATIENCE) {
            Ok(ended) => ended.context("the recording lacks its end"),
            Err(RecvTimeoutError::Timeout) => bail!("the recording lacks its end: {TOO_SLOW}"),
            Err(RecvTimeoutError::Disconnected) => bail!("the recording's thread has failed"),
        }
    }

    fn stop(&mut self, tick: Tick, reason: String) {
        // The thread ends once it has written the queue.
        self.records = None;
        error!(%tick, reason, "the recording has stopped; the world keeps running");
        self.stopped = Some(Stopped {
            tick,
            reason,
            ticks_lost: 0,
        });
        self.count_lost();
    }

    fn count_lost(&mut self) {
        if let Some(stopped) = &mut self.stopped {
            stopped.ticks_lost += 1;
        }
    }
}

impl Stopped {
    fn describe(&self) -> String {
        let Stopped {
            tick,
            reason,
            ticks_lost,
        } = self;
        format!("ends before tick {tick}, {ticks_lost} ticks too early: {reason}")
    }
}

/// The state of the recording's thread.
struct Thread<S: Sink> {
    sink: BufWriter<S>,
    /// Of a tick's record.
    bytes_max: usize,
    queued_bytes: Arc<AtomicUsize>,
    returned: Sender<Box<Frame>>,
}

impl<S: Sink> Thread<S> {
    fn write_all(
        &mut self,
        start: &Record<StoredWorld>,
        incoming: &Receiver<Queued>,
    ) -> Result<()> {
        self.sink.write_all(MAGIC)?;
        write_record(&mut self.sink, start, usize::MAX)?;
        for Queued { record, bytes } in incoming {
            write_record(&mut self.sink, &record, self.bytes_max)?;
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            if let Record::Tick(tick) = record {
                // A world that has ended needs none.
                let _ = self.returned.send(tick.frame);
            }
        }
        self.sink.flush()?;
        Ok(self.sink.get_mut().sync()?)
    }
}

fn write_record(
    out: &mut impl Write,
    record: &Record<StoredWorld>,
    bytes_max: usize,
) -> Result<()> {
    let payload = codec::to_bytes(record);
    let length = u32::try_from(payload.len()).ok();
    let Some(length) = length.filter(|_| payload.len() <= bytes_max) else {
        let found = payload.len();
        bail!("a tick takes {found} bytes, where at most {bytes_max} are allowed");
    };
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&crc32fast::hash(&payload).to_le_bytes())?;
    Ok(out.write_all(&payload)?)
}

/// About the memory of a frame.
fn bytes_of(frame: &Frame) -> usize {
    let changes = frame.observers.len() + frame.regions.len();
    let numbers = frame.words.len() + frame.forget.len() + frame.release.len();
    let commands = frame.commands.len() + frame.after.len();
    FRAME_BYTES + commands * 24 + numbers * 4 + changes * 48
}

const TOO_SLOW: &str = "the disk is too slow or does not answer";
/// A frame without anything in it, and its state hash.
const FRAME_BYTES: usize = 1024;
/// Ticks, and bytes of ticks, that may wait for the disk.
const QUEUE_RECORDS: usize = 4096;
const QUEUE_BYTES_MAX: usize = 256 << 20;
/// How long a server that stops waits for the disk.
const FINISH_PATIENCE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};

    use super::*;
    use crate::recording::{NextTick, RecordingReader};

    /// A disk with room for some bytes, which takes them while it is not stalled.
    #[derive(Clone, Default)]
    struct Disk(Arc<(Mutex<DiskState>, Condvar)>);

    #[derive(Default)]
    struct DiskState {
        bytes: Vec<u8>,
        room: Option<usize>,
        is_stalled: bool,
    }

    impl Disk {
        fn change(&self, change: impl FnOnce(&mut DiskState)) {
            change(&mut self.0.0.lock().unwrap());
            self.0.1.notify_all();
        }

        fn bytes(&self) -> Vec<u8> {
            self.0.0.lock().unwrap().bytes.clone()
        }
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let state = self.0.0.lock().unwrap();
            let mut state = self.0.1.wait_while(state, |s| s.is_stalled).unwrap();
            if state
                .room
                .is_some_and(|room| state.bytes.len() + bytes.len() > room)
            {
                return Err(io::Error::new(
                    io::ErrorKind::StorageFull,
                    "no space is left",
                ));
            }
            state.bytes.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Sink for Disk {
        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn frame(tick: u64) -> Frame {
        let mut frame = Frame::new(Tick(tick));
        for token in 0..50 {
            frame.spawn(0, token);
        }
        frame
    }

    fn ticks_of(bytes: &[u8]) -> Vec<Tick> {
        let mut recording = RecordingReader::read(bytes, "test").unwrap();
        let next = std::iter::from_fn(|| match recording.next_tick() {
            NextTick::Tick(next) => Some(next.frame.tick),
            NextTick::End | NextTick::BrokenOff(_) => None,
        });
        next.collect()
    }

    /// False if the tick is not recorded.
    fn record(recording: &mut RecordingWriter, tick: u64) -> bool {
        let none = Annotations::default();
        recording.record(&mut frame(tick), none, &StateHash::default())
    }

    #[test]
    fn a_full_disk_ends_the_recording_and_is_named_as_the_reason() {
        let config = world_file::default();
        let disk = Disk::default();
        disk.change(|state| state.room = Some(20_000));
        let mut recording = RecordingWriter::to(disk.clone(), &config).unwrap();
        let mut tick = 0;
        while record(&mut recording, tick) {
            tick += 1;
            // On a busy machine the writer's thread needs time to come to the end of the disk.
            std::thread::sleep(Duration::from_millis(1));
        }
        for later in tick + 1..tick + 10 {
            assert!(!record(&mut recording, later));
        }
        let failure = recording.finish().unwrap_err().to_string();
        let expected =
            format!("the recording ends before tick {tick}, 10 ticks too early: no space is left");
        assert_eq!(failure, expected);
        let recorded = ticks_of(&disk.bytes());
        assert!(!recorded.is_empty() && recorded.iter().map(|t| t.0).eq(0..recorded.len() as u64));
    }

    #[test]
    fn a_stalled_disk_ends_the_recording_and_delays_nobody() {
        let config = world_file::default();
        let disk = Disk::default();
        disk.change(|state| state.is_stalled = true);
        let mut recording = RecordingWriter::with_queue(disk.clone(), &config, 5).unwrap();
        let recorded = (0..100)
            .filter(|&tick| record(&mut recording, tick))
            .count();
        assert!((5..100).contains(&recorded), "{recorded} ticks");
        disk.change(|state| state.is_stalled = false);
        let failure = recording.finish().unwrap_err().to_string();
        let lost = 100 - recorded;
        let expected = format!(
            "the recording ends before tick {recorded}, {lost} ticks too early: {TOO_SLOW}"
        );
        assert_eq!(failure, expected);
        // The queue was written after all.
        assert_eq!(ticks_of(&disk.bytes()).len(), recorded);
    }

    #[test]
    fn a_recording_whose_last_bytes_fail_lacks_its_end() {
        let config = world_file::default();
        let disk = Disk::default();
        disk.change(|state| state.room = Some(100));
        let mut recording = RecordingWriter::to(disk, &config).unwrap();
        record(&mut recording, 0);
        let failure = format!("{:#}", recording.finish().unwrap_err());
        assert!(failure.ends_with("no space is left"), "{failure}");
    }
}
