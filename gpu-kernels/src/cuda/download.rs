//! What comes back from the device, each part as soon as it is there.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use shared::EntityId;

use super::device::{Device, DriverError, Lane, Pinned};
use super::layout::{Birth, CHUNKS_MAX, Counters, Pointer, Tick};
use super::plan::Sizes;
use super::staging::FrameCounts;
use super::{CudaBackend, Flight, OutputForm};
use crate::output::{
    self, BucketRanges, Counts, Delivery, Hearings, Notification, Stage, TickOutput,
};

impl CudaBackend {
    /// Waits for a tick, and downloads what came of it.
    pub(super) fn finish(
        &mut self,
        tick: shared::Tick,
    ) -> Result<Arc<TickOutput>, (Stage, DriverError)> {
        let parity = u64::from(tick.0 % 2);
        let place = |name: &str| self.plan.place(self.base, name);
        let from = self.sizes.tick(place, parity);
        let hearings_at = self.hearings_at(parity);
        let device = &self.device;
        let flight = &mut self.flights[parity as usize];
        let before_download = |error| (Stage::Interest, error);
        device.enter().map_err(before_download)?;
        let (clients_used, counts) = (flight.clients_used, flight.frame_counts);
        let columns = self.sizes.columns as usize;
        // Nobody else has it before it is handed out.
        let mut output = std::mem::take(&mut flight.output);
        let mut begun = Instant::now();
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
                        &self.sizes,
                    )
                })
                .map_err(before_download)?;
            // So are the clients who were served, while others still are.
            device.wait(&flight.counted).map_err(before_download)?;
            match self.form {
                OutputForm::Pairs => fetch_deliveries(device, out, &from, flight),
                OutputForm::Ranges => fetch_ranges(device, out, &from, flight),
            }
            .and_then(|()| fetch_hearings(device, out, &hearings_at, flight))
            .map_err(before_download)?;
            device
                .wait(&flight.marks[Stage::Interest as usize + 1])
                .map_err(before_download)?;
            begun = Instant::now();
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
            out.counts = host_counts(&counters, &counts, self.sizes.notifications);
        }
        Ok(flight.output.clone())
    }
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
    sizes: &Sizes,
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
    let told = counters.told().min(sizes.notifications) as usize;
    out.notifications.resize(told, Notification::default());
    device.download(lane, &mut out.notifications, from.notifications)?;
    let changes = &mut out.changes;
    changes.slots.resize(counters.entities as usize, 0);
    changes.offsets.resize(counters.entities as usize + 1, 0);
    changes.columns.resize(counters.changes as usize, 0);
    changes.values.resize(counters.changes as usize, 0);
    device.download(lane, &mut changes.slots, from.change_slots)?;
    device.download(lane, &mut changes.offsets, from.change_offsets)?;
    device.download(lane, &mut changes.columns, from.change_columns)?;
    device.download(lane, &mut changes.values, from.change_values)?;
    changes
        .causes
        .resize(changes.values.len() * sizes.causes as usize, 0);
    device.download(lane, &mut changes.causes, from.change_causes)?;
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

/// Starts the download of who hears what; `at` is where offsets and numbers are.
fn fetch_hearings(
    device: &Device,
    out: &mut TickOutput,
    at: &[Pointer; 2],
    flight: &Flight,
) -> Result<(), DriverError> {
    let Hearings { offsets, numbers } = &mut out.hearings;
    let heard = flight.early[1].hearings as usize;
    offsets.clear();
    numbers.resize(heard, 0);
    if heard == 0 {
        return Ok(());
    }
    let clients_used = flight.clients_used as usize;
    offsets.resize(clients_used + 1, heard as u32);
    device.download(Lane::Downloads, &mut offsets[..clients_used], at[0])?;
    device.download(Lane::Downloads, numbers, at[1])
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

    pub fn ranges(self) -> impl Iterator<Item = Range<u32>> {
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

fn host_counts(counters: &Counters, frame: &FrameCounts, notifications_max: u64) -> Counts {
    let notifications = counters.told().min(notifications_max);
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
        timed: counters.timed,
        timed_dropped: frame.timed_dropped + counters.timed_dropped,
        notifications,
        notifications_dropped: counters.told() - notifications,
        hearings: counters.hearings,
        hearings_dropped: counters.hearings_dropped,
    }
}

impl Flight {
    /// A fresh buffer where somebody still holds the last one.
    pub(super) fn prepare(&mut self, sizes: &Sizes) {
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
        changes.causes = Vec::with_capacity((sizes.changes * sizes.causes) as usize);
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
            Pinned::lock(&changes.causes),
            Pinned::lock(&deliveries.offsets),
            Pinned::lock(&deliveries.entries),
        ];
        output.bucket_ranges = (sizes.by_buckets > 0).then_some(ranges);
        output.memory_lock = Some(output::MemoryLock(Box::new(locks)));
        self.output = Arc::new(output);
    }
}

/// Clients whose deliveries take some 100 µs to download.
const CHUNK_CLIENTS_MIN: u32 = 32 * 1024;
