//! The thread that runs all ticks once: it compares every state with the recorded one, and keeps a snapshot whenever the ticks since the last one took a while.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use gpu_kernels::{Backend, CpuBackend};
use platform::scheduling::give_way;
use serde::Serialize;

use super::names::Names;
use super::shelf::Shelf;
use super::texts::Texts;
use super::ticks::Ticks;

/// The progress of a survey.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// The first position.
    pub first: u64,
    /// The last position that there may be.
    pub ticks: u64,
    /// The last position up to which it was run.
    pub reached: u64,
    /// Whether the end has been reached.
    pub is_done: bool,
    /// Why it ends early, if it does; a sentence.
    pub ends_early: Option<String>,
    /// Why there are no further snapshots, if there was a problem.
    pub shelf_problem: Option<String>,
}

/// The thread's progress, shared.
pub type SharedProgress = Arc<Mutex<Progress>>;

pub fn read(progress: &SharedProgress) -> Progress {
    let progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
    progress.clone()
}

/// Runs the ticks from the last snapshot on.
pub struct Surveyor {
    ticks: Ticks,
    backend: CpuBackend,
    shelf: Arc<Shelf>,
    progress: SharedProgress,
    names: Arc<Names>,
    texts: Arc<Texts>,
    position: u64,
    /// Between two snapshots.
    span: Duration,
    keeps: bool,
}

impl Surveyor {
    pub fn new(
        ticks: Ticks,
        backend: CpuBackend,
        shelf: Arc<Shelf>,
        progress: SharedProgress,
        (names, texts): (Arc<Names>, Arc<Texts>),
    ) -> Surveyor {
        Surveyor {
            position: ticks.contents().first,
            ticks,
            backend,
            shelf,
            progress,
            names,
            texts,
            span: SPAN,
            keeps: true,
        }
    }

    /// Stores a snapshot whenever the ticks since the last one took so long.
    pub fn every(mut self, span: Duration) -> Surveyor {
        self.span = span;
        self
    }

    /// Starts the thread, which ends with the last tick.
    pub fn start(self) -> Result<()> {
        std::thread::Builder::new()
            .name("surveyor".to_owned())
            .spawn(move || {
                give_way();
                self.run();
            })
            .context("cannot start the thread for snapshots")?;
        Ok(())
    }

    /// Runs all ticks.
    pub fn run(mut self) {
        if let Err(error) = self.resume() {
            return self.end(Some(format!("{error:#}")));
        }
        let mut since = Duration::ZERO;
        while self.position < self.ticks.contents().end {
            let begun = Instant::now();
            if let Err(error) = self.step() {
                return self.end(Some(format!("{error:#}")));
            }
            since += begun.elapsed();
            if since >= self.span && self.keeps {
                since = Duration::ZERO;
                self.keep();
            }
            self.note(|progress, position| progress.reached = position);
        }
        self.end(None);
    }

    /// Continues where an earlier survey has ended. Of the ticks before, only names and texts are read.
    fn resume(&mut self) -> Result<()> {
        let positions = self.shelf.positions();
        if positions.is_empty() {
            return Ok(());
        }
        let start = self.backend.snapshot()?;
        for &position in positions.iter().rev() {
            match restore(&mut self.backend, &mut self.ticks, &self.shelf, position) {
                Ok(()) => {
                    self.position = position;
                    self.note(|progress, position| progress.reached = position);
                    for tick in self.ticks.contents().first..position {
                        let read = self.ticks.read(tick)?;
                        self.names.note(tick, &read.people);
                        self.texts.note(&read.texts);
                    }
                    return Ok(());
                }
                Err(_) => self.shelf.distrust(position),
            }
        }
        // A damaged one may have left any state.
        Ok(self.backend.restore(&start)?)
    }

    fn step(&mut self) -> Result<()> {
        let tick = self.position;
        let read = self.ticks.read(tick)?;
        let output = self.backend.tick(&read.frame)?;
        let written = &read.written;
        written.compare(&self.ticks.contents().world.schema, tick, &output.hash)?;
        self.names.note(tick, &read.people);
        self.texts.note(&read.texts);
        self.position += 1;
        Ok(())
    }

    fn keep(&mut self) {
        let snapshot = self.backend.snapshot().map_err(anyhow::Error::from);
        match snapshot.and_then(|snapshot| self.shelf.keep(&snapshot)) {
            Ok(true) => self.span *= 2,
            Ok(false) => {}
            Err(error) => {
                self.keeps = false;
                let problem = format!("no further snapshots can be kept: {error:#}");
                self.note(|progress, _| progress.shelf_problem = Some(problem));
            }
        }
    }

    fn end(self, difference: Option<String>) {
        self.note(|progress, position| {
            progress.is_done = true;
            if let Some(reason) = difference {
                progress.ticks = position;
                progress.ends_early = Some(reason);
            }
        });
    }

    fn note(&self, change: impl FnOnce(&mut Progress, u64)) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut progress, self.position);
    }
}

/// Brings a world to a snapshot, whose hash must be the recorded one.
pub fn restore(
    backend: &mut CpuBackend,
    ticks: &mut Ticks,
    shelf: &Shelf,
    position: u64,
) -> Result<()> {
    let snapshot = shelf.read(position)?;
    let written = ticks.hash_at(position)?;
    backend.restore(&snapshot)?;
    let found = backend.state_hash()?;
    let schema = &ticks.contents().world.schema;
    written.compare(schema, position.saturating_sub(1), &found)
}

/// The ticks between two snapshots take so long: a seek is to take less than a second, also
/// while the thread itself runs and other work is done.
const SPAN: Duration = Duration::from_millis(150);
