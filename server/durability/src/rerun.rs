//! Runs the ticks of records again, and compares each state with the hash in the next record.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use gpu_kernels::tick::VERSION;
use gpu_kernels::{Backend, Birth, Frame, Snapshot, StateHash, SubmittedTick, TickOutput};
use script::logic::compile_with;
use shared::world::logic::LogicConfig;
use shared::{ClientRow, EntityId, Schema, Slot, Tick, WorldConfig};

use super::ahead::Work;
use super::characters::character::Character;
use super::characters::settlement::{EndOfTick, Settlement};
use super::checkpoint::Body;
use super::epoch::Epoch;
use super::journal::Start;
use super::record::{Entry, RecordHead};
use super::recovered::{Progress, Recovered, RunTimes, Stored};
use super::roster::{Roster, RosterChange};

/// A world that runs again, without clients.
pub struct Run<'a> {
    backend: &'a mut dyn Backend,
    world: WorldConfig,
    roster: Roster,
    hash: StateHash,
    last: TickOutput,
    in_flight: Option<SubmittedTick>,
    /// In worlds with characters: the record of the next tick to run. The changes of characters by
    /// the last one are in no later record.
    waiting: Option<Entry>,
    epoch: Epoch,
    times: RunTimes,
}

impl<'a> Run<'a> {
    /// Begins with a checkpoint. Fails if its state does not have the recorded hash.
    pub fn begin(backend: &'a mut dyn Backend, stored: Stored) -> Result<Run<'a>> {
        let Stored { head, body } = stored;
        let mut times = RunTimes::default();
        let begun = Instant::now();
        backend.restore(&body.snapshot)?;
        times.restoring = begun.elapsed();
        let found = backend.state_hash()?;
        times.hashing = begun.elapsed() - times.restoring;
        compare(&body.world.schema, head.tick, &body.hash, &found)?;
        backend.set_quiet(true);
        Ok(Run {
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
            waiting: None,
            epoch: head.epoch,
            times,
        })
    }

    /// Runs the tick of a record. The state before it is compared with the record's hash.
    pub fn take(&mut self, head: &RecordHead, entry: Entry) -> Result<()> {
        self.settle(head, &entry)?;
        self.start(head, entry)
    }

    /// Ends the tick before a record, and compares its state with the record's hash.
    pub fn settle(&mut self, head: &RecordHead, entry: &Entry) -> Result<()> {
        let (tick, version) = (head.tick, head.tick_version);
        if version != VERSION {
            bail!(
                "tick {tick} was run by version {version} of the tick, and this is version \
                 {VERSION}: start the server that ran it, and stop it with Ctrl-C"
            );
        }
        if let Some(waiting) = self.waiting.take() {
            self.run(&waiting)?;
        }
        self.collect()?;
        compare(&self.world.schema, tick, &entry.before, &self.hash)
    }

    /// Starts the tick of a record, after [`Run::settle`]: now, or before the next one is
    /// settled.
    pub fn start(&mut self, head: &RecordHead, entry: Entry) -> Result<()> {
        self.epoch = self.epoch.max(head.epoch);
        if !self.world.has_characters() {
            return self.run(&entry);
        }
        self.waiting = Some(entry);
        Ok(())
    }

    /// The contents of a checkpoint, between [`Run::settle`] and [`Run::start`].
    pub fn checkpoint(&mut self) -> Result<Body> {
        let mut snapshot = self.backend.snapshot()?;
        snapshot.known.iter_mut().for_each(Vec::clear);
        snapshot.behind.clear();
        Ok(Body {
            world: self.world.clone(),
            snapshot,
            hash: self.hash.clone(),
            roster: self.roster.clone(),
            births: self.last.births.clone(),
            deaths: self.last.deaths.clone(),
        })
    }

    /// The changes of characters since the last call, with those by the tick before a record, which that
    /// has.
    pub fn take_characters(&mut self, next: &Entry) -> BTreeMap<String, Character> {
        let mut changed = std::mem::take(&mut self.roster.characters);
        for (account, character) in next.changes.iter().filter_map(RosterChange::character) {
            changed.insert(account.clone(), character);
        }
        changed
    }

    /// Ends the last tick, before `start`.
    pub fn finish(mut self, start: Start, progress: Progress) -> Result<Recovered> {
        let mut settlement = Settlement::default();
        if let Some(waiting) = self.waiting.take() {
            settlement = self.run_last(&waiting)?;
        }
        self.collect()?;
        self.backend.set_quiet(false);
        let begun = Instant::now();
        let snapshot = self.backend.snapshot()?;
        self.times.copying = begun.elapsed();
        if snapshot.tick.0 != start.tick {
            bail!(
                "the world is before tick {}, and its journal before {}",
                snapshot.tick,
                start.tick
            );
        }
        Ok(Recovered {
            world: self.world,
            snapshot,
            hash: self.hash,
            roster: self.roster,
            settlement,
            last: self.last,
            start,
            epoch: self.epoch,
            progress,
            work: Work::default(),
            times: self.times,
        })
    }

    fn run(&mut self, entry: &Entry) -> Result<()> {
        for change in &entry.changes {
            self.roster.apply(change);
        }
        self.submit(&entry.frame)
    }

    /// Runs the tick of the last record. Returns what it does to characters.
    fn run_last(&mut self, entry: &Entry) -> Result<Settlement> {
        let before = self.backend.snapshot()?;
        let mut accounts = self.newborn_accounts();
        accounts.extend(self.accounts());
        self.run(entry)?;
        accounts.extend(self.accounts());
        let Some(output) = self.collect()? else {
            return Ok(Settlement::default());
        };
        let (world, roster) = (&self.world, &self.roster);
        let rows = rows_of_the_dead(world, &before, &output);
        let kind = |slot: Slot| match born_in(&output, slot) {
            Some((_, birth)) => birth.kind,
            None => before.kinds[slot.index()],
        };
        let end = EndOfTick {
            world,
            output: &output,
            row: &|slot| rows.get(&slot).cloned().unwrap_or_default(),
            kind: &kind,
            text: &|handle| roster.texts.get(&handle).cloned(),
        };
        let client = |client| roster.clients.get(&client)?.row.person.account.clone();
        Ok(Settlement::of(&end, client, |entity| {
            accounts.remove(&entity)
        }))
    }

    /// The accounts of entities.
    fn accounts(&self) -> HashMap<EntityId, String> {
        let rows = self.roster.clients.values().map(|client| &client.row);
        let with_account =
            rows.filter_map(|row| Some((row.entity()?, row.person.account.clone()?)));
        with_account.collect()
    }

    /// The accounts of those who were born in the last tick: no row ever has the entity of a client that
    /// leaves in the next one.
    fn newborn_accounts(&self) -> HashMap<EntityId, String> {
        let births = self.last.births.iter();
        let with_account = births.filter_map(|birth| {
            let row = &self.roster.clients.get(&ClientRow(birth.token))?.row;
            let account = row
                .person
                .account
                .clone()
                .filter(|_| row.entity().is_none());
            Some((birth.entity?, account?))
        });
        with_account.collect()
    }

    fn submit(&mut self, frame: &Frame) -> Result<()> {
        if let Some(logic) = &frame.logic {
            self.world = with_logic(&self.world, logic)?;
        }
        let begun = Instant::now();
        let ticket = self.backend.submit(frame);
        self.in_flight = Some(ticket.with_context(|| format!("tick {}", frame.tick))?);
        self.times.submitting += begun.elapsed();
        Ok(())
    }

    /// Waits for the tick that is in flight, and returns its output.
    fn collect(&mut self) -> Result<Option<Arc<TickOutput>>> {
        let Some(ticket) = self.in_flight.take() else {
            return Ok(None);
        };
        let begun = Instant::now();
        let output = self.backend.collect(ticket)?;
        self.times.collecting += begun.elapsed();
        self.times.stages.add(&output.stages);
        self.hash.clone_from(&output.hash);
        self.last.tick = output.tick;
        self.last.births.clone_from(&output.births);
        self.last.deaths.clone_from(&output.deaths);
        Ok(Some(output))
    }
}

/// The rows of those who died in a tick, as they were at its end.
fn rows_of_the_dead(
    world: &WorldConfig,
    before: &Snapshot,
    output: &TickOutput,
) -> HashMap<Slot, Vec<i32>> {
    let columns = world.schema.attributes.len();
    let mut rows = HashMap::new();
    for entity in &output.deaths {
        let slot = entity.slot;
        let row = match born_in(output, slot) {
            Some((place, _)) => &output.birth_rows[place * columns..][..columns],
            None => &before.rows[slot.index() * columns..][..columns],
        };
        rows.insert(slot, row.to_vec());
    }
    for (slot, columns, values) in output.changes.iter() {
        if let Some(row) = rows.get_mut(&slot) {
            for (&column, &value) in columns.iter().zip(values) {
                row[usize::from(column)] = value;
            }
        }
    }
    rows
}

/// The birth in a slot, and its place among those of the tick that happened.
fn born_in(output: &TickOutput, slot: Slot) -> Option<(usize, &Birth)> {
    let births = output.births.iter().filter(|birth| birth.entity.is_some());
    let mut births = births.enumerate();
    births.find(|(_, birth)| birth.entity.is_some_and(|entity| entity.slot == slot))
}

/// The world with other scripts.
fn with_logic(world: &WorldConfig, logic: &LogicConfig) -> Result<WorldConfig> {
    match compile_with(world, logic) {
        Ok((world, _)) => Ok(world),
        Err(_) => bail!("the journal's scripts don't compile in this version"),
    }
}

/// Compares the state before a tick with its recorded hash.
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
