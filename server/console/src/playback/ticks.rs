//! The ticks of what is played, by their number, whatever they are read from.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use gpu_kernels::Frame;

use super::found::{Found, Written};
use super::kept::Kept;
use super::recorded::Recorded;

/// A recording or the journal of a kept world, whose records have been found. Each reader has
/// its own.
pub struct Ticks {
    source: Source,
    found: Arc<Found>,
}

enum Source {
    Recorded(Box<Recorded>),
    Kept(Box<Kept>),
}

impl Ticks {
    /// Opens a recording or the folder of a kept world, and compares the checksums of all
    /// records.
    pub fn open(path: &Path) -> Result<Ticks> {
        let (source, found) = match path.is_dir() {
            true => {
                let (kept, found) = Kept::open(path)?;
                (Source::Kept(Box::new(kept)), found)
            }
            false => {
                let (recorded, found) = Recorded::open(path)?;
                (Source::Recorded(Box::new(recorded)), found)
            }
        };
        let found = Arc::new(found);
        Ok(Ticks { source, found })
    }

    /// Another reader of the same.
    pub fn again(&self) -> Result<Ticks> {
        Ok(Ticks {
            source: match &self.source {
                Source::Recorded(recorded) => Source::Recorded(Box::new(recorded.again()?)),
                Source::Kept(kept) => Source::Kept(Box::new(kept.again())),
            },
            found: self.found.clone(),
        })
    }

    pub fn found(&self) -> &Arc<Found> {
        &self.found
    }

    /// A tick's frame, and what was written of the state after it.
    pub fn read(&mut self, tick: u64) -> Result<(Arc<Frame>, Written)> {
        let Found { first, end, .. } = *self.found;
        if !(first..end).contains(&tick) {
            bail!("there is no tick {tick}: expected {first} to {end}");
        }
        match &mut self.source {
            Source::Recorded(recorded) => recorded.read(tick),
            Source::Kept(kept) => kept.read(tick),
        }
    }

    /// What was written of the state at a position.
    pub fn written_at(&mut self, position: u64) -> Result<Written> {
        match position.checked_sub(1) {
            Some(tick) if tick >= self.found.first => Ok(self.read(tick)?.1),
            _ => Ok(Written::Nothing),
        }
    }
}
