//! PHOLD on a GPU: a few launches a window, queued far ahead.

use std::sync::Arc;

use device::gpu::sort::{Doubled, Sort, Sorter, scratch_bytes};
use device::{Device, DriverError, Grid, HostBuffer, Kernel, Lane, Plan, Pointer, UInt2};

use super::layout::{EventControl, PholdRun, PholdSizes, TURNS, UInt4};
use super::{EventsError, THREADS, fetch, open};
use crate::events::phold::{PholdProcess, PholdTally};
use crate::events::{Event, Model, NEVER, Phold, Progress, Snapshot};

/// PHOLD with an allocation of its own on a GPU.
pub struct CudaPhold {
    model: Phold,
    run: PholdRun,
    kernels: Kernels,
    grid: Grid,
    sorter: Sorter,
    /// As the last launch left it.
    control: HostBuffer<EventControl>,
    /// The tally of the start, which is made on the host.
    started: PholdTally,
    now: u32,
    device: Arc<Device>,
}

device::kernels! {
    struct Kernels { select: "events_phold_select", handle: "events_phold_handle" }
}

impl CudaPhold {
    /// PHOLD at its start, on the GPU with this number.
    pub fn new(ordinal: u32, model: &Phold) -> Result<CudaPhold, EventsError> {
        let mut plan = Plan::default();
        let group = plan.add(PholdRun::buffers(&PholdSizes {
            processes: model.processes.into(),
            events: model.events().into(),
        }));
        let key_bits = key_bits(model);
        let scratch = scratch_bytes::<u64>(model.events().into(), key_bits);
        let scratch = plan.add_bytes("sort_scratch", scratch);
        let (device, base) = open(ordinal, plan.bytes())?;
        let device = Arc::new(device);
        let mut run = PholdRun {
            seed: model.seed,
            processes: model.processes,
            events: model.events(),
            lookahead: model.lookahead,
            mean: model.delay_mean - model.lookahead,
            remote_per_million: model.remote_per_million,
            time_bits: time_bits(model),
            ..PholdRun::default()
        };
        run.place(plan.places(base, &group));
        run.keys = keys(&run).given(key_bits);
        run.values = values(&run).given(key_bits);
        let kernels = Kernels::load(&device)?;
        let resident = device.resident_blocks(kernels.select, THREADS)?;
        let blocks = model.events().div_ceil(THREADS).clamp(1, resident.max(1));
        let mut phold = CudaPhold {
            model: model.clone(),
            run,
            kernels,
            grid: Grid::blocks(blocks, THREADS),
            sorter: Sorter::load(&device, Pointer::new(base + scratch))?,
            control: HostBuffer::new(&device, 1)?,
            started: PholdTally::default(),
            now: 0,
            device,
        };
        phold.start()?;
        Ok(phold)
    }

    /// Uploads the start.
    fn start(&mut self) -> Result<(), EventsError> {
        let start = self.model.start();
        let times: Vec<u32> = start.events.iter().map(|e| e.time).collect();
        let bodies: Vec<UInt4> = start.events.iter().map(body).collect();
        let states: Vec<UInt2> = start.processes.iter().map(state).collect();
        self.control[0] = EventControl::starting_at(times.iter().copied().min().unwrap_or(NEVER));
        self.started = start.tally;
        let (run, control) = (&self.run, &self.control);
        self.device.copies(|copies| {
            copies.upload(Lane::Work, run.times, &times)?;
            copies.upload(Lane::Work, run.bodies, &bodies)?;
            copies.upload(Lane::Work, run.states, &states)?;
            copies.upload(Lane::Work, run.control, control)?;
            copies.device().fill(run.counts, TURNS, 0)
        })?;
        Ok(())
    }

    /// Handles every event before `until`.
    pub fn run(&mut self, until: u32) -> Result<Progress, EventsError> {
        self.device.enter()?;
        let before = self.control[0];
        self.run.until = until;
        while self.control[0].least() < until {
            let first = self.control[0].turn;
            for window in 0..WINDOWS_AHEAD {
                self.window((first + window) % TURNS as u32)?;
            }
            self.device.read(&mut self.control, self.run.control)?;
        }
        self.now = self.now.max(until);
        Ok(Progress {
            events: self.control[0].events - before.events,
            windows: self.control[0].windows - before.windows,
        })
    }

    /// Queues the launches of one window.
    fn window(&self, turn: u32) -> Result<(), DriverError> {
        self.launch(self.kernels.select, turn)?;
        let sort = Sort {
            keys: keys(&self.run),
            values: values(&self.run),
            n: self.run.counts.at(turn.into()),
            n_max: self.run.events.into(),
            key_bits: key_bits(&self.model),
        };
        self.sorter.sort(&self.device, &sort)?;
        self.launch(self.kernels.handle, turn)
    }

    #[allow(unsafe_code)]
    fn launch(&self, kernel: Kernel, turn: u32) -> Result<(), DriverError> {
        // SAFETY: the parameters of both kernels. The buffers have room for the events
        // and processes that the run names, and `turn` is below `TURNS`.
        unsafe { self.device.launch(kernel, self.grid, &(self.run, turn)) }
    }

    pub fn snapshot(&self) -> Result<Snapshot<PholdProcess, PholdTally>, EventsError> {
        let (device, run) = (&self.device, &self.run);
        device.enter()?;
        let times = fetch(device, run.times, run.events)?;
        let bodies = fetch(device, run.bodies, run.events)?;
        let states = fetch(device, run.states, run.processes)?;
        let mut pending: Vec<Event> = times.iter().zip(&bodies).map(event).collect();
        pending.sort_unstable();
        let control = &self.control[0];
        Ok(Snapshot {
            now: self.now,
            processes: states.iter().map(process).collect(),
            pending,
            tally: PholdTally {
                remote: self.started.remote + control.sums[0],
                delay: self.started.delay + control.sums[1],
            },
            events: control.events,
        })
    }
}

/// The sort keys of a window's events, with as much room again.
fn keys(run: &PholdRun) -> Doubled<u64> {
    Doubled {
        first: run.sorted_keys,
        second: run.sorted_keys_spare,
    }
}

/// The events of a window, with as much room again.
fn values(run: &PholdRun) -> Doubled<u32> {
    Doubled {
        first: run.sorted_values,
        second: run.sorted_values_spare,
    }
}

fn body(event: &Event) -> UInt4 {
    UInt4 {
        x: event.source,
        y: event.number,
        z: event.target,
        w: 0,
    }
}

fn event((&time, body): (&u32, &UInt4)) -> Event {
    Event {
        time,
        source: body.x,
        number: body.y,
        target: body.z,
    }
}

fn state(process: &PholdProcess) -> UInt2 {
    UInt2 {
        x: process.caused,
        y: process.clock,
    }
}

fn process(state: &UInt2) -> PholdProcess {
    PholdProcess {
        caused: state.x,
        clock: state.y,
    }
}

/// Bits of a time within a window.
fn time_bits(model: &Phold) -> u32 {
    (u32::BITS - (model.lookahead - 1).leading_zeros()).max(1)
}

fn key_bits(model: &Phold) -> u32 {
    time_bits(model) + (u32::BITS - (model.processes - 1).leading_zeros()).max(1)
}

/// Windows queued before the host checks again; those with nothing to do are quick.
const WINDOWS_AHEAD: u32 = 64;
