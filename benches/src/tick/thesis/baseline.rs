//! The thesis's CPU implementation (4.1.2, 4.2.4): one thread, a grid with a list of
//! client objects for each bucket, and commands processed one by one.

mod grid;

use std::time::Instant;

use anyhow::ensure;
use gpu_kernels::Frame;
use shared::Fixed;
use shared::world::mix::mix;

use super::scenario::Scenario;
use super::subject::Subject;
use crate::report::Sample;
use grid::Grid;

pub struct Baseline {
    grid: Grid,
    deliveries_max: usize,
    /// The deliveries, in the order in which commands were processed.
    entries: Vec<u32>,
    /// By observer: begin and end of its deliveries.
    rows: Vec<(u32, u32)>,
}

impl Baseline {
    /// `positions` are those of the clients, by slot, in raw units.
    pub fn new(scenario: &Scenario, positions: &[[i32; 2]]) -> anyhow::Result<Baseline> {
        let raw = |units: u32| units as i32 * Fixed::ONE.raw();
        let mut order: Vec<u32> = (0..positions.len() as u32).collect();
        order.sort_by_cached_key(|&client| mix(scenario.seed, u64::from(client)));
        let deliveries_max = usize::try_from(scenario.deliveries_max())?;
        Ok(Baseline {
            grid: Grid::new(raw(scenario.map), raw(scenario.aoi), positions, &order),
            deliveries_max,
            entries: Vec::with_capacity(deliveries_max),
            rows: vec![(0, 0); positions.len()],
        })
    }
}

impl Subject for Baseline {
    fn tick(&mut self, frame: &Frame) -> anyhow::Result<Sample> {
        let begin = Instant::now();
        for command in &frame.commands {
            let words = frame.words_of(command);
            self.grid.step(command.entity.slot.index(), words);
        }
        let moved = begin.elapsed();
        self.entries.clear();
        for command in &frame.commands {
            let observer = command.entity.slot.index();
            let start = self.entries.len() as u32;
            self.grid
                .neighbours(observer, |client| self.entries.push(client));
            self.rows[observer] = (start, self.entries.len() as u32);
        }
        let total = begin.elapsed();
        ensure!(
            self.entries.len() <= self.deliveries_max,
            "expected at most {} deliveries; found {}",
            self.deliveries_max,
            self.entries.len()
        );
        Ok(Sample {
            total,
            stages: vec![("move", moved), ("interest", total - moved)],
        })
    }

    fn deliveries(&self, visit: &mut dyn FnMut(u32, u32)) {
        for (observer, &(start, end)) in self.rows.iter().enumerate() {
            for &entity in &self.entries[start as usize..end as usize] {
                visit(observer as u32, entity);
            }
        }
    }
}
