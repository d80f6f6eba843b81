//! From a folder to a running world: the newest good checkpoint, and the frames since then,
//! in ticks of which nobody is told.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use gpu_kernels::tick::VERSION;
use gpu_kernels::{Backend, Frame, Snapshot, StateHash, TickOutput, Ticket};
use script::logic::compile_with;
use shared::file::UncheckedWorld;
use shared::wire::codec;
use shared::world::logic::LogicConfig;
use shared::{EntityId, Schema, Tick, WorldConfig};
use tracing::{info, warn};

use super::checkpoint::{self, Body, Head};
use super::differences;
use super::disk::Disk;
use super::journal::Start;
use super::log::{End, Log};
use super::record::Entry;
use super::roster::Roster;

/// A checkpoint that can be gone on from.
#[derive(Debug)]
pub struct Stored {
    pub head: Head,
    pub body: Body,
}

/// A world as its last server left it.
pub struct Recovered {
    /// With the scripts of the last tick.
    pub world: WorldConfig,
    pub snapshot: Snapshot,
    pub hash: StateHash,
    /// As the last record has made it: the births and deaths of `last` are not settled.
    pub roster: Roster,
    pub last: TickOutput,
    /// Where the journal goes on.
    pub start: Start,
    /// Of the server that goes on.
    pub epoch: u32,
    pub progress: Progress,
}

impl Recovered {
    /// A checkpoint of the world as it is, for a folder in which nothing follows it yet.
    pub fn into_stored(self) -> Stored {
        let mut snapshot = self.snapshot;
        snapshot.known.iter_mut().for_each(Vec::clear);
        snapshot.behind.clear();
        Stored {
            head: Head {
                tick: self.start.tick,
                epoch: self.epoch,
                tick_version: VERSION,
                previous: self.start.previous,
            },
            body: Body {
                world: self.world,
                snapshot,
                hash: self.hash,
                roster: self.roster,
                births: self.last.births,
                deaths: self.last.deaths,
            },
        }
    }
}

/// How far a recovery has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The tick of the checkpoint.
    pub from: u64,
    /// The tick that comes next.
    pub tick: u64,
    pub time: Duration,
}

/// What to replay, and what is of interest meanwhile.
pub struct Replay<'a> {
    pub backend: &'a mut dyn Backend,
    /// The tick before which to end; `None`: where the journal ends.
    pub until: Option<u64>,
    pub progress: &'a mut dyn FnMut(&Progress),
}

/// The newest good checkpoint at or before a tick; `None` if the folder has none at all.
pub fn newest(disk: &impl Disk, before: Option<u64>) -> Result<Option<Stored>> {
    let mut ticks = checkpoint::ticks(disk)?;
    let mut newest_error = None;
    ticks.retain(|&tick| before.is_none_or(|before| tick <= before));
    for &tick in ticks.iter().rev() {
        match read(disk, tick) {
            Ok(stored) => return Ok(Some(stored)),
            Err(error) => {
                warn!("{error:#}");
                newest_error.get_or_insert(error);
            }
        }
    }
    match newest_error {
        Some(error) => Err(error.context("no checkpoint is good")),
        None => Ok(None),
    }
}

/// The checkpoint before a tick.
pub fn read(disk: &impl Disk, tick: u64) -> Result<Stored> {
    let (head, bytes) = checkpoint::read(disk, tick)?;
    let name = checkpoint::name_of(tick);
    let body: Body<UncheckedWorld> = codec::from_bytes::<BODY_BYTES_MAX, _>(&bytes)
        .with_context(|| format!("{name} is not one of this version"))?;
    let world = script::world::check(body.world, &name)
        .with_context(|| format!("{name} has a world that can't be one"))?;
    let body = Body {
        world,
        snapshot: body.snapshot,
        hash: body.hash,
        roster: body.roster,
        births: body.births,
        deaths: body.deaths,
    };
    Ok(Stored { head, body })
}

/// The state of a new world, as its first checkpoint.
pub fn genesis(world: &WorldConfig, backend: &mut dyn Backend) -> Result<Stored> {
    let body = Body {
        world: world.clone(),
        snapshot: backend.snapshot()?,
        hash: backend.state_hash()?,
        roster: Roster::default(),
        births: vec![],
        deaths: vec![],
    };
    let head = Head {
        tick: 0,
        epoch: 0,
        tick_version: VERSION,
        previous: 0,
    };
    Ok(Stored { head, body })
}

/// Brings a backend to the end of a journal, and says what is to be cut there. Fails if a
/// state on the way is not the recorded one.
pub fn replay<D: Disk>(disk: &D, stored: Stored, replay: Replay<'_>) -> Result<(Recovered, End)> {
    let Stored { head, body } = stored;
    let backend = replay.backend;
    backend.restore(&body.snapshot)?;
    let found = backend.state_hash()?;
    compare(&body.world.schema, head.tick, &body.hash, &found)?;
    let capacity = body.world.schema.world.capacity;
    let mut log = Log::open(disk, capacity, head.tick, Some(head.previous))?;
    let mut run = Run {
        backend,
        world: body.world,
        roster: body.roster,
        hash: found,
        last: TickOutput {
            tick: Tick(body.snapshot.tick.0.wrapping_sub(1)),
            births: body.births,
            deaths: body.deaths,
            ..TickOutput::default()
        },
        in_flight: None,
        epoch: head.epoch,
    };
    run.backend.set_quiet(true);
    let begun = Instant::now();
    let mut told = begun;
    let mut progress = Progress {
        from: head.tick,
        ..Progress::default()
    };
    // The record that was read last: what it does to characters no later one tells.
    let mut waiting: Option<Entry> = None;
    let end = loop {
        progress.tick = log.next_tick();
        progress.time = begun.elapsed();
        if told.elapsed() >= TELL_PERIOD {
            told = Instant::now();
            (replay.progress)(&progress);
        }
        if replay.until == Some(log.next_tick()) {
            break End {
                tick: log.next_tick(),
                torn: None,
                reason: None,
            };
        }
        let read = match log.read()? {
            Ok(read) => read,
            Err(end) => break end,
        };
        let (tick, version) = (read.place.tick, read.place.tick_version);
        if version != VERSION {
            bail!(
                "tick {tick} was run by version {version} of the tick, and this is version \
                 {VERSION}: start the server that ran it, and stop it with Ctrl-C"
            );
        }
        run.epoch = run.epoch.max(read.place.epoch);
        if let Some(entry) = waiting.replace(read.entry) {
            run.take(entry)?;
        }
    };
    if let Some(entry) = waiting {
        run.take_last(entry)?;
    }
    run.collect()?;
    run.backend.set_quiet(false);
    progress.time = begun.elapsed();
    let start = Start {
        tick: end.tick,
        previous: log.previous().unwrap_or(head.previous),
    };
    let snapshot = run.backend.snapshot()?;
    if snapshot.tick.0 != end.tick {
        bail!(
            "the world is before tick {}, and its journal before {}",
            snapshot.tick,
            end.tick
        );
    }
    let recovered = Recovered {
        world: run.world,
        snapshot,
        hash: run.hash,
        roster: run.roster,
        last: run.last,
        start,
        epoch: run.epoch + 1,
        progress,
    };
    Ok((recovered, end))
}

/// A replay on its way.
struct Run<'a> {
    backend: &'a mut dyn Backend,
    world: WorldConfig,
    roster: Roster,
    hash: StateHash,
    last: TickOutput,
    in_flight: Option<Ticket>,
    epoch: u32,
}

impl Run<'_> {
    /// Runs the tick of a record. The one before is compared with what the record says.
    fn take(&mut self, entry: Entry) -> Result<()> {
        self.collect()?;
        let tick = entry.frame.tick.0;
        compare(&self.world.schema, tick, &entry.before, &self.hash)?;
        for change in &entry.changes {
            self.roster.apply(change);
        }
        self.submit(&entry.frame)
    }

    /// Runs the tick of the last record. Who dies in it leaves to the account what it had.
    fn take_last(&mut self, entry: Entry) -> Result<()> {
        self.collect()?;
        let persists = self.world.persists.clone();
        if persists.is_empty() {
            return self.take(entry);
        }
        let before = self.backend.snapshot()?;
        let mut accounts = self.accounts();
        self.take(entry)?;
        accounts.extend(self.accounts());
        let Some(output) = self.collect()? else {
            return Ok(());
        };
        let columns = self.world.schema.attributes.len();
        for entity in &output.deaths {
            let Some(account) = accounts.remove(entity) else {
                continue;
            };
            let start = entity.slot.index() * columns;
            let mut row = before.rows[start..start + columns].to_vec();
            let changed = output
                .changes
                .iter()
                .filter(|(slot, ..)| *slot == entity.slot);
            for (_, columns, values) in changed {
                for (&column, &value) in columns.iter().zip(values) {
                    row[usize::from(column)] = value;
                }
            }
            let kept = persists.iter().map(|&column| row[usize::from(column)]);
            self.roster.characters.insert(account, kept.collect());
        }
        Ok(())
    }

    /// The accounts of entities.
    fn accounts(&self) -> HashMap<EntityId, String> {
        let rows = self.roster.clients.values().map(|client| &client.row);
        let with_account =
            rows.filter_map(|row| Some((row.entity()?, row.person.account.clone()?)));
        with_account.collect()
    }

    fn submit(&mut self, frame: &Frame) -> Result<()> {
        if let Some(logic) = &frame.logic {
            self.world = with_logic(&self.world, logic)?;
        }
        let ticket = self.backend.submit(frame);
        self.in_flight = Some(ticket.with_context(|| format!("tick {}", frame.tick))?);
        Ok(())
    }

    /// Waits for the tick that is in flight; gives its output.
    fn collect(&mut self) -> Result<Option<Arc<TickOutput>>> {
        let Some(ticket) = self.in_flight.take() else {
            return Ok(None);
        };
        let output = self.backend.collect(ticket)?;
        self.hash.clone_from(&output.hash);
        self.last.tick = output.tick;
        self.last.births.clone_from(&output.births);
        self.last.deaths.clone_from(&output.deaths);
        Ok(Some(output))
    }
}

/// The world with other scripts.
fn with_logic(world: &WorldConfig, logic: &LogicConfig) -> Result<WorldConfig> {
    match compile_with(world, logic) {
        Ok((world, _)) => Ok(world),
        Err(_) => bail!("the journal's scripts don't compile in this version"),
    }
}

/// Compares the state before a tick with what was recorded of it.
fn compare(schema: &Schema, tick: u64, recorded: &StateHash, found: &StateHash) -> Result<()> {
    if recorded.agrees_but_for_known(found) {
        return Ok(());
    }
    let names = StateHash::part_names(schema);
    let parts = recorded.parts.iter().zip(&found.parts);
    let different = names.iter().zip(parts).filter(|(_, (a, b))| a != b);
    let different: Vec<&str> = different.map(|(name, _)| name.as_str()).collect();
    bail!(
        "the state before tick {tick} differs from the recorded one in {}",
        different.join(", ")
    )
}

/// Fails if a world file says something else than the world that was kept, and names what.
pub fn check_same(kept: &WorldConfig, given: &WorldConfig) -> Result<()> {
    let mut different = differences::between(kept, given);
    if different.is_empty() {
        return Ok(());
    }
    let more = different.len().saturating_sub(DIFFERENCES_SHOWN);
    different.truncate(DIFFERENCES_SHOWN);
    if more > 0 {
        different.push(format!("and {more} more"));
    }
    bail!(
        "the world file differs from the world that is kept in this folder: start with the file \
         that the world began with, or let the world go on with this one by `myriad migrate DIR \
         --world FILE`. It differs in\n  {}",
        different.join("\n  ")
    )
}

/// Says what a recovery has found.
pub fn report(recovered: &Recovered, end: &End) {
    let Progress { from, tick, time } = recovered.progress;
    info!(from, tick, ?time, "the world is recovered");
    if let (Some(reason), Some((name, offset))) = (end.reason, end.torn) {
        info!(%reason, %name, offset, "the journal ends there");
    }
}

const DIFFERENCES_SHOWN: usize = 20;
const TELL_PERIOD: Duration = Duration::from_secs(1);
/// As long as a file may be.
const BODY_BYTES_MAX: usize = 1 << 40;
