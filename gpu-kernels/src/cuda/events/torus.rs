//! The torus network on a GPU: many windows in one cooperative launch.

use super::{Cut, EventControl, EventsError, Selection, THREADS, argument, fetch, open};
use crate::cuda::device::{Device, DriverError, Grid, HostBuffer, Kernel, Lane};
use crate::cuda::layout::Pointer;
use crate::events::torus::{Facility, TorusTally, WAYS};
use crate::events::{Event, Model, NEVER, Progress, Snapshot, Torus};

/// What the kernels are given, as `kernels/events_torus.cu` lays it out.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct TorusRun {
    seed: u64,
    side: u32,
    facilities: u32,
    tokens: u32,
    lookahead: u32,
    mean: u32,
    until: u32,
    windows_max: u32,
    chunk: u32,
    times: Pointer,
    places: Pointer,
    facilities_at: Pointer,
    list: Pointer,
    partials: Pointer,
    control: Pointer,
}

/// A facility as the kernels have it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub(super) struct Record {
    facility: Facility,
    stamps: [u16; 4],
    tokens: [u32; 4],
}

const _: () = assert!(size_of::<Record>() == 32);

/// A torus network in a planned part of a device's memory.
pub struct TorusOnDevice {
    model: Torus,
    run: TorusRun,
    kernel: Kernel,
    blocks: u32,
    control: HostBuffer<EventControl>,
    /// Of the start, which is made on the host.
    started: TorusTally,
    now: u32,
}

impl TorusOnDevice {
    /// Bytes of device memory.
    pub fn bytes(model: &Torus) -> u64 {
        Places::new(model).bytes
    }

    /// Puts a network at its start into the memory at `base`, which must be
    /// [`TorusOnDevice::bytes`] long.
    pub fn new(
        device: &Device,
        base: Pointer,
        model: &Torus,
        selection: Selection,
    ) -> Result<TorusOnDevice, DriverError> {
        let places = Places::new(model);
        let kernel = device.kernel(&format!("events_torus_{}", selection.name()))?;
        let tokens = model.tokens();
        let blocks_max = device
            .resident_blocks(kernel, THREADS)?
            .clamp(1, BLOCKS_MAX);
        let blocks = tokens.div_ceil(TOKENS_PER_BLOCK).clamp(1, blocks_max);
        let run = TorusRun {
            seed: model.seed,
            side: model.side,
            facilities: model.processes(),
            tokens,
            lookahead: model.lookahead,
            mean: model.service_mean - model.lookahead,
            until: 0,
            windows_max: WINDOWS_PER_LAUNCH,
            chunk: tokens.div_ceil(blocks).next_multiple_of(4),
            times: base + places.times,
            places: base + places.places,
            facilities_at: base + places.facilities,
            list: base + places.list,
            partials: base + places.partials,
            control: base + places.control,
        };
        let mut torus = TorusOnDevice {
            model: model.clone(),
            run,
            kernel,
            blocks,
            control: HostBuffer::new(device, 1)?,
            started: TorusTally::default(),
            now: 0,
        };
        torus.restart(device)?;
        Ok(torus)
    }

    /// Back to the start.
    pub fn restart(&mut self, device: &Device) -> Result<(), DriverError> {
        let start = self.model.start();
        let padded = start.events.len().next_multiple_of(4);
        let mut times = vec![NEVER; padded];
        let mut places = vec![0; padded];
        for event in &start.events {
            times[event.number as usize] = event.time;
            // Of ways that lead to the same facility any will do: the channel of
            // each comes from the same source.
            let leads = |&way: &u32| self.model.neighbour(event.source, way) == event.target;
            let way = (0..WAYS).find(leads).unwrap_or_default();
            places[event.number as usize] = event.target * WAYS + way;
        }
        let records: Vec<Record> = start
            .processes
            .iter()
            .map(|&facility| Record {
                facility,
                ..Record::default()
            })
            .collect();
        self.control[0] = EventControl::starting_at(times.iter().copied().min().unwrap_or(NEVER));
        self.started = start.tally;
        self.now = 0;
        device.upload(Lane::Work, self.run.times, &times)?;
        device.upload(Lane::Work, self.run.places, &places)?;
        device.upload(Lane::Work, self.run.facilities_at, &records)?;
        device.upload(Lane::Work, self.run.control, &self.control)?;
        device.synchronize(Lane::Work)
    }

    /// Handles every event before `until`.
    pub fn run(&mut self, device: &Device, until: u32) -> Result<Progress, DriverError> {
        let before = self.progress();
        self.run.until = until;
        let grid = Grid {
            blocks: self.blocks,
            threads: THREADS,
            shared_bytes: 0,
        };
        while self.control[0].least() < until {
            device.launch_cooperative(self.kernel, grid, &mut [argument(&self.run)])?;
            device.download(Lane::Work, &mut self.control, self.run.control)?;
            device.synchronize(Lane::Work)?;
        }
        self.now = self.now.max(until);
        let after = self.progress();
        Ok(Progress {
            events: after.events - before.events,
            windows: after.windows - before.windows,
        })
    }

    /// Since the start.
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

    pub fn snapshot(&self, device: &Device) -> Result<Snapshot<Facility, TorusTally>, DriverError> {
        let tokens = self.run.tokens as usize;
        let times = fetch::<u32>(device, self.run.times, tokens)?;
        let places = fetch::<u32>(device, self.run.places, tokens)?;
        let facilities = self.run.facilities as usize;
        let records = fetch::<Record>(device, self.run.facilities_at, facilities)?;
        let event = |token: usize| {
            let (target, channel) = (places[token] / WAYS, places[token] % WAYS);
            Event {
                time: times[token],
                // It came from where the way back leads.
                source: self.model.neighbour(target, channel ^ 1),
                number: token as u32,
                target,
            }
        };
        let mut pending: Vec<Event> = (0..tokens).map(event).collect();
        pending.sort_unstable();
        let control = &self.control[0];
        Ok(Snapshot {
            now: self.now,
            processes: records.iter().map(|record| record.facility).collect(),
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

/// A torus network that has a device for itself.
pub struct CudaTorus {
    inner: TorusOnDevice,
    device: Device,
}

impl CudaTorus {
    pub fn new(model: &Torus, selection: Selection) -> Result<CudaTorus, EventsError> {
        let (device, base) = open(TorusOnDevice::bytes(model))?;
        let inner = TorusOnDevice::new(&device, base, model, selection)?;
        Ok(CudaTorus { inner, device })
    }

    pub fn restart(&mut self) -> Result<(), EventsError> {
        self.device.enter()?;
        Ok(self.inner.restart(&self.device)?)
    }

    /// Handles every event before `until`.
    pub fn run(&mut self, until: u32) -> Result<Progress, EventsError> {
        self.device.enter()?;
        Ok(self.inner.run(&self.device, until)?)
    }

    pub fn shares(&self) -> [f64; 3] {
        self.inner.shares()
    }

    pub fn snapshot(&self) -> Result<Snapshot<Facility, TorusTally>, EventsError> {
        self.device.enter()?;
        Ok(self.inner.snapshot(&self.device)?)
    }
}

/// Where everything lies.
struct Places {
    times: u64,
    places: u64,
    facilities: u64,
    list: u64,
    partials: u64,
    control: u64,
    bytes: u64,
}

impl Places {
    fn new(model: &Torus) -> Places {
        let (facilities, tokens) = (u64::from(model.processes()), u64::from(model.tokens()));
        // Blocks' ranges are rounded up to 4 tokens each.
        let listed = tokens + 4 * u64::from(BLOCKS_MAX);
        let mut cut = Cut { at: 0 };
        Places {
            times: cut.take(tokens.next_multiple_of(4) * 4),
            places: cut.take(tokens.next_multiple_of(4) * 4),
            facilities: cut.take(facilities * size_of::<Record>() as u64),
            list: cut.take(listed * 4),
            partials: cut.take(u64::from(BLOCKS_MAX) * 4),
            control: cut.take(size_of::<EventControl>() as u64),
            bytes: cut.at,
        }
    }
}

/// Below this a block's threads are idle while it waits for more blocks.
const TOKENS_PER_BLOCK: u32 = 4 * THREADS;
const BLOCKS_MAX: u32 = 4096;
/// A launch ends within a fraction of a second, so that other work gets its turn.
const WINDOWS_PER_LAUNCH: u32 = 8192;
