//! The engine for NVIDIA GPUs. A step is a list of launches without a host round
//! trip; the last one writes the pairs into the host's memory.
//!
//! | module | holds |
//! | --- | --- |
//! | [`layout`] | what kernels are given, declared once |
//! | `sizes`, `buffers` | the sizes of all buffers, and where they lie |
//! | `launcher` | a step's launches |
//! | `costs` | which approach a step takes, by what steps cost |

mod buffers;
mod costs;
mod launcher;
pub mod layout;
mod sizes;

use std::sync::Arc;
use std::time::Duration;

use device::gpu::Layout;
use device::gpu::sort::Sorter;
use device::{Device, DriverError, HostBuffer, Lane, NoDevice};

use super::batch::{Side, parse};
use super::output::{Approach, Changes, Metrics, Overlaps, Pair};
use super::{Batch, RegionEngine, RegionsConfig, RegionsStartError, StepError};
use crate::module::KERNELS;
use buffers::Buffers;
use costs::{Costs, Counts};
use launcher::{Kernels, Launcher};
use layout::{RegionsCounters, reason};
use sizes::found_bits;

/// Regions with an allocation of their own on a GPU.
pub struct CudaRegions {
    config: RegionsConfig,
    approach: Approach,
    costs: Costs,
    launcher: Launcher,
    /// The counts of the last step, and its pairs.
    counters: HostBuffer<RegionsCounters>,
    pairs: HostBuffer<Pair>,
    /// Publications and subscriptions that are there.
    live: [u32; 2],
    device: Arc<Device>,
}

impl CudaRegions {
    /// No regions yet, on the GPU with this number.
    pub fn new(ordinal: u32, config: &RegionsConfig) -> Result<CudaRegions, RegionsStartError> {
        config.check()?;
        let buffers = Buffers::new(config);
        let mut device = Device::open(ordinal, &KERNELS, &LAYOUTS)?;
        let needed = buffers.plan.bytes();
        let available = device.info().map_err(NoDevice::from)?.memory_free;
        if available < needed {
            return Err(RegionsStartError::OutOfMemory { needed, available });
        }
        let base = device.allocate(needed).map_err(NoDevice::from)?;
        let regions = CudaRegions::on(Arc::new(device), config, &buffers, base);
        Ok(regions.map_err(NoDevice::from)?)
    }

    fn on(
        device: Arc<Device>,
        config: &RegionsConfig,
        buffers: &Buffers,
        base: u64,
    ) -> Result<CudaRegions, DriverError> {
        let pairs: HostBuffer<Pair> = HostBuffer::new(&device, config.pairs_max as usize)?;
        let mut world = buffers.world(config, base);
        world.output = pairs.address().cast();
        let mark = || device.event();
        let launcher = Launcher {
            kernels: Kernels::load(&device, config.space.dimensions().len())?,
            sorter: Sorter::load(&device, buffers.sort_scratch(base))?,
            world,
            found_bits: found_bits(config),
            marks: [mark()?, mark()?, mark()?, mark()?, mark()?],
            device: device.clone(),
        };
        launcher.empty()?;
        Ok(CudaRegions {
            config: config.clone(),
            approach: Approach::Auto,
            costs: Costs::default(),
            launcher,
            counters: HostBuffer::new(&device, 1)?,
            pairs,
            live: [0; 2],
            device,
        })
    }

    fn choose(&self, counts: Counts) -> (Approach, &'static str) {
        match self.approach {
            Approach::Auto => self.costs.choose(counts),
            chosen => (chosen, "it was requested"),
        }
    }

    /// How many regions a batch updates, and how many it leaves alone.
    fn counts(&self, batch: &Batch) -> Counts {
        let updated = batch.updated().map(|n| n.min(self.updates_max()));
        let mut still = [0; 2];
        for side in 0..2 {
            let gone_or_moved = updated[side].saturating_sub(batch.added()[side]);
            still[side] = self.live[side].saturating_sub(gone_or_moved);
        }
        Counts { updated, still }
    }

    /// Updates of a batch that are looked at: among so many, one is named twice.
    fn updates_max(&self) -> u32 {
        2 * self.config.capacity + 1
    }

    /// Words of an update.
    fn stride(&self) -> usize {
        1 + 2 * self.config.space.dimensions().len()
    }

    /// A step's launches and transfers, to their end.
    fn run(
        &mut self,
        batch: &Batch,
        approach: Approach,
        counts: Counts,
    ) -> Result<(), DriverError> {
        let updates = (batch.len() as u32).min(self.updates_max());
        let words = &batch.words()[..updates as usize * self.stride()];
        // A batch that comes again is copied from where it is.
        batch.words().is_sendable(words.len(), LOCKED_BYTES_MIN);
        let (launcher, counters) = (&mut self.launcher, &mut self.counters);
        launcher.world.step += 1;
        launcher.world.updates = updates;
        launcher.world.overlaps = 0;
        launcher.world.listed = (approach == Approach::Tiles).into();
        let world = launcher.world;
        self.device.enter()?;
        self.device.copies(|copies| {
            launcher.mark(0)?;
            copies.upload(Lane::Work, world.words.writable(), words)?;
            launcher.apply()?;
            launcher.finish(approach, counts)?;
            copies.download(Lane::Work, counters, world.counters)
        })
    }

    /// Finds all pairs as if all regions had just been added.
    fn run_overlaps(&mut self) -> Result<(), DriverError> {
        let counts = Counts {
            updated: self.live,
            still: [0; 2],
        };
        let (approach, _) = self.choose(counts);
        let (launcher, counters) = (&mut self.launcher, &mut self.counters);
        launcher.world.updates = 0;
        launcher.world.overlaps = 1;
        launcher.world.listed = (approach == Approach::Tiles).into();
        self.device.enter()?;
        launcher.enlist(self.live.map(u64::from).iter().sum())?;
        launcher.finish(approach, counts)?;
        self.device.read(counters, launcher.world.counters)
    }

    /// Whether the step happened.
    fn check(&self, batch: &Batch) -> Result<(), StepError> {
        let counters = &self.counters[0];
        if counters.error != 0 {
            let error = !counters.error;
            let header = batch.words()[(error >> 2) as usize * self.stride()];
            let (_, region) = parse(header);
            return Err(match error as u32 & 3 {
                reason::NAMED_TWICE => StepError::NamedTwice(region),
                reason::ALREADY_THERE => StepError::AlreadyThere(region),
                _ => StepError::Unknown(region),
            });
        }
        self.check_room()
    }

    fn check_room(&self) -> Result<(), StepError> {
        let (needed, max) = (self.counters[0].found, self.launcher.world.found_max);
        match needed <= max {
            true => Ok(()),
            false => Err(StepError::TooManyPairs { needed, max }),
        }
    }

    /// How long the stages of the last step took.
    fn stages(&self) -> Result<[Duration; Metrics::STAGES.len()], DriverError> {
        let mut stages = [Duration::ZERO; Metrics::STAGES.len()];
        for (stage, marks) in stages.iter_mut().zip(self.launcher.marks.windows(2)) {
            let ms = self.device.elapsed_ms(&marks[0], &marks[1])?;
            *stage = Duration::from_secs_f32(ms.max(0.0) / 1e3);
        }
        Ok(stages)
    }
}

impl RegionEngine for CudaRegions {
    fn step(&mut self, batch: &Batch) -> Result<Changes<'_>, StepError> {
        if !batch.is_for(&self.config) {
            return Err(StepError::OtherSpace);
        }
        let counts = self.counts(batch);
        let (approach, reason) = self.choose(counts);
        self.run(batch, approach, counts).map_err(failed)?;
        self.check(batch)?;
        let counters = self.counters[0];
        for side in 0..2 {
            let live = u64::from(self.live[side]) + counters.added[side] - counters.removed[side];
            self.live[side] = live as u32;
        }
        let stages = self.stages().map_err(failed)?;
        self.costs.note(approach, counts, stages[1]);
        let pairs = &self.pairs[..counters.kept as usize];
        let (gained, lost) = pairs.split_at(counters.gained as usize);
        Ok(Changes {
            gained,
            lost,
            metrics: Metrics {
                updated: counts.updated,
                regions: self.live,
                gained: gained.len() as u64,
                lost: lost.len() as u64,
                approach,
                reason,
                stages,
            },
        })
    }

    fn overlaps(&mut self, from: Side) -> Result<Overlaps, StepError> {
        self.run_overlaps().map_err(failed)?;
        self.check_room()?;
        let mut pairs = self.pairs[..self.counters[0].kept as usize].to_vec();
        if from == Side::Subscription {
            pairs.iter_mut().for_each(|pair| *pair = pair.swapped());
            pairs.sort_unstable();
        }
        Ok(Overlaps::of_sorted(from, self.config.capacity, &pairs))
    }

    fn set_approach(&mut self, approach: Approach) {
        self.approach = approach;
    }
}

fn failed(error: DriverError) -> StepError {
    StepError::Device(error.to_string())
}

const LAYOUTS: [Layout; 1] = [("regions_layout_hash", layout::hash)];

/// Bytes of updates from which on it pays to lock them.
const LOCKED_BYTES_MIN: usize = 1 << 16;
