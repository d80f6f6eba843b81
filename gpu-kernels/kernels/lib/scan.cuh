// A scan in two launches: the first stores each block's sum, the second adds up the sums of
// earlier blocks. Both must split the items alike, one per thread. Group sums spare the
// second launch from reading all earlier partial sums; a scan of few blocks can do without
// them (`groups` is null).
#pragma once
#include "lib/warp.cuh"

constexpr u32 SCAN_GROUP = 256;

// Every thread gets the block's sum.
__device__ inline u64 scan_put(u64* partials, u64* groups, u64 value) {
    u64 sum = block_sum(value);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
        if (groups && sum) atomicAdd(&groups[blockIdx.x / SCAN_GROUP], sum);
    }
    return sum;
}
// The sum of the values of all threads before this one.
__device__ inline u64 scan_offset(const u64* partials, const u64* groups, u64 value) {
    u32 group = groups ? blockIdx.x / SCAN_GROUP : 0;
    u64 before = 0;
    for (u32 i = threadIdx.x; i < group; i += blockDim.x) before += groups[i];
    for (u32 i = group * SCAN_GROUP + threadIdx.x; i < blockIdx.x; i += blockDim.x) before += partials[i];
    return block_sum(before) + block_exclusive(value);
}
