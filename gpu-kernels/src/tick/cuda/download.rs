//! Stage: downloading the output, each part as soon as it is ready.

use std::ops::Range;
use std::time::{Duration, Instant};

use device::{Copies, DriverError, Event, Lane, UInt2};
use shared::{EntityId, Refusal};

use super::layout::{self, KEPT, Tick};
use super::sizes::Sizes;
use super::{Flight, OutputForm, Part, reach};
use crate::notification::Notification;
use crate::tick::counts::{CHUNKS_MAX, Counters};
use crate::tick::output::{
    Birth, BucketRanges, Changes, Courses, Delivery, Segment, Stage, StageTimes, TickOutput,
};
use crate::tick::parts::Views;
use crate::tick::refused::RefusedCommand;

/// The stage in which a tick failed, and the error.
pub struct Failure(pub Stage, pub DriverError);

/// An error without a stage is one of the download.
impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Failure {
        Failure(Stage::Download, error)
    }
}

/// Where a part puts what it gives back.
pub struct Share<'a> {
    pub deliveries: &'a mut Segment<Delivery>,
    pub hearings: &'a mut Segment<u32>,
    /// For what all parts have alike, the first one's share.
    pub common: Option<&'a mut TickOutput>,
}

/// What a part says about a tick.
pub struct Finished {
    pub counters: Counters,
    pub stages: StageTimes,
    /// How long the part was busy, without the download and without waiting for other parts.
    pub busy: Duration,
    /// In a tick that cuts follow, if views are limited.
    pub views: Option<Views>,
}

impl Part {
    /// Waits for a tick, and downloads what this part gives back.
    pub(super) fn finish(
        &mut self,
        tick: shared::Tick,
        share: Share<'_>,
    ) -> Result<Finished, Failure> {
        let Share {
            deliveries,
            hearings,
            mut common,
        } = share;
        let device = self.device.clone();
        let parity = tick.0 as usize % 2;
        let from = self.buffers.tick(self.base, parity);
        let (sizes, form) = (self.sizes, self.form);
        let (flight, seen) = (&mut self.flights[parity], &mut self.seen);
        let of_interest = |error| Failure(Stage::Interest, error);
        device.enter().map_err(of_interest)?;
        reach(self.fault, Stage::Download, tick)?;
        let mut lifecycles = Lifecycles::default();
        let begun = device.copies(|copies| {
            if let Some(out) = common.as_deref_mut() {
                let fetched = flight.fetch_common(copies, &from, &sizes, out, &mut lifecycles);
                fetched.map_err(of_interest)?;
            }
            // Served clients are downloaded while others are still being served.
            let fetched = flight.fetch_own(copies, &from, form, deliveries, hearings);
            fetched.map_err(of_interest)?;
            if let Some(views) = flight.views {
                let own = &flight.chunks.all;
                seen.set_len(own.len());
                copies.download(Lane::Downloads, seen, views.at(u64::from(own.start)))?;
            }
            let begun = Instant::now();
            flight.marks[Stage::ALL.len()].wait()?;
            Ok::<_, Failure>(begun)
        })?;
        let counters = flight.counters.wait()?[0];
        check_turns(&counters)?;
        self.due.end_tick(flight.given, &counters, &sizes);
        if form == OutputForm::Pairs {
            settle_offsets(deliveries, &counters);
        }
        if let Some(out) = common {
            lifecycles.take_out(out);
            out.refused.append(&mut flight.beyond);
            out.refused.sort_unstable();
        }
        let mut stages = flight.stage_times()?;
        let [before, after] = &flight.exchange;
        let waited = flight.between(Stage::Interest, before, after)?;
        let busy = stages.total().saturating_sub(waited);
        stages.set(Stage::Download, begun.elapsed());
        let views = flight.views.map(|_| {
            let visible_max = sizes.visible_max as u32;
            Views::of(flight.chunks.all.start, &self.seen, visible_max)
        });
        Ok(Finished {
            counters,
            stages,
            busy,
            views,
        })
    }
}

impl Flight {
    /// Starts the downloads of what all parts have alike, while deliveries are found.
    fn fetch_common<'scope>(
        &mut self,
        copies: &'scope Copies<'scope, '_>,
        from: &Tick,
        sizes: &Sizes,
        out: &'scope mut TickOutput,
        lifecycles: &'scope mut Lifecycles,
    ) -> Result<(), DriverError> {
        let TickOutput {
            birth_rows,
            notifications,
            changes,
            courses,
            bucket_ranges,
            ..
        } = out;
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
        let Some(ranges) = bucket_ranges else {
            return Ok(());
        };
        let counters = self.after_counting.wait()?[0];
        fetch_ranges(copies, from, &counters, self.chunks.all.end, ranges)
    }

    /// Starts the downloads of what the part's own clients get.
    fn fetch_own<'scope>(
        &mut self,
        copies: &'scope Copies<'scope, '_>,
        from: &Tick,
        form: OutputForm,
        deliveries: &'scope mut Segment<Delivery>,
        hearings: &'scope mut Segment<u32>,
    ) -> Result<(), DriverError> {
        let counters = self.after_counting.wait()?[0];
        if form == OutputForm::Pairs {
            self.fetch_deliveries(copies, from, &counters, deliveries)?;
        }
        self.fetch_hearings(copies, from, &counters, hearings)?;
        self.marks[Stage::Interest as usize + 1].wait()
    }

    /// Starts the download of the deliveries, chunk by chunk.
    fn fetch_deliveries<'scope>(
        &self,
        copies: &'scope Copies<'scope, '_>,
        from: &Tick,
        counters: &Counters,
        deliveries: &'scope mut Segment<Delivery>,
    ) -> Result<(), DriverError> {
        let lane = Lane::Downloads;
        let clients = self.chunks.all.len();
        let Segment { offsets, items, .. } = deliveries;
        let total = counters.deliveries as usize;
        offsets.set_len(clients + 1);
        offsets[clients] = total as u32;
        let first = u64::from(self.chunks.all.start);
        copies.download(
            lane,
            &mut offsets[..clients],
            from.delivery_offsets.at(first),
        )?;
        if items.len() < total {
            items.resize(total, Delivery::default());
        }
        let chunks = self.chunks.ranges().count();
        let mut rest = &mut items[..total];
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

    /// Starts the download of the hearings.
    fn fetch_hearings<'scope>(
        &self,
        copies: &'scope Copies<'scope, '_>,
        from: &Tick,
        counters: &Counters,
        hearings: &'scope mut Segment<u32>,
    ) -> Result<(), DriverError> {
        let Segment { offsets, items, .. } = hearings;
        let heard = counters.hearings as usize;
        if heard == 0 {
            return Ok(());
        }
        let clients = self.chunks.all.len();
        offsets.resize(clients + 1, heard as u32);
        offsets[clients] = heard as u32;
        if items.len() < heard {
            items.resize(heard, 0);
        }
        let lane = Lane::Downloads;
        let first = u64::from(self.chunks.all.start);
        copies.download(
            lane,
            &mut offsets[..clients],
            from.hearing_offsets.at(first),
        )?;
        copies.download(lane, &mut items[..heard], from.hearings)
    }

    /// The time that each stage took on the device.
    fn stage_times(&self) -> Result<StageTimes, Failure> {
        let mut times = StageTimes::default();
        for (i, stage) in Stage::ALL.into_iter().enumerate() {
            if stage != Stage::Download {
                times.set(
                    stage,
                    self.between(stage, &self.marks[i], &self.marks[i + 1])?,
                );
            }
        }
        let upload = self.between(Stage::Upload, &self.upload[0], &self.upload[1])?;
        times.set(Stage::Upload, times.of(Stage::Upload) + upload);
        Ok(times)
    }

    /// The time from one event of a stage to another.
    fn between(&self, stage: Stage, from: &Event, to: &Event) -> Result<Duration, Failure> {
        let ms = self.device.elapsed_ms(from, to);
        let ms = ms.map_err(|error| Failure(stage, error))?;
        Ok(Duration::from_secs_f32(ms.max(0.0) / 1000.0))
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
            .extend(deaths.map(|dead| EntityId::new(dead.x & !KEPT, dead.y)));
        out.kept.clear();
        let kept = self.deaths.iter().filter(|dead| dead.x & KEPT != 0);
        out.kept
            .extend(kept.map(|dead| EntityId::new(dead.x & !KEPT, dead.y)));
        out.refused.clear();
        let refused = self.refused.iter().map(|refused| RefusedCommand {
            entity: EntityId::new(refused.slot, refused.generation),
            sequence: refused.sequence,
            reason: Refusal::of(u64::from(refused.reason & 0xff)).unwrap_or(Refusal::Idle),
            because: (refused.reason >> 8)
                .checked_sub(1)
                .map(|number| number as u8),
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
    let departed = counters.courses as usize;
    courses.slots.set_len(departed);
    courses
        .velocities
        .set_len(departed * sizes.dimensions as usize);
    copies.download(lane, &mut courses.slots, from.course_slots)?;
    copies.download(lane, &mut courses.velocities, from.course_velocities)
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

/// The clients of a part, split into chunks that are served one after the other.
#[derive(Clone, Debug)]
pub struct Chunks {
    /// The number of clients in each chunk but the last, which may have fewer.
    pub clients: u32,
    pub all: Range<u32>,
}

impl Chunks {
    /// Splits the clients into chunks large enough to be worth a launch.
    pub fn of(all: Range<u32>) -> Chunks {
        let clients = (all.len() as u32).div_ceil(CHUNKS_MAX as u32);
        Chunks {
            clients: clients.max(CHUNK_CLIENTS_MIN),
            all,
        }
    }

    pub fn ranges(&self) -> impl Iterator<Item = Range<u32>> {
        let Chunks { clients, all } = self.clone();
        let starts = all.clone().step_by(clients as usize);
        starts.map(move |start| start..all.end.min(start + clients))
    }
}

/// Fails if a worker has given up waiting for the turn of an atomic command: those after it have
/// not run, so that the state is no longer that of other backends.
fn check_turns(counters: &Counters) -> Result<(), Failure> {
    if counters.atomic_stuck == 0 {
        return Ok(());
    }
    let error = DriverError {
        call: "the tick",
        code: format!(
            "only {} atomic commands have ended, and the next one's turn does not come",
            counters.atomic_done
        ),
    };
    Err(Failure(Stage::Merge, error))
}

/// Sets the offsets of clients that were not served to the end of the deliveries.
fn settle_offsets(deliveries: &mut Segment<Delivery>, counters: &Counters) {
    let clients = deliveries.clients();
    let served = clients.min(counters.served as usize);
    deliveries.offsets[served..].fill(counters.deliveries as u32);
}

/// The number of clients whose deliveries take about 100 µs to download.
const CHUNK_CLIENTS_MIN: u32 = 32 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_whose_atomic_commands_are_stuck_fails_in_the_merge() {
        let mut counters = Counters {
            atomic_done: 7,
            ..Counters::default()
        };
        assert!(check_turns(&counters).is_ok());
        counters.atomic_stuck = 1;
        let Failure(stage, error) = check_turns(&counters).unwrap_err();
        assert_eq!(stage, Stage::Merge);
        assert_eq!(
            error.to_string(),
            "the tick: only 7 atomic commands have ended, and the next one's turn does not come"
        );
    }
}
