//! Certificates, keys, tokens and lists of words that change while the server runs: their files
//! are watched, and changes come into force. A file that can't be read is logged, and the previous
//! contents stay.
//!
//! Files are checked by their paths, and not by open descriptors: a folder may be replaced by
//! another one, as Kubernetes does, and a link lead elsewhere.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use anyhow::{Context, Result};
use tracing::{error, info};

use crate::metrics::table;
use crate::scheduling::give_way;

/// A value that may be replaced while it is in use. Clones share it.
#[derive(Debug)]
pub struct Shared<T: ?Sized>(Arc<RwLock<Arc<T>>>);

impl<T: ?Sized> Shared<T> {
    pub fn new(value: Arc<T>) -> Shared<T> {
        Shared(Arc::new(RwLock::new(value)))
    }

    /// The value in force now.
    pub fn get(&self) -> Arc<T> {
        // Each change is whole, so a panic elsewhere does no harm.
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// This is in force from now on.
    pub fn set(&self, value: Arc<T>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

impl<T> Default for Shared<[T]> {
    fn default() -> Shared<[T]> {
        Shared::new(Arc::from([]))
    }
}

impl<T: ?Sized> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(self.0.clone())
    }
}

impl From<&str> for Shared<str> {
    fn from(text: &str) -> Shared<str> {
        Shared::new(text.into())
    }
}

/// The files of a server that may be renewed. Clones share them.
#[derive(Clone, Default)]
pub struct Renewals(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    sources: Vec<Source>,
    is_watched: bool,
}

/// Files that belong together.
struct Source {
    what: &'static str,
    files: Vec<PathBuf>,
    /// How the files were when they were read last.
    read: Vec<Option<Stamp>>,
    /// How they were at the last check.
    looked: Vec<Option<Stamp>>,
    /// False if it is not used any more.
    renew: Box<dyn FnMut() -> Result<bool> + Send>,
}

/// Distinguishes a file from the one at its path before.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    place: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Renewals {
    /// Reads files, and does so again when they change.
    pub fn load<T: ?Sized + Send + Sync + 'static>(
        &self,
        what: &'static str,
        files: Vec<PathBuf>,
        mut load: impl FnMut() -> Result<Arc<T>> + Send + 'static,
    ) -> Result<Shared<T>> {
        // A change after this is seen.
        let read = stamps(&files);
        let shared = Shared::new(load()?);
        let user = Arc::downgrade(&shared.0);
        let renew = move || {
            if user.strong_count() == 0 {
                return Ok(false);
            }
            let value = load()?;
            if let Some(user) = Weak::upgrade(&user) {
                Shared(user).set(value);
            }
            Ok(true)
        };
        self.state().sources.push(Source {
            what,
            files,
            looked: read.clone(),
            read,
            renew: Box::new(renew),
        });
        Ok(shared)
    }

    /// Watches the files on a thread, for as long as this or a clone lives, unless it does so
    /// already. Each of `hangups` lets all of them be read again.
    pub fn watch(&self, hangups: Option<Receiver<()>>) -> Result<()> {
        if std::mem::replace(&mut self.state().is_watched, true) {
            return Ok(());
        }
        let watched = Arc::downgrade(&self.0);
        let watch = move || {
            give_way();
            watch(&watched, hangups);
        };
        std::thread::Builder::new()
            .name("renewals".to_owned())
            .spawn(watch)
            .context("cannot start the thread that watches certificates and keys")?;
        Ok(())
    }

    /// Reads those files that have changed before the last check, and not since: they are whole.
    pub fn look(&self) {
        self.state().sources.retain_mut(|source| {
            let now = stamps(&source.files);
            let is_whole = now == source.looked;
            source.looked.clone_from(&now);
            match is_whole && now != source.read {
                true => source.read_again(now),
                false => true,
            }
        });
    }

    /// Reads all files.
    pub fn renew(&self) {
        let mut state = self.state();
        state.sources.retain_mut(|source| {
            let now = stamps(&source.files);
            source.read_again(now)
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source {
    /// False if it is not used any more.
    fn read_again(&mut self, now: Vec<Option<Stamp>>) -> bool {
        if self.files.iter().any(is_other_than_file) {
            // It has been read, and another read could wait for ever.
            return true;
        }
        self.read = now;
        let (what, files) = (self.what, &self.files);
        match (self.renew)() {
            Ok(true) => {
                table::RENEWALS.add_to("renewed", 1);
                info!(what, ?files, "renewed");
                true
            }
            Ok(false) => false,
            Err(reason) => {
                table::RENEWALS.add_to("rejected", 1);
                error!(
                    what,
                    ?files,
                    "not renewed; the previous contents stay: {reason:#}"
                );
                true
            }
        }
    }
}

fn watch(watched: &Weak<Mutex<State>>, mut hangups: Option<Receiver<()>>) {
    loop {
        let waited = match &hangups {
            Some(hangups) => hangups.recv_timeout(LOOK_PERIOD),
            None => {
                std::thread::sleep(LOOK_PERIOD);
                Err(RecvTimeoutError::Timeout)
            }
        };
        let Some(state) = watched.upgrade() else {
            return;
        };
        let renewals = Renewals(state);
        match waited {
            Ok(()) => {
                info!("SIGHUP: certificates, keys and tokens are read again");
                renewals.renew();
            }
            Err(RecvTimeoutError::Timeout) => renewals.look(),
            Err(RecvTimeoutError::Disconnected) => hangups = None,
        }
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    let stamp = |found: Metadata| Stamp {
        place: (found.dev(), found.ino()),
        bytes: found.len(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    };
    // Where links lead.
    let files = files.iter().map(|file| fs::metadata(file).ok());
    files.map(|found| found.map(stamp)).collect()
}

fn is_other_than_file(path: impl AsRef<Path>) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file())
}

const LOOK_PERIOD: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use anyhow::bail;

    use super::*;

    /// A folder of a test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let name = format!("myriad-renewal-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).expect("a folder");
            Scratch(path)
        }

        fn write(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, text).expect("a file");
            path
        }

        /// Lets a link lead elsewhere, in one step.
        fn relink(&self, to: &str, link: &str) {
            let new = self.0.join("new-link");
            symlink(to, &new).expect("a link");
            fs::rename(&new, self.0.join(link)).expect("a link");
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn load(renewals: &Renewals, file: &Path) -> Shared<str> {
        let path = file.to_owned();
        let load = move || {
            let text = fs::read_to_string(&path)?;
            if text.is_empty() {
                bail!("it is empty");
            }
            Ok(text.into())
        };
        let files = vec![file.to_owned()];
        renewals.load("word", files, load).expect("a word")
    }

    /// As often as a change needs to be seen.
    fn look(renewals: &Renewals) {
        (0..2).for_each(|_| renewals.look());
    }

    #[test]
    fn a_change_comes_into_force_once_it_is_whole() {
        let scratch = Scratch::new("change");
        let (file, renewals) = (scratch.write("word", "one"), Renewals::default());
        let word = load(&renewals, &file);
        look(&renewals);
        assert_eq!(&*word.get(), "one");
        scratch.write("word", "two, of more bytes");
        renewals.look();
        assert_eq!(&*word.get(), "one", "it may be being written");
        renewals.look();
        assert_eq!(&*word.get(), "two, of more bytes");
    }

    #[test]
    fn what_cannot_be_read_leaves_what_was_there() {
        let scratch = Scratch::new("broken");
        let (file, renewals) = (scratch.write("word", "one"), Renewals::default());
        let word = load(&renewals, &file);
        scratch.write("word", "");
        look(&renewals);
        assert_eq!(&*word.get(), "one");
        fs::remove_file(&file).expect("to remove a file");
        look(&renewals);
        renewals.renew();
        assert_eq!(&*word.get(), "one");
        scratch.write("word", "three");
        look(&renewals);
        assert_eq!(&*word.get(), "three");
    }

    #[test]
    fn a_folder_that_is_replaced_by_a_link_is_seen() {
        let scratch = Scratch::new("link");
        scratch.write("..1/word", "one");
        scratch.relink("..1", "..data");
        let file = scratch.0.join("word");
        symlink("..data/word", &file).expect("a link");
        let renewals = Renewals::default();
        let word = load(&renewals, &file);
        scratch.write("..2/word", "two");
        scratch.relink("..2", "..data");
        fs::remove_dir_all(scratch.0.join("..1")).expect("to remove a folder");
        look(&renewals);
        assert_eq!(&*word.get(), "two");
    }

    #[test]
    fn unused_files_are_read_no_more() {
        let scratch = Scratch::new("gone");
        let (file, renewals) = (scratch.write("word", "one"), Renewals::default());
        let word = load(&renewals, &file);
        renewals.renew();
        assert_eq!(renewals.state().sources.len(), 1);
        drop(word);
        renewals.renew();
        assert_eq!(renewals.state().sources.len(), 0);
    }
}
