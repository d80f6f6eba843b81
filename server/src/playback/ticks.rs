//! The ticks of a recording, by their number.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use gpu_kernels::{Frame, StateHash};
use shared::{Schema, WorldConfig};

use crate::commands::difference::differing_parts;
use crate::durable::recording::{Next, RecordingReader};

/// A recording whose records have been found. Each reader has its own.
pub struct Ticks {
    reader: RecordingReader,
    found: Arc<Found>,
    /// The tick that the reader is before.
    next: u64,
}

/// What was found when the recording was opened.
#[derive(Debug)]
pub struct Found {
    path: PathBuf,
    /// Where each tick's record begins, in bytes.
    starts: Vec<u64>,
    /// Of the world and the first tick: what tells this recording from others.
    pub identity: u32,
    /// Why the recording ends early, if it does.
    pub broken_off: Option<String>,
}

impl Ticks {
    /// Opens a recording, and compares the checksums of all records.
    pub fn open(path: &Path) -> Result<Ticks> {
        let mut reader = RecordingReader::open(path)?;
        let (mut starts, mut broken_off) = (vec![], None);
        let mut first_end = reader.offset();
        loop {
            let start = reader.offset();
            match reader.pass_tick() {
                Ok(true) => starts.push(start),
                Ok(false) => break,
                Err(reason) => {
                    broken_off = Some(reason);
                    break;
                }
            }
            if starts.len() == 1 {
                first_end = reader.offset();
            }
        }
        let mut head = vec![];
        let file = File::open(path)?;
        BufReader::new(file)
            .take(first_end)
            .read_to_end(&mut head)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let found = Found {
            path: path.to_owned(),
            starts,
            identity: crc32c::crc32c(&head),
            broken_off,
        };
        let next = found.starts.len() as u64;
        Ok(Ticks {
            reader,
            found: Arc::new(found),
            next,
        })
    }

    /// Another reader of the same recording.
    pub fn again(&self) -> Result<Ticks> {
        Ok(Ticks {
            reader: RecordingReader::open(&self.found.path)?,
            found: self.found.clone(),
            next: 0,
        })
    }

    pub fn found(&self) -> &Arc<Found> {
        &self.found
    }

    pub fn world(&self) -> &WorldConfig {
        &self.reader.config
    }

    /// The number of ticks.
    pub fn len(&self) -> u64 {
        self.found.starts.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A tick's frame, and the hash of the state after it.
    pub fn read(&mut self, tick: u64) -> Result<(Box<Frame>, StateHash)> {
        if tick != self.next {
            let start = usize::try_from(tick).ok();
            let start = start.and_then(|tick| self.found.starts.get(tick));
            let start = start.with_context(|| format!("the recording has no tick {tick}"))?;
            self.reader.seek(*start)?;
        }
        // Where the reader is after an error does not matter: the next tick is sought.
        self.next = u64::MAX;
        match self.reader.next_tick() {
            Next::Tick(frame, hash) => {
                self.next = tick + 1;
                Ok((frame, hash))
            }
            Next::End => bail!("the recording ends before tick {tick}"),
            Next::BrokenOff(reason) => bail!("{reason}"),
        }
    }

    /// The hash of the state at a position.
    pub fn hash_at(&mut self, position: u64) -> Result<Option<StateHash>> {
        match position.checked_sub(1) {
            Some(tick) => Ok(Some(self.read(tick)?.1)),
            None => Ok(None),
        }
    }
}

/// Fails if the state after a tick is not the recorded one.
pub fn compare(schema: &Schema, tick: u64, recorded: &StateHash, found: &StateHash) -> Result<()> {
    ensure!(
        recorded == found,
        "tick {tick}: the state differs from the recorded one in {}",
        differing_parts(schema, recorded, found)
    );
    Ok(())
}
