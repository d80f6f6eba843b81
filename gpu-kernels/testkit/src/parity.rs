//! Backends and the oracle in step, and the check of random worlds.
//!
//! Each backend is compared with the oracle after every tick, and so with every other.

use std::error::Error;
use std::fmt::{self, Display};
use std::ops::Range;

use gpu_kernels::{Backend, Frame, RestoreError, Snapshot, StartError, TickError};
use shared::{Fixed, Tick, WorldConfig};

use crate::agree::{Difference, compare_hashes, compare_snapshots, compare_with_oracle};
use crate::backends::{Starter, starters};
use crate::dice::{Dice, Seed};
use crate::oracle::{Oracle, OracleOutput};
use crate::world::Play;

/// Plays random worlds on every given backend and in the oracle, and compares all outputs,
/// state hashes and a snapshot. `watch` gets each tick's output.
pub fn check(
    worlds: &RandomWorlds,
    backends: &[Starter],
    mut watch: impl FnMut(&OracleOutput),
) -> Result<Compared, CheckError> {
    let mut compared = Compared::default();
    for (number, seed) in (0..).zip(worlds.seeds.clone()) {
        let _seed = Seed(seed);
        let mut dice = Dice::new(seed);
        let play = Play::new(&mut dice);
        let place = |tick, failure| CheckError {
            world: number,
            seed,
            description: describe(&play.config),
            tick,
            failure: Box::new(failure),
        };
        let mut parity =
            Parity::start(&play.config, backends).map_err(|failure| place(Tick(0), failure))?;
        for played in 0..worlds.ticks {
            let tick = parity.oracle.tick;
            let frame = play.frame(&mut dice, &parity.oracle);
            let output = parity
                .try_tick(&frame)
                .map_err(|failure| place(tick, failure))?;
            compared.add(&frame, &output);
            watch(&output);
            if played == worlds.ticks * 3 / 5 {
                parity
                    .try_restart(seed % 2 == 0)
                    .map_err(|failure| place(tick, failure))?;
            }
        }
        compared.worlds += 1;
    }
    Ok(compared)
}

/// The random worlds of a check, and their length.
#[derive(Clone, Debug)]
pub struct RandomWorlds {
    /// The seeds, one per world.
    pub seeds: Range<u64>,
    /// The number of ticks of each world.
    pub ticks: u32,
}

/// The amount that was compared: a comparison of idle worlds would show nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Worlds that were played to their end.
    pub worlds: u64,
    /// Ticks of all worlds.
    pub ticks: u64,
    /// Commands of frames, timed commands that fell due, and commands of rules.
    pub commands: u64,
    /// Commands of frames that were scheduled for a later tick.
    pub timed_commands: u64,
    /// Updates, enters and leaves.
    pub deliveries: u64,
    /// Notifications.
    pub notifications: u64,
    /// (client, notification) pairs.
    pub hearings: u64,
    /// Regions that frames set or dropped.
    pub regions: u64,
}

impl Compared {
    fn add(&mut self, frame: &Frame, output: &OracleOutput) {
        self.ticks += 1;
        self.commands += output.counts.commands;
        self.timed_commands += frame.after.len() as u64;
        self.deliveries += output.counts.deliveries;
        self.notifications += output.counts.notifications;
        self.hearings += output.counts.hearings;
        self.regions += frame.regions.len() as u64;
    }
}

/// The place in a check where a backend failed or differed.
#[derive(Debug)]
pub struct CheckError {
    /// The world's number within the check, from 0.
    pub world: u64,
    /// The seed that makes this world again.
    pub seed: u64,
    /// The world's size in a few words.
    pub description: String,
    /// The tick that failed or differed.
    pub tick: Tick,
    /// The failure or difference.
    pub failure: Box<Failure>,
}

impl Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "world {} (seed {}: {}), tick {}: {}",
            self.world, self.seed, self.description, self.tick, self.failure
        )
    }
}

impl Error for CheckError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.failure)
    }
}

/// A backend's failure, or its difference from the oracle.
#[derive(Debug)]
pub struct Failure {
    /// The backend's label.
    pub backend: String,
    /// The kind of failure.
    pub cause: Cause,
}

/// The kinds of failure.
#[derive(Debug)]
pub enum Cause {
    /// The backend did not start.
    Start(StartError),
    /// The backend did not run a tick, or gave no snapshot or hash.
    Tick(TickError),
    /// The backend did not restore its own snapshot.
    Restore(RestoreError),
    /// A result differs from the oracle's.
    Difference(Difference),
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: ", self.backend)?;
        match &self.cause {
            Cause::Start(error) => error.fmt(f),
            Cause::Tick(error) => error.fmt(f),
            Cause::Restore(error) => error.fmt(f),
            Cause::Difference(difference) => difference.fmt(f),
        }
    }
}

impl Error for Failure {}

impl From<StartError> for Cause {
    fn from(error: StartError) -> Cause {
        Cause::Start(error)
    }
}

impl From<TickError> for Cause {
    fn from(error: TickError) -> Cause {
        Cause::Tick(error)
    }
}

impl From<RestoreError> for Cause {
    fn from(error: RestoreError) -> Cause {
        Cause::Restore(error)
    }
}

impl From<Difference> for Cause {
    fn from(difference: Difference) -> Cause {
        Cause::Difference(difference)
    }
}

/// A world on several backends and in the oracle, ticking in step.
pub struct Parity {
    /// The expected world.
    pub oracle: Oracle,
    backends: Vec<(Starter, Box<dyn Backend>)>,
}

impl Parity {
    /// An empty world on every backend of this machine.
    pub fn new(config: &WorldConfig) -> Parity {
        Parity::start(config, &starters()).unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// An empty world on these backends.
    pub fn start(config: &WorldConfig, starters: &[Starter]) -> Result<Parity, Failure> {
        let mut backends = vec![];
        for starter in starters {
            let backend = starter.try_start(config).map_err(|e| starter.failure(e))?;
            backends.push((starter.clone(), backend));
        }
        Ok(Parity {
            oracle: Oracle::new(config),
            backends,
        })
    }

    /// Runs one tick everywhere; panics if a backend differs from the oracle.
    pub fn tick(&mut self, frame: &Frame) -> OracleOutput {
        self.try_tick(frame)
            .unwrap_or_else(|failure| panic!("tick {}, {failure}", frame.tick))
    }

    /// Runs one tick everywhere, and returns the oracle's output.
    pub fn try_tick(&mut self, frame: &Frame) -> Result<OracleOutput, Failure> {
        let expected = self.oracle.tick(frame);
        let config = &self.oracle.config;
        for (starter, backend) in &mut self.backends {
            tick_agrees(&mut **backend, frame, config, &expected)
                .map_err(|cause| starter.failure(cause))?;
        }
        Ok(expected)
    }

    /// Like [`Parity::try_restart`], but panics if a backend fails.
    pub fn restart(&mut self, in_another: bool) {
        self.try_restart(in_another)
            .unwrap_or_else(|failure| panic!("{failure}"));
    }

    /// Restores each backend's own snapshot, in the same backend or in another of the same kind.
    pub fn try_restart(&mut self, in_another: bool) -> Result<(), Failure> {
        let expected = self.oracle.snapshot();
        for (starter, backend) in &mut self.backends {
            let another = in_another.then_some(&*starter);
            restart_agrees(backend, another, &self.oracle.config, &expected)
                .map_err(|cause| starter.failure(cause))?;
        }
        Ok(())
    }

    /// Restores every backend from the oracle's state, which the caller has changed.
    pub fn restore_from_oracle(&mut self) {
        let snapshot = self.oracle.snapshot();
        for (starter, backend) in &mut self.backends {
            let restored = backend.restore(&snapshot);
            restored.unwrap_or_else(|error| panic!("{}: {error}", starter.label));
        }
    }
}

fn tick_agrees(
    backend: &mut dyn Backend,
    frame: &Frame,
    config: &WorldConfig,
    expected: &OracleOutput,
) -> Result<(), Cause> {
    let output = backend.tick(frame)?;
    compare_with_oracle(config, expected, &output)?;
    compare_hashes(&output.hash, &backend.state_hash()?)?;
    Ok(())
}

fn restart_agrees(
    backend: &mut Box<dyn Backend>,
    another: Option<&Starter>,
    config: &WorldConfig,
    expected: &Snapshot,
) -> Result<(), Cause> {
    let snapshot = backend.snapshot()?;
    compare_snapshots(expected, &snapshot)?;
    if let Some(starter) = another {
        *backend = starter.try_start(config)?;
    }
    backend.restore(&snapshot)?;
    Ok(())
}

impl Starter {
    fn failure(&self, cause: impl Into<Cause>) -> Failure {
        Failure {
            backend: self.label.clone(),
            cause: cause.into(),
        }
    }
}

fn describe(config: &WorldConfig) -> String {
    let world = &config.schema.world;
    let side = |side: &Fixed| format!("{:.2}", side.to_f64());
    let sizes: Vec<String> = world.size.iter().map(side).collect();
    format!(
        "{} units, AOI {}, capacity {}, {} clients",
        sizes.join(" × "),
        world.aoi,
        world.capacity,
        config.limits.clients
    )
}
