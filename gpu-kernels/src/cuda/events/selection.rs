//! The paper's three ways of selection by themselves, for its figure 10.

use super::{Cut, EventsError, Selection, THREADS, argument, fetch, open};
use crate::cuda::device::{Device, DriverError, Event, Grid, Kernel, Lane};
use crate::cuda::layout::Pointer;

/// Random numbers on a device, from which those below a bound are selected.
pub struct SelectionTrial {
    n: u32,
    numbers: Pointer,
    places: Pointer,
    partials: Pointer,
    count: Pointer,
    kernels: Kernels,
    marks: [Event; 2],
    device: Device,
}

#[derive(Clone, Copy)]
struct Kernels {
    atomic: Kernel,
    count: Kernel,
    store: Kernel,
    hybrid: Kernel,
}

impl SelectionTrial {
    /// `n` numbers: number i is the upper half of `mix(seed, i)`.
    pub fn new(n: u32, seed: u64) -> Result<SelectionTrial, EventsError> {
        let mut cut = Cut { at: 0 };
        let numbers = cut.take(u64::from(n) * 4);
        let places = cut.take(u64::from(n) * 4);
        let partials = cut.take(u64::from(n.div_ceil(TILE)) * 8);
        let count = cut.take(4);
        let (device, base) = open(cut.at)?;
        let kernels = Kernels {
            atomic: device.kernel("events_select_atomic")?,
            count: device.kernel("events_select_count")?,
            store: device.kernel("events_select_store")?,
            hybrid: device.kernel("events_select_hybrid")?,
        };
        let trial = SelectionTrial {
            n,
            numbers: base + numbers,
            places: base + places,
            partials: base + partials,
            count: base + count,
            kernels,
            marks: [device.event()?, device.event()?],
            device,
        };
        let fill = trial.device.kernel("events_select_fill")?;
        let mut arguments = [argument(&trial.numbers), argument(&n), argument(&seed)];
        trial.device.launch(fill, trial.grid(), &mut arguments)?;
        Ok(trial)
    }

    /// Selects the numbers below `bound`, and says how many milliseconds of the
    /// device's time that took.
    pub fn select(&self, selection: Selection, bound: u32) -> Result<f32, EventsError> {
        self.device.enter()?;
        self.device.fill(self.count, 4, 0)?;
        self.device.record(Lane::Work, &self.marks[0])?;
        self.launch(selection, bound)?;
        self.device.record(Lane::Work, &self.marks[1])?;
        self.device.wait(&self.marks[1])?;
        Ok(self.device.elapsed_ms(&self.marks[0], &self.marks[1])?)
    }

    fn launch(&self, selection: Selection, bound: u32) -> Result<(), DriverError> {
        let (numbers, n, bound) = (argument(&self.numbers), argument(&self.n), argument(&bound));
        let (count, places) = (argument(&self.count), argument(&self.places));
        let partials = argument(&self.partials);
        let launch = |kernel, grid, rest: &[_]| {
            let mut arguments = [&[numbers, n, bound], rest].concat();
            self.device.launch(kernel, grid, &mut arguments)
        };
        let tiles = Grid {
            blocks: self.n.div_ceil(TILE),
            ..self.grid()
        };
        match selection {
            Selection::Atomic => launch(self.kernels.atomic, self.grid(), &[count, places]),
            Selection::Scan => {
                launch(self.kernels.count, tiles, &[partials])?;
                launch(self.kernels.store, tiles, &[partials, count, places])
            }
            // By itself there is nothing that a block could go on with.
            Selection::Hybrid | Selection::Local => {
                launch(self.kernels.hybrid, self.grid(), &[count, places])
            }
        }
    }

    /// What was selected last, in the order in which it was stored.
    pub fn selected(&self) -> Result<Vec<u32>, EventsError> {
        self.device.enter()?;
        let count = fetch::<u32>(&self.device, self.count, 1)?[0] as usize;
        let places = fetch::<u32>(&self.device, self.places, count)?;
        Ok(places[..count].to_vec())
    }

    fn grid(&self) -> Grid {
        Grid {
            blocks: self.n.div_ceil(32 * THREADS).clamp(1, BLOCKS),
            threads: THREADS,
            shared_bytes: 0,
        }
    }
}

/// Numbers of a block in the scan.
const TILE: u32 = 16 * THREADS;
/// Eight on each of a large GPU's multiprocessors.
const BLOCKS: u32 = 132 * 8;
