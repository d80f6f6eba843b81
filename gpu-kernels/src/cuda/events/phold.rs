//! PHOLD on a GPU: a few launches a window, queued far ahead.

use super::{Cut, EventControl, EventsError, THREADS, argument, fetch, open};
use crate::cuda::device::{Device, DriverError, Grid, HostBuffer, Kernel, Lane};
use crate::cuda::layout::Pointer;
use crate::cuda::plan::{TILE_U64, sort_scratch_bytes};
use crate::cuda::sort::{Doubled, Sort, Sorter, passes};
use crate::events::phold::{PholdProcess, PholdTally};
use crate::events::{Event, Model, NEVER, Phold, Progress, Snapshot};

/// What the kernels are given, as `kernels/events_phold.cu` lays it out.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct PholdRun {
    seed: u64,
    processes: u32,
    events: u32,
    lookahead: u32,
    mean: u32,
    remote_per_million: u32,
    until: u32,
    time_bits: u32,
    padding: u32,
    times: Pointer,
    bodies: Pointer,
    states: Pointer,
    keys: Pointer,
    values: Pointer,
    sorted_keys: Pointer,
    sorted_values: Pointer,
    counts: Pointer,
    control: Pointer,
}

/// PHOLD in a planned part of a device's memory.
pub struct PholdOnDevice {
    model: Phold,
    run: PholdRun,
    select: Kernel,
    handle: Kernel,
    blocks: u32,
    sorter: Sorter,
    sort: Sort,
    control: HostBuffer<EventControl>,
    started: PholdTally,
    now: u32,
}

impl PholdOnDevice {
    /// Bytes of device memory.
    pub fn bytes(model: &Phold) -> u64 {
        Places::new(model).bytes
    }

    /// Puts PHOLD at its start into the memory at `base`, which must be
    /// [`PholdOnDevice::bytes`] long.
    pub fn new(
        device: &Device,
        base: Pointer,
        model: &Phold,
    ) -> Result<PholdOnDevice, DriverError> {
        let places = Places::new(model);
        let doubled = |part: [u64; 2]| Doubled {
            first: base + part[0],
            second: base + part[1],
        };
        let (keys, values) = (doubled(places.keys), doubled(places.values));
        let key_bits = key_bits(model);
        let is_odd = passes(key_bits) % 2 == 1;
        let unsorted = |d: Doubled| if is_odd { d.second } else { d.first };
        let select = device.kernel("events_phold_select")?;
        let blocks_max = device.resident_blocks(select, THREADS)?;
        let run = PholdRun {
            seed: model.seed,
            processes: model.processes,
            events: model.events(),
            lookahead: model.lookahead,
            mean: model.delay_mean - model.lookahead,
            remote_per_million: model.remote_per_million,
            until: 0,
            time_bits: time_bits(model),
            padding: 0,
            times: base + places.times,
            bodies: base + places.bodies,
            states: base + places.states,
            keys: unsorted(keys),
            values: unsorted(values),
            sorted_keys: keys.first,
            sorted_values: values.first,
            counts: base + places.counts,
            control: base + places.control,
        };
        let mut phold = PholdOnDevice {
            model: model.clone(),
            run,
            select,
            handle: device.kernel("events_phold_handle")?,
            blocks: model.events().div_ceil(THREADS).clamp(1, blocks_max.max(1)),
            sorter: Sorter::load(device, base + places.scratch)?,
            sort: Sort {
                wide_keys: true,
                keys,
                values,
                n: run.counts,
                n_max: u64::from(model.events()),
                key_bits,
            },
            control: HostBuffer::new(device, 1)?,
            started: PholdTally::default(),
            now: 0,
        };
        phold.restart(device)?;
        Ok(phold)
    }

    /// Back to the start.
    pub fn restart(&mut self, device: &Device) -> Result<(), DriverError> {
        let start = self.model.start();
        let times: Vec<u32> = start.events.iter().map(|e| e.time).collect();
        let bodies: Vec<[u32; 4]> = start
            .events
            .iter()
            .map(|e| [e.source, e.number, e.target, 0])
            .collect();
        self.control[0] = EventControl::starting_at(times.iter().copied().min().unwrap_or(NEVER));
        self.started = start.tally;
        self.now = 0;
        device.upload(Lane::Work, self.run.times, &times)?;
        device.upload(Lane::Work, self.run.bodies, &bodies)?;
        device.upload(Lane::Work, self.run.states, &start.processes)?;
        device.upload(Lane::Work, self.run.control, &self.control)?;
        device.fill(self.run.counts, COUNTS * 8, 0)?;
        device.synchronize(Lane::Work)
    }

    /// Handles every event before `until`.
    pub fn run(&mut self, device: &Device, until: u32) -> Result<Progress, DriverError> {
        let before = self.control[0];
        self.run.until = until;
        while self.control[0].least() < until {
            let first = self.control[0].turn;
            for window in 0..WINDOWS_AHEAD {
                self.window(device, (first + window) % COUNTS as u32)?;
            }
            device.download(Lane::Work, &mut self.control, self.run.control)?;
            device.synchronize(Lane::Work)?;
        }
        self.now = self.now.max(until);
        Ok(Progress {
            events: self.control[0].events - before.events,
            windows: self.control[0].windows - before.windows,
        })
    }

    fn window(&self, device: &Device, turn: u32) -> Result<(), DriverError> {
        let grid = Grid {
            blocks: self.blocks,
            threads: THREADS,
            shared_bytes: 0,
        };
        let mut arguments = [argument(&self.run), argument(&turn)];
        device.launch(self.select, grid, &mut arguments)?;
        let sort = Sort {
            n: self.run.counts + u64::from(turn) * 8,
            ..self.sort
        };
        self.sorter.sort(device, &sort)?;
        device.launch(self.handle, grid, &mut arguments)
    }

    pub fn snapshot(
        &self,
        device: &Device,
    ) -> Result<Snapshot<PholdProcess, PholdTally>, DriverError> {
        let events = self.run.events as usize;
        let times = fetch::<u32>(device, self.run.times, events)?;
        let bodies = fetch::<[u32; 4]>(device, self.run.bodies, events)?;
        let processes = self.run.processes as usize;
        let states = fetch::<PholdProcess>(device, self.run.states, processes)?;
        let event = |(&time, &[source, number, target, _]): (&u32, &[u32; 4])| Event {
            time,
            source,
            number,
            target,
        };
        let both = times.iter().zip(bodies.iter()).take(events);
        let mut pending: Vec<Event> = both.map(event).collect();
        pending.sort_unstable();
        let control = &self.control[0];
        Ok(Snapshot {
            now: self.now,
            processes: states[..processes].to_vec(),
            pending,
            tally: PholdTally {
                remote: self.started.remote + control.sums[0],
                delay: self.started.delay + control.sums[1],
            },
            events: control.events,
        })
    }
}

/// PHOLD that has a device for itself.
pub struct CudaPhold {
    inner: PholdOnDevice,
    device: Device,
}

impl CudaPhold {
    pub fn new(model: &Phold) -> Result<CudaPhold, EventsError> {
        let (device, base) = open(PholdOnDevice::bytes(model))?;
        let inner = PholdOnDevice::new(&device, base, model)?;
        Ok(CudaPhold { inner, device })
    }

    /// Handles every event before `until`.
    pub fn run(&mut self, until: u32) -> Result<Progress, EventsError> {
        self.device.enter()?;
        Ok(self.inner.run(&self.device, until)?)
    }

    pub fn snapshot(&self) -> Result<Snapshot<PholdProcess, PholdTally>, EventsError> {
        self.device.enter()?;
        Ok(self.inner.snapshot(&self.device)?)
    }
}

/// Bits of a time within a window.
fn time_bits(model: &Phold) -> u32 {
    (u32::BITS - (model.lookahead - 1).leading_zeros()).max(1)
}

fn key_bits(model: &Phold) -> u32 {
    time_bits(model) + (u32::BITS - (model.processes - 1).leading_zeros()).max(1)
}

/// Where everything lies.
struct Places {
    times: u64,
    bodies: u64,
    states: u64,
    keys: [u64; 2],
    values: [u64; 2],
    scratch: u64,
    counts: u64,
    control: u64,
    bytes: u64,
}

impl Places {
    fn new(model: &Phold) -> Places {
        let (processes, events) = (u64::from(model.processes()), u64::from(model.events()));
        let passes = u64::from(passes(key_bits(model)));
        let mut cut = Cut { at: 0 };
        Places {
            times: cut.take(events * 4),
            bodies: cut.take(events * 16),
            states: cut.take(processes * size_of::<PholdProcess>() as u64),
            keys: [cut.take(events * 8), cut.take(events * 8)],
            values: [cut.take(events * 4), cut.take(events * 4)],
            scratch: cut.take(sort_scratch_bytes(events, TILE_U64, passes)),
            counts: cut.take(COUNTS * 8),
            control: cut.take(size_of::<EventControl>() as u64),
            bytes: cut.at,
        }
    }
}

/// Counters are used by turns.
const COUNTS: u64 = 3;
/// Windows queued before the host asks again; those with nothing to do are quick.
const WINDOWS_AHEAD: u32 = 64;
