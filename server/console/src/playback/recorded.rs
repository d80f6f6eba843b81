//! The ticks of a recording.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use durability::recording::{NextTick, RecordingReader};

use super::contents::{Contents, ReadTick, RecordedHash};

/// Reads the ticks of a recording.
pub struct Recorded {
    path: PathBuf,
    reader: RecordingReader,
    /// Where each tick's record begins, in bytes.
    starts: Arc<Vec<u64>>,
    /// The tick that the reader is before.
    next: u64,
}

impl Recorded {
    /// Opens a recording, and compares the checksums of all records.
    pub fn open(path: &Path) -> Result<(Recorded, Contents)> {
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
        let end = starts.len() as u64;
        let contents = Contents {
            world: reader.config.clone(),
            snapshot: None,
            people: vec![],
            texts: vec![],
            first: 0,
            end,
            identity: crc32c::crc32c(&head),
            broken_off,
        };
        let recorded = Recorded {
            path: path.to_owned(),
            reader,
            starts: Arc::new(starts),
            next: end,
        };
        Ok((recorded, contents))
    }

    pub fn again(&self) -> Result<Recorded> {
        Ok(Recorded {
            path: self.path.clone(),
            reader: RecordingReader::open(&self.path)?,
            starts: self.starts.clone(),
            next: 0,
        })
    }

    pub fn read(&mut self, tick: u64) -> Result<ReadTick> {
        if tick != self.next {
            let start = usize::try_from(tick).ok();
            let start = start.and_then(|tick| self.starts.get(tick));
            let start = start.with_context(|| format!("the recording has no tick {tick}"))?;
            self.reader.seek(*start)?;
        }
        // The position after an error does not matter: the reader seeks the next tick.
        self.next = u64::MAX;
        match self.reader.next_tick() {
            NextTick::Tick(next) => {
                self.next = tick + 1;
                Ok(ReadTick {
                    frame: next.frame.into(),
                    texts: next.annotations.texts(),
                    people: next.annotations.people,
                    written: RecordedHash::Hash(next.hash),
                })
            }
            NextTick::End => bail!("the recording ends before tick {tick}"),
            NextTick::BrokenOff(reason) => bail!("{reason}"),
        }
    }
}
