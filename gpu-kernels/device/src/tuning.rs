//! The numbers that were chosen by measuring, apart from what uses them.

/// Items below which a second CPU thread isn't worth its wake-up: some 10 µs of work.
/// Measured on two cores of an AMD EPYC: `cargo bench -p benches`.
pub const CPU_GRAIN: usize = 8192;
/// Several parts a thread, so that one slow part doesn't leave the others idle.
pub const CPU_PARTS_PER_THREAD: usize = 4;
/// Bits of a digit of the CPU's radix sort. 2,048 counters and the open cache lines
/// of a scatter fit the L1 and L2 caches of common CPUs.
pub const CPU_DIGIT_BITS: u32 = 11;

/// Bits of a digit of the GPU's radix sort: that of CUB's onesweep policy.
pub const GPU_DIGIT_BITS: u32 = 8;
/// Pairs of a tile of the sort with 32-bit keys, as `kernels/lib/sort.cu` sets it: CUB's
/// choice for sm_90.
pub const GPU_TILE_U32: u64 = 384 * 23;
/// The same with 64-bit keys.
pub const GPU_TILE_U64: u64 = 384 * 15;
/// Threads of a sweep's block.
pub const GPU_SWEEP_THREADS: u32 = 384;
/// Threads of a histogram's block, and the keys that a block takes at least.
pub const GPU_HISTOGRAM_THREADS: u32 = 128;
pub const GPU_HISTOGRAM_KEYS: u64 = 2048;
/// Blocks on each multiprocessor where blocks share all work: eight of 256 threads fill
/// one. Measured on an H200 (132 multiprocessors): `benches thesis`, `benches primitives`.
pub const GPU_BLOCKS_FULL: u32 = 8;
/// Half of that, for kernels that need more registers or end in atomics.
pub const GPU_BLOCKS_HALF: u32 = 4;
/// Bytes of a frame or batch below which its memory isn't locked in place, but copied.
pub const LOCKED_BYTES_MIN: usize = 256 * 1024;
