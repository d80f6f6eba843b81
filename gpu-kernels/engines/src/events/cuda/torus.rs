//! The torus network on a GPU: many windows in one cooperative launch.

use std::sync::Arc;

use device::{Device, DriverError, Grid, HostBuffer, Kernel, Lane, Plan};

use super::layout::{BLOCKS_MAX, EventControl, FacilityRecord, TorusRun, TorusSizes};
use super::{EventsError, Selection, THREADS, fetch, open};
use crate::events::torus::{Facility, TorusTally, WAYS};
use crate::events::{Event, Model, NEVER, Progress, Snapshot, Torus};

/// A torus network with an allocation of its own on a GPU.
pub struct CudaTorus {
    model: Torus,
    run: TorusRun,
    kernel: Kernel,
    grid: Grid,
    /// As the last launch left it.
    control: HostBuffer<EventControl>,
    /// The tally of the start, which is made on the host.
    started: TorusTally,
    now: u32,
    device: Arc<Device>,
}

impl CudaTorus {
    /// A network at its start, on the GPU with this number.
    pub fn new(
        ordinal: u32,
        model: &Torus,
        selection: Selection,
    ) -> Result<CudaTorus, EventsError> {
        let mut plan = Plan::default();
        let tokens = model.tokens();
        let group = plan.add(TorusRun::buffers(&TorusSizes {
            facilities: model.processes().into(),
            tokens: tokens.into(),
        }));
        let (device, base) = open(ordinal, plan.bytes())?;
        let device = Arc::new(device);
        let kernel = device.kernel(&format!("events_torus_{}", selection.name()))?;
        let resident = device.resident_blocks(kernel, THREADS)?;
        let blocks_max = resident.clamp(1, BLOCKS_MAX);
        let blocks = tokens.div_ceil(TOKENS_PER_BLOCK).clamp(1, blocks_max);
        let mut run = TorusRun {
            seed: model.seed,
            side: model.side,
            facilities: model.processes(),
            tokens,
            lookahead: model.lookahead,
            mean: model.service_mean - model.lookahead,
            windows_max: WINDOWS_PER_LAUNCH,
            chunk: tokens.div_ceil(blocks).next_multiple_of(4),
            ..TorusRun::default()
        };
        run.place(plan.places(base, &group));
        let mut torus = CudaTorus {
            model: model.clone(),
            run,
            kernel,
            grid: Grid::blocks(blocks, THREADS),
            control: HostBuffer::new(&device, 1)?,
            started: TorusTally::default(),
            now: 0,
            device,
        };
        torus.restart()?;
        Ok(torus)
    }

    /// Back to the start.
    pub fn restart(&mut self) -> Result<(), EventsError> {
        let start = self.model.start();
        let padded = start.events.len().next_multiple_of(4);
        let mut times = vec![NEVER; padded];
        let mut places = vec![0; padded];
        for event in &start.events {
            times[event.number as usize] = event.time;
            // If several ways lead to the same facility, any will do: the channel of
            // each comes from the same source.
            let leads = |&way: &u32| self.model.neighbour(event.source, way) == event.target;
            let way = (0..WAYS).find(leads).unwrap_or_default();
            places[event.number as usize] = event.target * WAYS + way;
        }
        let records: Vec<FacilityRecord> = start.processes.iter().map(record).collect();
        self.control[0] = EventControl::starting_at(times.iter().copied().min().unwrap_or(NEVER));
        self.started = start.tally;
        self.now = 0;
        let (run, control) = (&self.run, &self.control);
        self.device.enter()?;
        self.device.copies(|copies| {
            copies.upload(Lane::Work, run.times, &times)?;
            copies.upload(Lane::Work, run.places, &places)?;
            copies.upload(Lane::Work, run.records, &records)?;
            copies.upload(Lane::Work, run.control, control)
        })?;
        Ok(())
    }

    /// Handles every event before `until`.
    pub fn run(&mut self, until: u32) -> Result<Progress, EventsError> {
        self.device.enter()?;
        let before = self.progress();
        self.run.until = until;
        while self.control[0].least() < until {
            self.launch()?;
            self.device.read(&mut self.control, self.run.control)?;
        }
        self.now = self.now.max(until);
        let after = self.progress();
        Ok(Progress {
            events: after.events - before.events,
            windows: after.windows - before.windows,
        })
    }

    #[allow(unsafe_code)]
    fn launch(&self) -> Result<(), DriverError> {
        // SAFETY: the parameter of `events_torus_…`. Its buffers have room for the
        // tokens and facilities that it names, and for `BLOCKS_MAX` blocks, of which no
        // more are launched.
        unsafe {
            self.device
                .launch_cooperative(self.kernel, self.grid, &(self.run,))
        }
    }

    /// How far the run is since the start.
    fn progress(&self) -> Progress {
        let control = &self.control[0];
        Progress {
            events: control.events,
            windows: control.windows,
        }
    }

    /// Shares of the time since the start that the first block spent in selection,
    /// departures and arrivals, each with the wait for the other blocks.
    pub fn shares(&self) -> [f64; 3] {
        let cycles = self.control[0].cycles;
        let all = cycles.iter().sum::<u64>().max(1) as f64;
        cycles.map(|c| c as f64 / all)
    }

    pub fn snapshot(&self) -> Result<Snapshot<Facility, TorusTally>, EventsError> {
        let (device, run) = (&self.device, &self.run);
        device.enter()?;
        let times = fetch(device, run.times, run.tokens)?;
        let places = fetch(device, run.places, run.tokens)?;
        let records = fetch(device, run.records, run.facilities)?;
        let event = |(number, (&time, &place)): (u32, (&u32, &u32))| {
            let (target, channel) = (place / WAYS, place % WAYS);
            Event {
                time,
                // The way back leads to where the token came from.
                source: self.model.neighbour(target, channel ^ 1),
                number,
                target,
            }
        };
        let tokens = (0..).zip(times.iter().zip(&places));
        let mut pending: Vec<Event> = tokens.map(event).collect();
        pending.sort_unstable();
        let control = &self.control[0];
        Ok(Snapshot {
            now: self.now,
            processes: records.iter().map(facility).collect(),
            pending,
            tally: TorusTally {
                arrivals: self.started.arrivals + control.events,
                service: self.started.service.wrapping_add(control.sums[0]),
                stay: self.started.stay.wrapping_add(control.sums[1]),
            },
            events: control.events,
        })
    }
}

fn record(facility: &Facility) -> FacilityRecord {
    FacilityRecord {
        free_at: facility.free_at,
        services: facility.services,
        ..FacilityRecord::default()
    }
}

fn facility(record: &FacilityRecord) -> Facility {
    Facility {
        free_at: record.free_at,
        services: record.services,
    }
}

/// Below this a block's threads are idle while it waits for more blocks.
const TOKENS_PER_BLOCK: u32 = 4 * THREADS;
/// A launch ends within a fraction of a second, so that other work gets its turn.
const WINDOWS_PER_LAUNCH: u32 = 8192;
