//! At the standby: the thread that runs the ticks, compares each state with the primary's, and
//! writes checkpoints.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow, bail};
use durability::characters::CharacterStore;
use durability::checkpoint::{self, Head};
use durability::disk::Folder;
use durability::journal::Start;
use durability::recovered::{Progress, Recovered};
use durability::rerun::Run;
use durability::worker::{Batch, GoodCheckpoints};
use gpu_kernels::tick::VERSION;
use platform::metrics::{machine, table};
use platform::scheduling::give_way;
use tick::backend::{BackendOptions, Started, start_backend};
use tracing::{error, info, warn};

use super::replica::{Piece, StoredRecord};

/// How to run a standby's ticks.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    pub backend: BackendOptions,
    /// Of the backend.
    pub threads: usize,
    pub checkpoint_seconds: u32,
    /// Nothing is removed.
    pub keeps_all: bool,
}

/// The thread, from outside.
pub struct Runner {
    to: SyncSender<(Piece, usize)>,
    shared: Arc<Shared>,
    thread: JoinHandle<Result<Option<Ran>>>,
}

/// A world that has run up to the last record.
pub struct Ran {
    pub started: Started,
    pub recovered: Recovered,
}

#[derive(Default)]
struct Shared {
    waiting_bytes: AtomicUsize,
    /// Records and checkpoints.
    waiting: AtomicU64,
    /// The world is not needed any more.
    is_abandoned: AtomicBool,
    /// The primary's rate of ticks, which may be another than that of its checkpoint; 0: unknown.
    tick_hz: AtomicU32,
    failure: Mutex<Option<String>>,
}

/// The folder, and the number that changes when it begins with another checkpoint.
pub type Files = (Folder, Arc<Mutex<u64>>);

impl Runner {
    pub fn start(options: RunOptions, files: Files) -> Result<Runner> {
        let (to, incoming) = sync_channel(QUEUE);
        let shared = Arc::new(Shared::default());
        let for_thread = shared.clone();
        let run = move || {
            let thread = Thread {
                options,
                files,
                shared: for_thread.clone(),
                incoming,
            };
            let ran = thread.run();
            if let Err(error) = &ran {
                error!("the standby's world can't continue: {error:#}");
                for_thread.fail(format!("{error:#}"));
            }
            ran
        };
        let thread = std::thread::Builder::new()
            .name("standby".to_owned())
            .spawn(run)
            .context("cannot start the standby's thread")?;
        Ok(Runner { to, shared, thread })
    }

    /// Hands over the next piece. Fails if the world can't continue, or is too far behind.
    pub fn take(&self, piece: Piece, bytes: usize) -> Result<()> {
        if let Some(reason) = self.failure() {
            bail!("{reason}");
        }
        self.shared
            .waiting_bytes
            .fetch_add(bytes, Ordering::Relaxed);
        let waiting = self.shared.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        table::FOLLOWING_WAITING.set(waiting);
        match self.to.send((piece, bytes)) {
            Ok(()) => Ok(()),
            Err(_) => bail!("the standby's thread has failed"),
        }
    }

    /// Sets the primary's tick rate.
    pub fn set_rate(&self, tick_hz: u32) {
        self.shared.tick_hz.store(tick_hz, Ordering::Relaxed);
    }

    /// Whether too much waits to receive more.
    pub fn is_full(&self) -> bool {
        self.shared.waiting_bytes.load(Ordering::Relaxed) > QUEUE_BYTES_MAX
    }

    /// Why it has ended, if it has.
    pub fn failure(&self) -> Option<String> {
        let failure = self.shared.failure.lock();
        failure.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends without running the records that wait, which are on disk.
    pub fn abandon(self) {
        self.shared.is_abandoned.store(true, Ordering::Relaxed);
        // Its current work is not needed any more.
        let _ = self.finish();
    }

    /// Runs the records that wait, and returns the world; `None` if there is none.
    pub fn finish(self) -> Result<Option<Ran>> {
        drop(self.to);
        match self.thread.join() {
            Ok(ran) => ran,
            Err(_) => Err(anyhow!("the standby's thread has failed")),
        }
    }
}

impl Shared {
    fn fail(&self, reason: String) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        *failure = Some(reason);
    }
}

struct Thread {
    options: RunOptions,
    files: Files,
    shared: Arc<Shared>,
    incoming: Receiver<(Piece, usize)>,
}

impl Thread {
    fn run(self) -> Result<Option<Ran>> {
        let Some(mut piece) = self.receive() else {
            return Ok(None);
        };
        loop {
            let Piece::Begin(stored, begun) = piece else {
                bail!("a record comes before a checkpoint");
            };
            let (options, world) = (self.options, &stored.body.world);
            let available = machine::memory_available();
            let mut started = start_backend(options.backend, world, options.threads, available)?;
            let head = stored.head;
            let from = head.tick;
            let good = Arc::new(Mutex::new(GoodCheckpoints::new(from)));
            let mut last = Start {
                tick: head.tick,
                previous: head.previous,
            };
            let tick_hz = world.schema.world.tick_hz;
            let mut next_checkpoint = head.tick + self.checkpoint_ticks(tick_hz);
            let mut run = Run::begin(&mut *started.backend, *stored)?;
            let next = loop {
                match self.receive() {
                    Some(Piece::Record(taken)) => {
                        let StoredRecord {
                            head,
                            checksum,
                            entry,
                        } = taken;
                        run.settle(&head, &entry)?;
                        if head.tick >= next_checkpoint {
                            next_checkpoint = head.tick + self.checkpoint_ticks(tick_hz);
                            let head = Head {
                                tick: head.tick,
                                epoch: head.epoch,
                                tick_version: VERSION,
                                previous: head.previous,
                            };
                            let changed = run.take_characters(&entry);
                            let run = (&mut run, changed);
                            self.write_checkpoint(head, (from, begun), &good, run)?;
                        }
                        run.start(&head, entry)?;
                        last = Start {
                            tick: head.tick + 1,
                            previous: checksum,
                        };
                    }
                    next => break next,
                }
            };
            piece = match next {
                Some(piece) => piece,
                None => {
                    let progress = Progress {
                        from,
                        tick: last.tick,
                        ..Progress::default()
                    };
                    let recovered = run.finish(last, progress)?;
                    return Ok(Some(Ran { started, recovered }));
                }
            };
        }
    }

    fn checkpoint_ticks(&self, stored_hz: u32) -> u64 {
        let tick_hz = match self.shared.tick_hz.load(Ordering::Relaxed) {
            0 => stored_hz,
            tick_hz => tick_hz,
        };
        u64::from(self.options.checkpoint_seconds) * u64::from(tick_hz)
    }

    fn receive(&self) -> Option<Piece> {
        let (piece, bytes) = self.incoming.recv().ok()?;
        if self.shared.is_abandoned.load(Ordering::Relaxed) {
            return None;
        }
        self.shared
            .waiting_bytes
            .fetch_sub(bytes, Ordering::Relaxed);
        let waiting = self.shared.waiting.fetch_sub(1, Ordering::Relaxed) - 1;
        table::FOLLOWING_WAITING.set(waiting);
        Some(piece)
    }

    /// Copies the state now, and writes it beside, unless the folder has begun with another
    /// checkpoint since that of this number, which is of the tick `from`.
    fn write_checkpoint(
        &self,
        head: Head,
        (from, number): (u64, u64),
        good: &Arc<Mutex<GoodCheckpoints>>,
        (run, characters): (&mut Run<'_>, Batch),
    ) -> Result<()> {
        let body = run.checkpoint()?;
        let (disk, begun) = self.files.clone();
        if body.world.has_characters() {
            let begun = lock(&begun);
            if *begun != number {
                return Ok(());
            }
            // Characters that are in no checkpoint must be in the file before it. That is closed
            // again for the server that takes over.
            let store = CharacterStore::open(disk.path(), None, from)?;
            store.put(&body.world, &characters, head.tick)?;
        }
        let (keeps_all, good) = (self.options.keeps_all, good.clone());
        let write = move || {
            give_way();
            let bytes = checkpoint::encode(&body);
            drop(body);
            let begun = lock(&begun);
            if *begun != number {
                return;
            }
            let tick = head.tick;
            match checkpoint::write(&disk, &head, &bytes) {
                Ok(()) => {
                    info!(tick, "a checkpoint is written");
                    table::CHECKPOINTS.add_to("written", 1);
                    let mut good = good.lock().unwrap_or_else(PoisonError::into_inner);
                    good.note(tick);
                    if !keeps_all && let Err(error) = good.remove_others(&disk) {
                        warn!(%error, "old checkpoints and segments can't be removed");
                    }
                }
                Err(error) => {
                    table::CHECKPOINTS.add_to("failed", 1);
                    error!(tick, %error, "a checkpoint can't be written");
                }
            }
        };
        std::thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(write)
            .context("cannot start the thread that writes checkpoints")?;
        Ok(())
    }
}

fn lock(begun: &Mutex<u64>) -> std::sync::MutexGuard<'_, u64> {
    begun.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records that wait to be run.
const QUEUE: usize = 4096;
const QUEUE_BYTES_MAX: usize = 256 << 20;
