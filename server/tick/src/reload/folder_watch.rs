//! Detects changes of a folder's scripts. The system's notifications are quick, but they are bound
//! to the folder that the path led to at first: so the path is polled each second, too. That also
//! follows links, and is enough where the system can't watch.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tracing::{info, warn};
use world_file::folder::Look;

/// Watches the folder that a path leads to.
pub struct FolderWatch {
    folder: PathBuf,
    to: Sender<notify::Result<Event>>,
    events: Receiver<notify::Result<Event>>,
    /// Watches while it lives; `None` if the system can't watch.
    watcher: Option<RecommendedWatcher>,
    /// It was logged that the system can't watch.
    is_lost: bool,
    /// The newest look; an error: there is no folder.
    seen: Result<Look, String>,
    next_look: Instant,
}

impl FolderWatch {
    pub fn new(folder: PathBuf) -> FolderWatch {
        let (to, events) = channel();
        let mut watch = FolderWatch {
            to,
            events,
            watcher: None,
            is_lost: false,
            seen: Err(String::new()),
            next_look: Instant::now() + LOOK_EVERY,
            folder,
        };
        // Before the look, so that nothing is missed between them.
        watch.arm();
        watch.seen = Look::at(&watch.folder);
        if let Err(reason) = &watch.seen {
            warn!(%reason, "the folder of scripts is missing, and is polled each second");
        }
        watch
    }

    /// Waits, at most `wait_max`, and returns whether scripts may have changed since the last call.
    pub fn has_changed(&mut self, wait_max: Duration) -> bool {
        let left = self.next_look.saturating_duration_since(Instant::now());
        let mut must_arm = false;
        match self.events.recv_timeout(left.min(wait_max)) {
            Ok(Ok(event)) if !is_change(&event) => return false,
            Ok(Ok(event)) => {
                let is_own = event.paths.contains(&self.folder);
                must_arm = event.kind.is_remove() && is_own;
            }
            Ok(Err(error)) => {
                warn!(%error, "watching the folder of scripts has failed; it begins anew");
                must_arm = true;
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() < self.next_look => return false,
            Err(_) => {}
        }
        self.next_look = Instant::now() + LOOK_EVERY;
        let mut look = Look::at(&self.folder);
        if look == self.seen && !must_arm {
            if self.watcher.is_none() && look.is_ok() {
                self.arm();
            }
            return false;
        }
        let is_same = match (&look, &self.seen) {
            (Ok(look), Ok(seen)) => look.is_same_folder(seen),
            _ => false,
        };
        look = self.settle(look, if is_same { QUIET } else { QUIET_OF_NEW });
        let seen = std::mem::replace(&mut self.seen, look);
        match (&self.seen, &seen) {
            (Ok(_), Err(_)) => info!("the folder of scripts is there again"),
            (Err(reason), Ok(_)) => {
                self.watcher = None;
                let reason = reason.clone();
                warn!(%reason, "the folder of scripts is gone, and is polled each second; the \
                       world keeps its scripts");
            }
            (Ok(_), Ok(_)) if !is_same => {
                info!("the path of the scripts leads to another folder now, which is watched");
            }
            _ => {}
        }
        if self.seen.is_ok() && (!is_same || must_arm) {
            self.arm();
            // Changes from before the watch.
            self.seen = Look::at(&self.folder);
        }
        self.seen.is_ok() && self.seen != seen
    }

    /// Waits until the folder is quiet: an editor's save is several events, and a file is complete
    /// after the last. The wait is bounded, for folders that always change.
    fn settle(&self, mut look: Result<Look, String>, quiet: Duration) -> Result<Look, String> {
        let end = Instant::now() + SETTLE_MAX;
        loop {
            while self.events.recv_timeout(quiet).is_ok() && Instant::now() < end {}
            let next = Look::at(&self.folder);
            if next == look || Instant::now() >= end {
                return next;
            }
            look = next;
        }
    }

    /// Lets the system watch the folder that the path leads to now.
    fn arm(&mut self) {
        self.watcher = None;
        let watcher = notify::recommended_watcher(self.to.clone()).and_then(|mut watcher| {
            watcher.watch(&self.folder, RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        match watcher {
            Ok(watcher) => {
                self.watcher = Some(watcher);
                if std::mem::take(&mut self.is_lost) {
                    info!("the system watches the folder of scripts again");
                }
            }
            Err(error) if !self.is_lost => {
                self.is_lost = true;
                warn!(%error, "the system can't watch the folder of scripts, which is \
                       polled each second instead");
            }
            Err(_) => {}
        }
    }
}

fn is_change(event: &Event) -> bool {
    let kind = &event.kind;
    kind.is_create() || kind.is_modify() || kind.is_remove() || event.need_rescan()
}

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// After the last event of a save.
const QUIET: Duration = Duration::from_millis(10);
/// After the last change of a folder that is new: it is copied file by file.
const QUIET_OF_NEW: Duration = Duration::from_millis(200);
/// The longest wait for a folder in which something always changes.
const SETTLE_MAX: Duration = Duration::from_secs(1);
