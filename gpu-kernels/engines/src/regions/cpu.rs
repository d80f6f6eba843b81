//! The engine for CPUs.

mod boxes;
mod cells;
mod layout;
mod matching;
mod order;
mod sorted;
mod state;
mod tiles;

use std::time::Instant;

use super::batch::Side;
use super::output::{Approach, Changes, Metrics, Overlaps, Pair};
use super::{Batch, RegionEngine, RegionsConfig, RegionsStartError, StepError};
use boxes::SideView;
use cells::Cells;
use device::cpu::Workers;
use matching::{Finder, HitPools};
use order::Orderer;
use sorted::Sorted;
use state::State;

/// Regions on the CPU.
pub struct CpuRegions {
    engine: Box<dyn RegionEngine>,
}

impl CpuRegions {
    /// No regions yet; steps run on so many threads.
    pub fn new(config: &RegionsConfig, threads: usize) -> Result<CpuRegions, RegionsStartError> {
        config.check()?;
        let workers = Workers::new(threads)?;
        let engine: Box<dyn RegionEngine> = match config.space.dimensions().len() {
            1 => Box::new(Engine::<1>::new(config, workers)),
            2 => Box::new(Engine::<2>::new(config, workers)),
            _ => Box::new(Engine::<3>::new(config, workers)),
        };
        Ok(CpuRegions { engine })
    }
}

impl RegionEngine for CpuRegions {
    fn step(&mut self, batch: &Batch) -> Result<Changes<'_>, StepError> {
        self.engine.step(batch)
    }

    fn overlaps(&mut self, from: Side) -> Result<Overlaps, StepError> {
        self.engine.overlaps(from)
    }

    fn set_approach(&mut self, approach: Approach) {
        self.engine.set_approach(approach);
    }
}

/// Regions in `D` dimensions.
struct Engine<const D: usize> {
    config: RegionsConfig,
    workers: Workers,
    approach: Approach,
    state: State<D>,
    search: Search<D>,
    gained: Vec<Pair>,
    lost: Vec<Pair>,
}

/// Finds pairs by each approach.
struct Search<const D: usize> {
    cells: Cells<D>,
    sorted: Sorted<D>,
    pools: HitPools,
    orderer: Orderer,
}

impl<const D: usize> Engine<D> {
    fn new(config: &RegionsConfig, workers: Workers) -> Engine<D> {
        Engine {
            config: config.clone(),
            workers,
            approach: Approach::Auto,
            state: State::new(),
            search: Search {
                cells: Cells::new(config),
                sorted: Sorted::new(),
                pools: HitPools::default(),
                orderer: Orderer::new(config.capacity),
            },
            gained: vec![],
            lost: vec![],
        }
    }

    fn check_room(&self, pairs: usize) -> Result<(), StepError> {
        let (needed, max) = (pairs as u64, u64::from(self.config.pairs_max));
        match needed <= max {
            true => Ok(()),
            false => Err(StepError::TooManyPairs { needed, max }),
        }
    }
}

impl<const D: usize> RegionEngine for Engine<D> {
    fn step(&mut self, batch: &Batch) -> Result<Changes<'_>, StepError> {
        if !batch.is_for(&self.config) {
            return Err(StepError::OtherSpace);
        }
        let mut clock = Clock::start();
        self.state.apply(batch)?;
        clock.lap();
        let sides = self.state.sides();
        let (approach, reason) = self.search.find(&self.workers, sides, self.approach);
        clock.lap();
        let found = self.search.pools.filled();
        let counts = [
            found.iter().map(|hits| hits.gained.len()).sum::<usize>(),
            found.iter().map(|hits| hits.lost.len()).sum::<usize>(),
        ];
        if let Err(error) = self.check_room(counts[0] + counts[1]) {
            self.state.take_back();
            return Err(error);
        }
        let gained: Vec<_> = found.iter().map(|hits| &hits.gained).collect();
        let lost: Vec<_> = found.iter().map(|hits| &hits.lost).collect();
        let orderer = &mut self.search.orderer;
        orderer.gather(&self.workers, &gained, &mut self.gained);
        orderer.gather(&self.workers, &lost, &mut self.lost);
        clock.lap();
        let updated = sides.map(|side| side.updated.len() as u32);
        self.state.settle();
        clock.lap();
        Ok(Changes {
            gained: &self.gained,
            lost: &self.lost,
            metrics: Metrics {
                updated,
                regions: self.state.regions(),
                gained: counts[0] as u64,
                lost: counts[1] as u64,
                approach,
                reason,
                stages: clock.laps,
            },
        })
    }

    fn overlaps(&mut self, from: Side) -> Result<Overlaps, StepError> {
        // As if all regions had just been added.
        let live = self.state.live();
        let sides = self.state.as_if_new(&live);
        self.search.find(&self.workers, sides, self.approach);
        let found = self.search.pools.filled();
        self.check_room(found.iter().map(|hits| hits.gained.len()).sum())?;
        let parts: Vec<_> = found.iter().map(|hits| &hits.gained).collect();
        let mut pairs = vec![];
        let orderer = &mut self.search.orderer;
        orderer.gather(&self.workers, &parts, &mut pairs);
        if from == Side::Subscription {
            pairs.iter_mut().for_each(|pair| *pair = pair.swapped());
            orderer.sort(&self.workers, &mut pairs);
        }
        let numbers = sides[from as usize].motions.len() as u32;
        Ok(Overlaps::of_sorted(from, numbers, &pairs))
    }

    fn set_approach(&mut self, approach: Approach) {
        self.approach = approach;
    }
}

impl<const D: usize> Search<D> {
    /// Finds the changed pairs; gives the approach, and its reason.
    fn find(
        &mut self,
        workers: &Workers,
        sides: [SideView<'_, D>; 2],
        approach: Approach,
    ) -> (Approach, &'static str) {
        let mut finder = Finder::new(workers, sides, &mut self.pools);
        let (approach, reason) = match approach {
            Approach::Auto => {
                let tests = tiles::tests(&sides);
                let updated = (sides[0].updated.len() + sides[1].updated.len()) as u64;
                let regions = (sides[0].regions() + sides[1].regions()) as u64;
                if tests <= updated * TESTS_PER_UPDATE + regions * TESTS_PER_REGION {
                    (Approach::Tiles, "there are few regions to compare")
                } else {
                    self.sorted.build(workers, &sides);
                    match self.sorted.candidates(&sides) >= tests / TESTS_PER_CANDIDATE {
                        true => (Approach::Tiles, "most regions overlap most others"),
                        false => (Approach::Sorted, "regions meet few of the others"),
                    }
                }
            }
            Approach::Sorted => {
                self.sorted.build(workers, &sides);
                (approach, "it was requested")
            }
            Approach::Tiles | Approach::Cells => (approach, "it was requested"),
        };
        match approach {
            Approach::Tiles => tiles::find(&mut finder),
            Approach::Cells => self.cells.find(&mut finder),
            Approach::Auto | Approach::Sorted => self.sorted.find(&mut finder),
        }
        (approach, reason)
    }
}

/// Times of a step's stages.
struct Clock {
    last: Instant,
    laps: [std::time::Duration; Metrics::STAGES.len()],
    lap: usize,
}

impl Clock {
    fn start() -> Clock {
        Clock {
            last: Instant::now(),
            laps: Default::default(),
            lap: 0,
        }
    }

    fn lap(&mut self) {
        let now = Instant::now();
        self.laps[self.lap] = now - self.last;
        self.lap += 1;
        self.last = now;
    }
}

/// Comparisons in tiles that take as long as sorting and looking up an updated region,
/// and as long as looking up a region that stays.
const TESTS_PER_UPDATE: u64 = 60;
const TESTS_PER_REGION: u64 = 15;
/// Comparisons in tiles that take as long as comparing a pair that was looked up, and
/// sorting the result.
const TESTS_PER_CANDIDATE: u64 = 4;
