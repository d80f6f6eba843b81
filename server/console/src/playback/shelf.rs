//! Snapshots of a recorded world, in a folder beside the recording, or among temporary files
//! where that can't be written.
//!
//! The folder is named for the recording and a checksum of its start, so snapshots of another
//! recording under the same name are not touched. A snapshot is in the form of a
//! checkpoint, so damage is detected, and one whose hash is not the recorded one is not used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use durability::checkpoint::{self, Head};
use durability::disk::{Disk, Folder};
use durability::epoch::Epoch;
use gpu_kernels::Snapshot;
use gpu_kernels::tick::VERSION;
use platform::private;
use shared::wire::codec;

/// The snapshots of one recording.
pub struct Shelf {
    folder: Folder,
    identity: u32,
    bytes_max: u64,
    /// By position: bytes.
    kept: Mutex<BTreeMap<u64, u64>>,
}

impl Shelf {
    /// Opens the folder of a recording, and creates it if there is none.
    pub fn open(recording: &Path, identity: u32, bytes_max: u64) -> Result<Shelf> {
        let folder = Folder::new(create(recording, identity)?);
        let mut kept = BTreeMap::new();
        for position in checkpoint::ticks(&folder)? {
            kept.insert(position, folder.length(&checkpoint::name_of(position))?);
        }
        Ok(Shelf {
            folder,
            identity,
            bytes_max,
            kept: Mutex::new(kept),
        })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The positions of all snapshots, ascending.
    pub fn positions(&self) -> Vec<u64> {
        self.kept().keys().copied().collect()
    }

    /// The last position at or before another that has a snapshot.
    pub fn before(&self, position: u64) -> Option<u64> {
        self.kept().range(..=position).next_back().map(|at| *at.0)
    }

    /// Reads a snapshot.
    pub fn read(&self, position: u64) -> Result<Snapshot> {
        let (head, bytes) = checkpoint::read(&self.folder, position)?;
        if head.epoch != Epoch(self.identity) || head.tick_version != VERSION {
            bail!("the snapshot before tick {position} is of another world or version");
        }
        let (mut snapshot, rest) = codec::split_first::<BYTES_MAX, Snapshot>(&bytes)
            .with_context(|| format!("the snapshot before tick {position} can't be read"))?;
        if !rest.is_empty() {
            (snapshot.fields, snapshot.edits) = codec::from_bytes::<BYTES_MAX, _>(rest)
                .with_context(|| format!("the snapshot before tick {position} can't be read"))?;
        }
        if snapshot.tick.0 != position {
            bail!("the snapshot before tick {position} is of another tick");
        }
        Ok(snapshot)
    }

    /// Forgets a snapshot. Its file stays.
    pub fn distrust(&self, position: u64) {
        self.kept().remove(&position);
    }

    /// Stores a snapshot, unless one is there. True if every other one was removed to make room.
    pub fn keep(&self, snapshot: &Snapshot) -> Result<bool> {
        let position = snapshot.tick.0;
        let name = checkpoint::name_of(position);
        // An untrusted one is not replaced, either.
        if self.folder.names()?.contains(&name) {
            return Ok(false);
        }
        let head = Head {
            tick: position,
            epoch: Epoch(self.identity),
            tick_version: VERSION,
            previous: 0,
        };
        let mut body = codec::to_bytes(snapshot);
        // What few worlds have stands behind, as in a checkpoint.
        if !snapshot.fields.is_empty() || !snapshot.edits.is_empty() {
            body.extend(codec::to_bytes(&(&snapshot.fields, &snapshot.edits)));
        }
        checkpoint::write(&self.folder, &head, &body)?;
        let mut kept = self.kept();
        kept.insert(position, self.folder.length(&name)?);
        if kept.values().sum::<u64>() <= self.bytes_max {
            return Ok(false);
        }
        let others = kept.keys().copied().skip(1).step_by(2);
        for position in others.collect::<Vec<u64>>() {
            self.folder.remove(&checkpoint::name_of(position))?;
            kept.remove(&position);
        }
        Ok(true)
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The folder beside a recording; one for temporary files where that can't be written.
fn create(recording: &Path, identity: u32) -> Result<PathBuf> {
    // A folder may be given as `.`.
    let path = recording.canonicalize();
    let path = path.with_context(|| format!("cannot find {}", recording.display()))?;
    let name = path.file_name().context("expected a file or a folder")?;
    let mut name = name.to_owned();
    name.push(format!(".seek-{identity:08x}"));
    let beside = path.with_file_name(&name);
    if private::create_folder(&beside).is_ok() && is_writable(&beside) {
        return Ok(beside);
    }
    let elsewhere = std::env::temp_dir().join(&name);
    private::create_folder(&elsewhere)
        .with_context(|| format!("cannot create {}", elsewhere.display()))?;
    Ok(elsewhere)
}

fn is_writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

/// The bytes of all snapshots of a recording on disk, at most.
pub const SHELF_BYTES_MAX: u64 = 512 << 20;
/// As long as a file may be.
const BYTES_MAX: usize = 1 << 40;
