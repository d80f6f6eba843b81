//! A given world on several backends in step, with random commands of all its kinds.
//!
//! Unlike [`parity`](crate::parity) this needs no oracle, so it can try any scripts.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use gpu_kernels::{Backend, Command, Frame, StateHash, TickOutput};
use shared::{
    AttributeType, CommandKind, CommandSchema, EntityId, EntityRef, Fixed, Slot, Tick, WorldConfig,
};

use crate::agree::compare;
use crate::backends::Starter;
use crate::dice::Dice;
use crate::parity::{Cause, Failure};
use crate::scripts::without_limits;

/// Plays a world on all backends until `is_over` is true after a tick, and compares all
/// outputs and state hashes with the first backend's.
pub fn run(
    config: &WorldConfig,
    backends: &[Starter],
    seed: u64,
    mut is_over: impl FnMut(&Tried) -> bool,
) -> Result<Tried, TrialError> {
    // Tries all that could run in a tick, not how often it may.
    let config = &without_limits(config);
    let error = |failure: Failure, tick, culprit| TrialError {
        tick,
        failure: Box::new(failure),
        culprit,
    };
    let mut worlds = Worlds::start(backends, config).map_err(|f| error(f, Tick(0), None))?;
    let mut play = Play {
        config,
        dice: Dice::new(seed),
        living: BTreeMap::new(),
        dead: vec![],
    };
    let mut tried = Tried::default();
    let mut frames = vec![];
    loop {
        let frame = play.frame(Tick(tried.ticks.into()));
        let output = match worlds.tick(&frame) {
            Ok(output) => output,
            Err(failure) => {
                let culprit = culprit(config, backends, &frames, &frame);
                return Err(error(failure, frame.tick, culprit));
            }
        };
        play.take(&output);
        frames.push(frame);
        tried.ticks += 1;
        tried.commands += output.counts.commands;
        tried.changes += output.counts.changes;
        for &(kind, runs) in &output.over_budget {
            *tried.over_budget.entry(kind).or_default() += runs;
        }
        if is_over(&tried) {
            return Ok(tried);
        }
    }
}

/// The amount that was tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    pub ticks: u32,
    /// Commands that were given, by random choice or by rules.
    pub commands: u64,
    /// Merged changes of attributes.
    pub changes: u64,
    /// How often each command used up its budget; the others are missing.
    pub over_budget: BTreeMap<CommandKind, u64>,
}

/// A backend that failed, or that differs from the first.
#[derive(Debug)]
pub struct TrialError {
    pub tick: Tick,
    pub failure: Box<Failure>,
    /// A command that makes the difference alone, for people.
    pub culprit: Option<String>,
}

impl Display for TrialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tick {}: {}", self.tick, self.failure)?;
        match &self.culprit {
            Some(culprit) => write!(f, "\n{culprit}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TrialError {}

/// A world on all backends.
struct Worlds<'a> {
    config: &'a WorldConfig,
    all: Vec<(String, Box<dyn Backend>)>,
}

impl<'a> Worlds<'a> {
    fn start(backends: &[Starter], config: &'a WorldConfig) -> Result<Worlds<'a>, Failure> {
        let start = |starter: &Starter| match starter.try_start(config) {
            Ok(backend) => Ok((starter.label.clone(), backend)),
            Err(error) => Err(failure(&starter.label, error)),
        };
        let all = backends.iter().map(start).collect::<Result<_, _>>()?;
        Ok(Worlds { config, all })
    }

    fn tick(&mut self, frame: &Frame) -> Result<std::sync::Arc<TickOutput>, Failure> {
        let mut outputs = vec![];
        for (label, backend) in &mut self.all {
            let output = backend.tick(frame).map_err(|e| failure(label, e))?;
            outputs.push((label.clone(), output));
        }
        let mut outputs = outputs.into_iter();
        let (_, first) = outputs.next().expect("at least one backend");
        for (label, output) in outputs {
            compare(&first, &output).map_err(|e| failure(&label, e))?;
            same_hash(self.config, &first.hash, &output.hash).map_err(|e| failure(&label, e))?;
        }
        Ok(first)
    }
}

fn failure(label: &str, cause: impl Into<Cause>) -> Failure {
    Failure {
        backend: label.to_owned(),
        cause: cause.into(),
    }
}

fn same_hash(
    config: &WorldConfig,
    expected: &StateHash,
    found: &StateHash,
) -> Result<(), crate::agree::Difference> {
    let names = StateHash::part_names(&config.schema);
    let mut parts = names
        .into_iter()
        .zip(expected.parts.iter().zip(&found.parts));
    match parts.find(|(_, (a, b))| a != b) {
        None => Ok(()),
        Some((name, (a, b))) => Err(crate::agree::Difference {
            part: format!("state hash of {name}"),
            expected: a.to_string(),
            found: b.to_string(),
        }),
    }
}

/// The first command of a frame that makes a difference alone, after the frames before.
fn culprit(
    config: &WorldConfig,
    backends: &[Starter],
    before: &[Frame],
    frame: &Frame,
) -> Option<String> {
    let mut worlds = Worlds::start(backends, config).ok()?;
    for earlier in before {
        worlds.tick(earlier).ok()?;
    }
    let snapshot = worlds.all[0].1.snapshot().ok()?;
    for command in frame.commands.iter() {
        let mut alone = Frame::new(frame.tick);
        alone.commands = vec![*command].into();
        alone.words = frame.words.clone();
        for (_, backend) in &mut worlds.all {
            backend.restore(&snapshot).ok()?;
        }
        if worlds.tick(&alone).is_err() {
            return Some(describe(config, frame, command));
        }
    }
    None
}

fn describe(config: &WorldConfig, frame: &Frame, command: &Command) -> String {
    let known = config.schema.command(CommandKind(command.kind));
    let name = known.map_or("unknown", |c| &c.name);
    let words = frame.words_of(command);
    format!(
        "`{name}` of entity {} with the words {words:?} alone makes the difference",
        command.entity
    )
}

/// The living entities, for commands that may have an effect.
struct Play<'a> {
    config: &'a WorldConfig,
    dice: Dice,
    /// By slot: the entity, and its attributes.
    living: BTreeMap<u32, (EntityId, Vec<i32>)>,
    /// Those that died in the tick before.
    dead: Vec<Slot>,
}

impl Play<'_> {
    fn frame(&mut self, tick: Tick) -> Frame {
        let mut frame = Frame::new(tick);
        if tick.0 == 0 {
            frame.populate(self.config);
            for kind in 0..self.config.schema.kinds.len() {
                for _ in 0..CROWD_PER_KIND {
                    self.spawn(&mut frame, kind as u16);
                }
            }
        }
        let living: Vec<EntityId> = self.living.values().map(|(entity, _)| *entity).collect();
        if living.len() < CROWD_PER_KIND || self.dice.once_in(4) {
            let kind = self.dice.below(self.config.schema.kinds.len());
            self.spawn(&mut frame, kind as u16);
        }
        let schema = &self.config.schema;
        let scripts = schema.commands.iter();
        let scripts: Vec<&CommandSchema> = scripts
            .filter(|c| ![CommandKind::SPAWN, CommandKind::DESPAWN].contains(&c.kind))
            .collect();
        if !living.is_empty() && !scripts.is_empty() {
            for sequence in 0..COMMANDS_PER_TICK {
                let script = self.dice.pick(&scripts);
                let entity = match script.has_actor {
                    true => self.dice.pick(&living),
                    false => EntityId::NONE,
                };
                let words = self.words(script, &living);
                frame.push(entity, sequence, script.kind, &words);
            }
            if self.dice.once_in(8) {
                let entity = self.dice.pick(&living);
                frame.push(entity, COMMANDS_PER_TICK, CommandKind::DESPAWN, &[]);
            }
        }
        frame.order(self.config.seed);
        frame.release.append(&mut self.dead);
        frame
    }

    /// A birth in the middle of the world, where all are near each other.
    fn spawn(&mut self, frame: &mut Frame, kind: u16) {
        let aoi = self.config.schema.world.aoi.raw();
        let middle = self.config.size_raw().map(|size| size / 2);
        let place = middle.map(|axis| axis + self.dice.within(-aoi / 4..=aoi / 4));
        frame.spawn_at(kind, 0, &place[..self.config.dimensions()]);
    }

    fn words(&mut self, script: &CommandSchema, living: &[EntityId]) -> Vec<i32> {
        // An entity's place, for arguments that are its coordinates.
        let entity = self.dice.pick(living);
        let row = self.living[&entity.slot.0].1.clone();
        let words = script.words.iter().enumerate();
        words
            .map(|(i, word)| match word.ty {
                AttributeType::Entity => match self.dice.once_in(8) {
                    true => self.extreme(),
                    false => self.dice.pick(living).reference().0,
                },
                AttributeType::Fixed => {
                    let near = row[i % self.config.dimensions()];
                    let by = self.dice.within(-UNITS..=UNITS);
                    let extreme = self.extreme();
                    self.dice.pick(&[near, near + by, by, by, by, extreme])
                }
                AttributeType::I32 | AttributeType::I64 | AttributeType::High => {
                    let small = self.dice.within(-20..=20);
                    let extreme = self.extreme();
                    self.dice.pick(&[small, small, small, small, extreme])
                }
                AttributeType::Bool => self.dice.within(0..=1),
                // The server has no texts for them.
                AttributeType::Text => 0,
                AttributeType::Symbol => {
                    let symbols = self.config.schema.symbols.len().max(1);
                    self.dice.below(symbols) as i32
                }
            })
            .collect()
    }

    fn extreme(&mut self) -> i32 {
        let any = self.dice.any();
        let ends = [i32::MIN, -1, 0, 1, i32::MAX, EntityRef::NONE.0, any];
        self.dice.pick(&ends)
    }

    /// Follows births, deaths and changes.
    fn take(&mut self, output: &TickOutput) {
        let columns = self.config.schema.attributes.len();
        for (slot, changed, values) in output.changes.iter() {
            if let Some((_, row)) = self.living.get_mut(&slot.0) {
                for (&column, &value) in changed.iter().zip(values) {
                    row[usize::from(column)] = value;
                }
            }
        }
        let born = output.births.iter().filter_map(|birth| birth.entity);
        for (entity, row) in born.zip(output.birth_rows.chunks(columns)) {
            self.living.insert(entity.slot.0, (entity, row.to_vec()));
        }
        for entity in &output.deaths {
            self.living.remove(&entity.slot.0);
            self.dead.push(entity.slot);
        }
    }
}

const CROWD_PER_KIND: usize = 12;
const COMMANDS_PER_TICK: u32 = 200;
/// A few units: within reach of most commands.
const UNITS: i32 = 20 * Fixed::ONE.raw();
