//! The engine for NVIDIA GPUs. A step is a list of launches without a host round
//! trip; the last one writes the pairs into the host's memory.

mod auto;
mod layout;
mod plan;
mod step;

use std::time::Duration;

use super::batch::{Region, Side, parse};
use super::output::{Approach, Changes, Metrics, Overlaps, Pair};
use super::{Batch, RegionEngine, RegionsConfig, RegionsStartError, StepError};
use crate::cuda::device::{Device, DriverError, Event, HostBuffer, Lane, NoDevice, Pinned};
use crate::cuda::layout::Pointer;
use crate::cuda::sort::Sorter;
use crate::output::MemoryLock;
use auto::Costs;
use layout::{Counters, SIZES, World};
use plan::{Plan, Sorts, found_bits};
use step::{Counts, Kernels, Work};

/// Regions on the first GPU, which they have for themselves.
pub struct CudaRegions {
    // Before the device, which must outlive them.
    regions: DeviceRegions,
    device: Device,
}

/// Regions in an allocation on a device that somebody else owns.
pub struct DeviceRegions {
    config: RegionsConfig,
    approach: Approach,
    costs: Costs,
    kernels: Kernels,
    sorter: Sorter,
    sorts: Sorts,
    world: World,
    counters: HostBuffer<Counters>,
    pairs: HostBuffer<Pair>,
    /// Before the first stage, and after each that runs on the device.
    marks: Vec<Event>,
    live: [u32; 2],
}

impl CudaRegions {
    /// No regions yet.
    pub fn new(config: &RegionsConfig) -> Result<CudaRegions, RegionsStartError> {
        config.check()?;
        let mut device = Device::open(crate::cuda::KERNELS)?;
        let needed = DeviceRegions::bytes(config);
        let available = device.info().map_err(NoDevice::from)?.memory_free;
        if available < needed {
            return Err(RegionsStartError::OutOfMemory { needed, available });
        }
        let base = device.allocate(needed).map_err(NoDevice::from)?;
        let regions = DeviceRegions::new(config, &device, base)?;
        Ok(CudaRegions { regions, device })
    }
}

impl RegionEngine for CudaRegions {
    fn step(&mut self, batch: &Batch) -> Result<Changes<'_>, StepError> {
        self.regions.step(&self.device, batch)
    }

    fn overlaps(&mut self, from: Side) -> Result<Overlaps, StepError> {
        self.regions.overlaps(&self.device, from)
    }

    fn set_approach(&mut self, approach: Approach) {
        self.regions.approach = approach;
    }
}

impl DeviceRegions {
    /// What [`DeviceRegions::new`] needs on the device, from an address that is a
    /// multiple of 256.
    pub fn bytes(config: &RegionsConfig) -> u64 {
        Plan::new(config).bytes()
    }

    pub fn new(
        config: &RegionsConfig,
        device: &Device,
        base: Pointer,
    ) -> Result<DeviceRegions, NoDevice> {
        let mut sizes = [0u32; SIZES.len()];
        device.read_global("regions_layout_bytes", &mut sizes)?;
        if sizes != SIZES {
            return Err(NoDevice::Kernels(format!(
                "they were built for structures of {sizes:?} bytes, not {SIZES:?}; rebuild them"
            )));
        }
        let plan = Plan::new(config);
        let marks = (0..=Metrics::STAGES.len()).map(|_| device.event());
        let mut regions = DeviceRegions {
            config: config.clone(),
            approach: Approach::Auto,
            costs: Costs::default(),
            kernels: Kernels::load(device, config.space.dimensions().len())?,
            sorter: Sorter::load(device, plan.place(base, "sort scratch"))?,
            sorts: plan.sorts(base),
            world: plan.world(config, base),
            counters: HostBuffer::new(device, 1)?,
            pairs: HostBuffer::new(device, config.pairs_max as usize)?,
            marks: marks.collect::<Result<_, DriverError>>()?,
            live: [0; 2],
        };
        regions.world.output = regions.pairs.address();
        regions.work(device).empty()?;
        Ok(regions)
    }

    fn work<'a>(&'a self, device: &'a Device) -> Work<'a> {
        Work {
            device,
            kernels: &self.kernels,
            sorter: &self.sorter,
            sorts: self.sorts,
            world: self.world,
        }
    }

    pub fn step(&mut self, device: &Device, batch: &Batch) -> Result<Changes<'_>, StepError> {
        if !batch.is_for(&self.config) {
            return Err(StepError::OtherSpace);
        }
        self.world.step += 1;
        // Among more, one is named twice: what follows need not be looked at.
        let updates_max = 2 * self.config.capacity + 1;
        self.world.updates = (batch.len() as u32).min(updates_max);
        let updated = batch.updated().map(|n| n.min(updates_max));
        let mut still = [0; 2];
        for side in 0..2 {
            let gone_or_moved = updated[side].saturating_sub(batch.added()[side]);
            still[side] = self.live[side].saturating_sub(gone_or_moved);
        }
        let counts = Counts { updated, still };
        let (approach, reason) = self.choose(counts);
        self.run(device, batch, approach, counts).map_err(failed)?;
        let counters = self.counters[0];
        self.check(&counters, batch)?;
        for side in 0..2 {
            let live = u64::from(self.live[side]) + counters.added[side] - counters.removed[side];
            self.live[side] = live as u32;
        }
        let stages = self.stages(device).map_err(failed)?;
        self.costs.note(approach, counts, stages[1]);
        let pairs = &self.pairs[..counters.kept as usize];
        let (gained, lost) = pairs.split_at(counters.gained as usize);
        Ok(Changes {
            gained,
            lost,
            metrics: Metrics {
                updated,
                regions: self.live,
                gained: gained.len() as u64,
                lost: lost.len() as u64,
                approach,
                reason,
                stages,
            },
        })
    }

    fn choose(&self, counts: Counts) -> (Approach, &'static str) {
        match self.approach {
            Approach::Auto => self.costs.choose(counts),
            asked => (asked, "it was asked for"),
        }
    }

    /// A step's launches and transfers, to their end.
    fn run(
        &mut self,
        device: &Device,
        batch: &Batch,
        approach: Approach,
        counts: Counts,
    ) -> Result<(), DriverError> {
        device.enter()?;
        let lock = |words: &Vec<i32>| Some(MemoryLock(Box::new(Pinned::lock(words)?)));
        // The upload is several times as fast from locked memory; small ones share
        // their pages with other things.
        if size_of_val(&batch.words()[..]) >= LOCKED_BYTES_MIN {
            batch.words().is_locked(lock);
        }
        self.world.overlaps = 0;
        self.world.listed = (approach == Approach::Tiles).into();
        let stride = 1 + 2 * self.config.space.dimensions().len();
        let words = &batch.words()[..self.world.updates as usize * stride];
        device.record(Lane::Work, &self.marks[0])?;
        device.upload(Lane::Work, self.world.words, words)?;
        let mut work = self.work(device);
        work.size_keys(self.world.updates.into());
        work.take_in()?;
        self.finish(work, approach, counts)?;
        self.counters_of(device)
    }

    /// From entries to pairs.
    fn finish(
        &self,
        mut work: Work<'_>,
        approach: Approach,
        counts: Counts,
    ) -> Result<(), DriverError> {
        let device = work.device;
        device.record(Lane::Work, &self.marks[1])?;
        match approach {
            Approach::Tiles => work.tiles(counts)?,
            Approach::Cells => work.cells()?,
            Approach::Auto | Approach::Sorted => work.sorted(counts)?,
        }
        device.record(Lane::Work, &self.marks[2])?;
        work.order(found_bits(&self.config))?;
        device.record(Lane::Work, &self.marks[3])?;
        work.give()?;
        device.record(Lane::Work, &self.marks[4])
    }

    /// Waits for the end of the work, which leaves the pairs with the host.
    fn counters_of(&mut self, device: &Device) -> Result<(), DriverError> {
        device.download(Lane::Work, &mut self.counters, self.world.counters)?;
        device.synchronize(Lane::Work)
    }

    fn check(&self, counters: &Counters, batch: &Batch) -> Result<(), StepError> {
        if counters.error != 0 {
            let error = !counters.error;
            let stride = 1 + 2 * self.config.space.dimensions().len();
            let header = batch.words()[(error >> 2) as usize * stride];
            let region: Region = parse(header).1;
            return Err(match error & 3 {
                0 => StepError::NamedTwice(region),
                1 => StepError::AlreadyThere(region),
                _ => StepError::Unknown(region),
            });
        }
        let max = self.world.found_max;
        match counters.found <= max {
            true => Ok(()),
            false => Err(StepError::TooManyPairs {
                needed: counters.found,
                max,
            }),
        }
    }

    fn stages(&self, device: &Device) -> Result<[Duration; 4], DriverError> {
        let mut stages = [Duration::ZERO; 4];
        for (stage, marks) in stages.iter_mut().zip(self.marks.windows(2)) {
            let ms = device.elapsed_ms(&marks[0], &marks[1])?;
            *stage = Duration::from_secs_f32(ms.max(0.0) / 1e3);
        }
        Ok(stages)
    }

    pub fn overlaps(&mut self, device: &Device, from: Side) -> Result<Overlaps, StepError> {
        let counts = Counts {
            updated: self.live,
            still: [0; 2],
        };
        let (approach, _) = self.choose(counts);
        self.world.updates = 0;
        self.world.overlaps = 1;
        self.world.listed = (approach == Approach::Tiles).into();
        let mut find = || {
            device.enter()?;
            let mut work = self.work(device);
            work.size_keys(self.live.map(u64::from).iter().sum());
            work.enlist()?;
            self.finish(work, approach, counts)?;
            self.counters_of(device)
        };
        find().map_err(failed)?;
        let counters = self.counters[0];
        let max = self.world.found_max;
        if counters.found > max {
            let needed = counters.found;
            return Err(StepError::TooManyPairs { needed, max });
        }
        let mut pairs = self.pairs[..counters.kept as usize].to_vec();
        if from == Side::Subscription {
            pairs.iter_mut().for_each(|pair| *pair = pair.swapped());
            pairs.sort_unstable();
        }
        Ok(Overlaps::of_sorted(from, self.config.capacity, &pairs))
    }
}

fn failed(error: DriverError) -> StepError {
    StepError::Device(error.to_string())
}

/// Bytes of updates from which on locking them pays.
const LOCKED_BYTES_MIN: usize = 1 << 16;
