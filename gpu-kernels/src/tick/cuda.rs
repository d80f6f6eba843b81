//! The backend for NVIDIA GPUs: the whole state stays on the device, a tick is a
//! fixed list of kernels without a host round trip, and two ticks may be in
//! flight, so that one's download overlaps the next one's work.
//!
//! The kernels are in `kernels/tick/`, named like the stages, and come prebuilt.
//!
//! | module | holds |
//! | --- | --- |
//! | `layout` | the structures that kernels are given, declared once |
//! | `sizes`, `world` | the sizes of all buffers; a world's buffers, numbers and tables |
//! | `kernels`, `launcher` | the kernels by stage; launching them |
//! | `scripts` | the world's commands as kernels, compiled while the world runs |
//! | `tick` | the tick: the list of its stages |
//! | `upload`, `due`, `logic`, `merge`, `lifecycle`, `index`, `interest`, `hearings`, `hash`, `download` | one file a stage |
//! | `regions`, `timed`, `snapshot`, `copy` | copying parts of the state between host and device |

mod copy;
mod download;
mod due;
mod hash;
mod hearings;
mod index;
mod interest;
mod kernels;
mod launcher;
pub mod layout;
mod lifecycle;
mod logic;
mod merge;
mod motion;
mod regions;
mod scripts;
mod sizes;
mod snapshot;
mod tick;
mod timed;
mod upload;
mod world;

use std::sync::Arc;

use device::gpu::sort::{Sorter, scratch_bytes};
use device::{Device, Download, DriverError, Event, GpuInfo, NoDevice, Pointer};
use script::Logic;
use script::logic::compile_with;
use shared::world::attribute::bits_for;
use shared::world::logic::LogicConfig;
use shared::{InterestMode, WorldConfig};

use crate::kernels::KERNELS;
use crate::logic::{CompiledLogic, LogicCompiler, ScriptError};
use crate::tick::backend::{Backend, Ticket};
use crate::tick::counts::{CHUNKS_MAX, Counters, FrameTotals};
use crate::tick::error::{RestoreError, StartError, TickError};
use crate::tick::frame::Frame;
use crate::tick::output::{RefusedCommand, Stage, TickOutput};
use crate::tick::state::{self, Snapshot, StateHash, part};
use download::{Chunks, Failure};
use kernels::Kernels;
use layout::{Regions, World};
pub use scripts::CodeCache;
use scripts::{Code, Compiler, Kinds, Scripts};
use sizes::Sizes;
use upload::{Refusal, Staging};
use world::Buffers;

/// A world on one GPU.
pub struct CudaBackend {
    config: WorldConfig,
    sizes: Sizes,
    flights: [Flight; 2],
    /// Created with the first frames; `None` while one is uploaded.
    staging: [Option<Box<Staging>>; 2],
    kernels: Kernels,
    compiler: Compiler,
    scripts: Scripts,
    /// Scripts that were compiled beside the world, until a frame brings them into force.
    staged: Option<CompiledLogic>,
    /// Scripts of before, which ticks in flight still run.
    retired: Vec<Retired>,
    logic_hash: u64,
    /// Kinds of which commands may wait for their tick.
    waiting: Kinds,
    sorter: Sorter,
    buffers: Buffers,
    /// The address of the first buffer.
    base: u64,
    world: World,
    regions: Regions,
    /// The tick that comes next.
    tick: shared::Tick,
    /// A number of the tick that is never used again, also after a restore.
    stamp: u32,
    /// Client rows from this on were never used.
    clients_used: u32,
    in_flight: Vec<shared::Tick>,
    /// Nobody is told of ticks.
    is_quiet: bool,
    /// A copy of the state that is under way.
    copy: Option<Box<copy::Copy>>,
    /// The GPU's properties before this world allocated its memory.
    gpu: GpuInfo,
    form: OutputForm,
    /// The error of a failed tick, after which the state on the device is undefined.
    failed: Option<TickError>,
    device: Arc<Device>,
}

/// Scripts, and the ticks in flight that run them.
struct Retired {
    _scripts: Scripts,
    ticks: Vec<shared::Tick>,
}

/// One tick's buffers on the host, and the events in its stream.
struct Flight {
    output: Arc<TickOutput>,
    /// Whether the output's buffers have room for any tick, and are page-locked.
    is_output_locked: bool,
    /// The counters before the deliveries are counted, after that, and at the end.
    after_lifecycle: Download<Counters>,
    after_counting: Download<Counters>,
    counters: Download<Counters>,
    /// Before and after the upload, which has its own stream.
    upload: [Event; 2],
    /// Before the first stage on the device, and after each stage.
    marks: Vec<Event>,
    /// After each chunk of clients.
    served: Vec<Event>,
    chunks: Chunks,
    totals: FrameTotals,
    /// The commands of clients for which the tick has no room.
    beyond: Vec<RefusedCommand>,
    clients_used: u32,
    /// Of the scripts that the tick runs.
    logic_hash: u64,
    device: Arc<Device>,
}

/// The form of a tick's deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputForm {
    /// One by one, in [`TickOutput::deliveries`].
    #[default]
    Pairs,
    /// By buckets, in [`TickOutput::bucket_ranges`]. For worlds whose clients remember
    /// nothing and see whole buckets from one observer.
    Ranges,
}

/// Options for running a world on a GPU.
#[derive(Clone, Debug, Default)]
pub struct CudaOptions {
    /// The number of the GPU, from 0.
    pub ordinal: u32,
    /// Bytes that the world's buffers must fit into even if the GPU has more.
    pub memory_available: Option<u64>,
    pub form: OutputForm,
    /// Where compiled scripts are kept; `None`: they are compiled at every start.
    pub cache: Option<Arc<dyn CodeCache>>,
}

/// Properties of the GPU with this number, if it can run the kernels.
pub fn gpu(ordinal: u32) -> Result<GpuInfo, NoDevice> {
    Ok(Device::open(ordinal, &KERNELS)?.info()?)
}

/// Each buffer that a world needs on a GPU, with its size in bytes.
pub fn memory_plan(config: &WorldConfig) -> Vec<(String, u64)> {
    let sizes = Sizes::new(config, OutputForm::Pairs);
    let mut parts: Vec<(String, u64)> = vec![];
    for (buffer, _) in Buffers::new(&sizes).plan.buffers() {
        let name = buffer.name.replace('_', " ");
        // A tick's buffers exist twice, for two ticks in flight.
        match parts.iter_mut().find(|part| part.0 == name) {
            Some(part) => part.1 += buffer.bytes,
            None => parts.push((name, buffer.bytes)),
        }
    }
    parts.retain(|part| part.1 > 0);
    parts
}

impl CudaBackend {
    /// Creates an empty world.
    pub fn new(config: &WorldConfig, options: &CudaOptions) -> Result<CudaBackend, StartError> {
        let has_buckets_only = config.schema.world.visible_max == 0
            && config.schema.world.interest == InterestMode::Buckets
            && config.limits.observers_per_client == 1;
        if options.form == OutputForm::Ranges && !has_buckets_only {
            return Err(StartError::Unsupported(
                "ranges form of the cuda",
                "a world with visible_max = 0, interest = \"buckets\" and one observer a client",
            ));
        }
        let sizes = Sizes::new(config, options.form);
        let buffers = Buffers::new(&sizes);
        let mut device = Device::open(options.ordinal, &KERNELS)?;
        let gpu = device.info().map_err(NoDevice::from)?;
        let needed = buffers.plan.bytes();
        let available = options
            .memory_available
            .map_or(gpu.memory_free, |given| given.min(gpu.memory_free));
        if available < needed {
            return Err(StartError::OutOfMemory { needed, available });
        }
        let base = device.allocate(needed).map_err(NoDevice::from)?;
        let start = Start {
            config,
            options,
            sizes,
            buffers,
            gpu,
            base,
        };
        start.on(Arc::new(device))
    }

    /// The GPU that it runs on.
    pub fn gpu(&self) -> &GpuInfo {
        &self.gpu
    }
}

/// Parameters for starting a world.
struct Start<'a> {
    config: &'a WorldConfig,
    options: &'a CudaOptions,
    sizes: Sizes,
    buffers: Buffers,
    gpu: GpuInfo,
    base: u64,
}

impl Start<'_> {
    fn on(self, device: Arc<Device>) -> Result<CudaBackend, StartError> {
        let cache = self.options.cache.clone();
        let compiler = Compiler::new(device.clone(), self.sizes, cache);
        let mut compiler = compiler.map_err(NoDevice::from)?;
        let logic = Logic::of(self.config).map_err(ScriptError::Problems)?;
        let code = compiler.code(self.config, &logic)?;
        let scripts = Scripts::default().load(&code, &device)?;
        let started = self.with_scripts(device, compiler, scripts);
        Ok(started.map_err(NoDevice::from)?)
    }

    fn with_scripts(
        self,
        device: Arc<Device>,
        compiler: Compiler,
        scripts: Scripts,
    ) -> Result<CudaBackend, DriverError> {
        let (config, sizes, buffers, base) = (self.config, self.sizes, self.buffers, self.base);
        let world = buffers.world(config, &sizes, base);
        let regions = buffers.regions(config, &sizes, base);
        world::prepare(&device, &buffers, base, config, &world, &regions)?;
        let scratch = Pointer::new(buffers.sort_scratch(base));
        Ok(CudaBackend {
            config: config.clone(),
            sizes,
            flights: [Flight::new(&device)?, Flight::new(&device)?],
            staging: [None, None],
            kernels: Kernels::load(&device)?,
            compiler,
            scripts,
            staged: None,
            retired: vec![],
            logic_hash: config.logic.hash(),
            waiting: Kinds::NONE,
            sorter: Sorter::load(&device, scratch)?,
            buffers,
            base,
            world,
            regions,
            tick: shared::Tick(0),
            stamp: 0,
            clients_used: 0,
            in_flight: Vec::with_capacity(2),
            is_quiet: false,
            copy: None,
            gpu: self.gpu,
            form: self.options.form,
            failed: None,
            device,
        })
    }
}

impl Backend for CudaBackend {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn logic_compiler(&self) -> Box<dyn LogicCompiler> {
        Box::new(self.compiler.clone())
    }

    fn stage(&mut self, logic: CompiledLogic) {
        self.staged = Some(logic);
    }

    fn submit(&mut self, frame: &Frame) -> Result<Ticket, TickError> {
        self.check_failed()?;
        if self.in_flight.len() == 2 {
            return Err(TickError::TooManyInFlight);
        }
        frame.check_tick(self.tick)?;
        if let Some(logic) = &frame.logic {
            frame.check(self.tick)?;
            self.take_logic(logic)
                .map_err(|error| TickError::Scripts(error.to_string()))?;
        }
        let tick = self.tick;
        let mut stage = Stage::Upload;
        match self.start(frame, &mut stage) {
            Ok(()) => {}
            Err(Refusal::Frame(error)) => return Err(error),
            Err(Refusal::Device(error)) => return Err(self.fail(stage, error)),
        }
        self.tick = tick.next();
        self.in_flight.push(tick);
        Ok(Ticket(tick))
    }

    fn collect(&mut self, ticket: Ticket) -> Result<Arc<TickOutput>, TickError> {
        self.check_failed()?;
        let Some(i) = self.in_flight.iter().position(|&t| t == ticket.0) else {
            return Err(TickError::NotInFlight(ticket.0));
        };
        self.in_flight.remove(i);
        for retired in &mut self.retired {
            retired.ticks.retain(|&tick| tick != ticket.0);
        }
        let finished = self.finish(ticket.0);
        self.retired.retain(|retired| !retired.ticks.is_empty());
        finished.map_err(|Failure(stage, error)| self.fail(stage, error))
    }

    fn set_quiet(&mut self, is_quiet: bool) {
        self.is_quiet = is_quiet;
    }

    fn start_copy(&mut self) -> Result<(), TickError> {
        self.check_failed()?;
        self.begin_copy()
    }

    fn continue_copy(&mut self) -> Result<Option<Snapshot>, TickError> {
        self.check_failed()?;
        self.go_on_copying()
    }

    fn snapshot(&mut self) -> Result<Snapshot, TickError> {
        self.check_failed()?;
        self.fetch_snapshot()
            .map_err(|error| self.fail(Stage::Download, error))
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
        self.put_snapshot(snapshot)
            .map_err(|error| RestoreError::Device(error.to_string()))
    }

    fn state_hash(&mut self) -> Result<StateHash, TickError> {
        let per_client = self.config.limits.observers_per_client as usize;
        let columns = self.sizes.columns as usize;
        Ok(StateHash::of(&self.snapshot()?, columns, per_client))
    }
}

impl CudaBackend {
    /// Brings scripts into force, for the next tick.
    fn take_logic(&mut self, logic: &LogicConfig) -> Result<(), ScriptError> {
        let staged = self.staged.take();
        let (config, code) = match staged.and_then(|staged| staged.into_code(logic)) {
            Some(staged) => staged,
            None => {
                let compiled = compile_with(&self.config, logic);
                let (config, logic) = compiled.map_err(ScriptError::Problems)?;
                let code: Arc<Code> = self.compiler.code(&config, &logic)?;
                (config, code)
            }
        };
        let scripts = self.scripts.load(&code, &self.device)?;
        let before = std::mem::replace(&mut self.scripts, scripts);
        if !self.in_flight.is_empty() {
            self.retired.push(Retired {
                _scripts: before,
                ticks: self.in_flight.clone(),
            });
        }
        world::set_logic(&mut self.world, &config);
        self.logic_hash = config.logic.hash();
        self.config = config;
        Ok(())
    }

    fn check_failed(&self) -> Result<(), TickError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn fail(&mut self, stage: Stage, error: DriverError) -> TickError {
        let error = TickError::Device {
            stage: stage.name(),
            message: error.to_string(),
        };
        self.failed = Some(error.clone());
        error
    }
}

impl Flight {
    fn new(device: &Arc<Device>) -> Result<Flight, DriverError> {
        let events = |n: usize| {
            (0..n)
                .map(|_| device.event())
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(Flight {
            output: Arc::default(),
            is_output_locked: false,
            after_lifecycle: Download::new(device, 1)?,
            after_counting: Download::new(device, 1)?,
            counters: Download::new(device, 1)?,
            upload: [device.event()?, device.event()?],
            marks: events(Stage::ALL.len() + 1)?,
            served: events(CHUNKS_MAX)?,
            chunks: Chunks::of(0),
            totals: FrameTotals::default(),
            beyond: vec![],
            clients_used: 0,
            logic_hash: 0,
            device: device.clone(),
        })
    }
}

/// The hash parts that the device summed, plus the element of the next tick.
fn state_hash(counters: &Counters, sizes: &Sizes, next: shared::Tick, logic: u64) -> StateHash {
    let mut hash = StateHash::zero(sizes.columns as usize);
    let n = hash.parts.len();
    hash.parts.copy_from_slice(&counters.hash[..n]);
    hash.parts[part::TICK] = state::tick(next, logic);
    hash
}

/// Bytes of scratch for the largest of the tick's sorts.
fn sort_scratch(sizes: &Sizes) -> u64 {
    let updates = scratch_bytes::<u32>(sizes.updates, bits_for(sizes.capacity * sizes.columns - 1));
    let entities = scratch_bytes::<u64>(sizes.capacity, bits_for(sizes.buckets - 1));
    let boxes = sizes.carriers.max(sizes.notifications);
    let boxes = scratch_bytes::<u64>(boxes, sizes.box_key_bits);
    updates.max(entities).max(boxes)
}
