//! The backend for NVIDIA GPUs: the whole state stays on each device, a tick is a
//! fixed list of kernels without a host round trip, and two ticks may be in
//! flight, so that one's download overlaps the next one's work.
//!
//! The kernels are in `kernels/tick/`, named like the stages, and come prebuilt.
//!
//! Several GPUs are parts of one backend: each has the whole state and runs the whole tick, but
//! serves its own clients only. Interest, hearings and their download are so divided; nothing
//! else crosses from one to another than the number of deliveries, for their common limit, and
//! what a client knows, when another part is to serve it.
//!
//! | module | holds |
//! | --- | --- |
//! | `backend`, `links` | all parts together; what they tell each other |
//! | `layout` | the structures that kernels are given, declared once |
//! | `sizes`, `copy_size`, `world` | the sizes of all buffers; a world's buffers, numbers and tables |
//! | `kernels`, `launcher` | the kernels by stage; launching them |
//! | `scripts` | the world's commands as kernels, compiled while the world runs |
//! | `tick` | the tick: the list of its stages |
//! | `upload`, `due`, `logic`, `merge`, `lifecycle`, `index`, `interest`, `hearings`, `hash`, `download` | one file a stage |
//! | `census`, `standings` | the living entities by kind, and in rankings, before the stage `logic` |
//! | `held` | the things of each holder and the members of each group, likewise |
//! | `doors` | the cells that entities block, likewise |
//! | `fields` | flow fields, likewise |
//! | `edits` | cells of layers that scripts change, after the stage `interest` |
//! | `atomic` | atomic commands, within the stage `merge` |
//! | `deferred`, `regions`, `timed`, `field_state`, `edit_state`, `snapshot`, `copy` | copying parts of the state between host and device |

mod atomic;
mod backend;
mod census;
mod copy;
mod copy_size;
mod deferred;
mod doors;
mod download;
mod due;
mod edit_state;
mod edits;
mod field_state;
mod fields;
mod hash;
mod hearings;
mod held;
mod index;
mod interest;
mod kernels;
mod launcher;
pub mod layout;
mod lifecycle;
mod links;
mod logic;
mod merge;
mod motion;
mod regions;
mod scripts;
mod sizes;
mod snapshot;
mod standings;
mod tick;
mod timed;
mod upload;
mod world;
mod zones;

use std::ops::Range;
use std::sync::Arc;

use device::gpu::Layout;
use device::gpu::sort::{Sorter, scratch_bytes};
use device::{Device, Download, DriverError, Event, GpuInfo, HostVec, Lane, NoDevice, Pointer};
use shared::WorldConfig;
use shared::world::attribute::bits_for;
use shared::world::hook::HOOKS_MAX;

use crate::kernels::KERNELS;
use crate::tick::counts::{CHUNKS_MAX, Counters, FrameTotals};
use crate::tick::error::StartError;
use crate::tick::fault::Fault;
use crate::tick::output::Stage;
use crate::tick::refused::RefusedCommand;
use crate::tick::state::{self, StateHash, part};
use download::Chunks;
use due::DueBuffer;
use kernels::Kernels;
use layout::{Regions, World};
use links::Links;
use scripts::{Kinds, Scripts};
use sizes::Sizes;
use upload::Staging;
use world::Buffers;

pub use backend::CudaBackend;
pub use scripts::CodeCache;

/// A world on one GPU, and the clients that it serves.
struct Part {
    /// From 0.
    number: usize,
    config: WorldConfig,
    sizes: Sizes,
    flights: [Flight; 2],
    /// Created with the first frames; `None` while one is uploaded.
    staging: [Option<Box<Staging>>; 2],
    kernels: Kernels,
    scripts: Scripts,
    /// Scripts of before, which ticks in flight still run.
    retired: Vec<Retired>,
    logic_hash: u64,
    /// Kinds of which commands may wait for their tick.
    waiting: Kinds,
    /// Whether atomic commands may wait for the next tick.
    may_defer: bool,
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
    /// No client is sent a tick.
    is_quiet: bool,
    /// How many entities each client of the part sees, in a tick that cuts follow.
    seen: HostVec<u32>,
    /// Whether zones that stay where they are were sorted.
    are_zones_placed: bool,
    /// How far the fields under way are.
    fields: fields::Progress,
    /// Timed commands of the last tick.
    due: DueBuffer,
    /// A copy of the state that is under way.
    copy: Option<Box<copy::Copy>>,
    /// The GPU's properties before this world allocated its memory.
    gpu: GpuInfo,
    form: OutputForm,
    /// `None` for the only part.
    links: Option<Arc<Links>>,
    /// The number of the GPU on this machine.
    ordinal: u32,
    fault: Option<Fault>,
    device: Arc<Device>,
}

/// Scripts, and the ticks in flight that run them.
struct Retired {
    _scripts: Scripts,
    ticks: Vec<shared::Tick>,
}

/// One tick's buffers on the host, and the events in its stream.
struct Flight {
    /// The counters before the deliveries are counted, after that, and at the end.
    after_lifecycle: Download<Counters>,
    after_counting: Download<Counters>,
    counters: Download<Counters>,
    /// Before and after the upload, which has its own stream.
    upload: [Event; 2],
    /// Before the first stage on the device, and after each stage.
    marks: Vec<Event>,
    /// Before and after the wait for the numbers of deliveries of other parts.
    exchange: [Event; 2],
    /// After each chunk of clients.
    served: Vec<Event>,
    chunks: Chunks,
    totals: FrameTotals,
    /// The frame's commands that the tick has.
    given: u32,
    /// The commands of clients for which the tick has no room.
    beyond: Vec<RefusedCommand>,
    /// By client: how many entities it sees; `None` if cuts don't follow the tick.
    views: Option<Pointer<u32>>,
    /// Of the scripts that the tick runs.
    logic_hash: u64,
    device: Arc<Device>,
}

/// The form of a tick's deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputForm {
    /// One by one, in [`crate::TickOutput::deliveries`].
    #[default]
    Pairs,
    /// By buckets, in [`crate::TickOutput::bucket_ranges`]. For worlds whose clients remember
    /// nothing and see whole buckets from one observer.
    Ranges,
}

/// Options for running a world on GPUs.
#[derive(Clone, Debug)]
pub struct CudaOptions {
    /// The numbers of the GPUs, from 0: each serves a part of the clients. The same number
    /// may come again.
    pub gpus: Vec<u32>,
    /// Bytes that the world's buffers must fit into on each GPU even if it has more.
    pub memory_available: Option<u64>,
    pub form: OutputForm,
    /// Where compiled scripts are kept; `None`: they are compiled at every start.
    pub cache: Option<Arc<dyn CodeCache>>,
}

/// The first GPU.
impl Default for CudaOptions {
    fn default() -> CudaOptions {
        CudaOptions {
            gpus: vec![0],
            memory_available: None,
            form: OutputForm::default(),
            cache: None,
        }
    }
}

const LAYOUTS: [Layout; 1] = [("tick_layout_hash", layout::hash)];

/// Properties of the GPU with this number, if it can run the kernels.
pub fn gpu(ordinal: u32) -> Result<GpuInfo, NoDevice> {
    Ok(Device::open(ordinal, &KERNELS, &LAYOUTS)?.info()?)
}

/// The number of GPUs, or 0.
pub fn gpu_count() -> u32 {
    device::gpu::count().unwrap_or(0)
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

impl Part {
    /// Opens a GPU, and allocates the memory of a world.
    fn open(ordinal: u32, needed: u64, options: &CudaOptions) -> Result<Opened, StartError> {
        let mut device = Device::open(ordinal, &KERNELS, &LAYOUTS)?;
        let gpu = device.info().map_err(NoDevice::from)?;
        let available = options
            .memory_available
            .map_or(gpu.memory_free, |given| given.min(gpu.memory_free));
        if available < needed {
            return Err(StartError::OutOfMemory { needed, available });
        }
        let base = device.allocate(needed).map_err(NoDevice::from)?;
        Ok(Opened {
            ordinal,
            device: Arc::new(device),
            gpu,
            base,
        })
    }

    /// Brings scripts into force, for the next tick.
    fn take_scripts(
        &mut self,
        scripts: Scripts,
        config: &WorldConfig,
        in_flight: &[shared::Tick],
    ) -> Result<(), DriverError> {
        let before = std::mem::replace(&mut self.scripts, scripts);
        if !in_flight.is_empty() {
            self.retired.push(Retired {
                _scripts: before,
                ticks: in_flight.to_vec(),
            });
        }
        world::set_logic(&mut self.world, config);
        // Of at most two ticks in flight, those before the last reload are over.
        self.world.hook_first = match self.world.hook_first {
            0 => HOOKS_MAX as u32 + self.world.kinds,
            _ => 0,
        };
        let hooks = self
            .world
            .hooks
            .writable()
            .at(u64::from(self.world.hook_first));
        self.device.write(hooks, &world::hooks(config))?;
        self.world.atomic_kinds = self.scripts.atomic_kinds();
        self.world.reasoned_kinds = self.scripts.reasoned_kinds();
        self.logic_hash = config.logic.hash();
        self.config = config.clone();
        Ok(())
    }

    /// Forgets scripts that only this tick still ran.
    fn retire(&mut self, tick: shared::Tick) {
        for retired in &mut self.retired {
            retired.ticks.retain(|&other| other != tick);
        }
        self.retired.retain(|retired| !retired.ticks.is_empty());
    }

    /// Copies what clients know from another part, which served them until now.
    fn take_clients(&self, from: &Part, clients: Range<u32>) -> Result<(), DriverError> {
        let (first, n) = (u64::from(clients.start), clients.len() as u64);
        let views = self.sizes.visible_max;
        let (own, other) = (&self.world, &from.world);
        let (to_device, device) = (&*self.device, &*from.device);
        to_device.wait_for(device)?;
        let (lane, at) = (Lane::Work, first * views);
        to_device.copy_from(
            lane,
            own.known.at(at),
            device,
            other.known.at(at),
            n * views,
        )?;
        let (to, of) = (own.known_counts.at(first), other.known_counts.at(first));
        to_device.copy_from(lane, to, device, of, n)?;
        let (to, of) = (own.behind.at(first), other.behind.at(first));
        to_device.copy_from(lane, to, device, of, n)?;
        // Later ticks of the other part change what is copied.
        device.wait_for(to_device)
    }
}

/// Fails if the stage of the tick should.
fn reach(fault: Option<Fault>, stage: Stage, tick: shared::Tick) -> Result<(), DriverError> {
    match fault {
        Some(fault) if (fault.stage, fault.tick) == (stage, tick) => Err(DriverError {
            call: "the tick",
            code: Fault::MESSAGE.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// A GPU with its memory.
struct Opened {
    ordinal: u32,
    device: Arc<Device>,
    /// Its properties before the memory was allocated.
    gpu: GpuInfo,
    base: u64,
}

/// What all parts of a world have alike.
struct Start<'a> {
    config: &'a WorldConfig,
    sizes: Sizes,
    form: OutputForm,
    links: Option<Arc<Links>>,
}

impl Start<'_> {
    fn part(&self, number: usize, opened: Opened, scripts: Scripts) -> Result<Part, DriverError> {
        let Opened {
            ordinal,
            device,
            gpu,
            base,
        } = opened;
        device.enter()?;
        let (config, sizes) = (self.config, self.sizes);
        let buffers = Buffers::new(&sizes);
        let mut world = buffers.world(config, &sizes, base);
        world.atomic_kinds = scripts.atomic_kinds();
        world.reasoned_kinds = scripts.reasoned_kinds();
        let regions = buffers.regions(config, &sizes, base);
        world::prepare(&device, &buffers, base, config, &world, &regions)?;
        field_state::prepare(&device, &world, config)?;
        let scratch = Pointer::new(buffers.sort_scratch(base));
        Ok(Part {
            number,
            config: config.clone(),
            sizes,
            flights: [Flight::new(&device)?, Flight::new(&device)?],
            staging: [None, None],
            kernels: Kernels::load(&device)?,
            scripts,
            retired: vec![],
            logic_hash: config.logic.hash(),
            waiting: Kinds::NONE,
            may_defer: false,
            sorter: Sorter::load(&device, scratch)?,
            buffers,
            base,
            world,
            regions,
            tick: shared::Tick(0),
            stamp: 0,
            clients_used: 0,
            is_quiet: false,
            are_zones_placed: false,
            fields: fields::Progress::default(),
            due: DueBuffer::default(),
            seen: match self.links {
                Some(_) => HostVec::locked(sizes.clients as usize),
                None => HostVec::new(),
            },
            copy: None,
            gpu,
            form: self.form,
            links: self.links.clone(),
            ordinal,
            fault: None,
            device,
        })
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
            after_lifecycle: Download::new(device, 1)?,
            after_counting: Download::new(device, 1)?,
            counters: Download::new(device, 1)?,
            upload: [device.event()?, device.event()?],
            marks: events(Stage::ALL.len() + 1)?,
            exchange: [device.event()?, device.event()?],
            served: events(CHUNKS_MAX)?,
            chunks: Chunks::of(0..0),
            totals: FrameTotals::default(),
            given: 0,
            beyond: vec![],
            views: None,
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
    let pairs = scratch_bytes::<u32>(sizes.pairs(), bits_for(sizes.capacity - 1));
    let census = scratch_bytes::<u32>(sizes.capacity, world::census_bits(sizes));
    let things = sizes.capacity * sizes.relations.min(1);
    let things = scratch_bytes::<u32>(things, world::held_bits(sizes));
    let rankings = sizes.capacity * sizes.rankings.min(1);
    let rankings = scratch_bytes::<u32>(rankings, standings::KEY_BITS);
    updates
        .max(entities)
        .max(boxes)
        .max(pairs)
        .max(census)
        .max(rankings)
        .max(things)
}
