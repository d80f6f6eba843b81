//! The journal's writer: writes and syncs records, on a thread of its own with a thread for each
//! checkpoint, or within the calls of the tick.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use gpu_kernels::{Frame, Snapshot};
use platform::metrics::table;
use platform::scheduling::give_way;
use platform::waits::Wait;
use tracing::{error, info, warn};

use super::messages::{Batch, Boundary, DurabilityOptions, Message, Shared};
use super::pruning::GoodCheckpoints;
use crate::characters::{CharacterStore, Superseded};
use crate::checkpoint::{self, Body, Head};
use crate::disk::Disk;
use crate::journal::Journal;
use crate::roster::Roster;

/// The journal's writer.
pub struct Writer<D: Disk> {
    pub journal: Journal<D>,
    /// As the records so far have made it.
    pub roster: Roster,
    /// Where the roster's characters go with each checkpoint.
    pub characters: Option<Arc<CharacterStore>>,
    pub options: DurabilityOptions,
    pub good: GoodCheckpoints,
    pub shared: Arc<Shared>,
    pub to_self: SyncSender<Message>,
    pub returned: Sender<Arc<Frame>>,
    /// A checkpoint whose state is still being copied.
    pub boundary: Option<(Head, Box<Boundary>, Roster)>,
    /// When the oldest record came that is not synced.
    pub oldest: Option<Instant>,
    pub room_checked: Instant,
    /// For the next segment.
    pub has_room: bool,
    /// The tick and the thread of the newest checkpoint.
    pub newest: Option<(u64, JoinHandle<()>)>,
    /// The time of records that wait for a sync.
    pub clock: Box<dyn Fn() -> Instant + Send>,
    /// Whether each checkpoint has a thread.
    pub has_threads: bool,
}

/// A writer that works within the calls of the tick.
pub struct InlineWriter<D: Disk> {
    pub writer: Writer<D>,
    /// Messages of the writer to itself.
    pub incoming: Receiver<Message>,
}

/// The same for any disk.
pub trait Inline: Send {
    /// Does the work of a message. False once the journal has ended.
    fn take(&mut self, message: Message) -> bool;
}

impl<D: Disk + Clone + 'static> Inline for InlineWriter<D> {
    fn take(&mut self, message: Message) -> bool {
        if self.writer.shared.lock().ended.is_some() {
            return false;
        }
        let is_last = matches!(message, Message::Finish);
        let mut taken = self.writer.step(Some(message));
        while taken.is_ok()
            && let Ok(message) = self.incoming.try_recv()
        {
            taken = self.writer.step(Some(message));
        }
        if is_last && taken.is_ok() {
            taken = self.writer.end();
        }
        self.writer.note_end(taken)
    }
}

impl<D: Disk + Clone + 'static> Writer<D> {
    /// Runs until the world has ended, or the disk has failed for good.
    pub fn run(&mut self, incoming: &Receiver<Message>) {
        let written = self.write_all(incoming);
        self.note_end(written);
    }

    /// False if the disk has failed for good.
    fn note_end(&self, written: Result<()>) -> bool {
        let Err(error) = written else {
            return true;
        };
        let reason = format!("the journal can't continue: {error:#}");
        error!(tick = self.journal.next(), reason);
        self.shared.change(|state| state.ended = Some(reason));
        false
    }

    fn write_all(&mut self, incoming: &Receiver<Message>) -> Result<()> {
        let mut is_ending = false;
        loop {
            let message = match self.time_left() {
                Some(left) => incoming.recv_timeout(left),
                None => incoming.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            is_ending |= matches!(
                message,
                Ok(Message::Finish) | Err(RecvTimeoutError::Disconnected)
            );
            self.step(message.ok())?;
            if is_ending && self.shared.lock().writing == 0 {
                return self.end();
            }
        }
    }

    /// Does the work of a message, and what is due.
    fn step(&mut self, message: Option<Message>) -> Result<()> {
        if let Some(message) = message {
            self.take(message)?;
        }
        if self.time_left().is_some_and(|left| left.is_zero()) {
            self.sync()?;
        }
        self.check_room();
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let wait = Wait::new("the disk to take the journal's end", STOP_PATIENCE);
        self.journal.end_segment()?;
        drop(wait);
        self.note_synced();
        self.journal.release_preallocated();
        Ok(())
    }

    /// The time until records must be synced, if any wait.
    fn time_left(&self) -> Option<Duration> {
        let patience = self.options.level.patience()?;
        let oldest = self.oldest?;
        let waited = (self.clock)().saturating_duration_since(oldest);
        Some(patience.saturating_sub(waited))
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
                self.oldest.get_or_insert_with(&self.clock);
            }
            Message::Boundary(boundary) => self.begin_checkpoint(boundary)?,
            Message::Snapshot(snapshot) => self.write_checkpoint(snapshot)?,
            Message::Written(tick, written, batch) => {
                self.note_checkpoint(tick, written, batch);
            }
            // A copy that is not complete by now never will be.
            Message::Finish => self.boundary = None,
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
        let took = begun.elapsed();
        table::JOURNAL_SYNC_SECONDS.record(took);
        if took >= SLOW_SYNC {
            let tick = self.journal.next() - 1;
            warn!(?took, tick, "the journal was slow to sync");
        }
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

    /// Preallocates the next segment. Without room the world must end while there is
    /// some left in this segment.
    fn check_room(&mut self) {
        let Err(error) = self.journal.preallocate() else {
            self.has_room = true;
            return;
        };
        if std::mem::take(&mut self.has_room) {
            self.shared.change(|state| state.is_room_missing = true);
        }
        let now = (self.clock)();
        if now.saturating_duration_since(self.room_checked) >= ROOM_PERIOD {
            self.room_checked = now;
            let left = self.journal.room();
            warn!(%error, left, "no room for the journal's next segment: make room on its disk");
        }
        if self.journal.is_room_scarce() {
            let reason = format!("the disk has no room for the journal: {error}");
            self.shared.change(|state| state.must_end = Some(reason));
        }
    }

    fn begin_checkpoint(&mut self, boundary: Box<Boundary>) -> Result<()> {
        // Recovery reads the segments from here on. While the disk is full, this one stays open: its
        // room is all that the journal has.
        match self.journal.has_spare() {
            true => self.journal.end_segment()?,
            false => drop(self.journal.sync()?),
        }
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
        let tick = head.tick;
        // The checkpoint of a stop may be of the same tick, whose file is written only once at a time
        // and whose characters are as they are now.
        let same = self.newest.take().filter(|&(newest, _)| newest == tick);
        let write = move || {
            let mut reply = reply;
            if let Some((_, thread)) = same {
                // Its own reply has the failure.
                let _ = thread.join();
            }
            let Boundary {
                world,
                hash,
                births,
                deaths,
                ..
            } = *boundary;
            let wait = Wait::new("the characters of accounts to be written", STOP_PATIENCE);
            // Characters that a checkpoint lacks must be in the file before it.
            let stored = store.map_or(Ok(()), |store| store.put(&world, &reply.batch, head.tick));
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
        if !self.has_threads {
            write();
            return Ok(());
        }
        let thread = std::thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(|| {
                give_way();
                write();
            })
            .context("cannot start the thread that writes checkpoints")?;
        self.newest = Some((tick, thread));
        Ok(())
    }

    fn note_checkpoint(&mut self, tick: u64, written: Result<()>, batch: Batch) {
        self.shared.change(|state| state.writing -= 1);
        match written {
            Ok(()) => {
                info!(tick, "a checkpoint is written");
                table::CHECKPOINTS.add_to("written", 1);
                self.shared.change(|state| state.checkpoint_failure = None);
                self.good.note(tick);
                if !self.options.keeps_all
                    && let Err(error) = self.good.remove_others(self.journal.disk())
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
                let failure = error.clone();
                self.shared
                    .change(|state| state.checkpoint_failure = Some(failure));
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

/// Clients notice it.
const SLOW_SYNC: Duration = Duration::from_millis(500);
const ROOM_PERIOD: Duration = Duration::from_secs(10);
/// For one step of the disk or the database once the server stops.
pub const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// For a whole checkpoint then.
const CHECKPOINT_PATIENCE: Duration = Duration::from_secs(60);
