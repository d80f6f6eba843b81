// Sums over a warp and over a block.
#pragma once
#include "lib/types.cuh"

// The sum of the values of the lanes up to this one. All lanes call it.
template <class N>
__device__ inline N warp_inclusive(N value) {
    for (int d = 1; d < 32; d <<= 1) {
        N other = __shfl_up_sync(~0u, value, d);
        if ((int)lane() >= d) value += other;
    }
    return value;
}

// The number of lanes before this one whose flag is set; `total` counts all such lanes.
__device__ inline u32 warp_prefix(bool flag, u32& total) {
    u32 lanes = __ballot_sync(~0u, flag);
    total = __popc(lanes);
    return __popc(lanes & ((1u << lane()) - 1));
}

// Calls `visit(is_one, place)` on all lanes of a warp for the places of the ranges
// that its lanes hold, 32 at a time and in the lanes' order.
template <class Visit>
__device__ void each_place(Range own, Visit visit) {
    u32 end = warp_inclusive(own.end - own.start);
    u32 total = __shfl_sync(~0u, end, 31), offset = own.end - end;
    for (u32 base = 0; base < total; base += 32) {
        u32 i = base + lane(), owner = 0;
        for (u32 half = 16; half; half >>= 1)
            if (i >= __shfl_sync(~0u, end, owner + half - 1)) owner += half;
        u32 place = __shfl_sync(~0u, offset, owner) + i;
        visit(i < total, place);
    }
}

// Sums over a block; every thread gets the sum.
__device__ inline u64 block_sum(u64 value) {
    __shared__ u64 sums[32];
    for (int d = 16; d; d >>= 1) value += __shfl_down_sync(~0u, value, d);
    __syncthreads();
    if (lane() == 0) sums[threadIdx.x >> 5] = value;
    __syncthreads();
    u64 sum = 0;
    for (u32 i = 0; i < blockDim.x >> 5; i++) sum += sums[i];
    return sum;
}

// The sum of the values of the threads before this one in the block.
__device__ inline u64 block_exclusive(u64 value) {
    __shared__ u64 sums[32];
    u64 inclusive = warp_inclusive(value);
    __syncthreads();
    if (lane() == 31) sums[threadIdx.x >> 5] = inclusive;
    __syncthreads();
    u64 before = 0;
    for (u32 i = 0; i < threadIdx.x >> 5; i++) before += sums[i];
    return before + inclusive - value;
}

// Adds to a counter, once per block: atomics on one address are serialized. All threads of
// the block must call these.
__device__ inline void count(u64* counter, bool flag) {
    u32 n = __syncthreads_count(flag);
    if (threadIdx.x == 0 && n) atomicAdd(counter, (u64)n);
}
__device__ inline void add_once(u64* counter, u64 block_total) {
    if (threadIdx.x == 0 && block_total) atomicAdd(counter, block_total);
}
