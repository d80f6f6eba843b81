//! Numbers that were chosen by measuring, apart from the code that uses them.

/// The minimum number of items that is worth a second CPU thread: some µs of work. With four times
/// as many, sixteen cores of an Intel Xeon have too few parts at 65,536 clients, whose fight takes
/// 6.1 ms in place of 5.0; on two cores both are equal: `benches fight`.
pub const CPU_GRAIN: usize = 2048;
/// The minimum number of items of a tick that is worth running all of it on a thread of the
/// pool: some of its stages use several threads then.
pub const CPU_POOL_MIN: usize = 2048;
/// Several parts per thread, so that one slow part doesn't leave the others idle.
pub const CPU_PARTS_PER_THREAD: usize = 4;
/// Bits per digit of the CPU's radix sort. 2,048 counters and the open cache lines of a
/// scatter fit the L1 and L2 caches of common CPUs.
pub const CPU_DIGIT_BITS: u32 = 11;
/// The most buckets that a counting sort fills in one pass: their counters and open cache lines
/// fit the L2 cache of common CPUs.
pub const CPU_BUCKETS_OF_A_PASS: usize = 8192;

/// Bits per digit of the GPU's radix sort, as in CUB's onesweep policy.
pub const GPU_DIGIT_BITS: u32 = 8;
/// Pairs per tile of the sort with 32-bit keys, as in `kernels/lib/sort.cu`: CUB's choice
/// for sm_90.
pub const GPU_TILE_U32: u64 = 384 * 23;
/// The same with 64-bit keys.
pub const GPU_TILE_U64: u64 = 384 * 15;
/// Threads per block of a sweep.
pub const GPU_SWEEP_THREADS: u32 = 384;
/// Threads per block of a histogram, and the minimum number of keys per block.
pub const GPU_HISTOGRAM_THREADS: u32 = 128;
pub const GPU_HISTOGRAM_KEYS: u64 = 2048;
/// Blocks per multiprocessor if blocks share all work: eight of 256 threads fill one.
/// Measured on an H200 (132 multiprocessors): `benches thesis`, `benches primitives`.
pub const GPU_BLOCKS_FULL: u32 = 8;
/// Half of that, for kernels that need more registers or end in atomics.
pub const GPU_BLOCKS_HALF: u32 = 4;
/// The minimum bytes of a frame or batch to lock its memory in place; smaller ones are copied.
pub const LOCKED_BYTES_MIN: usize = 256 * 1024;
