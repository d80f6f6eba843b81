// A stable radix sort of (key, value) pairs: CUB's onesweep agents as kernels of
// our own, so that they can be launched without CUB's host code, over a number of
// pairs that only the device knows.
#include <cub/block/block_load.cuh>
#include <cub/agent/agent_radix_sort_histogram.cuh>
#include <cub/agent/agent_radix_sort_onesweep.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/radix_rank_sort_operations.cuh>

#include "lib/types.cuh"

constexpr int DIGIT_BITS = 8;
constexpr int HISTOGRAM_THREADS = 128;
constexpr int SWEEP_THREADS = 384;

template <class K>
struct SortPolicy {
    using Histogram = cub::AgentRadixSortHistogramPolicy<HISTOGRAM_THREADS, 16, 1, K, DIGIT_BITS>;
    using Onesweep = cub::AgentRadixSortOnesweepPolicy<
        SWEEP_THREADS, (sizeof(K) == 4 ? 23 : 30), K, 1, cub::RADIX_RANK_MATCH_EARLY_COUNTS_ANY,
        cub::BLOCK_SCAN_RAKING_MEMOIZE, cub::RADIX_SORT_STORE_DIRECT, DIGIT_BITS>;
};

template <class K>
__device__ void histogram(u32* bins, const K* keys, u32 n, int bits) {
    using Agent = cub::detail::radix_sort::AgentRadixSortHistogram<
        typename SortPolicy<K>::Histogram, false, K, u32, cub::detail::identity_decomposer_t>;
    __shared__ typename Agent::TempStorage storage;
    Agent(storage, bins, keys, n, 0, bits, {}).Process();
}

template <class K>
__device__ void onesweep(i32* lookback, i32* counter, const u32* bins, K* keys_out, const K* keys_in,
                         u32* values_out, const u32* values_in, i32 n, int shift, int bits) {
    using Agent = cub::detail::radix_sort::AgentRadixSortOnesweep<
        typename SortPolicy<K>::Onesweep, false, K, u32, u32, i32, cub::detail::identity_decomposer_t>;
    __shared__ typename Agent::TempStorage storage;
    // The grid is as large as the largest tick needs. A counter hands out tiles, so exactly
    // as many blocks must take one as there are tiles.
    if ((i64)blockIdx.x * Agent::TILE_ITEMS >= n) return;
    Agent(storage, lookback, counter, nullptr, bins, keys_out, keys_in, values_out, values_in, n, shift, bits, {})
        .Process();
}

// Sorts keys without values.
KERNEL __launch_bounds__(SWEEP_THREADS)
    sort_onesweep_keys(i32* lookback, i32* counter, const u32* bins, u64* keys_out, const u64* keys_in, const u64* n,
                       int shift, int bits) {
    using Agent = cub::detail::radix_sort::AgentRadixSortOnesweep<SortPolicy<u64>::Onesweep, false, u64, cub::NullType,
                                                                  u32, i32, cub::detail::identity_decomposer_t>;
    __shared__ typename Agent::TempStorage storage;
    if ((i64)blockIdx.x * Agent::TILE_ITEMS >= (i64)*n) return;
    Agent(storage, lookback, counter, nullptr, bins, keys_out, keys_in, nullptr, nullptr, (i32)*n, shift, bits, {})
        .Process();
}

KERNEL __launch_bounds__(HISTOGRAM_THREADS) sort_histogram_u32(u32* bins, const u32* keys, const u64* n, int bits) {
    histogram<u32>(bins, keys, (u32)*n, bits);
}
KERNEL __launch_bounds__(HISTOGRAM_THREADS) sort_histogram_u64(u32* bins, const u64* keys, const u64* n, int bits) {
    histogram<u64>(bins, keys, (u32)*n, bits);
}
KERNEL __launch_bounds__(256) sort_scan_bins(u32* bins) {
    using Scan = cub::BlockScan<u32, 256>;
    __shared__ typename Scan::TempStorage storage;
    u32* own = bins + blockIdx.x * 256 + threadIdx.x;
    u32 offset;
    Scan(storage).ExclusiveSum(*own, offset);
    *own = offset;
}
KERNEL __launch_bounds__(SWEEP_THREADS)
    sort_onesweep_u32(i32* lookback, i32* counter, const u32* bins, u32* keys_out, const u32* keys_in,
                      u32* values_out, const u32* values_in, const u64* n, int shift, int bits) {
    onesweep<u32>(lookback, counter, bins, keys_out, keys_in, values_out, values_in, (i32)*n, shift, bits);
}
KERNEL __launch_bounds__(SWEEP_THREADS)
    sort_onesweep_u64(i32* lookback, i32* counter, const u32* bins, u64* keys_out, const u64* keys_in,
                      u32* values_out, const u32* values_in, const u64* n, int shift, int bits) {
    onesweep<u64>(lookback, counter, bins, keys_out, keys_in, values_out, values_in, (i32)*n, shift, bits);
}
