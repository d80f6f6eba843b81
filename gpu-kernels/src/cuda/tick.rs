//! The tick on the device: this list of launches is it.

use std::ffi::c_void;
use std::ops::Range;

use shared::NotificationKind;

use super::device::{Device, DriverError, Grid, Kernel, Lane, NoDevice};
use super::download::Chunks;
use super::held::HeldKernels;
use super::held::layout::Held;
use super::layout::{Birth, Counters, Pointer, Tick, World};
use super::plan::Sizes;
use super::sort::{Doubled, Sort, passes};
use super::staging::{FrameCounts, Refusal};
use super::{CudaBackend, OutputForm, held};
use crate::frame::Frame;
use crate::output::{Notification, Stage};

/// The kernels by name.
pub struct Kernels {
    take_in: Kernel,
    due_timed_count: Kernel,
    due_timed_store: Kernel,
    due_put_off: Kernel,
    due_count: Kernel,
    due_store: Kernel,
    due_end: Kernel,
    logic_count: Kernel,
    logic_after: Kernel,
    logic_notify: Kernel,
    logic_store: Kernel,
    merge_mark: Kernel,
    merge_intervals: Kernel,
    merge_fold: Kernel,
    merge_apply: Kernel,
    merge_count: Kernel,
    merge_store: Kernel,
    picks_count: Kernel,
    picks_store: Kernel,
    deaths: Kernel,
    fallen: Kernel,
    respawn: Kernel,
    timed: Kernel,
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
    held: HeldKernels,
}

impl Kernels {
    pub fn load(device: &Device) -> Result<Kernels, NoDevice> {
        let kernel = |name| device.kernel(name);
        Ok(Kernels {
            take_in: kernel("take_in")?,
            due_timed_count: kernel("due_timed_count")?,
            due_timed_store: kernel("due_timed_store")?,
            due_put_off: kernel("due_put_off")?,
            due_count: kernel("due_count")?,
            due_store: kernel("due_store")?,
            due_end: kernel("due_end")?,
            logic_count: kernel("logic_count")?,
            logic_after: kernel("logic_after")?,
            logic_notify: kernel("logic_notify")?,
            logic_store: kernel("logic_store")?,
            merge_mark: kernel("merge_mark")?,
            merge_intervals: kernel("merge_intervals")?,
            merge_fold: kernel("merge_fold")?,
            merge_apply: kernel("merge_apply")?,
            merge_count: kernel("merge_count")?,
            merge_store: kernel("merge_store")?,
            picks_count: kernel("notifications_picks_count")?,
            picks_store: kernel("notifications_picks_store")?,
            deaths: kernel("lifecycle_deaths")?,
            fallen: kernel("lifecycle_fallen")?,
            respawn: kernel("lifecycle_respawn")?,
            timed: kernel("lifecycle_timed")?,
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
            held: HeldKernels::load(device)?,
        })
    }
}

/// What a tick's launches share.
struct Launcher<'a> {
    device: &'a Device,
    world: World,
    tick: Tick,
    held: Held,
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
        // Kernels that know of no regions have two parameters, and read no more.
        let mut arguments = [
            (&raw mut self.world).cast::<c_void>(),
            (&raw mut self.tick).cast::<c_void>(),
            (&raw mut self.held).cast::<c_void>(),
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
        let hearings_at = self.hearings_at(u64::from(tick.number % 2));
        let device = &self.device;
        let flight = &mut self.flights[tick.number as usize % 2];
        device.fill(tick.counters, self.sizes.counted_bytes(), 0)?;
        device.follow(Lane::Work, &flight.upload[1])?;
        device.record(Lane::Work, &flight.marks[0])?;
        let mut run = Launcher {
            device,
            world: self.world,
            tick,
            held: self.held,
        };
        (run.held.set, run.held.sets) = counts.region_sets;
        [run.held.hearing_offsets, run.held.hearings] = hearings_at;
        let begun = u64::from(tick.frame_commands)
            .max(u64::from(tick.observer_sets))
            .max(u64::from(tick.forgets))
            .max(u64::from(tick.releases));
        run.items(self.kernels.take_in, begun)?;
        run.items(self.kernels.held.take_in, u64::from(run.held.sets))?;
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
        if run.held.of_entities > 0 {
            publications(&mut run, &self.kernels, &self.sorter, &self.sizes)?;
        }
        done(Stage::Interest)?;
        match self.form {
            OutputForm::Pairs => run.count_deliveries(&self.kernels)?,
            OutputForm::Ranges => run.bucket_ranges(&self.kernels)?,
        }
        if self.world.notifications_max > 0 {
            hearings(&mut run, &self.kernels, &self.sorter, &self.sizes)?;
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
        // What goes on waiting was copied, with what was added.
        std::mem::swap(&mut run.world.timed, &mut run.world.timed_next);
        self.world = World {
            known: run.world.known,
            visible: run.world.visible,
            known_counts: run.world.known_counts,
            visible_counts: run.world.visible_counts,
            timed: run.world.timed,
            timed_next: run.world.timed_next,
            ..self.world
        };
        run.hash(&self.kernels)?;
        device.download(Lane::Work, &mut flight.counters, tick.counters)?;
        device.record(Lane::Work, &flight.marks[Stage::ALL.len()])
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
            held: self.held,
        };
        index(&mut run, &self.kernels, &self.sorter, &self.sizes)?;
        self.device.synchronize(Lane::Work)
    }
}

impl Launcher<'_> {
    fn due(&mut self, kernels: &Kernels) -> Result<(), DriverError> {
        let timed = u64::from(self.world.timed_max);
        self.items(kernels.due_timed_count, timed)?;
        self.items(kernels.due_timed_store, timed)?;
        self.items(kernels.due_put_off, u64::from(self.tick.afters))?;
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
        if self.world.timed_max > 0 {
            self.items(kernels.logic_after, counts.commands_max)?;
        }
        if self.world.notifications_max > 0 {
            self.items(kernels.logic_notify, counts.commands_max)?;
        }
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
        self.items(kernels.merge_store, updates.max(1))?;
        if self.world.tells >> NotificationKind::Pick.id() & 1 == 1 {
            self.items(kernels.picks_count, updates)?;
            self.items(kernels.picks_store, updates)?;
        }
        Ok(())
    }

    fn lifecycle(&mut self, kernels: &Kernels, counts: &FrameCounts) -> Result<(), DriverError> {
        let slots = u64::from(self.world.capacity);
        if counts.births {
            // Before the deaths, whose slots are not for this tick's births.
            self.items(kernels.free_count, slots)?;
            self.items(kernels.free_store, slots)?;
            self.items(kernels.births_count, counts.commands_max)?;
            self.items(kernels.births_store, counts.commands_max)?;
            if self.held.of_entities > 0 {
                self.items(kernels.held.bear, counts.commands_max)?;
            }
        }
        if counts.deaths {
            self.items(kernels.deaths, counts.commands_max)?;
            if self.world.respawns > 0 {
                self.items(kernels.fallen, slots)?;
                self.items(kernels.respawn, slots)?;
            }
            self.items(kernels.deaths_count, slots)?;
            self.items(kernels.deaths_store, slots)?;
        }
        if self.world.timed_max > 0 {
            self.grid(kernels.timed, 1, 1, 0)?;
        }
        Ok(())
    }

    /// How much each client is told, and where that will stand.
    fn count_deliveries(&mut self, kernels: &Kernels) -> Result<(), DriverError> {
        let clients = u64::from(self.tick.clients_used);
        let observers = clients * u64::from(self.world.observers_per_client);
        self.items(kernels.ranges, observers * u64::from(self.world.rows_max))?;
        if self.world.visible_max > 0 {
            let words = self.world.view_places + 256 + self.world.visible_max;
            let all = 0..self.tick.clients_used;
            let kernel = self.either(kernels.see, kernels.held.see);
            self.clients(kernel, all, warps_for(words), words)?;
        } else {
            let blocks = self.tick.clients_used.div_ceil(WARPS_MAX);
            let kernel = self.either(kernels.changed_count, kernels.held.changed_count);
            self.grid(kernel, blocks.min(RESIDENT_BLOCKS), WARPS_MAX * 32, 0)?;
        }
        self.items(kernels.partial, clients)?;
        self.items(kernels.offsets, clients)
    }

    fn has_regions(&self) -> bool {
        self.held.per_client > 0 || self.held.of_entities > 0
    }

    /// The kernel for worlds without regions, or the one for worlds with some.
    fn either(&self, without: Kernel, with: Kernel) -> Kernel {
        match self.has_regions() {
            false => without,
            true => with,
        }
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
            let kernel = self.either(kernels.changed_store, kernels.held.changed_store);
            self.clients(kernel, chunk, WARPS_MAX, 0)
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
        )?;
        if !self.has_regions() {
            return Ok(());
        }
        let regions = u64::from(self.world.clients) * u64::from(self.held.per_client);
        self.grid(kernels.held.hash, blocks(slots.max(regions)), BLOCK, 0)
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

/// Where entities are published beside their positions, sorted.
fn publications(
    run: &mut Launcher<'_>,
    kernels: &Kernels,
    sorter: &super::Sorter,
    sizes: &Sizes,
) -> Result<(), DriverError> {
    run.items(kernels.held.count, sizes.carriers)?;
    run.items(kernels.held.collect, sizes.carriers)?;
    let [keys, values] = held::sorted(&run.held.published, sizes.carriers);
    sorter.sort(
        run.device,
        &Sort {
            wide_keys: true,
            keys,
            values,
            n: counter(&run.tick, std::mem::offset_of!(Counters, published)),
            n_max: sizes.carriers,
            key_bits: sizes.box_key_bits,
        },
    )?;
    // At least a thread for each level.
    run.items(kernels.held.gather, sizes.carriers.max(u64::from(BLOCK)))
}

/// Who hears which notification.
fn hearings(
    run: &mut Launcher<'_>,
    kernels: &Kernels,
    sorter: &super::Sorter,
    sizes: &Sizes,
) -> Result<(), DriverError> {
    let kernels = &kernels.held.hearings;
    run.items(kernels.count, sizes.notifications)?;
    run.items(kernels.collect, sizes.notifications)?;
    let [keys, values] = held::sorted(&run.held.areas, sizes.notifications);
    sorter.sort(
        run.device,
        &Sort {
            wide_keys: true,
            keys,
            values,
            n: counter(&run.tick, std::mem::offset_of!(Counters, areas)),
            n_max: sizes.notifications,
            key_bits: sizes.box_key_bits,
        },
    )?;
    // At least a thread for each level.
    run.items(kernels.gather, sizes.notifications.max(u64::from(BLOCK)))?;
    let words = run.held.hearing_places + 256;
    let clients = run.tick.clients_used;
    run.clients(kernels.hear, 0..clients, warps_for(words), words)?;
    run.items(kernels.partial, u64::from(clients))?;
    run.items(kernels.offsets, u64::from(clients))?;
    // A warp for each client.
    run.items(kernels.store, u64::from(clients) * 32)
}

impl Sizes {
    /// One of the two ticks' buffers on the device.
    pub(super) fn tick(&self, place: impl Fn(&str) -> Pointer, parity: u64) -> Tick {
        let at = |name: &str, bytes: u64| place(name) + parity * bytes;
        Tick {
            commands: place("commands"),
            counters: at("counters", self.counted_bytes()),
            scan_sums: at("counters", self.counted_bytes()) + size_of::<Counters>() as u64,
            births: at("births", self.births * size_of::<Birth>() as u64),
            birth_rows: at("birth rows", self.capacity * self.columns * 4),
            deaths: at("deaths", self.capacity * 8),
            notifications: at(
                "notifications",
                self.notifications * size_of::<Notification>() as u64,
            ),
            change_slots: at("change slots", self.changes * 4),
            change_offsets: at("change offsets", (self.changes + 1) * 4),
            change_columns: at("change columns", self.changes * 2),
            change_values: at("change values", self.changes * 4),
            change_causes: at("change causes", self.changes * 2 * self.causes),
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
