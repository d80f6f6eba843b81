//! The tick's sort and scan by themselves, for measuring them.

use std::ffi::c_void;
use std::time::Duration;

use super::device::{Device, DriverError, Event, Grid, Kernel, Lane, NoDevice};
use super::layout::{Pointer, SCAN_GROUP, SCANS, Tick, World};
use super::plan::{TILE_U32, sort_scratch_bytes};
use super::sort::{Doubled, Sort, Sorter, passes};

/// Room on the first GPU for so many items.
pub struct Primitives {
    n_max: usize,
    places: Places,
    marks: [Event; 2],
    sorter: Sorter,
    scan_sums: Kernel,
    scan_offsets: Kernel,
    device: Device,
}

/// Where things are on the device.
#[derive(Clone, Copy)]
struct Places {
    keys: Doubled,
    values: Doubled,
    count: Pointer,
    partials: Pointer,
    sums: Pointer,
    groups: u64,
}

/// Sorted pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    pub keys: Vec<u32>,
    pub values: Vec<u32>,
}

impl Primitives {
    pub fn new(n_max: usize) -> Result<Primitives, NoDevice> {
        let mut device = Device::open(super::KERNELS)?;
        let column = (n_max as u64 * 4).next_multiple_of(256);
        let blocks = (n_max as u64).div_ceil(u64::from(BLOCK)) + 1;
        let groups = blocks / SCAN_GROUP + 1;
        let scratch = sort_scratch_bytes(n_max as u64, TILE_U32, 4).next_multiple_of(256);
        let partials = (blocks * 8).next_multiple_of(256);
        let sums = SCANS * groups * 8;
        let base = device.allocate(4 * column + 256 + partials + sums + scratch)?;
        let doubled = |first: Pointer| Doubled {
            first,
            second: first + column,
        };
        let count = base + 4 * column;
        let places = Places {
            keys: doubled(base),
            values: doubled(base + 2 * column),
            count,
            partials: count + 256,
            sums: count + 256 + partials + scratch,
            groups,
        };
        Ok(Primitives {
            n_max,
            places,
            marks: [device.event()?, device.event()?],
            sorter: Sorter::load(&device, count + 256 + partials)?,
            scan_sums: device.kernel("scan_sums")?,
            scan_offsets: device.kernel("scan_offsets")?,
            device,
        })
    }

    /// Sorts pairs by the lower `key_bits` of their keys, stably, and says how long
    /// the device took. As many values as keys, and no more than there is room for.
    pub fn sort(&mut self, pairs: &mut Pairs, key_bits: u32) -> Result<Duration, NoDevice> {
        let n = pairs.keys.len();
        assert!(n == pairs.values.len() && n <= self.n_max);
        let Places { keys, values, .. } = self.places;
        let odd = passes(key_bits) % 2 == 1;
        let (from_keys, from_values) = match odd {
            true => (keys.second, values.second),
            false => (keys.first, values.first),
        };
        let device = &self.device;
        device.enter()?;
        device.upload(Lane::Work, from_keys, &pairs.keys)?;
        device.upload(Lane::Work, from_values, &pairs.values)?;
        device.upload(Lane::Work, self.places.count, &[n as u64])?;
        let sort = Sort {
            wide_keys: false,
            keys,
            values,
            n: self.places.count,
            n_max: n as u64,
            key_bits,
        };
        let time = self.timed(|primitives| primitives.sorter.sort(&primitives.device, &sort))?;
        let device = &self.device;
        device.download(Lane::Work, &mut pairs.keys, keys.first)?;
        device.download(Lane::Work, &mut pairs.values, values.first)?;
        device.synchronize(Lane::Work)?;
        Ok(time)
    }

    /// Turns each item into the sum of those before it, and says how long the device
    /// took. No more items than there is room for.
    pub fn scan(&mut self, items: &mut [u32]) -> Result<Duration, NoDevice> {
        assert!(items.len() <= self.n_max);
        let device = &self.device;
        device.enter()?;
        device.upload(Lane::Work, self.places.values.first, items)?;
        let n = items.len() as u32;
        let time = self.timed(|primitives| primitives.launch_scan(n))?;
        let device = &self.device;
        device.download(Lane::Work, items, self.places.keys.first)?;
        device.synchronize(Lane::Work)?;
        Ok(time)
    }

    fn launch_scan(&self, mut n: u32) -> Result<(), DriverError> {
        let places = self.places;
        self.device
            .fill(places.sums, SCANS * places.groups * 8, 0)?;
        let mut world = World {
            partials: places.partials,
            scan_groups: places.groups as u32,
            keys: places.keys.first,
            values: places.values.first,
            ..World::default()
        };
        let mut tick = Tick {
            scan_sums: places.sums,
            ..Tick::default()
        };
        let mut arguments = [
            (&raw mut world).cast::<c_void>(),
            (&raw mut tick).cast::<c_void>(),
            (&raw mut n).cast::<c_void>(),
        ];
        let grid = Grid {
            blocks: n.div_ceil(BLOCK),
            threads: BLOCK,
            shared_bytes: 0,
        };
        self.device.launch(self.scan_sums, grid, &mut arguments)?;
        self.device.launch(self.scan_offsets, grid, &mut arguments)
    }

    fn timed(
        &self,
        work: impl FnOnce(&Primitives) -> Result<(), DriverError>,
    ) -> Result<Duration, DriverError> {
        let [begin, end] = &self.marks;
        // What was copied before is not part of it.
        self.device.synchronize(Lane::Work)?;
        self.device.record(Lane::Work, begin)?;
        work(self)?;
        self.device.record(Lane::Work, end)?;
        self.device.wait(end)?;
        let ms = self.device.elapsed_ms(begin, end)?;
        Ok(Duration::from_secs_f32(ms.max(0.0) / 1000.0))
    }
}

/// Threads of a block: `BLOCK` of the kernels.
const BLOCK: u32 = 256;
