//! The durability of a running world: a thread writes the journal while the engine runs, and
//! another one writes checkpoints.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel,
};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use gpu_kernels::{Birth, Frame, Snapshot, StateHash};
use platform::metrics::table;
use platform::scheduling::give_way;
use platform::waits::{self, Stopped, Wait};
use shared::{EntityId, Tick, WorldConfig};
use tracing::{error, info, warn};

use super::characters::{CharacterStore, Superseded};
use super::checkpoint::{self, Body, Head};
use super::disk::Disk;
use super::elsewhere::{Replica, Validity};
use super::folder::DataFolder;
use super::journal::Journal;
use super::level::Level;
use super::record::Entry;
use super::roster::Roster;
use super::segment;

/// The tick thread's end.
pub struct DurabilityWorker {
    level: Level,
    messages: SyncSender<Message>,
    shared: Arc<Shared>,
    /// Frames that are written, for their memory.
    written: Receiver<Arc<Frame>>,
    thread: Option<JoinHandle<()>>,
    checkpoint_ticks: u64,
    /// The tick before which the next checkpoint begins.
    next_checkpoint: u64,
    is_copying: bool,
    /// Where a standby gets records from; none without a port for one.
    feed: Option<Arc<dyn Replica>>,
    lease: Option<Arc<dyn Validity>>,
    characters: Option<Arc<CharacterStore>>,
}

/// Settings of the durability worker.
#[derive(Clone, Debug)]
pub struct DurabilityOptions {
    pub level: Level,
    /// Nothing is removed.
    pub keeps_all: bool,
    /// Ticks from one checkpoint to the next.
    pub checkpoint_ticks: u64,
    /// Where a standby gets records from.
    pub feed: Option<Arc<dyn Replica>>,
    /// Nothing is sent to clients once another server may have it.
    pub lease: Option<Arc<dyn Validity>>,
}

/// The moment between two ticks at which a checkpoint is made.
pub struct Boundary {
    pub world: WorldConfig,
    /// The tick that comes next.
    pub tick: Tick,
    /// Of the whole state.
    pub hash: StateHash,
    /// Of the tick before.
    pub births: Vec<Birth>,
    pub deaths: Vec<EntityId>,
    /// The changes of characters since then.
    pub characters: Vec<(String, Vec<i32>)>,
}

enum Message {
    Record(Entry),
    Boundary(Box<Boundary>),
    /// The state at the boundary.
    Snapshot(Box<Snapshot>),
    /// A checkpoint was written, or not.
    Written(u64, Result<()>, Batch),
    Finish,
}

/// Changed characters.
type Batch = BTreeMap<String, Vec<i32>>;

/// State shared by the threads.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The first tick whose record may be lost.
    unsynced: u64,
    /// Why the journal has ended.
    ended: Option<String>,
    /// Why the world must end before its journal does.
    must_end: Option<String>,
    /// The next segment has no room, and clients were not notified yet.
    is_room_missing: bool,
    /// Checkpoints that are being written: the last one does not wait for one before it.
    writing: u32,
}

impl DurabilityWorker {
    /// Starts the threads. `roster` is the one at the journal's start.
    pub fn start<D: Disk + Clone + 'static>(
        folder: DataFolder,
        mut journal: Journal<D>,
        roster: Roster,
        options: DurabilityOptions,
        characters: Option<Arc<CharacterStore>>,
    ) -> Result<DurabilityWorker> {
        journal
            .set_room_aside()
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
        let mut thread = Thread {
            journal,
            roster,
            characters: characters.clone(),
            options: options.clone(),
            shared: shared.clone(),
            to_self: messages.clone(),
            returned,
            boundary: None,
            oldest: None,
            looked_for_room: Instant::now(),
            has_room: true,
        };
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                thread.run(&incoming);
                // Held until all is written.
                drop(folder);
            })
            .context("cannot start the journal's thread")?;
        Ok(DurabilityWorker {
            level: options.level,
            feed: options.feed,
            lease: options.lease,
            characters,
            messages,
            shared,
            written,
            thread: Some(thread),
            checkpoint_ticks: options.checkpoint_ticks,
            next_checkpoint: next + options.checkpoint_ticks,
            is_copying: false,
        })
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
        if matches!(self.level, Level::Told | Level::Standby) {
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
    pub fn kept(&self) -> Option<Tick> {
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
        match &self.shared.lock().ended {
            Some(reason) => bail!("{reason}"),
            None => Ok(()),
        }
    }

    /// Lets the thread write all that waits, and waits for its end.
    fn end_thread(&mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        // A thread that has ended has left a reason.
        let _ = self.send(Message::Finish);
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

    /// Sends a message to the thread. While it is behind, the world waits with it.
    fn send(&self, message: Message) -> Result<()> {
        let begun = Instant::now();
        let mut message = message;
        let mut wait = None;
        loop {
            message = match self.messages.try_send(message) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(message)) => message,
                Err(TrySendError::Disconnected(_)) => break,
            };
            if begun.elapsed() >= DISK_PATIENCE {
                bail!(
                    "the disk has taken nothing for {} seconds",
                    DISK_PATIENCE.as_secs()
                );
            }
            if begun.elapsed() >= DISK_USUAL && wait.is_none() {
                wait = Some(Wait::new("the disk to take the journal", STOP_PATIENCE));
            }
            std::thread::sleep(FINISH_PERIOD);
        }
        match &self.shared.lock().ended {
            Some(reason) => bail!("{reason}"),
            None => bail!("the journal's thread has failed"),
        }
    }
}

/// Ends the threads of a world that did not start.
impl Drop for DurabilityWorker {
    fn drop(&mut self) {
        // Nothing was sent that could be lost.
        let _ = self.end_thread();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is whole, so a panic elsewhere does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

/// The journal's thread.
struct Thread<D: Disk> {
    journal: Journal<D>,
    /// As the records so far have made it.
    roster: Roster,
    /// Where the roster's characters go with each checkpoint.
    characters: Option<Arc<CharacterStore>>,
    options: DurabilityOptions,
    shared: Arc<Shared>,
    to_self: SyncSender<Message>,
    returned: Sender<Arc<Frame>>,
    /// A checkpoint whose state is still being copied.
    boundary: Option<(Head, Box<Boundary>, Roster)>,
    /// When the oldest record came that is not synced.
    oldest: Option<Instant>,
    looked_for_room: Instant,
    /// For the next segment.
    has_room: bool,
}

impl<D: Disk + Clone + 'static> Thread<D> {
    fn run(&mut self, incoming: &Receiver<Message>) {
        if let Err(error) = self.write_all(incoming) {
            let reason = format!("the journal can't continue: {error:#}");
            error!(tick = self.journal.next(), reason);
            self.shared.change(|state| state.ended = Some(reason));
        }
    }

    fn write_all(&mut self, incoming: &Receiver<Message>) -> Result<()> {
        let mut is_ending = false;
        loop {
            let message = match self.time_left() {
                Some(left) => incoming.recv_timeout(left),
                None => incoming.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(Message::Finish) => {
                    is_ending = true;
                    // A copy that is not complete by now never will be.
                    self.boundary = None;
                }
                Ok(message) => self.take(message)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => is_ending = true,
            }
            if self.time_left().is_some_and(|left| left.is_zero()) {
                self.sync()?;
            }
            self.look_for_room();
            if is_ending && self.shared.lock().writing == 0 {
                break;
            }
        }
        let wait = Wait::new("the disk to take the journal's end", STOP_PATIENCE);
        self.journal.end_segment()?;
        drop(wait);
        self.note_synced();
        self.journal.give_room_back();
        Ok(())
    }

    /// The time until records must be synced, if any wait.
    fn time_left(&self) -> Option<Duration> {
        let patience = self.options.level.patience()?;
        let oldest = self.oldest?;
        Some(patience.saturating_sub(oldest.elapsed()))
    }

    fn take(&mut self, message: Message) -> Result<()> {
        match message {
            Message::Record(entry) => {
                for change in &entry.changes {
                    self.roster.apply(change);
                }
                let has_failed = self.journal.failure().is_some();
                self.journal.append(Arc::new(entry))?;
                self.feed(has_failed);
                self.oldest.get_or_insert_with(Instant::now);
            }
            Message::Boundary(boundary) => self.begin_checkpoint(boundary)?,
            Message::Snapshot(snapshot) => self.write_checkpoint(snapshot)?,
            Message::Written(tick, written, batch) => {
                self.note_checkpoint(tick, written, batch);
            }
            Message::Finish => {}
        }
        Ok(())
    }

    /// Gives the newest record to the standby, while the disk syncs it here.
    fn feed(&mut self, has_failed: bool) {
        let Some(feed) = &self.options.feed else {
            return;
        };
        if has_failed != self.journal.failure().is_some() {
            // Records that it has were written again, as others.
            feed.disconnect("the disk of the primary has failed");
        }
        let (bytes, begins_segment) = self.journal.newest();
        feed.push(self.journal.next() - 1, bytes, begins_segment);
    }

    fn sync(&mut self) -> Result<()> {
        let begun = Instant::now();
        let failed_before = self.journal.failure().is_some();
        let _wait = Wait::new("the disk to sync the journal", STOP_PATIENCE);
        let synced = self.journal.sync()?;
        table::JOURNAL_SYNC_SECONDS.record(begun.elapsed());
        for entry in synced {
            if let Some(entry) = Arc::into_inner(entry) {
                // A world that has ended needs none.
                let _ = self.returned.send(entry.frame);
            }
        }
        if let Some(failure) = self.journal.failure().filter(|_| !failed_before) {
            if let Some(feed) = &self.options.feed {
                feed.disconnect("the disk of the primary has failed");
            }
            error!(
                failure,
                "the disk has failed; the journal continues in another file, once"
            );
        }
        self.note_synced();
        Ok(())
    }

    fn note_synced(&mut self) {
        self.oldest = None;
        let unsynced = self.journal.unsynced();
        self.shared.change(|state| state.unsynced = unsynced);
    }

    /// Sets room aside for the next segment. Without room the world must end while there is
    /// some left in this segment.
    fn look_for_room(&mut self) {
        let Err(error) = self.journal.set_room_aside() else {
            self.has_room = true;
            return;
        };
        if std::mem::take(&mut self.has_room) {
            self.shared.change(|state| state.is_room_missing = true);
        }
        if self.looked_for_room.elapsed() >= ROOM_PERIOD {
            self.looked_for_room = Instant::now();
            let left = self.journal.room();
            warn!(%error, left, "no room for the journal's next segment: make room on its disk");
        }
        if self.journal.is_room_scarce() {
            let reason = format!("the disk has no room for the journal: {error}");
            self.shared.change(|state| state.must_end = Some(reason));
        }
    }

    fn begin_checkpoint(&mut self, boundary: Box<Boundary>) -> Result<()> {
        // Recovery reads the segments from here on.
        self.journal.end_segment()?;
        self.note_synced();
        let head = Head {
            tick: boundary.tick.0,
            epoch: self.journal.settings().epoch,
            tick_version: self.journal.settings().tick_version,
            previous: self.journal.previous(),
        };
        if let Some((_, _, dropped)) = self.boundary.take() {
            self.keep_for_later(dropped.characters);
        }
        let mut roster = self.roster.clone();
        self.roster.characters.clear();
        roster
            .characters
            .extend(boundary.characters.iter().cloned());
        self.boundary = Some((head, boundary, roster));
        Ok(())
    }

    /// Characters that were not written go with the next checkpoint, unless they have changed.
    fn keep_for_later(&mut self, batch: Batch) {
        for (account, row) in batch {
            self.roster.characters.entry(account).or_insert(row);
        }
    }

    fn write_checkpoint(&mut self, snapshot: Box<Snapshot>) -> Result<()> {
        let Some((head, boundary, mut roster)) = self.boundary.take() else {
            self.shared.change(|state| state.writing -= 1);
            return Ok(());
        };
        let disk = self.journal.disk().clone();
        let reply = Reply {
            to: self.to_self.clone(),
            tick: head.tick,
            written: Err(anyhow!("its thread has failed")),
            batch: std::mem::take(&mut roster.characters),
        };
        let store = self.characters.clone();
        let write = move || {
            let mut reply = reply;
            give_way();
            let Boundary {
                world,
                hash,
                births,
                deaths,
                ..
            } = *boundary;
            let wait = Wait::new("the characters of accounts to be written", STOP_PATIENCE);
            // Characters that a checkpoint lacks must be in the file before it.
            let stored = store.map_or(Ok(()), |store| store.put(&world, &reply.batch));
            if let Err(error) = stored {
                reply.written = Err(error);
                return;
            }
            drop(wait);
            let _wait = Wait::new("the disk to take a checkpoint", CHECKPOINT_PATIENCE);
            let body = checkpoint::encode(&Body {
                world,
                snapshot: *snapshot,
                hash,
                roster,
                births,
                deaths,
            });
            reply.written = checkpoint::write(&disk, &head, &body).map_err(Into::into);
        };
        std::thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(write)
            .context("cannot start the thread that writes checkpoints")?;
        Ok(())
    }

    fn note_checkpoint(&mut self, tick: u64, written: Result<()>, batch: Batch) {
        self.shared.change(|state| state.writing -= 1);
        match written {
            Ok(()) => {
                info!(tick, "a checkpoint is written");
                table::CHECKPOINTS.add_to("written", 1);
                if !self.options.keeps_all
                    && let Err(error) = remove_old(self.journal.disk())
                {
                    warn!(%error, "old checkpoints and segments can't be removed");
                }
            }
            Err(error) => {
                self.keep_for_later(batch);
                table::CHECKPOINTS.add_to("failed", 1);
                if error.is::<Superseded>() {
                    let reason = format!("{error:#}");
                    self.shared.change(|state| state.must_end = Some(reason));
                }
                let error = format!("{error:#}");
                error!(
                    tick,
                    error, "a checkpoint can't be written; the journal continues"
                );
            }
        }
    }
}

/// Sends the result of a checkpoint to the journal's thread, which waits for it.
struct Reply {
    to: SyncSender<Message>,
    tick: u64,
    written: Result<()>,
    /// The characters to write with it.
    batch: Batch,
}

impl Drop for Reply {
    fn drop(&mut self) {
        let written = std::mem::replace(&mut self.written, Ok(()));
        // A journal that has ended takes none.
        let batch = std::mem::take(&mut self.batch);
        let _ = self.to.send(Message::Written(self.tick, written, batch));
    }
}

/// Removes checkpoints and segments that are older than the two newest checkpoints.
pub fn remove_old(disk: &impl Disk) -> std::io::Result<()> {
    let ticks = checkpoint::ticks(disk)?;
    let Some(second) = ticks.len().checked_sub(CHECKPOINTS_KEPT) else {
        return Ok(());
    };
    for &tick in &ticks[..second] {
        disk.remove(&checkpoint::name_of(tick))?;
    }
    let segments = segment::segments(disk)?;
    for pair in segments.windows(2) {
        if pair[1].first <= ticks[second] {
            disk.remove(&pair[0].to_string())?;
        }
    }
    Ok(())
}

/// The newest one may be damaged.
const CHECKPOINTS_KEPT: usize = 2;
/// Ticks that may wait for the disk before the world waits, too.
const QUEUE: usize = 64;
/// The message to clients.
const NO_ROOM: &str = "the server's disk is full: without more room, the world stops soon";
const ROOM_PERIOD: Duration = Duration::from_secs(10);
/// A disk that takes longer for a record has failed.
const DISK_PATIENCE: Duration = Duration::from_secs(60);
/// A wait for a disk that is no longer is usual.
const DISK_USUAL: Duration = Duration::from_secs(1);
/// For one step of the disk or the database once the server stops.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// For a whole checkpoint then.
const CHECKPOINT_PATIENCE: Duration = Duration::from_secs(60);
/// For all that is to be written at the end.
const FINISH_PATIENCE: Duration = Duration::from_secs(120);
const FINISH_PERIOD: Duration = Duration::from_millis(2);
const LOOK_PERIOD: Duration = Duration::from_millis(50);
