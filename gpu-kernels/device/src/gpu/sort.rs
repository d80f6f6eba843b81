//! Launching the radix sort of `kernels/lib/sort.cu`.

use super::{Device, Grid, Kernel};
use crate::error::DriverError;
use crate::layout::Pointer;
use crate::tuning::{
    GPU_BLOCKS_FULL, GPU_DIGIT_BITS, GPU_HISTOGRAM_KEYS, GPU_HISTOGRAM_THREADS, GPU_SWEEP_THREADS,
    GPU_TILE_U32, GPU_TILE_U64,
};

/// The sort's kernels and scratch.
pub struct Sorter {
    scratch: Pointer<u32>,
    kernels: Kernels,
    histogram_blocks_max: u64,
}

crate::kernels! {
    @find library_kernel,
    struct Kernels {
        scan: "sort_scan_bins",
        histogram_u32: "sort_histogram_u32",
        histogram_u64: "sort_histogram_u64",
        sweep_u32: "sort_onesweep_u32",
        sweep_u64: "sort_onesweep_u64",
        sweep_keys: "sort_onesweep_keys",
    }
}

/// Two halves of a buffer for keys or values. The input lies in the half of [`Doubled::given`];
/// the output lies in the first half.
#[derive(Clone, Copy, Debug, Default)]
pub struct Doubled<T> {
    pub first: Pointer<T>,
    pub second: Pointer<T>,
}

/// A key's type: 32 or 64 bits.
pub trait Key: crate::Plain {
    const TILE: u64;
    #[doc(hidden)]
    fn kernels(sorter: &Sorter) -> (Kernel, Kernel);
}

impl Key for u32 {
    const TILE: u64 = GPU_TILE_U32;

    fn kernels(sorter: &Sorter) -> (Kernel, Kernel) {
        (sorter.kernels.histogram_u32, sorter.kernels.sweep_u32)
    }
}

impl Key for u64 {
    const TILE: u64 = GPU_TILE_U64;

    fn kernels(sorter: &Sorter) -> (Kernel, Kernel) {
        (sorter.kernels.histogram_u64, sorter.kernels.sweep_u64)
    }
}

/// The input of a sort.
#[derive(Clone, Copy)]
pub struct Sort<K> {
    pub keys: Doubled<K>,
    pub values: Doubled<u32>,
    /// The address of the number of pairs, on the device.
    pub n: Pointer<u64>,
    /// An upper bound of `n`.
    pub n_max: u64,
    pub key_bits: u32,
}

/// The number of passes for this many key bits; each moves all pairs.
pub fn passes(key_bits: u32) -> u32 {
    key_bits.div_ceil(GPU_DIGIT_BITS)
}

/// Bytes of scratch for sorting `n` pairs by this many bits: bins, a counter and a
/// look-back table for each pass.
pub fn scratch_bytes<K: Key>(n: u64, key_bits: u32) -> u64 {
    let tiles = n.div_ceil(K::TILE).max(1);
    u64::from(passes(key_bits)) * (BINS + COUNTER + tiles * BINS) * 4
}

impl<T> Doubled<T> {
    /// Both halves of one buffer; each has room for `n` values.
    pub fn halves(first: Pointer<T>, n: u64) -> Doubled<T> {
        Doubled {
            first,
            second: first.at(n),
        }
    }

    /// The half that the input must be in for this many key bits: each pass moves the
    /// values from one half to the other.
    pub fn given(self, key_bits: u32) -> Pointer<T> {
        self.side(passes(key_bits) % 2 == 1)
    }

    fn side(self, second: bool) -> Pointer<T> {
        match second {
            true => self.second,
            false => self.first,
        }
    }
}

impl Sorter {
    /// `scratch` must have the [`scratch_bytes`] of the largest sort.
    pub fn load(device: &Device, scratch: Pointer<u32>) -> Result<Sorter, DriverError> {
        Ok(Sorter {
            scratch,
            kernels: Kernels::load(device)?,
            histogram_blocks_max: u64::from(GPU_BLOCKS_FULL * device.multiprocessors()),
        })
    }

    /// Sorts pairs, stably.
    pub fn sort<K: Key>(&self, device: &Device, sort: &Sort<K>) -> Result<(), DriverError> {
        let (_, sweep) = K::kernels(self);
        let passes = self.begin(device, sort)?;
        for pass in passes.each() {
            let (from, to) = (pass.from_second, !pass.from_second);
            let operands = (
                pass.lookback,
                pass.counter,
                pass.bins,
                sort.keys.side(to),
                sort.keys.side(from),
                sort.values.side(to),
                sort.values.side(from),
                sort.n,
                pass.shift,
                pass.bits,
            );
            let grid = Grid::blocks(passes.tiles as u32, GPU_SWEEP_THREADS);
            // SAFETY: the parameters of `sort_onesweep_u32` and `_u64`; buffers and
            // scratch have room for `n_max` pairs, and `n` is at most that.
            unsafe { device.launch(sweep, grid, &operands)? };
        }
        Ok(())
    }

    /// Sorts 64-bit keys without values.
    pub fn sort_keys(
        &self,
        device: &Device,
        keys: Doubled<u64>,
        n: Pointer<u64>,
        n_max: u64,
        key_bits: u32,
    ) -> Result<(), DriverError> {
        let values = Doubled::default();
        let sort = Sort {
            keys,
            values,
            n,
            n_max,
            key_bits,
        };
        let passes = self.begin(device, &sort)?;
        for pass in passes.each() {
            let operands = (
                pass.lookback,
                pass.counter,
                pass.bins,
                keys.side(!pass.from_second),
                keys.side(pass.from_second),
                n,
                pass.shift,
                pass.bits,
            );
            let grid = Grid::blocks(passes.tiles as u32, GPU_SWEEP_THREADS);
            // SAFETY: the parameters of `sort_onesweep_keys`; as in `sort`.
            unsafe { device.launch(self.kernels.sweep_keys, grid, &operands)? };
        }
        Ok(())
    }

    /// Clears the scratch and counts all digits.
    fn begin<K: Key>(&self, device: &Device, sort: &Sort<K>) -> Result<Passes, DriverError> {
        let passes = Passes {
            scratch: self.scratch,
            tiles: sort.n_max.div_ceil(K::TILE).max(1),
            key_bits: sort.key_bits,
        };
        let words = scratch_bytes::<K>(sort.n_max, sort.key_bits) / 4;
        device.fill(self.scratch, words, 0)?;
        let (histogram, _) = K::kernels(self);
        let blocks = sort.n_max.div_ceil(GPU_HISTOGRAM_KEYS);
        let blocks = blocks.clamp(1, self.histogram_blocks_max) as u32;
        let operands = (
            passes.bins(0),
            sort.keys.given(sort.key_bits),
            sort.n,
            sort.key_bits,
        );
        // SAFETY: the parameters of `sort_histogram_u32` and `_u64`; there are `n` keys,
        // and bins for each pass.
        unsafe {
            device.launch(
                histogram,
                Grid::blocks(blocks, GPU_HISTOGRAM_THREADS),
                &operands,
            )?;
        }
        let grid = Grid::blocks(passes.count(), BINS as u32);
        // SAFETY: the parameter of `sort_scan_bins`; a block for each pass's bins.
        unsafe { device.launch(self.kernels.scan, grid, &(passes.bins(0),))? };
        Ok(passes)
    }
}

/// The scratch: bins of all passes, then their counters, then their look-back tables.
struct Passes {
    scratch: Pointer<u32>,
    tiles: u64,
    key_bits: u32,
}

struct Pass {
    from_second: bool,
    lookback: Pointer<u32>,
    counter: Pointer<u32>,
    bins: Pointer<u32>,
    shift: u32,
    bits: u32,
}

impl Passes {
    fn count(&self) -> u32 {
        passes(self.key_bits)
    }

    fn bins(&self, pass: u32) -> Pointer<u32> {
        self.scratch.at(u64::from(pass) * BINS)
    }

    fn each(&self) -> impl Iterator<Item = Pass> + '_ {
        let counters = self.bins(self.count());
        let tables = counters.at(u64::from(self.count()) * COUNTER);
        (0..self.count()).map(move |pass| {
            let shift = pass * GPU_DIGIT_BITS;
            Pass {
                from_second: (self.count() - pass) % 2 == 1,
                lookback: tables.at(u64::from(pass) * self.tiles * BINS),
                counter: counters.at(u64::from(pass) * COUNTER),
                bins: self.bins(pass),
                shift,
                bits: (self.key_bits - shift).min(GPU_DIGIT_BITS),
            }
        })
    }
}

/// The number of a pass's bins.
const BINS: u64 = 1 << GPU_DIGIT_BITS;
/// Words per counter: each has its own cache line and the one beside it.
const COUNTER: u64 = 64;
