//! The ticks of a recording or a journal, by their number.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};

use super::contents::{Contents, ReadTick, RecordedHash};
use super::persistent::Persistent;
use super::recorded::Recorded;

/// A recording or the journal of a persistent world, whose records were indexed. Each reader has
/// its own.
pub struct Ticks {
    source: Source,
    contents: Arc<Contents>,
}

enum Source {
    Recorded(Box<Recorded>),
    Persistent(Box<Persistent>),
}

impl Ticks {
    /// Opens a recording or the folder of a persistent world, and compares the checksums of all
    /// records.
    pub fn open(path: &Path) -> Result<Ticks> {
        let (source, contents) = match path.is_dir() {
            true => {
                let (persistent, contents) = Persistent::open(path)?;
                (Source::Persistent(Box::new(persistent)), contents)
            }
            false => {
                let (recorded, contents) = Recorded::open(path)?;
                (Source::Recorded(Box::new(recorded)), contents)
            }
        };
        let contents = Arc::new(contents);
        Ok(Ticks { source, contents })
    }

    /// Another reader of the same.
    pub fn again(&self) -> Result<Ticks> {
        Ok(Ticks {
            source: match &self.source {
                Source::Recorded(recorded) => Source::Recorded(Box::new(recorded.again()?)),
                Source::Persistent(persistent) => Source::Persistent(Box::new(persistent.again())),
            },
            contents: self.contents.clone(),
        })
    }

    pub fn contents(&self) -> &Arc<Contents> {
        &self.contents
    }

    /// Reads a tick.
    pub fn read(&mut self, tick: u64) -> Result<ReadTick> {
        let Contents { first, end, .. } = *self.contents;
        if !(first..end).contains(&tick) {
            bail!("there is no tick {tick}: expected {first} to {end}");
        }
        match &mut self.source {
            Source::Recorded(recorded) => recorded.read(tick),
            Source::Persistent(persistent) => persistent.read(tick),
        }
    }

    /// The recorded hash of the state at a position.
    pub fn hash_at(&mut self, position: u64) -> Result<RecordedHash> {
        match position.checked_sub(1) {
            Some(tick) if tick >= self.contents.first => Ok(self.read(tick)?.written),
            _ => Ok(RecordedHash::Nothing),
        }
    }
}
