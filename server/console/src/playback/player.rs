//! The state at any position.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Result, bail};
use gpu_kernels::{Backend, CpuBackend, Snapshot};
use platform::metrics::machine;
use script::logic::compile_with;
use shared::WorldConfig;

use super::inspection::{self, Inspection};
use super::moment::Moment;
use super::names::Names;
use super::shelf::{SHELF_BYTES_MAX, Shelf};
use super::surveyor::{self, Progress, SharedProgress, Surveyor, restore};
use super::texts::Texts;
use super::ticks::Ticks;

/// Plays a recording or a persistent world.
pub struct Player {
    ticks: Ticks,
    backend: CpuBackend,
    /// The world's state before the first tick.
    start: Snapshot,
    shelf: Arc<Shelf>,
    progress: SharedProgress,
    names: Arc<Names>,
    texts: Arc<Texts>,
    /// Where the backend is; `None` after an error.
    position: Option<u64>,
    world: Arc<WorldConfig>,
    /// The newest last.
    recent: VecDeque<Arc<Moment>>,
    /// The last position that was sought, and the state before its tick.
    before: Option<(u64, Snapshot)>,
}

impl Player {
    /// Opens a recording or the folder of a persistent world; also returns the surveyor, which makes
    /// the snapshots.
    pub fn open(path: &Path, threads: usize) -> Result<(Player, Surveyor)> {
        Player::with_shelf(path, threads, SHELF_BYTES_MAX)
    }

    /// The same, with so many bytes for snapshots.
    pub fn with_shelf(path: &Path, threads: usize, bytes_max: u64) -> Result<(Player, Surveyor)> {
        let ticks = Ticks::open(path)?;
        let available = machine::memory_available();
        let contents = ticks.contents().clone();
        let world = contents.world.clone();
        let mut backend = CpuBackend::new(&world, threads, available)?;
        // The player has the rest of the machine's threads during requests.
        let mut surveyed = CpuBackend::new(&world, 1, available)?;
        if let Some(snapshot) = &contents.snapshot {
            backend.restore(snapshot)?;
            surveyed.restore(snapshot)?;
        }
        let start = backend.snapshot()?;
        let shelf = Arc::new(Shelf::open(path, contents.identity, bytes_max)?);
        let progress = SharedProgress::new(Mutex::new(Progress {
            first: contents.first,
            ticks: contents.end,
            reached: contents.first,
            ends_early: contents.broken_off.clone(),
            ..Progress::default()
        }));
        let names = Arc::new(Names::default());
        names.note(0, &contents.people);
        let texts = Arc::new(Texts::default());
        texts.note(&contents.texts);
        let surveyor = Surveyor::new(
            ticks.again()?,
            surveyed,
            shelf.clone(),
            progress.clone(),
            (names.clone(), texts.clone()),
        );
        let player = Player {
            ticks,
            backend,
            start,
            shelf,
            progress,
            names,
            texts,
            position: Some(contents.first),
            world: Arc::new(world),
            recent: VecDeque::new(),
            before: None,
        };
        Ok((player, surveyor))
    }

    /// The world before the first tick.
    pub fn world(&self) -> &Arc<WorldConfig> {
        &self.world
    }

    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    pub fn progress(&self) -> SharedProgress {
        self.progress.clone()
    }

    /// The names of players, up to the position of the surveyor.
    pub fn names(&self) -> Arc<Names> {
        self.names.clone()
    }

    /// The texts that clients gave, likewise.
    pub fn texts(&self) -> Arc<Texts> {
        self.texts.clone()
    }

    /// The state at a position. Fails with a sentence where the ticks were not run up to it,
    /// instead of a long wait.
    pub fn at(&mut self, position: u64) -> Result<Arc<Moment>> {
        if let Some(found) = self.recent.iter().find(|m| m.position == position) {
            return Ok(found.clone());
        }
        let progress = surveyor::read(&self.progress);
        if !(progress.first..=progress.ticks).contains(&position) {
            let Progress { first, ticks, .. } = progress;
            bail!("tick {position} is not there: expected {first} to {ticks}");
        }
        let is_next = self.position == position.checked_sub(1);
        if position > progress.reached && !is_next && position > progress.first + NEAR {
            let reached = progress.reached;
            bail!("the ticks up to {reached} were run so far: try again soon");
        }
        let result = self.seek(position);
        if result.is_err() {
            self.position = None;
        }
        let moment = Arc::new(result?);
        while self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(moment.clone());
        Ok(moment)
    }

    fn seek(&mut self, position: u64) -> Result<Moment> {
        let first = self.ticks.contents().first;
        if position == first {
            self.backend.restore(&self.start)?;
            self.position = Some(first);
            return Ok(Moment::start(self.world.clone(), self.start.clone()));
        }
        let tick = position - 1;
        self.go_before(tick)?;
        let before = self.backend.snapshot()?;
        let read = self.ticks.read(tick)?;
        let (output, trace) = self.backend.tick_traced(&read.frame)?;
        let written = &read.written;
        written.compare(&self.world.schema, tick, &output.hash)?;
        self.position = Some(position);
        let after = self.backend.snapshot()?;
        let world = self.world_of(&after)?;
        let moment = Moment::new(world, &before, after, &output, trace);
        self.before = Some((position, before));
        Ok(moment)
    }

    /// Runs a command of the tick before a position again, by its place among the tick's.
    pub fn inspect(&mut self, position: u64, command: usize) -> Result<Inspection> {
        let mut moment = self.at(position)?;
        if self.before.as_ref().is_none_or(|(at, _)| *at != position) {
            self.recent.retain(|recent| recent.position != position);
            moment = self.at(position)?;
        }
        match &self.before {
            Some((at, before)) if *at == position => {
                inspection::inspect(&moment.world, before, &moment.trace, command)
            }
            _ => bail!("no tick has run before position {position}"),
        }
    }

    /// Brings the world to the position from which a tick starts.
    fn go_before(&mut self, tick: u64) -> Result<()> {
        loop {
            let snapshot = self.shelf.before(tick);
            let is_nearer = |own: u64| own <= tick && snapshot.is_none_or(|at| at <= own);
            if self.position.is_some_and(is_nearer) {
                break;
            }
            let Some(snapshot) = snapshot else {
                self.backend.restore(&self.start)?;
                self.position = Some(self.ticks.contents().first);
                break;
            };
            match restore(&mut self.backend, &mut self.ticks, &self.shelf, snapshot) {
                Ok(()) => self.position = Some(snapshot),
                Err(_) => {
                    self.position = None;
                    self.shelf.distrust(snapshot);
                }
            }
        }
        for next in self.position.unwrap_or(tick)..tick {
            let read = self.ticks.read(next)?;
            let output = self.backend.tick(&read.frame)?;
            let written = &read.written;
            written.compare(&self.world.schema, next, &output.hash)?;
            self.position = Some(next + 1);
        }
        Ok(())
    }

    /// The world with the scripts that are in force.
    fn world_of(&self, snapshot: &Snapshot) -> Result<Arc<WorldConfig>> {
        if let Some(recent) = self.recent.back()
            && recent.world.logic == snapshot.logic
        {
            return Ok(recent.world.clone());
        }
        if self.world.logic == snapshot.logic {
            return Ok(self.world.clone());
        }
        match compile_with(&self.world, &snapshot.logic) {
            Ok((world, _)) => Ok(Arc::new(world)),
            Err(_) => bail!("the recorded scripts don't compile in this version"),
        }
    }
}

/// So many ticks from the start can always be run at once.
const NEAR: u64 = 32;
/// States that are cached for further requests.
const RECENT_MAX: usize = 8;
