//! The sort and a scan like the tick's, standalone, for benchmarks.

use std::sync::Arc;
use std::time::Duration;

use super::device::LIBRARY;
use super::sort::{Doubled, Sort, Sorter, passes, scratch_bytes};
use super::{Device, Event, Grid, Lane};
use crate::error::{DriverError, NoDevice};
use crate::layout::Pointer;
use crate::plan::Plan;

/// Buffers and kernels on a GPU for a maximum number of items.
pub struct Primitives {
    n_max: usize,
    keys: Doubled<u32>,
    values: Doubled<u32>,
    count: Pointer<u64>,
    partials: Pointer<u64>,
    sums: Pointer<u64>,
    groups: u64,
    marks: [Event; 2],
    sorter: Sorter,
    kernels: Kernels,
    device: Arc<Device>,
}

crate::kernels! {
    @find library_kernel,
    struct Kernels { sums: "scan_sums", offsets: "scan_offsets" }
}

/// Pairs of keys and values, sorted or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    pub keys: Vec<u32>,
    pub values: Vec<u32>,
}

impl Primitives {
    /// Allocates memory on the GPU with this number.
    pub fn new(ordinal: u32, n_max: usize) -> Result<Primitives, NoDevice> {
        let mut device = Device::open(ordinal, &LIBRARY, &[])?;
        let n = n_max as u64;
        let blocks = n.div_ceil(u64::from(BLOCK)) + 1;
        let groups = blocks / SCAN_GROUP + 1;
        let mut plan = Plan::default();
        let starts = [
            plan.add_bytes("keys", n * 4),
            plan.add_bytes("spare keys", n * 4),
            plan.add_bytes("values", n * 4),
            plan.add_bytes("spare values", n * 4),
            plan.add_bytes("count", 8),
            plan.add_bytes("partial sums", blocks * 8),
            plan.add_bytes("sums of groups", groups * 8),
            plan.add_bytes("sort scratch", scratch_bytes::<u32>(n, u32::BITS)),
        ];
        let base = device.allocate(plan.bytes())?;
        let [k1, k2, v1, v2, count, partials, sums, scratch] = starts.map(|start| base + start);
        let doubled = |first, second| Doubled {
            first: Pointer::new(first),
            second: Pointer::new(second),
        };
        Ok(Primitives {
            n_max,
            keys: doubled(k1, k2),
            values: doubled(v1, v2),
            count: Pointer::new(count),
            partials: Pointer::new(partials),
            sums: Pointer::new(sums),
            groups,
            marks: [device.event()?, device.event()?],
            sorter: Sorter::load(&device, Pointer::new(scratch))?,
            kernels: Kernels::load(&device)?,
            device: Arc::new(device),
        })
    }

    /// Sorts pairs stably by the lower `key_bits` of their keys, and returns the time on
    /// the device.
    ///
    /// # Panics
    /// Panics if the numbers of keys and values differ, or exceed `n_max`.
    pub fn sort(&mut self, pairs: &mut Pairs, key_bits: u32) -> Result<Duration, NoDevice> {
        let n = pairs.keys.len();
        assert!(n == pairs.values.len() && n <= self.n_max);
        debug_assert!(passes(key_bits) <= 4);
        let (device, keys, values) = (&self.device, self.keys, self.values);
        device.enter()?;
        device.write(keys.given(key_bits), &pairs.keys)?;
        device.write(values.given(key_bits), &pairs.values)?;
        device.write(self.count, &[n as u64])?;
        let sort = Sort {
            keys,
            values,
            n: self.count,
            n_max: n as u64,
            key_bits,
        };
        let time = self.timed(|| self.sorter.sort(device, &sort))?;
        device.read(&mut pairs.keys, keys.first)?;
        device.read(&mut pairs.values, values.first)?;
        Ok(time)
    }

    /// Replaces each item by the sum of those before it, and returns the time on the device.
    ///
    /// # Panics
    /// Panics if there are more than `n_max` items.
    pub fn scan(&mut self, items: &mut [u32]) -> Result<Duration, NoDevice> {
        assert!(items.len() <= self.n_max);
        let device = &self.device;
        device.enter()?;
        device.write(self.values.first, items)?;
        let time = self.timed(|| self.launch_scan(items.len() as u32))?;
        device.read(items, self.keys.first)?;
        Ok(time)
    }

    fn launch_scan(&self, n: u32) -> Result<(), DriverError> {
        self.device.fill(self.sums, self.groups, 0)?;
        let grid = Grid::items(n.into(), BLOCK);
        let operands = (self.values.first, n, self.partials, self.sums);
        // SAFETY: the parameters of both kernels, of which the first has no fifth;
        // there is room for `n_max` items and their blocks' sums.
        unsafe {
            self.device.launch(self.kernels.sums, grid, &operands)?;
            let (items, n, partials, sums) = operands;
            let operands = (items, n, partials, sums, self.keys.first);
            self.device.launch(self.kernels.offsets, grid, &operands)
        }
    }

    fn timed(
        &self,
        work: impl FnOnce() -> Result<(), DriverError>,
    ) -> Result<Duration, DriverError> {
        let [begin, end] = &self.marks;
        self.device.record(Lane::Work, begin)?;
        work()?;
        self.device.record(Lane::Work, end)?;
        end.wait()?;
        let ms = self.device.elapsed_ms(begin, end)?;
        Ok(Duration::from_secs_f32(ms.max(0.0) / 1000.0))
    }
}

/// Threads per block: `BLOCK` of the kernels.
const BLOCK: u32 = 256;
/// Blocks per group, which has a sum of its own: `SCAN_GROUP` of the kernels.
const SCAN_GROUP: u64 = 256;
