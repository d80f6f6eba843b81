//! Stage: downloading the output, each part as soon as it is ready.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use device::{Copies, DriverError, Event, HostVec, Lane, UInt2};
use shared::{CommandKind, EntityId, Refusal};

use super::layout::{self, Tick};
use super::sizes::Sizes;
use super::{CudaBackend, Flight, OutputForm};
use crate::tick::counts::{CHUNKS_MAX, Counters, Counts};
use crate::tick::notification::Notification;
use crate::tick::output::{
    Birth, BucketRanges, Changes, Courses, Deliveries, Delivery, Hearings, RefusedCommand, Stage,
    StageTimes, TickOutput,
};

/// The stage in which a tick failed, and the error.
pub struct Failure(pub Stage, pub DriverError);

/// An error without a stage is one of the download.
impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Failure {
        Failure(Stage::Download, error)
    }
}

impl CudaBackend {
    /// Waits for a tick, and downloads its output.
    pub(super) fn finish(&mut self, tick: shared::Tick) -> Result<Arc<TickOutput>, Failure> {
        let device = self.device.clone();
        let parity = tick.0 as usize % 2;
        let from = self.buffers.tick(self.base, parity);
        let (sizes, form) = (self.sizes, self.form);
        let flight = &mut self.flights[parity];
        device
            .enter()
            .map_err(|error| Failure(Stage::Interest, error))?;
        // Nothing else holds the output before it is returned.
        let mut output = std::mem::take(&mut flight.output);
        if let Some(out) = Arc::get_mut(&mut output) {
            let mut lifecycles = Lifecycles::default();
            let fetched = device.copies(|copies| {
                let fetched = flight.fetch(copies, &from, &sizes, form, out, &mut lifecycles);
                fetched.map_err(|error| Failure(Stage::Interest, error))?;
                let begun = Instant::now();
                flight.marks[Stage::ALL.len()].wait()?;
                Ok::<_, Failure>(begun)
            });
            let begun = match fetched {
                Ok(begun) => begun,
                Err(failure) => {
                    flight.output = output;
                    return Err(failure);
                }
            };
            let counters = flight.counters.wait()?[0];
            lifecycles.take_out(out);
            out.refused.append(&mut flight.beyond);
            out.refused.sort_unstable();
            if form == OutputForm::Pairs {
                settle_offsets(out, &counters, flight.clients_used, sizes.deliveries);
            }
            out.tick = tick;
            out.stages = flight.stage_times()?;
            out.stages.set(Stage::Download, begun.elapsed());
            out.counts = Counts::of(&counters, &flight.totals);
            out.over_budget.clear();
            let of_kinds = (0..).map(CommandKind).zip(counters.over_budget_of);
            let some = of_kinds.filter(|&(_, runs)| runs > 0);
            out.over_budget
                .extend(some.map(|(kind, runs)| (kind, u64::from(runs))));
            out.hash = super::state_hash(&counters, &sizes, tick.next(), flight.logic_hash);
        }
        flight.output = output;
        Ok(flight.output.clone())
    }
}

impl Flight {
    /// Starts the downloads of all parts, each as soon as it is ready.
    fn fetch<'scope>(
        &mut self,
        copies: &'scope Copies<'scope, '_>,
        from: &Tick,
        sizes: &Sizes,
        form: OutputForm,
        out: &'scope mut TickOutput,
        lifecycles: &'scope mut Lifecycles,
    ) -> Result<(), DriverError> {
        let TickOutput {
            birth_rows,
            notifications,
            changes,
            courses,
            deliveries,
            hearings,
            bucket_ranges,
            ..
        } = out;
        // The changes are ready, and are downloaded while the deliveries are found.
        let counters = self.after_lifecycle.wait()?[0];
        lifecycles.fetch(copies, from, &counters)?;
        let columns = sizes.columns as usize;
        birth_rows.resize(counters.births as usize * columns, 0);
        copies.download(Lane::Downloads, birth_rows, from.birth_rows)?;
        let n = counters.notifications_total().min(sizes.notifications);
        notifications.resize(n as usize, Notification::default());
        copies.download(Lane::Downloads, notifications, from.notifications)?;
        fetch_changes(copies, from, &counters, sizes, changes)?;
        fetch_courses(copies, from, &counters, sizes, courses)?;
        // Served clients are downloaded while others are still being served.
        let counters = self.after_counting.wait()?[0];
        match form {
            OutputForm::Pairs => self.fetch_deliveries(copies, from, &counters, deliveries)?,
            OutputForm::Ranges => {
                let ranges = bucket_ranges.get_or_insert_default();
                fetch_ranges(copies, from, &counters, self.clients_used, ranges)?;
            }
        }
        fetch_hearings(copies, from, &counters, self.clients_used, hearings)?;
        self.marks[Stage::Interest as usize + 1].wait()
    }

    /// Starts the download of the deliveries, chunk by chunk.
    fn fetch_deliveries<'scope>(
        &self,
        copies: &'scope Copies<'scope, '_>,
        from: &Tick,
        counters: &Counters,
        deliveries: &'scope mut Deliveries,
    ) -> Result<(), DriverError> {
        let lane = Lane::Downloads;
        let clients_used = self.clients_used as usize;
        let Deliveries { offsets, entries } = deliveries;
        offsets.set_len(clients_used + 1);
        copies.download(lane, &mut offsets[..clients_used], from.delivery_offsets)?;
        let total = counters.deliveries as usize;
        if entries.len() < total {
            entries.resize(total, Delivery::default());
        }
        let chunks = self.chunks.ranges().count();
        let mut rest = &mut entries[..total];
        let mut begin = 0;
        for (i, served) in self.served[..chunks].iter().enumerate() {
            // Clients that were not served start behind the end.
            let end = match i + 1 < chunks {
                true => total.min(counters.chunk_starts[i + 1] as usize),
                false => total,
            };
            copies.device().follow(lane, served)?;
            let (chunk, others) = rest.split_at_mut(end.saturating_sub(begin));
            copies.download(lane, chunk, from.deliveries.at(begin as u64).cast())?;
            rest = others;
            begin = end.max(begin);
        }
        Ok(())
    }

    /// The time that each stage took on the device.
    fn stage_times(&self) -> Result<StageTimes, Failure> {
        let between = |stage: Stage, from: &Event, to: &Event| {
            let ms = self.device.elapsed_ms(from, to);
            let ms = ms.map_err(|error| Failure(stage, error))?;
            Ok::<_, Failure>(Duration::from_secs_f32(ms.max(0.0) / 1000.0))
        };
        let mut times = StageTimes::default();
        for (i, stage) in Stage::ALL.into_iter().enumerate() {
            if stage != Stage::Download {
                times.set(stage, between(stage, &self.marks[i], &self.marks[i + 1])?);
            }
        }
        let upload = between(Stage::Upload, &self.upload[0], &self.upload[1])?;
        times.set(Stage::Upload, times.of(Stage::Upload) + upload);
        Ok(times)
    }

    /// Makes a new output if the last one is still held elsewhere.
    pub(super) fn prepare(&mut self, sizes: &Sizes) {
        let is_ours = Arc::get_mut(&mut self.output).is_some();
        if is_ours && self.is_output_locked {
            return;
        }
        let room = |n: u64| n as usize;
        self.output = Arc::new(TickOutput {
            changes: Changes {
                slots: HostVec::locked(room(sizes.changes)),
                offsets: HostVec::locked(room(sizes.changes + 1)),
                columns: HostVec::locked(room(sizes.changes)),
                values: HostVec::locked(room(sizes.changes)),
                causes: HostVec::locked(room(sizes.changes * sizes.causes)),
                actors: HostVec::locked(room(sizes.changes * sizes.causes)),
            },
            courses: Courses {
                slots: HostVec::locked(room(sizes.capacity * sizes.motion)),
                velocities: HostVec::locked(room(3 * sizes.capacity * sizes.motion)),
            },
            deliveries: Deliveries {
                offsets: HostVec::locked(room(sizes.clients + 1)),
                entries: HostVec::locked(room(sizes.deliveries)),
            },
            bucket_ranges: (sizes.by_buckets > 0).then(|| BucketRanges {
                order: HostVec::locked(room(sizes.capacity)),
                ranges: HostVec::locked(room(sizes.clients * sizes.rows)),
                rows: room(sizes.rows),
            }),
            ..TickOutput::default()
        });
        self.is_output_locked = true;
    }
}

/// Births, deaths and refused commands as the device writes them.
#[derive(Default)]
struct Lifecycles {
    births: Vec<layout::Birth>,
    deaths: Vec<UInt2>,
    refused: Vec<layout::Refused>,
}

impl Lifecycles {
    fn fetch<'scope>(
        &'scope mut self,
        copies: &'scope Copies<'scope, '_>,
        from: &Tick,
        counters: &Counters,
    ) -> Result<(), DriverError> {
        let births = counters.births_asked as usize;
        self.births.resize(births, layout::Birth::default());
        copies.download(Lane::Downloads, &mut self.births, from.births)?;
        self.deaths
            .resize(counters.deaths as usize, UInt2::default());
        copies.download(Lane::Downloads, &mut self.deaths, from.deaths)?;
        let refused = counters.refused as usize;
        self.refused.resize(refused, layout::Refused::default());
        copies.download(Lane::Downloads, &mut self.refused, from.refused)
    }

    /// Moves them to the output, after their download.
    fn take_out(&self, out: &mut TickOutput) {
        out.births.clear();
        out.births.extend(self.births.iter().map(|b| Birth {
            token: b.token,
            kind: b.kind as u16,
            entity: (b.generation > 0).then(|| EntityId::new(b.slot, b.generation)),
        }));
        out.deaths.clear();
        let deaths = self.deaths.iter();
        out.deaths
            .extend(deaths.map(|dead| EntityId::new(dead.x, dead.y)));
        out.refused.clear();
        let refused = self.refused.iter().map(|refused| RefusedCommand {
            entity: EntityId::new(refused.slot, refused.generation),
            sequence: refused.sequence,
            reason: Refusal::of(u64::from(refused.reason)).unwrap_or(Refusal::Idle),
        });
        out.refused.extend(refused);
    }
}

/// Starts the download of the merged changes.
fn fetch_changes<'scope>(
    copies: &'scope Copies<'scope, '_>,
    from: &Tick,
    counters: &Counters,
    sizes: &Sizes,
    changes: &'scope mut Changes,
) -> Result<(), DriverError> {
    let lane = Lane::Downloads;
    let entities = counters.changed_entities as usize;
    let n = counters.changes as usize;
    changes.slots.set_len(entities);
    changes.offsets.set_len(entities + 1);
    changes.columns.set_len(n);
    changes.values.set_len(n);
    changes.causes.set_len(n * sizes.causes as usize);
    changes.actors.set_len(n * sizes.causes as usize);
    copies.download(lane, &mut changes.slots, from.change_slots)?;
    copies.download(lane, &mut changes.offsets, from.change_offsets)?;
    copies.download(lane, &mut changes.columns, from.change_columns)?;
    copies.download(lane, &mut changes.values, from.change_values)?;
    copies.download(lane, &mut changes.causes, from.change_causes)?;
    copies.download(lane, &mut changes.actors, from.change_actors)
}

/// Starts the download of the new courses.
fn fetch_courses<'scope>(
    copies: &'scope Copies<'scope, '_>,
    from: &Tick,
    counters: &Counters,
    sizes: &Sizes,
    courses: &'scope mut Courses,
) -> Result<(), DriverError> {
    let lane = Lane::Downloads;
    let told = counters.courses as usize;
    courses.slots.set_len(told);
    courses.velocities.set_len(told * sizes.dimensions as usize);
    copies.download(lane, &mut courses.slots, from.course_slots)?;
    copies.download(lane, &mut courses.velocities, from.course_velocities)
}

/// Starts the download of the hearings.
fn fetch_hearings<'scope>(
    copies: &'scope Copies<'scope, '_>,
    from: &Tick,
    counters: &Counters,
    clients_used: u32,
    hearings: &'scope mut Hearings,
) -> Result<(), DriverError> {
    let Hearings { offsets, numbers } = hearings;
    let heard = counters.hearings as usize;
    offsets.clear();
    numbers.resize(heard, 0);
    if heard == 0 {
        return Ok(());
    }
    let clients_used = clients_used as usize;
    offsets.resize(clients_used + 1, heard as u32);
    let lane = Lane::Downloads;
    copies.download(lane, &mut offsets[..clients_used], from.hearing_offsets)?;
    copies.download(lane, numbers, from.hearings)
}

/// Starts the download of the deliveries in the ranges form.
fn fetch_ranges<'scope>(
    copies: &'scope Copies<'scope, '_>,
    from: &Tick,
    counters: &Counters,
    clients_used: u32,
    ranges: &'scope mut BucketRanges,
) -> Result<(), DriverError> {
    let BucketRanges {
        order,
        ranges,
        rows,
    } = ranges;
    order.set_len(counters.changed_live as usize);
    ranges.set_len(clients_used as usize * *rows);
    copies.download(Lane::Downloads, order, from.bucket_order)?;
    copies.download(Lane::Downloads, ranges, from.bucket_ranges.cast())
}

/// The clients, split into chunks that are served one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Chunks {
    /// The number of clients in each chunk but the last, which may have fewer.
    pub clients: u32,
    all: u32,
}

impl Chunks {
    /// Splits the clients into chunks large enough to be worth a launch.
    pub fn of(all: u32) -> Chunks {
        let clients = all.div_ceil(CHUNKS_MAX as u32).max(CHUNK_CLIENTS_MIN);
        Chunks { clients, all }
    }

    pub fn ranges(self) -> impl Iterator<Item = Range<u32>> {
        let Chunks { clients, all } = self;
        (0..all.div_ceil(clients)).map(move |i| i * clients..all.min((i + 1) * clients))
    }
}

/// Sets the offsets of clients that were not served to the end of the deliveries.
fn settle_offsets(out: &mut TickOutput, counters: &Counters, clients_used: u32, limit: u64) {
    let kept = counters.deliveries as u32;
    let offsets = &mut out.deliveries.offsets;
    offsets[clients_used as usize] = kept;
    if counters.deliveries_total > limit {
        let served = counters.served as usize;
        offsets[served..].fill(kept);
    }
}

/// The number of clients whose deliveries take about 100 µs to download.
const CHUNK_CLIENTS_MIN: u32 = 32 * 1024;
