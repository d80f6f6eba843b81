//! Launching the radix sort of `kernels/sort.cu`.

use std::ffi::c_void;

use super::device::{Device, DriverError, Grid, Kernel};
use super::layout::Pointer;
use super::plan::{TILE_U32, TILE_U64};

/// The sort's kernels and scratch.
pub struct Sorter {
    scratch: Pointer,
    scan: Kernel,
    u32s: Pair,
    u64s: Pair,
    sweep_keys: Kernel,
}

#[derive(Clone, Copy)]
struct Pair {
    histogram: Kernel,
    onesweep: Kernel,
    tile: u64,
}

/// Keys or values, and as much room again.
#[derive(Clone, Copy)]
pub struct Doubled {
    pub first: Pointer,
    pub second: Pointer,
}

/// What is to be sorted.
#[derive(Clone, Copy)]
pub struct Sort {
    pub wide_keys: bool,
    pub keys: Doubled,
    pub values: Doubled,
    /// Where the number of pairs stands on the device.
    pub n: Pointer,
    /// At least as many.
    pub n_max: u64,
    pub key_bits: u32,
}

/// How often pairs are moved for so many bits of key.
pub fn passes(key_bits: u32) -> u32 {
    key_bits.div_ceil(DIGIT_BITS)
}

impl Sorter {
    pub fn load(device: &Device, scratch: Pointer) -> Result<Sorter, DriverError> {
        Ok(Sorter {
            scratch,
            scan: device.kernel("sort_scan_bins")?,
            u32s: Pair {
                histogram: device.kernel("sort_histogram_u32")?,
                onesweep: device.kernel("sort_onesweep_u32")?,
                tile: TILE_U32,
            },
            u64s: Pair {
                histogram: device.kernel("sort_histogram_u64")?,
                onesweep: device.kernel("sort_onesweep_u64")?,
                tile: TILE_U64,
            },
            sweep_keys: device.kernel("sort_onesweep_keys")?,
        })
    }

    /// Sorts pairs that lie in the second buffers if the number of passes is odd,
    /// else in the first; the sorted ones lie in the first.
    pub fn sort(&self, device: &Device, sort: &Sort) -> Result<(), DriverError> {
        let pair = if sort.wide_keys { self.u64s } else { self.u32s };
        self.run(device, sort, pair, true)
    }

    /// The same for 64-bit keys without values.
    pub fn sort_keys(
        &self,
        device: &Device,
        keys: Doubled,
        n: Pointer,
        n_max: u64,
        key_bits: u32,
    ) -> Result<(), DriverError> {
        let sort = Sort {
            wide_keys: true,
            keys,
            values: Doubled {
                first: 0,
                second: 0,
            },
            n,
            n_max,
            key_bits,
        };
        let pair = Pair {
            onesweep: self.sweep_keys,
            ..self.u64s
        };
        self.run(device, &sort, pair, false)
    }

    fn run(
        &self,
        device: &Device,
        sort: &Sort,
        pair: Pair,
        has_values: bool,
    ) -> Result<(), DriverError> {
        let passes = passes(sort.key_bits);
        let tiles = sort.n_max.div_ceil(pair.tile).max(1);
        // Bins of all passes, then their counters, then their look-back tables.
        let bins = self.scratch;
        let counters = bins + u64::from(passes) * 256 * 4;
        let lookback = counters + u64::from(passes) * 64 * 4;
        let table = tiles * 256 * 4;
        let bytes = lookback + u64::from(passes) * table - bins;
        device.fill(bins, bytes, 0)?;
        let odd = passes % 2 == 1;
        let mut from_second = odd;
        let side = |doubled: Doubled, second: bool| {
            if second {
                doubled.second
            } else {
                doubled.first
            }
        };
        let histogram_blocks = sort.n_max.div_ceil(2048).clamp(1, HISTOGRAM_BLOCKS_MAX) as u32;
        launch(
            device,
            pair.histogram,
            histogram_blocks,
            128,
            &[bins, side(sort.keys, from_second), sort.n],
            &[sort.key_bits as i32],
        )?;
        launch(device, self.scan, passes, 256, &[bins], &[])?;
        for pass in 0..passes {
            let shift = pass * DIGIT_BITS;
            let bits = (sort.key_bits - shift).min(DIGIT_BITS);
            let p = u64::from(pass);
            let mut pointers = vec![
                lookback + p * table,
                counters + p * 64 * 4,
                bins + p * 256 * 4,
                side(sort.keys, !from_second),
                side(sort.keys, from_second),
            ];
            if has_values {
                pointers.push(side(sort.values, !from_second));
                pointers.push(side(sort.values, from_second));
            }
            pointers.push(sort.n);
            let numbers = [shift as i32, bits as i32];
            launch(
                device,
                pair.onesweep,
                tiles as u32,
                384,
                &pointers,
                &numbers,
            )?;
            from_second = !from_second;
        }
        Ok(())
    }
}

/// Launches a kernel whose parameters are pointers, then numbers.
fn launch(
    device: &Device,
    kernel: Kernel,
    blocks: u32,
    threads: u32,
    pointers: &[Pointer],
    numbers: &[i32],
) -> Result<(), DriverError> {
    let pointers = pointers.iter().map(|p| p as *const Pointer as *mut c_void);
    let numbers = numbers.iter().map(|n| n as *const i32 as *mut c_void);
    let mut arguments: Vec<*mut c_void> = pointers.chain(numbers).collect();
    let grid = Grid {
        blocks,
        threads,
        shared_bytes: 0,
    };
    device.launch(kernel, grid, &mut arguments)
}

const DIGIT_BITS: u32 = 8;
/// Eight blocks on each of a large GPU's multiprocessors.
const HISTOGRAM_BLOCKS_MAX: u64 = 132 * 8;
