//! The paper's three ways of selection by themselves, for its figure 10.

use device::tuning::GPU_BLOCKS_FULL;
use device::{Device, DriverError, Event, Grid, Lane, Plan, Pointer};

use super::{EventsError, Selection, THREADS, fetch, open};

/// Random numbers on a GPU, from which those below a bound are selected.
pub struct SelectionTrial {
    n: u32,
    buffers: TrialBuffers,
    kernels: Kernels,
    grid: Grid,
    marks: [Event; 2],
    device: Device,
}

device::device_struct! {
    /// The numbers, and where those lie that were selected.
    pub struct TrialBuffers(n: u32) {
        numbers: Pointer<u32> = u64::from(*n);
        places: Pointer<u32> = u64::from(*n);
        /// By block: how many it has selected.
        partials: Pointer<u64> = u64::from(n.div_ceil(TILE));
        count: Pointer<u32> = 1;
    }
}

device::kernels! {
    struct Kernels {
        fill: "events_select_fill",
        atomic: "events_select_atomic",
        count: "events_select_count",
        store: "events_select_store",
        hybrid: "events_select_hybrid",
    }
}

impl SelectionTrial {
    /// `n` numbers on the GPU of this `ordinal`: number i is the upper half of
    /// `mix(seed, i)`.
    pub fn new(ordinal: u32, n: u32, seed: u64) -> Result<SelectionTrial, EventsError> {
        let mut plan = Plan::default();
        let group = plan.add(TrialBuffers::buffers(&n));
        let (device, base) = open(ordinal, plan.bytes())?;
        let mut buffers = TrialBuffers::default();
        buffers.place(plan.places(base, &group));
        let blocks_max = GPU_BLOCKS_FULL * device.multiprocessors();
        let trial = SelectionTrial {
            n,
            buffers,
            kernels: Kernels::load(&device)?,
            grid: Grid::blocks(n.div_ceil(32 * THREADS).clamp(1, blocks_max), THREADS),
            marks: [device.event()?, device.event()?],
            device,
        };
        trial.launch_fill(seed)?;
        Ok(trial)
    }

    /// Selects the numbers below `bound`, and gives how many milliseconds of the
    /// device's time that took.
    pub fn select(&self, selection: Selection, bound: u32) -> Result<f32, EventsError> {
        self.device.enter()?;
        self.device.fill(self.buffers.count, 1, 0)?;
        self.device.record(Lane::Work, &self.marks[0])?;
        match selection {
            Selection::Atomic | Selection::Hybrid => self.launch_appending(selection, bound)?,
            Selection::Scan => self.launch_scan(bound)?,
            // By itself there is nothing that a block could continue with.
            Selection::Local => self.launch_appending(Selection::Hybrid, bound)?,
        }
        self.device.record(Lane::Work, &self.marks[1])?;
        self.marks[1].wait()?;
        Ok(self.device.elapsed_ms(&self.marks[0], &self.marks[1])?)
    }

    /// The last selection, in the order in which it was stored.
    pub fn selected(&self) -> Result<Vec<u32>, EventsError> {
        self.device.enter()?;
        let count = fetch(&self.device, self.buffers.count, 1)?[0];
        Ok(fetch(&self.device, self.buffers.places, count)?)
    }

    #[allow(unsafe_code)]
    fn launch_fill(&self, seed: u64) -> Result<(), DriverError> {
        let operands = (self.buffers.numbers, self.n, seed);
        // SAFETY: the parameters of `events_select_fill`; there is room for `n` numbers.
        unsafe { self.device.launch(self.kernels.fill, self.grid, &operands) }
    }

    /// Selected numbers take places behind the others.
    #[allow(unsafe_code)]
    fn launch_appending(&self, selection: Selection, bound: u32) -> Result<(), DriverError> {
        let kernel = match selection {
            Selection::Atomic => self.kernels.atomic,
            _ => self.kernels.hybrid,
        };
        let b = self.buffers;
        let operands = (b.numbers, self.n, bound, b.count, b.places);
        // SAFETY: the parameters of both kernels; there is room for `n` numbers and as
        // many places, and the count begins at 0.
        unsafe { self.device.launch(kernel, self.grid, &operands) }
    }

    /// Counts, scans and stores.
    #[allow(unsafe_code)]
    fn launch_scan(&self, bound: u32) -> Result<(), DriverError> {
        let b = self.buffers;
        let grid = Grid::blocks(self.n.div_ceil(TILE), THREADS);
        let counting = (b.numbers, self.n, bound, b.partials);
        let storing = (b.numbers, self.n, bound, b.partials, b.count, b.places);
        // SAFETY: the parameters of these kernels; there is room for `n` numbers, as
        // many places, and a sum for each block.
        unsafe {
            self.device.launch(self.kernels.count, grid, &counting)?;
            self.device.launch(self.kernels.store, grid, &storing)
        }
    }
}

/// Numbers of a block in the scan: `TILE` of the kernels.
const TILE: u32 = 16 * THREADS;
