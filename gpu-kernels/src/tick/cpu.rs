//! The backend for CPUs: rows that fit cache lines, counting sorts, and a number of threads
//! that depends on a stage's work.
//!
//! State is stored by row (`rows[slot × columns + column]`), so an update's sort
//! key is also its address, and an entity's attributes share a cache line.

mod atomic;
mod boxes;
mod causes;
mod census;
mod copy;
mod deaths;
mod doors;
mod due;
mod emitted;
mod fields;
mod held;
mod index;
mod interest;
mod kept;
mod left;
mod lifecycle;
mod logic;
mod merge;
mod motion;
mod past;
mod plan;
mod reciprocal;
mod regions;
mod searches;
mod slots;
mod standings;
mod tick;
mod timed;
mod usage;
mod walls;
mod zones;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use device::cpu::{RadixSorter, Workers};
use script::logic::compile_with;
use script::native::prefetch;
use script::{Forecast, Logic};
use shared::world::layer::Layers;
use shared::world::logic::LogicConfig;
use shared::{ClientRow, CommandKind, Slot, Tick, WorldConfig};

use crate::logic::{Catalog, CompiledLogic, Engine, LogicCompiler, ScriptError, Scripts};
use crate::slot::SlotState;
use crate::tick::backend::{Backend, DueCommands, SubmittedTick};
use crate::tick::deferred::DeferredCommand;
use crate::tick::error::{RestoreError, StartError, TickError};
use crate::tick::frame::{Frame, Observer};
use crate::tick::output::TickOutput;
use crate::tick::parts::PARTS_MAX;
use crate::tick::state::{self, Snapshot, StateHash, Track, part};
use crate::tick::trace::Trace;
use atomic::Atomic;
use boxes::Boxes;
use census::Counted;
use due::{Due, TickCommands};
use fields::Fields;
use held::Held;
use index::Index;
use interest::Interest;
use logic::Updates;
use merge::Merge;
use motion::Motion;
use past::Past;
pub use plan::memory_plan;
use regions::Regions;
use slots::Slots;
use standings::Ranked;
use timed::Timed;
use usage::Ready;
use walls::Walls;
use zones::Zones;

/// A world on the CPU.
pub struct CpuBackend {
    config: WorldConfig,
    catalog: Catalog,
    scripts: Arc<Scripts>,
    /// Scripts that were compiled beside the world, until a frame brings them into force.
    staged: Option<CompiledLogic>,
    logic_hash: u64,
    workers: Workers,
    state: State,
    /// Entities sorted by bucket, as they are between ticks.
    index: Index,
    /// Where entities and zones were; `None` in worlds without zones.
    zones: Option<Zones>,
    /// Boxes in which entities are published, beside their positions.
    published: Boxes,
    due: Due,
    updates: Updates,
    merge: Merge,
    atomic: Atomic,
    /// `None` in worlds without walls.
    walls: Option<Walls>,
    motion: Option<Motion>,
    interest: Interest,
    outputs: [Arc<TickOutput>; 2],
    in_flight: Vec<Tick>,
    /// Ticks are sent to no client.
    is_quiet: bool,
    /// A copy of the state that was not taken yet.
    copy: Option<Box<Snapshot>>,
    /// Of the tick that runs, if requested.
    trace: Option<Box<Trace>>,
}

/// The state that the next tick depends on.
struct State {
    tick: Tick,
    columns: usize,
    slots: Slots,
    rows: Vec<i32>,
    /// By slot; empty in worlds that send each change of a position.
    tracks: Vec<Track>,
    past: Past,
    layers: Layers,
    /// Whether doors block other cells than in the tick before.
    doors_moved: bool,
    /// Whether scripts changed walls at the end of the tick before.
    walls_edited: bool,
    fields: Fields,
    /// It follows from the slots.
    counted: Counted,
    /// It follows from the slots and the rows.
    ranked: Ranked,
    /// Likewise.
    held: Held,
    ready: Ready,
    observers: Vec<Option<Observer>>,
    regions: Regions,
    timed: Timed,
    /// Atomic commands that wait for the next tick.
    deferred: Vec<DeferredCommand>,
    /// By slot of an entity that is to be born again: the first tick in which it may be. By slot of
    /// one that fell and has hooks for it: the tick that it dies in.
    due: BTreeMap<u32, Tick>,
    /// Updated by every stage that changes the state.
    hash: StateHash,
}

impl CpuBackend {
    /// Creates an empty world. `threads` is the number of threads it may use, at least one;
    /// `memory_available`, if known, is the number of bytes that its buffers must fit into.
    pub fn new(
        config: &WorldConfig,
        threads: usize,
        memory_available: Option<u64>,
    ) -> Result<CpuBackend, StartError> {
        CpuBackend::with_engine(config, threads, memory_available, Engine::Fastest)
    }

    /// Like [`CpuBackend::new`], with a choice of the executor of commands.
    pub fn with_engine(
        config: &WorldConfig,
        threads: usize,
        memory_available: Option<u64>,
        engine: Engine,
    ) -> Result<CpuBackend, StartError> {
        let needed = memory_plan(config).iter().map(|(_, bytes)| bytes).sum();
        if let Some(available) = memory_available.filter(|&available| available < needed) {
            return Err(StartError::OutOfMemory { needed, available });
        }
        let scripts = Arc::new(Scripts::new(config, engine)?);
        CpuBackend::with_scripts(config, threads, scripts)
    }

    /// Like [`CpuBackend::new`], where memory is known to be enough, with the scripts of this world,
    /// already compiled: several worlds of one configuration can share them.
    pub fn with_scripts(
        config: &WorldConfig,
        threads: usize,
        scripts: Arc<Scripts>,
    ) -> Result<CpuBackend, StartError> {
        let columns = config.schema.attributes.len();
        let capacity = config.schema.world.capacity as usize;
        let tracks = capacity * usize::from(config.motion.is_some());
        let observers =
            config.limits.clients as usize * config.limits.observers_per_client as usize;
        let mut hash = StateHash::zero(columns);
        hash.parts[part::TICK] = state::tick(Tick(0), config.logic.hash());
        let mut backend = CpuBackend {
            catalog: Catalog::new(config),
            scripts,
            staged: None,
            logic_hash: config.logic.hash(),
            workers: Workers::new(threads)?,
            state: State {
                tick: Tick(0),
                columns,
                slots: Slots::new(config),
                rows: vec![0; capacity * columns],
                tracks: vec![Track::default(); tracks],
                past: Past::new(config),
                layers: config.schema.layers.clone(),
                doors_moved: false,
                walls_edited: false,
                fields: Fields::default(),
                counted: Counted::default(),
                ranked: Ranked::new(&config.schema.rankings),
                held: Held::new(&config.schema),
                ready: Ready::new(config),
                observers: vec![None; observers],
                regions: Regions::new(config),
                timed: Timed::new(config),
                deferred: vec![],
                due: BTreeMap::new(),
                hash,
            },
            index: Index::new(config),
            zones: Zones::new(config),
            published: Boxes::new(config),
            due: Due::new(config),
            updates: Updates::new(config),
            merge: Merge::new(config),
            atomic: Atomic::new(config),
            walls: Walls::new(config),
            motion: Motion::new(config),
            interest: Interest::new(config, threads),
            outputs: Default::default(),
            in_flight: Vec::with_capacity(2),
            is_quiet: false,
            copy: None,
            trace: None,
            config: config.clone(),
        };
        if let (Some(entity), Some(kind)) = (config.schema.world_entity(), config.schema.world_kind)
        {
            lifecycle::begin_shared(&mut backend.state, &backend.catalog, entity, kind);
        }
        backend.state.fields = Fields::new(config, &backend.workers);
        backend.index.build(&backend.workers, &backend.state);
        if let Some(zones) = &mut backend.zones {
            zones.begin(&backend.workers, &backend.state);
        }
        Ok(backend)
    }
}

impl CpuBackend {
    /// Cuts each tick's deliveries and hearings into this many segments, as so many GPUs do:
    /// the lists of clients are the same for any number.
    pub fn divided(mut self, parts: usize) -> CpuBackend {
        self.interest
            .divide(parts.clamp(1, PARTS_MAX), &self.config);
        self
    }

    /// Runs one tick to its end, and records which command wrote which update.
    pub fn tick_traced(&mut self, frame: &Frame) -> Result<(Arc<TickOutput>, Trace), TickError> {
        self.trace = Some(Box::default());
        let output = self.tick(frame);
        let trace = self.trace.take().unwrap_or_default();
        Ok((output?, *trace))
    }
}

/// Compiles scripts for a CPU.
struct CpuCompiler {
    /// The newest, whose unchanged commands are used again.
    scripts: Arc<Scripts>,
}

impl LogicCompiler for CpuCompiler {
    fn compile(&mut self, config: WorldConfig, logic: Logic) -> Result<CompiledLogic, ScriptError> {
        let forecast = Forecast::of(&config, &logic);
        self.scripts = Arc::new(self.scripts.changed(&config, logic)?);
        Ok(CompiledLogic::new(config, forecast, self.scripts.clone()))
    }
}

impl CpuBackend {
    /// Brings scripts into force.
    fn take_logic(&mut self, logic: &LogicConfig) -> Result<(), ScriptError> {
        let staged = self.staged.take();
        let (config, scripts) = match staged.and_then(|staged| staged.into_code(logic)) {
            Some(staged) => staged,
            None => {
                let compiled = compile_with(&self.config, logic);
                let (config, logic) = compiled.map_err(ScriptError::Problems)?;
                let scripts = Arc::new(self.scripts.changed(&config, logic)?);
                (config, scripts)
            }
        };
        self.logic_hash = config.logic.hash();
        self.catalog = Catalog::new(&config);
        self.updates.set_hooks(&config.hooks);
        self.scripts = scripts;
        self.config = config;
        Ok(())
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn logic_compiler(&self) -> Box<dyn LogicCompiler> {
        Box::new(CpuCompiler {
            scripts: self.scripts.clone(),
        })
    }

    fn stage(&mut self, logic: CompiledLogic) {
        self.staged = Some(logic);
    }

    fn submit(&mut self, frame: &Frame) -> Result<SubmittedTick, TickError> {
        let tick = self.state.tick;
        if self.in_flight.len() == 2 {
            return Err(TickError::TooManyInFlight);
        }
        match self.workers.pool_for(frame.commands.len()) {
            Some(pool) => pool.install(|| frame.check(tick)),
            None => frame.check(tick),
        }?;
        frame.check_rows(&self.config)?;
        if let Some(logic) = &frame.logic {
            self.take_logic(logic)
                .map_err(|error| TickError::Scripts(error.to_string()))?;
        }
        let output = &mut self.outputs[tick.0 as usize % 2];
        // Other holders of the buffer of two ticks ago keep it.
        if Arc::get_mut(output).is_none() {
            *output = Arc::default();
        }
        let mut buffer = std::mem::take(output);
        if let Some(buffer) = Arc::get_mut(&mut buffer) {
            let items = frame.commands.len().max(self.state.slots.live());
            match self.workers.pool_for(items) {
                Some(pool) => pool.install(|| self.run(frame, buffer)),
                None => self.run(frame, buffer),
            }
        }
        self.outputs[tick.0 as usize % 2] = buffer;
        self.in_flight.push(tick);
        Ok(SubmittedTick(tick))
    }

    fn collect(&mut self, ticket: SubmittedTick) -> Result<Arc<TickOutput>, TickError> {
        let Some(i) = self.in_flight.iter().position(|&t| t == ticket.0) else {
            return Err(TickError::NotInFlight(ticket.0));
        };
        self.in_flight.remove(i);
        Ok(self.outputs[ticket.0.0 as usize % 2].clone())
    }

    fn due(&mut self, _wants: &dyn Fn(CommandKind) -> bool) -> Result<DueCommands<'_>, TickError> {
        let (commands, words) = self.due.commands();
        Ok(DueCommands {
            commands,
            words,
            has_rules: true,
            left_out: 0,
        })
    }

    fn set_quiet(&mut self, is_quiet: bool) {
        self.is_quiet = is_quiet;
        self.updates.set_quiet(is_quiet);
    }

    fn start_copy(&mut self) -> Result<(), TickError> {
        self.copy = Some(Box::new(self.copy_state()));
        Ok(())
    }

    fn continue_copy(&mut self) -> Result<Option<Snapshot>, TickError> {
        Ok(self.copy.take().map(|copy| *copy))
    }

    fn snapshot(&mut self) -> Result<Snapshot, TickError> {
        Ok(Snapshot {
            known: (0..self.config.limits.clients)
                .map(|client| self.interest.known(ClientRow(client)))
                .collect(),
            behind: self.interest.behind(),
            ..self.copy_state()
        })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), RestoreError> {
        if !self.in_flight.is_empty() {
            return Err(RestoreError::InFlight);
        }
        snapshot.check(&self.config)?;
        if snapshot.logic != self.config.logic {
            self.take_logic(&snapshot.logic)
                .map_err(|error| RestoreError::Scripts(error.to_string()))?;
        }
        let columns = self.state.columns;
        self.state.tick = snapshot.tick;
        self.state.slots.restore(snapshot);
        self.state.rows.copy_from_slice(&snapshot.rows);
        self.state.tracks.copy_from_slice(&snapshot.tracks);
        self.state.past.restore(&snapshot.past);
        self.state.ready.restore(&snapshot.ready);
        if let Some(walls) = &mut self.walls {
            walls.restore(snapshot, columns);
        }
        if let Some(motion) = &mut self.motion {
            motion.restore(snapshot, columns);
        }
        self.state.layers = self.config.schema.layers.with_edits(&snapshot.edits);
        let fields = &self.config.schema.fields;
        (self.state.fields).restore(&self.workers, fields, &snapshot.fields, snapshot.tick);
        self.state.observers.copy_from_slice(&snapshot.observers);
        self.state.regions.restore(snapshot);
        self.interest.restore(snapshot);
        self.state.held.forget();
        self.state.timed.restore(snapshot);
        self.state.deferred.clone_from(&snapshot.deferred);
        let due = (0..).zip(snapshot.due.iter().copied());
        self.state.due = due.filter(|(_, due)| *due > Tick(0)).collect();
        let per_client = self.config.limits.observers_per_client as usize;
        self.state.hash = StateHash::of(snapshot, columns, per_client);
        self.index.build(&self.workers, &self.state);
        if let Some(zones) = &mut self.zones {
            zones.begin(&self.workers, &self.state);
        }
        Ok(())
    }

    fn state_hash(&mut self) -> Result<StateHash, TickError> {
        let per_client = self.config.limits.observers_per_client as usize;
        Ok(StateHash::of(
            &self.snapshot()?,
            self.state.columns,
            per_client,
        ))
    }
}

/// The numbers at the start of a row; axes that the world lacks are 0.
#[inline]
fn first_axes(row: &[i32], dimensions: usize) -> [i32; 3] {
    match *row {
        [x, y, z, ..] if dimensions == 3 => [x, y, z],
        [x, y, ..] => [x, y, 0],
        _ => [0; 3],
    }
}

impl State {
    fn add(&mut self, part: usize, element: u64) {
        self.hash.parts[part] = self.hash.parts[part].wrapping_add(element);
    }

    fn subtract(&mut self, part: usize, element: u64) {
        self.hash.parts[part] = self.hash.parts[part].wrapping_sub(element);
    }

    /// Finds what the tick's commands ask of entities wherever they are.
    fn count_and_rank(&mut self, workers: &Workers, scripts: &Scripts, commands: TickCommands<'_>) {
        if scripts.asking().is_empty() {
            return;
        }
        let given = commands.kinds();
        let asking = || {
            let asking = scripts.asking().iter();
            asking.filter(|asking| given[usize::from(asking.command)])
        };
        let kinds = asking().flat_map(|asking| asking.kinds.iter().copied());
        let kinds: BTreeSet<u16> = kinds.collect();
        let rankings = asking().flat_map(|asking| asking.rankings.iter().copied());
        let rankings: BTreeSet<u16> = rankings.collect();
        let (slots, rows) = (&self.slots, (&self.rows[..], self.columns));
        let count = scripts.kind_columns().len();
        let relations = asking().fold(0, |bits, asking| bits | asking.relations);
        self.held.find_holdings(relations, slots.used());
        self.counted.update(workers, slots, (&kinds, count));
        self.ranked.update(workers, slots, rows, &rankings);
    }

    /// The number of fallen entities that are to be born again.
    fn respawns(&self) -> usize {
        let is_dead = |slot: &&u32| !self.slots.is_live(**slot as usize);
        self.due.keys().filter(is_dead).count()
    }

    fn row(&self, slot: Slot) -> &[i32] {
        &self.rows[slot.index() * self.columns..][..self.columns]
    }

    /// A live entity's position; axes that the world lacks are 0.
    fn position(&self, slot: Slot, dimensions: usize) -> [i32; 3] {
        first_axes(self.row(slot), dimensions)
    }

    /// Clears the track of an entity that dies.
    fn bury_track(&mut self, slot: Slot) {
        if let Some(track) = self.tracks.get_mut(slot.index()) {
            let element = state::track(slot.0, &std::mem::take(track));
            self.subtract(part::TRACKS, element);
        }
    }

    /// Changes a slot through `change`, keeping the hash in step.
    fn change_slot(&mut self, slot: Slot, state: SlotState, kind: u16, generation: u32) {
        let i = slot.index();
        let before = state::slot(
            i,
            self.slots.states()[i],
            self.slots.kinds()[i],
            self.slots.generations()[i],
        );
        self.subtract(part::SLOTS, before);
        self.slots.set(slot, state, kind, generation);
        self.add(part::SLOTS, state::slot(i, state, kind, generation));
    }
}

/// Asks for the cache line of an item that is needed soon. No branch depends on its number, which may
/// still be on its way, and there may be no such item.
#[inline]
fn prefetch_item<T>(items: &[T], at: usize) {
    prefetch(items.as_ptr().wrapping_add(at));
}
