//! The backend for NVIDIA GPUs: the whole state stays on the device, a tick is a
//! fixed list of kernels without a host round trip, and two ticks may be in
//! flight, so that one's download overlaps the next one's work.
//!
//! The kernels are in `kernels/`, named like the stages, and come prebuilt.

pub(crate) mod device;
mod download;
pub mod events;
mod held;
pub(crate) mod layout;
pub(crate) mod plan;
pub mod primitives;
pub(crate) mod sort;
mod staging;
mod tick;
mod timed;

use std::sync::Arc;

use shared::schema::bits_for;
use shared::{CommandKind, InterestMode, NotificationKind, WorldConfig};

use crate::backend::{Backend, RestoreError, StartError, TickError, Ticket};
use crate::frame::{Frame, Observer, Target};
use crate::output::{Stage, TickOutput};
use crate::state::{self, SlotState, Snapshot, StateHash, part};
use device::{Device, Event, HostBuffer, Lane};
pub use device::{DriverError, GpuInfo, NoDevice, Pinned};
use download::Chunks;
use held::layout::Held;
use layout::{CHUNKS_MAX, Counters, Pointer, Rule, TIMED_COLUMNS, World};
use plan::{Plan, Sizes};
use sort::Sorter;
use staging::{Refusal, Staging};
use tick::Kernels;

/// A world on the first GPU.
pub struct CudaBackend {
    config: WorldConfig,
    sizes: Sizes,
    // Before the device, which must outlive them.
    flights: [Flight; 2],
    staging: [Staging; 2],
    kernels: Kernels,
    sorter: Sorter,
    base: Pointer,
    plan: Plan,
    world: World,
    /// Its regions.
    held: Held,
    /// The tick that comes next.
    tick: shared::Tick,
    stamp: u32,
    /// Client rows from this on were never used.
    clients_used: u32,
    in_flight: Vec<shared::Tick>,
    /// As it was before this world took its memory.
    gpu: GpuInfo,
    form: OutputForm,
    /// A tick failed: the state on the device is no tick's.
    failed: Option<TickError>,
    device: Device,
}

/// One tick's buffers on the host, and the marks in its stream.
struct Flight {
    output: Arc<TickOutput>,
    counters: HostBuffer<Counters>,
    /// The counters as they were when the deliveries were still to be found, and
    /// when they were counted.
    early: HostBuffer<Counters>,
    /// Around the upload, which has a stream of its own.
    upload: [Event; 2],
    /// Before the first stage on the device, and after each.
    marks: Vec<Event>,
    /// The deliveries are counted.
    counted: Event,
    /// Each chunk of clients is served.
    served: Vec<Event>,
    chunks: Chunks,
    frame_counts: staging::FrameCounts,
    clients_used: u32,
}

/// How a tick's output says who is told of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputForm {
    /// One by one: [`TickOutput::deliveries`].
    Pairs,
    /// By buckets: [`TickOutput::bucket_ranges`]. For worlds whose clients
    /// remember nothing and see whole buckets from one observer.
    Ranges,
}

/// What the driver says of the first GPU.
pub fn gpu() -> Result<GpuInfo, NoDevice> {
    Ok(Device::open(KERNELS)?.info()?)
}

/// Each buffer that a world needs on a GPU, with its bytes.
pub fn memory_plan(config: &WorldConfig) -> Vec<(&'static str, u64)> {
    let sizes = Sizes::new(config, OutputForm::Pairs);
    Plan::new(&sizes)
        .parts()
        .filter(|part| part.1 > 0)
        .collect()
}

/// In place of ticks: those of this kind fall, and are born anew by the server's
/// command. As in `lifecycle.cu`.
const BY_THE_SERVER: u32 = u32::MAX;

/// The prebuilt kernels.
pub const KERNELS: &[u8] = include_bytes!("../prebuilt/kernels.fatbin");

impl CudaBackend {
    /// An empty world on the first GPU. `memory_available` in bytes, where it is
    /// given, is what its buffers must fit into even if the GPU has more.
    pub fn new(
        config: &WorldConfig,
        memory_available: Option<u64>,
    ) -> Result<CudaBackend, StartError> {
        CudaBackend::with_output(config, memory_available, OutputForm::Pairs)
    }

    /// As [`CudaBackend::new`], with the output in another form.
    pub fn with_output(
        config: &WorldConfig,
        memory_available: Option<u64>,
        form: OutputForm,
    ) -> Result<CudaBackend, StartError> {
        let has_buckets_only = config.schema.world.visible_max == 0
            && config.interest == InterestMode::Buckets
            && config.limits.observers_per_client == 1;
        if form == OutputForm::Ranges && !has_buckets_only {
            return Err(StartError::Unsupported(
                "ranges form of the cuda",
                "a world with visible_max = 0, interest = \"buckets\" and one observer a client",
            ));
        }
        let mut device = Device::open(KERNELS)?;
        let sizes = Sizes::new(config, form);
        let plan = Plan::new(&sizes);
        let gpu = device.info().map_err(NoDevice::from)?;
        let free = gpu.memory_free;
        let available = memory_available.map_or(free, |given| given.min(free));
        if available < plan.bytes() {
            return Err(StartError::OutOfMemory {
                needed: plan.bytes(),
                available,
            });
        }
        let base = device.allocate(plan.bytes()).map_err(NoDevice::from)?;
        let world = world(config, &sizes, &plan, base);
        let held = held::held(config, &sizes, &plan, base);
        let start = || -> Result<_, NoDevice> {
            let flight = || Flight::new(&device);
            Ok((
                Kernels::load(&device)?,
                Sorter::load(&device, plan.place(base, "sort scratch"))?,
                [flight()?, flight()?],
            ))
        };
        let (kernels, sorter, flights) = start()?;
        let mut backend = CudaBackend {
            staging: [0, 1].map(|parity| Staging::new(config, &sizes, &plan, base, parity)),
            config: config.clone(),
            sizes,
            flights,
            kernels,
            sorter,
            base,
            plan,
            world,
            held,
            tick: shared::Tick(0),
            stamp: 0,
            clients_used: 0,
            in_flight: Vec::with_capacity(2),
            gpu,
            form,
            failed: None,
            device,
        };
        backend.prepare_memory().map_err(NoDevice::from)?;
        Ok(backend)
    }

    /// The GPU that it runs on.
    pub fn gpu(&self) -> &GpuInfo {
        &self.gpu
    }

    fn place(&self, name: &str) -> Pointer {
        self.plan.place(self.base, name)
    }

    fn prepare_memory(&mut self) -> Result<(), DriverError> {
        if cfg!(debug_assertions) {
            // Whoever reads before writing shall be seen.
            self.device.fill(self.base, self.plan.bytes(), 0xa5)?;
        }
        for name in plan::ZEROED {
            let bytes = self.plan.bytes_of(name);
            self.device.fill(self.place(name), bytes, 0)?;
        }
        let bytes = self.plan.bytes_of(plan::FIRST_UPDATES);
        self.device
            .fill(self.place(plan::FIRST_UPDATES), bytes, 0xff)?;
        self.upload_tables()
    }

    fn upload_tables(&mut self) -> Result<(), DriverError> {
        let schema = &self.config.schema;
        let kinds = 0..schema.kinds.len();
        let bounds: Vec<[i32; 2]> = kinds
            .clone()
            .flat_map(|k| schema.bounds(k))
            .map(|(min, max)| [min, max])
            .collect();
        let defaults: Vec<i32> = kinds.clone().flat_map(|k| schema.default_row(k)).collect();
        let columns: Vec<u64> = schema
            .kinds
            .iter()
            .map(|k| k.attributes.iter().fold(0, |bits, a| bits | 1 << a.column))
            .collect();
        let merge: Vec<u32> = schema.attributes.iter().map(|a| a.merge as u32).collect();
        let told: Vec<u32> = schema
            .attributes
            .iter()
            .map(|a| u32::from(a.audience != shared::Audience::Hidden))
            .collect();
        let mut words = vec![];
        let rules: Vec<Rule> = self
            .config
            .every
            .iter()
            .map(|every| {
                let start = words.len() as u32;
                words.extend_from_slice(&every.words);
                Rule {
                    kind: u32::from(every.kind),
                    ticks: every.ticks,
                    command: u32::from(every.command.id()),
                    word_start: start,
                    word_count: every.words.len() as u32,
                }
            })
            .collect();
        let mut respawn_ticks = self.config.respawn_ticks.clone();
        let players = &mut respawn_ticks[usize::from(self.config.player_kind)];
        if *players > 0 {
            *players = BY_THE_SERVER;
        }
        let device = &self.device;
        device.upload(Lane::Work, self.place("bounds"), &bounds)?;
        device.upload(Lane::Work, self.place("defaults"), &defaults)?;
        device.upload(Lane::Work, self.place("kind columns"), &columns)?;
        device.upload(Lane::Work, self.place("merge rules"), &merge)?;
        device.upload(Lane::Work, self.place("told"), &told)?;
        device.upload(Lane::Work, self.place("rules"), &rules)?;
        device.upload(Lane::Work, self.place("respawn ticks"), &respawn_ticks)?;
        device.upload(Lane::Work, self.place("due words"), &words)?;
        let newborn = match self.config.limits.entity_regions {
            true => held::newborn_edges(&self.config),
            false => vec![],
        };
        device.upload(Lane::Work, self.place("newborn regions"), &newborn)?;
        device.synchronize(Lane::Work)
    }

    /// Downloads a part of the state.
    fn fetch<T: Copy + Default>(&self, from: Pointer, n: u64) -> Result<Vec<T>, DriverError> {
        let mut values = vec![T::default(); n as usize];
        self.device.download(Lane::Work, &mut values, from)?;
        self.device.synchronize(Lane::Work)?;
        Ok(values)
    }

    fn fetch_snapshot(&self) -> Result<Snapshot, DriverError> {
        self.device.enter()?;
        let (s, w) = (&self.sizes, &self.world);
        let states: Vec<u32> = self.fetch(w.states, s.capacity)?;
        let kinds: Vec<u32> = self.fetch(w.slot_kinds, s.capacity)?;
        let observers: Vec<layout::Observer> = self.fetch(w.observers, s.observers)?;
        let counts: Vec<u32> = self.fetch(w.known_counts, s.clients)?;
        let known: Vec<u32> = self.fetch(w.known, s.clients * s.visible_max)?;
        let behind: Vec<u8> = self.fetch(w.behind, s.clients)?;
        let (timed, next_sequence) = self.fetch_timed()?;
        let [regions, publications, subscriptions] = self.fetch_regions(&states)?;
        let stride = s.visible_max as usize;
        Ok(Snapshot {
            tick: self.tick,
            states: states
                .iter()
                .map(|&state| match state {
                    0 => SlotState::Free,
                    1 => SlotState::Live,
                    _ => SlotState::Resting,
                })
                .collect(),
            generations: self.fetch(w.generations, s.capacity)?,
            kinds: kinds.iter().map(|&kind| kind as u16).collect(),
            rows: self.fetch(w.rows, s.capacity * s.columns)?,
            observers: observers.iter().map(host_observer).collect(),
            regions,
            publications,
            subscriptions,
            known: counts
                .iter()
                .enumerate()
                .map(|(client, &n)| known[client * stride..][..n as usize].to_vec())
                .collect(),
            behind: (0..s.clients as u32)
                .filter(|&client| behind[client as usize] != 0)
                .collect(),
            timed,
            next_sequence,
        })
    }

    fn put_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), DriverError> {
        self.device.enter()?;
        let (s, w) = (self.sizes, self.world);
        let stride = s.visible_max as usize;
        let states: Vec<u32> = snapshot.states.iter().map(|&state| state as u32).collect();
        let kinds: Vec<u32> = snapshot.kinds.iter().map(|&kind| u32::from(kind)).collect();
        let observers: Vec<layout::Observer> =
            snapshot.observers.iter().map(device_observer).collect();
        let counts: Vec<u32> = snapshot.known.iter().map(|k| k.len() as u32).collect();
        let mut known = vec![0; snapshot.known.len() * stride];
        for (client, slots) in snapshot.known.iter().enumerate() {
            known[client * stride..][..slots.len()].copy_from_slice(slots);
        }
        let mut behind = vec![0u8; snapshot.known.len()];
        for &client in &snapshot.behind {
            behind[client as usize] = 1;
        }
        let device = &self.device;
        device.upload(Lane::Work, w.states, &states)?;
        device.upload(Lane::Work, w.generations, &snapshot.generations)?;
        device.upload(Lane::Work, w.slot_kinds, &kinds)?;
        device.upload(Lane::Work, w.rows, &snapshot.rows)?;
        device.upload(Lane::Work, w.observers, &observers)?;
        device.upload(Lane::Work, w.known_counts, &counts)?;
        device.upload(Lane::Work, w.known, &known)?;
        device.upload(Lane::Work, w.behind, &behind)?;
        self.put_timed(snapshot)?;
        self.put_regions(snapshot)?;
        device.synchronize(Lane::Work)?;
        self.tick = snapshot.tick;
        self.clients_used = self.config.limits.clients;
        self.rebuild_index()
    }
}

impl Backend for CudaBackend {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn submit(&mut self, frame: &Frame) -> Result<Ticket, TickError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.in_flight.len() == 2 {
            return Err(TickError::TooManyInFlight);
        }
        frame.check_tick(self.tick)?;
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
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let Some(i) = self.in_flight.iter().position(|&t| t == ticket.0) else {
            return Err(TickError::NotInFlight(ticket.0));
        };
        self.in_flight.remove(i);
        match self.finish(ticket.0) {
            Ok(output) => Ok(output),
            Err((stage, error)) => Err(self.fail(stage, error)),
        }
    }

    fn snapshot(&mut self) -> Result<Snapshot, TickError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.fetch_snapshot()
            .map_err(|error| self.fail(Stage::Download, error))
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), RestoreError> {
        if !self.in_flight.is_empty() {
            return Err(RestoreError::InFlight);
        }
        snapshot.check(&self.config)?;
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
    fn fail(&mut self, stage: Stage, error: DriverError) -> TickError {
        let error = TickError::Device {
            stage: stage.name(),
            message: error.to_string(),
        };
        self.failed = Some(error.clone());
        error
    }

    /// The hash parts that the device summed, completed by the tick's own.
    fn hash(&self, counters: &Counters, next: shared::Tick) -> StateHash {
        let mut hash = StateHash::zero(self.sizes.columns as usize);
        let n = hash.parts.len();
        hash.parts.copy_from_slice(&counters.hash[..n]);
        hash.parts[part::TICK] = state::tick(next);
        hash
    }
}

impl Flight {
    fn new(device: &Device) -> Result<Flight, DriverError> {
        Ok(Flight {
            output: Arc::default(),
            counters: HostBuffer::new(device, 1)?,
            early: HostBuffer::new(device, 2)?,
            upload: [device.event()?, device.event()?],
            marks: events(device, Stage::ALL.len() + 1)?,
            counted: device.event()?,
            served: events(device, CHUNKS_MAX)?,
            chunks: Chunks::of(0),
            frame_counts: staging::FrameCounts::default(),
            clients_used: 0,
        })
    }
}

fn events(device: &Device, n: usize) -> Result<Vec<Event>, DriverError> {
    (0..n).map(|_| device.event()).collect()
}

fn world(config: &WorldConfig, sizes: &Sizes, plan: &Plan, base: Pointer) -> World {
    let schema = &config.schema;
    let rules = &config.rules;
    let limits = &config.limits;
    let catalog = crate::logic::Catalog::new(config);
    let size = config.size_raw();
    let aoi = schema.world.aoi.raw();
    let buckets = size.map(|s| (i64::from(s) - 1) as u64 / aoi as u64 + 1);
    let column = |c: Option<usize>| c.map_or(-1, |c| c as i32);
    let at = |name: &str| plan.place(base, name);
    let second = |name: &str, bytes: u64| at(name) + bytes;
    let index_bits = bits_for(buckets.iter().product::<u64>() - 1);
    // The sort moves pairs to and fro; what it is given lies so that what it
    // gives back lies first.
    let odd = u64::from(sort::passes(index_bits) % 2);
    World {
        seed: config.seed,
        buckets,
        updates_max: sizes.updates,
        deliveries_max: sizes.deliveries,
        capacity: schema.world.capacity,
        columns: sizes.columns as u32,
        dimensions: config.dimensions() as u32,
        kinds: sizes.kinds as u32,
        clients: limits.clients,
        observers_per_client: limits.observers_per_client,
        visible_max: schema.world.visible_max,
        exact: u32::from(config.interest == InterestMode::Exact),
        commands_max: limits.commands_per_tick,
        rules: config.every.len() as u32,
        view_places: schema.world.visible_max.max(64).next_power_of_two(),
        key_bits: bits_for(sizes.capacity * sizes.columns - 1),
        aoi,
        hp: column(catalog.hp()),
        owner: column(catalog.owner()),
        move_speed_max: rules.move_speed_max.raw(),
        size: [size[0], size[1], size[2], 0],
        strike_reach: rules.strike_reach.raw(),
        strike_damage: rules.strike_damage,
        heal_reach: rules.heal_reach.raw(),
        heal_amount: rules.heal_amount,
        blast_reach: rules.blast_reach.raw(),
        blast_radius: rules.blast_radius.raw(),
        blast_damage: rules.blast_damage,
        pick_reach: rules.pick_reach.raw(),
        roam_step: rules.roam_step.raw(),
        ember_ticks: rules.blast_ember_ticks,
        ember_damage: rules.blast_ember_damage,
        timed_max: limits.timed_commands,
        respawns: sizes.respawns as u32,
        rule_words: sizes.rule_words as u32,
        blast_sound: rules.blast_sound.raw(),
        shout_radius_max: rules.shout_radius_max.raw(),
        notifications_max: limits.notifications_per_tick,
        tells: NotificationKind::ALL.into_iter().fold(0, |bits, kind| {
            bits | u32::from(catalog.tells(kind)) << kind.id()
        }),
        word_counts: CommandKind::ALL
            .map(|kind| schema.command(kind).map_or(-1, |c| c.words.len() as i32)),
        rows_max: sizes.rows as u32,
        scan_groups: sizes.scan_groups() as u32,
        directory_len: sizes.directory.len as u32,
        directory_shift: sizes.directory.shift,
        bounds: at("bounds"),
        defaults: at("defaults"),
        kind_columns: at("kind columns"),
        merge_rules: at("merge rules"),
        told: at("told"),
        rule_table: at("rules"),
        respawn_ticks: at("respawn ticks"),
        rows: at("rows"),
        states: at("states"),
        generations: at("generations"),
        slot_kinds: at("slot kinds"),
        observers: at("observers"),
        known: at("known sets"),
        known_counts: at("known counts"),
        behind: at("behind"),
        timed: at("timed commands"),
        timed_state: at("timed state"),
        index_keys: at("index keys"),
        index_slots: at("index slots"),
        index_positions: at("index positions"),
        index_len: at("index length"),
        directory: at("index directory"),
        visible: second("known sets", sizes.clients * sizes.visible_max * 4),
        visible_counts: second("known counts", sizes.clients * 4),
        changed: at("changed"),
        verdicts: at("verdicts"),
        update_counts: at("update counts"),
        partials: at("partial sums"),
        keys: at("update keys"),
        values: at("update values"),
        interval_keys: at("interval keys"),
        interval_starts: at("interval starts"),
        interval_values: at("interval values"),
        interval_changed: at("interval changed"),
        bucket_keys: second("index keys", odd * sizes.capacity * 8),
        bucket_slots: second("index slots", odd * sizes.capacity * 4),
        free_list: at("free list"),
        died: at("died"),
        client_counts: at("client counts"),
        ranges: at("bucket ranges"),
        changed_before: at("changed before"),
        timed_next: second("timed commands", sizes.timed * TIMED_COLUMNS as u64 * 4),
        after_counts: at("after counts"),
        after_partials: at("after partial sums"),
        fallen: at("fallen"),
        due_words: at("due words"),
        notification_counts: at("notification counts"),
        notification_partials: at("notification partial sums"),
        first_updates: at(plan::FIRST_UPDATES) * sizes.causes,
    }
}

fn device_observer(observer: &Option<Observer>) -> layout::Observer {
    let Some(Observer { target, radius }) = *observer else {
        return layout::Observer::default();
    };
    let (tag, place) = match target {
        Target::Entity(entity) => (1, [entity.slot.0 as i32, entity.generation as i32, 0]),
        Target::Point(point) => (2, point),
    };
    layout::Observer { tag, radius, place }
}

fn host_observer(observer: &layout::Observer) -> Option<Observer> {
    let [a, b, _] = observer.place;
    let target = match observer.tag {
        0 => return None,
        1 => Target::Entity(shared::EntityId::new(a as u32, b as u32)),
        _ => Target::Point(observer.place),
    };
    Some(Observer {
        target,
        radius: observer.radius,
    })
}
