//! The tick on the device: this list of launches is it.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use shared::EntityId;

use super::device::{Device, DriverError, Grid, Kernel, Lane, Pinned};
use super::layout::{Birth, CHUNKS_MAX, Counters, Pointer, Tick, World};
use super::plan::Sizes;
use super::sort::{Doubled, Sort, passes};
use super::staging::{FrameCounts, Refusal};
use super::{CudaBackend, Flight, OutputForm};
use crate::frame::Frame;
use crate::output::{self, BucketRanges, Counts, Delivery, Stage, TickOutput};

/// The kernels by name.
pub struct Kernels {
    take_in: Kernel,
    due_count: Kernel,
    due_store: Kernel,
    due_end: Kernel,
    logic_count: Kernel,
    logic_store: Kernel,
    merge_mark: Kernel,
    merge_intervals: Kernel,
    merge_fold: Kernel,
    merge_apply: Kernel,
    merge_count: Kernel,
    merge_store: Kernel,
    deaths: Kernel,
    deaths_count: Kernel,
    deaths_store: Kernel,
    free_count: Kernel,
    free_store: Kernel,
    births_count: Kernel,
    births_store: Kernel,
    index_count: Kernel,
    index_collect: Kernel,
    index_gather: Kernel,
    ranges: Kernel,
    see: Kernel,
    changed_count: Kernel,
    changed_store: Kernel,
    partial: Kernel,
    offsets: Kernel,
    compare: Kernel,
    order_count: Kernel,
    order_store: Kernel,
    bucket_ranges: Kernel,
    hash_slots: Kernel,
    hash_clients: Kernel,
}

impl Kernels {
    pub fn load(device: &Device) -> Result<Kernels, DriverError> {
        let kernel = |name| device.kernel(name);
        Ok(Kernels {
            take_in: kernel("take_in")?,
            due_count: kernel("due_count")?,
            due_store: kernel("due_store")?,
            due_end: kernel("due_end")?,
            logic_count: kernel("logic_count")?,
            logic_store: kernel("logic_store")?,
            merge_mark: kernel("merge_mark")?,
            merge_intervals: kernel("merge_intervals")?,
            merge_fold: kernel("merge_fold")?,
            merge_apply: kernel("merge_apply")?,
            merge_count: kernel("merge_count")?,
            merge_store: kernel("merge_store")?,
            deaths: kernel("lifecycle_deaths")?,
            deaths_count: kernel("lifecycle_deaths_count")?,
            deaths_store: kernel("lifecycle_deaths_store")?,
            free_count: kernel("lifecycle_free_count")?,
            free_store: kernel("lifecycle_free_store")?,
            births_count: kernel("lifecycle_births_count")?,
            births_store: kernel("lifecycle_births_store")?,
            index_count: kernel("index_count")?,
            index_collect: kernel("index_collect")?,
            index_gather: kernel("index_gather")?,
            ranges: kernel("interest_ranges")?,
            see: kernel("interest_see")?,
            changed_count: kernel("interest_changed_count")?,
            changed_store: kernel("interest_changed_store")?,
            partial: kernel("interest_partial")?,
            offsets: kernel("interest_offsets")?,
            compare: kernel("interest_compare")?,
            order_count: kernel("interest_order_count")?,
            order_store: kernel("interest_order_store")?,
            bucket_ranges: kernel("interest_bucket_ranges")?,
            hash_slots: kernel("hash_slots")?,
            hash_clients: kernel("hash_clients")?,
        })
    }
}

/// What a tick's launches share.
struct Launcher<'a> {
    device: &'a Device,
    world: World,
    tick: Tick,
}

impl Launcher<'_> {
    /// A thread for each item, or none for no item.
    fn items(&mut self, kernel: Kernel, items: u64) -> Result<(), DriverError> {
        self.grid(kernel, items.div_ceil(u64::from(BLOCK)) as u32, BLOCK, 0)
    }

    /// A warp for each client of a range.
    fn clients(
        &mut self,
        kernel: Kernel,
        range: Range<u32>,
        warps: u32,
        words: u32,
    ) -> Result<(), DriverError> {
        let blocks = (range.end - range.start).div_ceil(warps);
        self.tick.client_first = range.start;
        self.tick.client_end = range.end;
        self.grid(kernel, blocks, warps * 32, warps * words * 4)
    }

    fn grid(
        &mut self,
        kernel: Kernel,
        blocks: u32,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<(), DriverError> {
        let mut arguments = [
            (&raw mut self.world).cast::<c_void>(),
            (&raw mut self.tick).cast::<c_void>(),
        ];
        let grid = Grid {
            blocks,
            threads,
            shared_bytes,
        };
        self.device.launch(kernel, grid, &mut arguments)
    }
}

impl CudaBackend {
    /// Starts the next tick; `stage` says how far it came.
    pub(super) fn start(&mut self, frame: &Frame, stage: &mut Stage) -> Result<(), Refusal> {
        self.device.enter()?;
        self.stamp += 1;
        let parity = u64::from(self.tick.0 % 2);
        let flight = &mut self.flights[parity as usize];
        flight.prepare(&self.sizes);
        let mut tick = self
            .sizes
            .tick(|name| self.plan.place(self.base, name), parity);
        tick.number = self.tick.0;
        tick.stamp = self.stamp;
        let device = &self.device;
        let staging = &mut self.staging[parity as usize];
        let counts = staging.upload(frame, &self.config, device, &flight.upload, &mut tick)?;
        self.clients_used = self.clients_used.max(counts.clients);
        tick.clients_used = self.clients_used;
        flight.frame_counts = counts;
        flight.clients_used = self.clients_used;
        flight.chunks = Chunks::of(self.clients_used);
        tick.chunk_clients = flight.chunks.clients;
        let launched = self.launch(tick, counts, stage);
        // The frame is the caller's again, whatever became of the launches.
        let flight = &self.flights[parity as usize];
        self.device.wait(&flight.upload[1])?;
        Ok(launched?)
    }

    fn launch(
        &mut self,
        tick: Tick,
        counts: FrameCounts,
        stage: &mut Stage,
    ) -> Result<(), DriverError> {
        let device = &self.device;
        let flight = &mut self.flights[tick.number as usize % 2];
        device.fill(tick.counters, self.sizes.counted_bytes(), 0)?;
        device.follow(Lane::Work, &flight.upload[1])?;
        device.record(Lane::Work, &flight.marks[0])?;
        let mut run = Launcher {
            device,
            world: self.world,
            tick,
        };
        let begun = u64::from(tick.frame_commands)
            .max(u64::from(tick.observer_sets))
            .max(u64::from(tick.forgets))
            .max(u64::from(tick.releases));
        run.items(self.kernels.take_in, begun)?;
        let mut done = |next: Stage| {
            device.record(Lane::Work, &flight.marks[*stage as usize + 1])?;
            *stage = next;
            Ok::<(), DriverError>(())
        };
        done(Stage::Due)?;
        run.due(&self.kernels)?;
        done(Stage::Logic)?;
        let keys = doubled(
            self.plan.place(self.base, "update keys"),
            self.sizes.updates * 4,
        );
        let values = doubled(
            self.plan.place(self.base, "update values"),
            self.sizes.updates * 4,
        );
        run.logic(&self.kernels, &counts, keys, values)?;
        done(Stage::Merge)?;
        if counts.updates_max > 0 {
            self.sorter.sort(
                device,
                &Sort {
                    wide_keys: false,
                    keys,
                    values,
                    n: counter(&run.tick, std::mem::offset_of!(Counters, updates)),
                    n_max: counts.updates_max,
                    key_bits: self.world.key_bits,
                },
            )?;
        }
        run.merge(&self.kernels, &counts)?;
        done(Stage::Lifecycle)?;
        run.lifecycle(&self.kernels, &counts)?;
        device.download(Lane::Work, &mut flight.early[..1], tick.counters)?;
        done(Stage::Index)?;
        index(&mut run, &self.kernels, &self.sorter, &self.sizes)?;
        done(Stage::Interest)?;
        match self.form {
            OutputForm::Pairs => run.count_deliveries(&self.kernels)?,
            OutputForm::Ranges => run.bucket_ranges(&self.kernels)?,
        }
        device.download(Lane::Work, &mut flight.early[1..], tick.counters)?;
        device.record(Lane::Work, &flight.counted)?;
        let chunks = match self.form {
            OutputForm::Pairs => flight.chunks,
            OutputForm::Ranges => Chunks::of(0),
        };
        for (range, served) in chunks.ranges().zip(&flight.served) {
            run.store_deliveries(&self.kernels, range)?;
            device.record(Lane::Work, served)?;
        }
        done(Stage::Download)?;
        // What was seen is what is known from here on.
        if run.world.visible_max > 0 {
            std::mem::swap(&mut run.world.known, &mut run.world.visible);
            std::mem::swap(&mut run.world.known_counts, &mut run.world.visible_counts);
        }
        self.world = World {
            known: run.world.known,
            visible: run.world.visible,
            known_counts: run.world.known_counts,
            visible_counts: run.world.visible_counts,
            ..self.world
        };
        run.hash(&self.kernels)?;
        device.download(Lane::Work, &mut flight.counters, tick.counters)?;
        device.record(Lane::Work, &flight.marks[Stage::ALL.len()])
    }

    /// Waits for a tick, and downloads what came of it.
    pub(super) fn finish(
        &mut self,
        tick: shared::Tick,
    ) -> Result<Arc<TickOutput>, (Stage, DriverError)> {
        let parity = u64::from(tick.0 % 2);
        let place = |name: &str| self.plan.place(self.base, name);
        let from = self.sizes.tick(place, parity);
        let device = &self.device;
        let flight = &mut self.flights[parity as usize];
        let before_download = |error| (Stage::Interest, error);
        device.enter().map_err(before_download)?;
        let (clients_used, counts) = (flight.clients_used, flight.frame_counts);
        let columns = self.sizes.columns as usize;
        // Nobody else has it before it is handed out.
        let mut output = std::mem::take(&mut flight.output);
        let mut begun = std::time::Instant::now();
        if let Some(out) = Arc::get_mut(&mut output) {
            // What changed is ready, and goes while the deliveries are found.
            let mut lifecycles = Lifecycles::default();
            device
                .wait(&flight.marks[Stage::Lifecycle as usize + 1])
                .and_then(|()| {
                    fetch_changes(
                        device,
                        out,
                        &mut lifecycles,
                        &from,
                        &flight.early[0],
                        columns,
                    )
                })
                .map_err(before_download)?;
            // So are the clients who were served, while others still are.
            device.wait(&flight.counted).map_err(before_download)?;
            match self.form {
                OutputForm::Pairs => fetch_deliveries(device, out, &from, flight),
                OutputForm::Ranges => fetch_ranges(device, out, &from, flight),
            }
            .map_err(before_download)?;
            device
                .wait(&flight.marks[Stage::Interest as usize + 1])
                .map_err(before_download)?;
            begun = std::time::Instant::now();
            device
                .wait(&flight.marks[Stage::ALL.len()])
                .and_then(|()| device.synchronize(Lane::Downloads))
                .map_err(|error| (Stage::Download, error))?;
            lifecycles.take_out(out);
            if self.form == OutputForm::Pairs {
                settle_offsets(
                    out,
                    &flight.counters[0],
                    clients_used,
                    self.sizes.deliveries,
                );
            }
        }
        let flight = &mut self.flights[parity as usize];
        flight.output = output;
        let counters = flight.counters[0];
        let mut stages = output::StageTimes::default();
        let duration = |from, to| {
            let ms = device.elapsed_ms(from, to)?;
            Ok(Duration::from_secs_f32(ms.max(0.0) / 1000.0))
        };
        for (i, stage) in Stage::ALL
            .into_iter()
            .enumerate()
            .take(Stage::ALL.len() - 1)
        {
            let time = duration(&flight.marks[i], &flight.marks[i + 1]);
            stages.set(stage, time.map_err(|error| (stage, error))?);
        }
        let upload = duration(&flight.upload[0], &flight.upload[1]);
        let taken_in = stages.of(Stage::Upload);
        stages.set(
            Stage::Upload,
            taken_in + upload.map_err(|error| (Stage::Upload, error))?,
        );
        stages.set(Stage::Download, begun.elapsed());
        let hash = self.hash(&counters, tick.next());
        let flight = &mut self.flights[parity as usize];
        if let Some(out) = Arc::get_mut(&mut flight.output) {
            out.tick = tick;
            out.stages = stages;
            out.hash = hash;
            out.counts = host_counts(&counters, &counts);
        }
        Ok(flight.output.clone())
    }

    /// The index of a restored state.
    pub(super) fn rebuild_index(&mut self) -> Result<(), DriverError> {
        self.stamp += 1;
        let mut tick = self.sizes.tick(|name| self.plan.place(self.base, name), 0);
        tick.stamp = self.stamp;
        self.device
            .fill(tick.counters, self.sizes.counted_bytes(), 0)?;
        let mut run = Launcher {
            device: &self.device,
            world: self.world,
            tick,
        };
        index(&mut run, &self.kernels, &self.sorter, &self.sizes)?;
        self.device.synchronize(Lane::Work)
    }
}

impl Launcher<'_> {
    fn due(&mut self, kernels: &Kernels) -> Result<(), DriverError> {
        if self.world.rules > 0 {
            let items = u64::from(self.world.rules) * u64::from(self.world.capacity);
            self.items(kernels.due_count, items)?;
            self.items(kernels.due_store, items)?;
        }
        self.grid(kernels.due_end, 1, 1, 0)
    }

    fn logic(
        &mut self,
        kernels: &Kernels,
        counts: &FrameCounts,
        keys: Doubled,
        values: Doubled,
    ) -> Result<(), DriverError> {
        self.items(kernels.logic_count, counts.commands_max)?;
        // The sort moves pairs to and fro, and must leave them in the first.
        let odd = passes(self.world.key_bits) % 2 == 1;
        if odd {
            self.world.keys = keys.second;
            self.world.values = values.second;
        }
        if counts.updates_max > 0 {
            self.items(kernels.logic_store, counts.commands_max)?;
        }
        self.world.keys = keys.first;
        self.world.values = values.first;
        Ok(())
    }

    fn merge(&mut self, kernels: &Kernels, counts: &FrameCounts) -> Result<(), DriverError> {
        let updates = counts.updates_max;
        self.items(kernels.merge_mark, updates)?;
        self.items(kernels.merge_intervals, updates)?;
        // A warp for each share of 256.
        self.items(kernels.merge_fold, updates.div_ceil(256) * 32)?;
        self.items(kernels.merge_apply, updates)?;
        self.items(kernels.merge_count, updates)?;
        // At least one thread, to close the offsets.
        self.items(kernels.merge_store, updates.max(1))
    }

    fn lifecycle(&mut self, kernels: &Kernels, counts: &FrameCounts) -> Result<(), DriverError> {
        let slots = u64::from(self.world.capacity);
        if counts.births {
            // Before the deaths, whose slots are not for this tick's births.
            self.items(kernels.free_count, slots)?;
            self.items(kernels.free_store, slots)?;
            self.items(kernels.births_count, counts.commands_max)?;
            self.items(kernels.births_store, counts.commands_max)?;
        }
        if counts.deaths {
            self.items(kernels.deaths, counts.commands_max)?;
            self.items(kernels.deaths_count, slots)?;
            self.items(kernels.deaths_store, slots)?;
        }
        Ok(())
    }

    /// How much each client is told, and where that will stand.
    fn count_deliveries(&mut self, kernels: &Kernels) -> Result<(), DriverError> {
        let clients = u64::from(self.tick.clients_used);
        let observers = clients * u64::from(self.world.observers_per_client);
        self.items(kernels.ranges, observers * u64::from(self.world.rows_max))?;
        if self.world.visible_max > 0 {
            let words = self.world.view_places + 256;
            let all = 0..self.tick.clients_used;
            self.clients(kernels.see, all, warps_for(words), words)?;
        } else {
            let blocks = self.tick.clients_used.div_ceil(WARPS_MAX);
            self.grid(
                kernels.changed_count,
                blocks.min(RESIDENT_BLOCKS),
                WARPS_MAX * 32,
                0,
            )?;
        }
        self.items(kernels.partial, clients)?;
        self.items(kernels.offsets, clients)
    }

    /// What each client is told, by buckets.
    fn bucket_ranges(&mut self, kernels: &Kernels) -> Result<(), DriverError> {
        let places = u64::from(self.world.capacity) + 1;
        self.items(kernels.order_count, places)?;
        self.items(kernels.order_store, places)?;
        let rows = u64::from(self.tick.clients_used) * u64::from(self.world.rows_max);
        self.items(kernels.bucket_ranges, rows)
    }

    /// What each client of a chunk is told.
    fn store_deliveries(
        &mut self,
        kernels: &Kernels,
        chunk: Range<u32>,
    ) -> Result<(), DriverError> {
        if self.world.visible_max > 0 {
            let words = 4 * self.world.visible_max;
            self.clients(kernels.compare, chunk, warps_for(words), words)
        } else {
            self.clients(kernels.changed_store, chunk, WARPS_MAX, 0)
        }
    }

    fn hash(&mut self, kernels: &Kernels) -> Result<(), DriverError> {
        let blocks = |items: u64| items.div_ceil(u64::from(BLOCK)).clamp(1, HASH_BLOCKS_MAX) as u32;
        let slots = u64::from(self.world.capacity);
        self.grid(kernels.hash_slots, blocks(slots), BLOCK, 0)?;
        let clients = u64::from(self.tick.clients_used) * 32;
        let observers = u64::from(self.world.clients) * u64::from(self.world.observers_per_client);
        self.grid(
            kernels.hash_clients,
            blocks(clients.max(observers)),
            BLOCK,
            0,
        )
    }
}

fn index(
    run: &mut Launcher<'_>,
    kernels: &Kernels,
    sorter: &super::Sorter,
    sizes: &Sizes,
) -> Result<(), DriverError> {
    run.items(kernels.index_count, sizes.capacity)?;
    run.items(kernels.index_collect, sizes.capacity)?;
    let buckets = run.world.buckets.iter().product::<u64>();
    sorter.sort(
        run.device,
        &Sort {
            wide_keys: true,
            keys: doubled(run.world.index_keys, sizes.capacity * 8),
            values: doubled(run.world.index_slots, sizes.capacity * 4),
            n: counter(&run.tick, std::mem::offset_of!(Counters, live)),
            n_max: sizes.capacity,
            key_bits: shared::schema::bits_for(buckets - 1),
        },
    )?;
    run.items(
        kernels.index_gather,
        sizes.capacity.max(sizes.directory.len),
    )
}

/// Births and deaths as the device writes them.
#[derive(Default)]
struct Lifecycles {
    births: Vec<Birth>,
    deaths: Vec<[u32; 2]>,
}

impl Lifecycles {
    /// Once they have arrived.
    fn take_out(&self, out: &mut TickOutput) {
        out.births.clear();
        out.births.extend(self.births.iter().map(|b| output::Birth {
            token: b.token,
            kind: b.kind as u16,
            entity: (b.generation > 0).then(|| EntityId::new(b.slot, b.generation)),
        }));
        out.deaths.clear();
        let deaths = self.deaths.iter();
        out.deaths
            .extend(deaths.map(|&[slot, generation]| EntityId::new(slot, generation)));
    }
}

/// Starts the download of births, deaths and changes.
fn fetch_changes(
    device: &Device,
    out: &mut TickOutput,
    lifecycles: &mut Lifecycles,
    from: &Tick,
    counters: &Counters,
    columns: usize,
) -> Result<(), DriverError> {
    let lane = Lane::Downloads;
    lifecycles
        .births
        .resize(counters.births_asked as usize, Birth::default());
    device.download(lane, &mut lifecycles.births, from.births)?;
    out.birth_rows.resize(counters.births as usize * columns, 0);
    device.download(lane, &mut out.birth_rows, from.birth_rows)?;
    lifecycles.deaths.resize(counters.deaths as usize, [0; 2]);
    device.download(lane, &mut lifecycles.deaths, from.deaths)?;
    let changes = &mut out.changes;
    changes.slots.resize(counters.entities as usize, 0);
    changes.offsets.resize(counters.entities as usize + 1, 0);
    changes.columns.resize(counters.changes as usize, 0);
    changes.values.resize(counters.changes as usize, 0);
    device.download(lane, &mut changes.slots, from.change_slots)?;
    device.download(lane, &mut changes.offsets, from.change_offsets)?;
    device.download(lane, &mut changes.columns, from.change_columns)?;
    device.download(lane, &mut changes.values, from.change_values)?;
    Ok(())
}

/// Starts the download of the deliveries, chunk after chunk, each as soon as it is
/// there.
fn fetch_deliveries(
    device: &Device,
    out: &mut TickOutput,
    from: &Tick,
    flight: &Flight,
) -> Result<(), DriverError> {
    let lane = Lane::Downloads;
    let clients_used = flight.clients_used as usize;
    let counters = &flight.early[1];
    let offsets = &mut out.deliveries.offsets;
    offsets.resize(clients_used + 1, 0);
    device.download(lane, &mut offsets[..clients_used], from.delivery_offsets)?;
    let total = counters.deliveries as usize;
    if out.deliveries.entries.len() < total {
        out.deliveries.entries.resize(total, Delivery::default());
    }
    let chunks = flight.chunks.ranges().count();
    for (i, served) in flight.served[..chunks].iter().enumerate() {
        // Clients that were not served begin behind the end.
        let start = |i: usize| match i < chunks {
            true => total.min(counters.chunk_starts[i] as usize),
            false => total,
        };
        device.follow(lane, served)?;
        let entries = &mut out.deliveries.entries[start(i)..start(i + 1)];
        device.download(lane, entries, from.deliveries + start(i) as u64 * 4)?;
    }
    Ok(())
}

/// Starts the download of what the clients are told by buckets.
fn fetch_ranges(
    device: &Device,
    out: &mut TickOutput,
    from: &Tick,
    flight: &Flight,
) -> Result<(), DriverError> {
    let ranges = out.bucket_ranges.get_or_insert_default();
    let changed = flight.early[1].changed_live as usize;
    ranges.order.resize(changed, 0);
    let rows = flight.clients_used as usize * ranges.rows;
    ranges.ranges.resize(rows, [0; 2]);
    device.download(Lane::Downloads, &mut ranges.order, from.bucket_order)?;
    device.download(Lane::Downloads, &mut ranges.ranges, from.bucket_ranges)
}

/// The clients, cut into parts that are served one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Chunks {
    /// In each but the last, which may have fewer.
    pub clients: u32,
    all: u32,
}

impl Chunks {
    /// So that a chunk is worth a launch.
    pub fn of(all: u32) -> Chunks {
        let clients = all.div_ceil(CHUNKS_MAX as u32).max(CHUNK_CLIENTS_MIN);
        Chunks { clients, all }
    }

    fn ranges(self) -> impl Iterator<Item = Range<u32>> {
        let Chunks { clients, all } = self;
        (0..all.div_ceil(clients)).map(move |i| i * clients..all.min((i + 1) * clients))
    }
}

/// Clients that were not served have no deliveries, behind the last one's.
fn settle_offsets(out: &mut TickOutput, counters: &Counters, clients_used: u32, limit: u64) {
    let kept = counters.deliveries as u32;
    let offsets = &mut out.deliveries.offsets;
    offsets[clients_used as usize] = kept;
    if counters.deliveries_total > limit {
        let served = counters.served as usize;
        offsets[served..].fill(kept);
    }
}

fn host_counts(counters: &Counters, frame: &FrameCounts) -> Counts {
    let commands = frame.commands + counters.due;
    Counts {
        commands,
        applied: counters.applied,
        stale: counters.stale,
        malformed: counters.malformed,
        commands_dropped: commands - counters.commands,
        updates: counters.updates,
        updates_dropped: counters.updates_total - counters.updates,
        changes: counters.changes,
        births: counters.births,
        births_refused: counters.births_asked - counters.births,
        deaths: counters.deaths,
        deliveries: counters.deliveries,
        deliveries_dropped: counters.deliveries_total - counters.deliveries,
        clients_behind: counters.behind,
        ignored: frame.ignored + counters.ignored,
        entities: counters.live,
    }
}

impl Flight {
    /// A fresh buffer where somebody still holds the last one.
    fn prepare(&mut self, sizes: &Sizes) {
        let reusable = Arc::get_mut(&mut self.output).is_some_and(|o| o.memory_lock.is_some());
        if reusable {
            return;
        }
        let mut output = TickOutput::default();
        let changes = &mut output.changes;
        changes.slots = Vec::with_capacity(sizes.changes as usize);
        changes.offsets = Vec::with_capacity(sizes.changes as usize + 1);
        changes.columns = Vec::with_capacity(sizes.changes as usize);
        changes.values = Vec::with_capacity(sizes.changes as usize);
        let deliveries = &mut output.deliveries;
        deliveries.offsets = Vec::with_capacity(sizes.clients as usize + 1);
        deliveries.entries = Vec::with_capacity(sizes.deliveries as usize);
        let mut ranges = BucketRanges {
            rows: sizes.rows as usize,
            ..BucketRanges::default()
        };
        if sizes.by_buckets > 0 {
            ranges.order = Vec::with_capacity(sizes.capacity as usize);
            ranges.ranges = Vec::with_capacity((sizes.clients * sizes.rows) as usize);
        }
        // What can't be locked is as good, but slower.
        let locks = [
            Pinned::lock(&ranges.order),
            Pinned::lock(&ranges.ranges),
            Pinned::lock(&changes.slots),
            Pinned::lock(&changes.offsets),
            Pinned::lock(&changes.columns),
            Pinned::lock(&changes.values),
            Pinned::lock(&deliveries.offsets),
            Pinned::lock(&deliveries.entries),
        ];
        output.bucket_ranges = (sizes.by_buckets > 0).then_some(ranges);
        output.memory_lock = Some(output::MemoryLock(Box::new(locks)));
        self.output = Arc::new(output);
    }
}

impl Sizes {
    /// One of the two ticks' buffers on the device.
    fn tick(&self, place: impl Fn(&str) -> Pointer, parity: u64) -> Tick {
        let at = |name: &str, bytes: u64| place(name) + parity * bytes;
        Tick {
            commands: place("commands"),
            counters: at("counters", self.counted_bytes()),
            scan_sums: at("counters", self.counted_bytes()) + size_of::<Counters>() as u64,
            births: at("births", self.births * size_of::<Birth>() as u64),
            birth_rows: at("birth rows", self.capacity * self.columns * 4),
            deaths: at("deaths", self.capacity * 8),
            change_slots: at("change slots", self.changes * 4),
            change_offsets: at("change offsets", (self.changes + 1) * 4),
            change_columns: at("change columns", self.changes * 2),
            change_values: at("change values", self.changes * 4),
            delivery_offsets: at("delivery offsets", self.clients * 4),
            deliveries: at("deliveries", self.deliveries * 4),
            bucket_order: at("bucket order", self.capacity * 4),
            bucket_ranges: at("bucket ranges told", self.clients * self.rows * 8),
            ..Tick::default()
        }
    }
}

fn doubled(first: Pointer, bytes: u64) -> Doubled {
    Doubled {
        first,
        second: first + bytes,
    }
}

fn counter(tick: &Tick, offset: usize) -> Pointer {
    tick.counters + offset as u64
}

/// As many warps as share 32 KB, up to eight.
fn warps_for(words: u32) -> u32 {
    (8192 / words).clamp(1, WARPS_MAX)
}

/// Threads of a block where each has an item: `BLOCK` of the kernels.
const BLOCK: u32 = 256;
const WARPS_MAX: u32 = 8;
/// Four blocks on each of a large GPU's multiprocessors.
const HASH_BLOCKS_MAX: u64 = 132 * 4;
/// Eight blocks on each.
const RESIDENT_BLOCKS: u32 = 132 * 8;
/// Clients whose deliveries take some 100 µs to download.
const CHUNK_CLIENTS_MIN: u32 = 32 * 1024;
