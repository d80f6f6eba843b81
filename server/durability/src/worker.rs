//! The durability of a running world: a thread writes the journal while the engine runs, and
//! another one writes checkpoints. In simulated time there are no threads: the tick's calls do the
//! work.
//!
//! | module | holds |
//! | --- | --- |
//! | `messages` | the messages and the state between the tick's thread and the journal's |
//! | `pruning` | which checkpoints and segments are not needed any more |
//! | `writer` | the work of the journal's thread, and of those of checkpoints |

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use gpu_kernels::{Frame, Snapshot};
use platform::waits::{self, Stopped, Wait};
use shared::Tick;

use super::characters::CharacterStore;
use super::disk::Disk;
use super::elsewhere::{Replica, Validity};
use super::folder::DataFolder;
use super::journal::Journal;
use super::level::Level;
use super::record::Entry;
use super::roster::Roster;
use messages::{Message, Shared, State};
use writer::{Inline, InlineWriter, STOP_PATIENCE, Writer};

mod messages;
mod pruning;
mod writer;

pub use messages::{Batch, Boundary, DurabilityOptions};
pub use pruning::GoodCheckpoints;

/// The tick thread's end.
pub struct DurabilityWorker {
    level: Level,
    end: WriterEnd,
    shared: Arc<Shared>,
    /// Frames that are written, for their memory.
    written: Receiver<Arc<Frame>>,
    checkpoint_ticks: u64,
    /// The tick before which the next checkpoint begins.
    next_checkpoint: u64,
    is_copying: bool,
    /// Where a standby gets records from; none without a port for one.
    feed: Option<Arc<dyn Replica>>,
    lease: Option<Arc<dyn Validity>>,
    characters: Option<Arc<CharacterStore>>,
}

/// The way to the journal's writer.
enum WriterEnd {
    Thread(SyncSender<Message>, JoinHandle<()>),
    Inline(Box<dyn Inline>),
    /// It has written all.
    Ended,
}

impl DurabilityWorker {
    /// Starts the threads. `roster` is the one at the journal's start.
    pub fn start<D: Disk + Clone + 'static>(
        folder: DataFolder,
        journal: Journal<D>,
        roster: Roster,
        options: DurabilityOptions,
        characters: Option<Arc<CharacterStore>>,
    ) -> Result<DurabilityWorker> {
        let clock = Box::new(Instant::now);
        let (mut worker, inline) =
            DurabilityWorker::prepare(journal, roster, options, characters, clock)?;
        let InlineWriter {
            mut writer,
            incoming,
        } = inline;
        writer.has_threads = true;
        let messages = writer.to_self.clone();
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                writer.run(&incoming);
                // Held until all is written.
                drop(folder);
            })
            .context("cannot start the journal's thread")?;
        worker.end = WriterEnd::Thread(messages, thread);
        Ok(worker)
    }

    /// The same without threads: a record is written, and synced where it may not wait, within
    /// [`DurabilityWorker::record`]. `clock` gives the simulated time.
    pub fn inline<D: Disk + Clone + 'static>(
        journal: Journal<D>,
        roster: Roster,
        options: DurabilityOptions,
        characters: Option<Arc<CharacterStore>>,
        clock: impl Fn() -> Instant + Send + 'static,
    ) -> Result<DurabilityWorker> {
        let clock = Box::new(clock);
        let (mut worker, inline) =
            DurabilityWorker::prepare(journal, roster, options, characters, clock)?;
        worker.end = WriterEnd::Inline(Box::new(inline));
        Ok(worker)
    }

    /// A worker without an end, and its writer.
    fn prepare<D: Disk + Clone + 'static>(
        mut journal: Journal<D>,
        roster: Roster,
        options: DurabilityOptions,
        characters: Option<Arc<CharacterStore>>,
        clock: Box<dyn Fn() -> Instant + Send>,
    ) -> Result<(DurabilityWorker, InlineWriter<D>)> {
        journal
            .preallocate()
            .context("there is no room for the journal")?;
        let next = journal.next();
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                unsynced: next,
                ..State::default()
            }),
            changed: Condvar::new(),
        });
        if let Some(feed) = &options.feed {
            feed.begin(next);
        }
        let (messages, incoming) = sync_channel(QUEUE);
        let (returned, written) = channel();
        let writer = Writer {
            journal,
            roster,
            characters: characters.clone(),
            good: GoodCheckpoints::new(options.from),
            options: options.clone(),
            shared: shared.clone(),
            to_self: messages,
            returned,
            boundary: None,
            oldest: None,
            room_checked: clock(),
            has_room: true,
            newest: None,
            clock,
            has_threads: false,
        };
        let worker = DurabilityWorker {
            level: options.level,
            feed: options.feed,
            lease: options.lease,
            characters,
            end: WriterEnd::Ended,
            shared,
            written,
            checkpoint_ticks: options.checkpoint_ticks,
            next_checkpoint: next + options.checkpoint_ticks,
            is_copying: false,
        };
        Ok((worker, InlineWriter { writer, incoming }))
    }

    /// Hands a tick over, before the engine runs it.
    pub fn record(&mut self, entry: Entry) -> Result<()> {
        self.send(Message::Record(entry))
    }

    /// Waits until a tick may be sent to clients. Fails with [`Stopped`] if it never will, as the
    /// server is stopping.
    pub fn wait(&self, tick: Tick, stop: &AtomicBool) -> Result<()> {
        self.wait_for_disk(tick.0, stop)?;
        match &self.feed {
            Some(feed) if self.level == Level::Standby => feed.wait(tick.0, stop)?,
            Some(feed) => feed.check()?,
            None => {}
        }
        // Last, since the waiting may have outlasted it.
        match &self.lease {
            Some(lease) => lease.check(),
            None => Ok(()),
        }
    }

    fn wait_for_disk(&self, tick: u64, stop: &AtomicBool) -> Result<()> {
        let mut state = self.shared.lock();
        if matches!(self.level, Level::Synced | Level::Standby) {
            let begun = Instant::now();
            let mut wait = None;
            while state.unsynced <= tick && state.ended.is_none() {
                let waited = begun.elapsed();
                if waited >= DISK_PATIENCE {
                    bail!(
                        "the disk has not synced tick {tick} in {} seconds",
                        waited.as_secs()
                    );
                }
                // A disk that only is slow has a moment more.
                if waited >= DISK_USUAL && stop.load(Ordering::Relaxed) {
                    bail!(Stopped(format!("the disk to sync tick {tick}")));
                }
                if waited >= DISK_USUAL && wait.is_none() {
                    let what = format!("the disk to sync tick {tick}");
                    wait = Some(Wait::new(what, STOP_PATIENCE));
                }
                let changed = self.shared.changed.wait_timeout(state, LOOK_PERIOD);
                state = changed.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        match &state.ended {
            Some(reason) => bail!("{reason}"),
            None => Ok(()),
        }
    }

    /// The newest tick that can't be lost.
    pub fn durable_through(&self) -> Option<Tick> {
        let mut unsynced = self.shared.lock().unsynced;
        if self.level == Level::Standby
            && let Some(feed) = &self.feed
        {
            unsynced = unsynced.min(feed.released());
        }
        unsynced.checked_sub(1).map(Tick)
    }

    /// The characters of accounts; none in worlds without them.
    pub fn characters(&self) -> Option<Arc<CharacterStore>> {
        self.characters.clone()
    }

    /// Where clients reach the standby; empty: there is none.
    pub fn standby(&self) -> Arc<str> {
        let feed = self.feed.as_ref();
        feed.map_or_else(Arc::default, |feed| feed.clients_at(Instant::now()))
    }

    /// Fails if the world must end before its journal does.
    pub fn check(&self) -> Result<()> {
        match &self.shared.lock().must_end {
            Some(reason) => bail!("{reason}"),
            None => Ok(()),
        }
    }

    /// The message for clients: once, when the next segment has no room.
    pub fn take_warning(&self) -> Option<&'static str> {
        let is_missing = std::mem::take(&mut self.shared.lock().is_room_missing);
        is_missing.then_some(NO_ROOM)
    }

    /// A frame's memory for another tick.
    pub fn frame(&self) -> Arc<Frame> {
        self.written.try_iter().last().unwrap_or_default()
    }

    /// Whether a checkpoint should begin before this tick.
    pub fn wants_checkpoint(&self, next: Tick) -> bool {
        let is_due = next.0 >= self.next_checkpoint;
        is_due && !self.is_copying && self.shared.lock().writing == 0
    }

    /// Begins a checkpoint. Its state follows with [`DurabilityWorker::finish_copy`].
    pub fn begin_checkpoint(&mut self, boundary: Boundary) -> Result<()> {
        self.next_checkpoint = boundary.tick.0 + self.checkpoint_ticks;
        self.is_copying = true;
        self.send(Message::Boundary(Box::new(boundary)))
    }

    /// Whether the state of a checkpoint is being copied.
    pub fn is_copying(&self) -> bool {
        self.is_copying
    }

    /// The checkpoint whose state is being copied is not written.
    pub fn drop_copy(&mut self) {
        self.is_copying = false;
    }

    /// The state at the boundary is copied.
    pub fn finish_copy(&mut self, snapshot: Snapshot) -> Result<()> {
        self.is_copying = false;
        self.shared.lock().writing += 1;
        self.send(Message::Snapshot(Box::new(snapshot)))
    }

    /// Waits until everything is on disk.
    pub fn finish(mut self) -> Result<()> {
        self.end_thread()?;
        let state = self.shared.lock();
        match (&state.ended, &state.checkpoint_failure) {
            (Some(reason), _) => bail!("{reason}"),
            (None, Some(failure)) => bail!(
                "the last checkpoint is not written: {failure}; the journal has every tick since \
                 the one before"
            ),
            (None, None) => Ok(()),
        }
    }

    /// Lets the writer write all that waits, and waits for its end.
    fn end_thread(&mut self) -> Result<()> {
        // A writer that has ended has left a reason.
        let _ = self.send(Message::Finish);
        let WriterEnd::Thread(_, thread) = std::mem::replace(&mut self.end, WriterEnd::Ended)
        else {
            return Ok(());
        };
        let begun = Instant::now();
        while !thread.is_finished() {
            if begun.elapsed() >= FINISH_PATIENCE {
                // A thread that waits for a disk can't be ended, but the process can.
                bail!(
                    "the end of the world is not written after {} seconds: still waiting for {}",
                    FINISH_PATIENCE.as_secs(),
                    waits::current().join(", ")
                );
            }
            std::thread::sleep(FINISH_PERIOD);
        }
        match thread.join() {
            Ok(()) => Ok(()),
            Err(_) => bail!("the journal's thread has failed"),
        }
    }

    /// Sends a message to the writer. While it is behind, the world waits with it.
    fn send(&mut self, message: Message) -> Result<()> {
        let has_gone = match &mut self.end {
            WriterEnd::Thread(messages, _) => !send_in_time(messages, message)?,
            WriterEnd::Inline(writer) => !writer.take(message),
            WriterEnd::Ended => true,
        };
        if !has_gone {
            return Ok(());
        }
        match &self.shared.lock().ended {
            Some(reason) => bail!("{reason}"),
            None => bail!("the journal's thread has failed"),
        }
    }
}

/// False if the thread has ended.
fn send_in_time(messages: &SyncSender<Message>, message: Message) -> Result<bool> {
    let begun = Instant::now();
    let mut message = message;
    let mut wait = None;
    loop {
        message = match messages.try_send(message) {
            Ok(()) => return Ok(true),
            Err(TrySendError::Full(message)) => message,
            Err(TrySendError::Disconnected(_)) => return Ok(false),
        };
        if begun.elapsed() >= DISK_PATIENCE {
            bail!(
                "nothing could be written to the disk for {} seconds",
                DISK_PATIENCE.as_secs()
            );
        }
        if begun.elapsed() >= DISK_USUAL && wait.is_none() {
            wait = Some(Wait::new("the disk to take the journal", STOP_PATIENCE));
        }
        std::thread::sleep(FINISH_PERIOD);
    }
}

/// Ends the threads of a world that did not start.
impl Drop for DurabilityWorker {
    fn drop(&mut self) {
        // Nothing was sent that could be lost.
        let _ = self.end_thread();
    }
}

/// Ticks that may wait for the disk before the world waits, too.
const QUEUE: usize = 64;
/// The message to clients.
const NO_ROOM: &str = "the server's disk is full: without more room, the world stops soon";
/// A disk that takes longer for a record has failed.
const DISK_PATIENCE: Duration = Duration::from_secs(60);
/// A wait for a disk that is no longer is usual.
const DISK_USUAL: Duration = Duration::from_secs(1);
/// For all that is to be written at the end.
const FINISH_PATIENCE: Duration = Duration::from_secs(120);
const FINISH_PERIOD: Duration = Duration::from_millis(2);
const LOOK_PERIOD: Duration = Duration::from_millis(50);
