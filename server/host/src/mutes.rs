//! Mutes of accounts in a persistent world, in its folder: they outlast a restart.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use accounts::identity::Account;
use anyhow::{Context, Result};
use durability::folder;
use platform::waits::Wait;
use tick::talk::mutes::{KeptLists, KeptMutes, Lasting};
use tracing::error;

use super::lists;

/// The lists in a folder, and what keeps there what becomes of them. The tick does not wait for
/// the disk: lists are written by a thread.
pub fn open(folder: &Path) -> Result<KeptMutes> {
    let lists: KeptLists = lists::read(&folder.join(FILE), "has no lists of muted players")?;
    let (to_writer, changes) = channel();
    let (folder, kept) = (folder.to_owned(), lists.clone());
    let thread = thread::Builder::new()
        .name("mutes".to_owned())
        .spawn(move || write_changes(&folder, kept, &changes))?;
    let writer = Writer {
        to_writer: Some(to_writer),
        thread: Some(thread),
    };
    Ok(KeptMutes {
        lists,
        keep: Box::new(move |account, list| writer.send((account.clone(), list))),
    })
}

type Change = (Account, Vec<Lasting>);

/// Dropping it writes what is left.
struct Writer {
    to_writer: Option<Sender<Change>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    fn send(&self, change: Change) {
        if let Some(to_writer) = &self.to_writer {
            // Its end was logged.
            let _ = to_writer.send(change);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _wait = Wait::new("the file of muted players", PATIENCE);
        self.to_writer = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_changes(folder: &Path, mut lists: KeptLists, changes: &Receiver<Change>) {
    while let Ok(first) = changes.recv() {
        let mut next = Some(first);
        let due = Instant::now() + BETWEEN;
        // The file is written as a whole, so changes are gathered for a while.
        while let Some((account, list)) = next {
            match list.is_empty() {
                true => lists.remove(&account),
                false => lists.insert(account, list),
            };
            let left = due.saturating_duration_since(Instant::now());
            next = changes.recv_timeout(left).ok();
        }
        let written = serde_json::to_vec(&lists)
            .context("the lists can't be written")
            .and_then(|text| folder::write(folder, FILE, &text));
        if let Err(error) = written {
            error!("muted players are not kept: {error:#}");
        }
    }
}

const FILE: &str = "mutes.json";
/// After a crash, changes of this time are lost.
const BETWEEN: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(5);
