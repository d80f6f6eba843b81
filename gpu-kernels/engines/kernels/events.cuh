// Parts that the event kernels share: the random draws and the exponential distribution of
// `events/random.rs`, and what it takes to run many windows without leaving the device.
#pragma once
#include "events_layout.cuh"
#include "lib/mix.cuh"
#include "lib/warp.cuh"

// The first two outputs of xoshiro256++ for (seed, process, number).
struct Draw {
    u64 s0, s1, s2, s3;
    __device__ Draw(u64 seed, u32 process, u32 number) {
        u64 key = mix(seed, (u64)process << 32 | number);
        s0 = split_mix(key + SPLIT_MIX_STEP);
        s1 = split_mix(key + 2 * SPLIT_MIX_STEP);
        s2 = split_mix(key + 3 * SPLIT_MIX_STEP);
        s3 = split_mix(key + 4 * SPLIT_MIX_STEP);
    }
    __device__ u64 first() const { return rotate_left(s0 + s3, 23) + s0; }
    // s0 and s3 as the generator's step leaves them.
    __device__ u64 second() const {
        u64 t0 = s0 ^ s3 ^ s1, t3 = rotate_left(s3 ^ s1, 45);
        return rotate_left(t0 + t3, 23) + t0;
    }
};

__device__ inline u32 negative_logarithm(u32 bits) {
    const i64 q[8] = {1073741824, -536857400, 357456198, -263710513, 191889141, -116878325, 47827181, -9206988};
    u64 v = (u64)bits * 2 + 1;
    int k = 63 - __clzll(v);
    i64 f = (u32)(v << 32 >> k);
    i64 sum = 0;
    for (int i = 7; i >= 0; i--) sum = q[i] + ((sum * f) >> 32);
    i64 logarithm = (i64)(33 - k) * 744261118 - ((sum * f) >> 32);
    return (u32)(max(logarithm, (i64)0) >> 3);
}
__device__ inline u64 exponential(u32 mean, u32 bits) { return ((u64)mean * negative_logarithm(bits)) >> 27; }
__device__ inline u32 later(u32 time, u64 ticks) { return (u32)min((u64)time + ticks, (u64)NEVER); }

// Loads that see what other blocks stored before the last barrier.
__device__ inline u32 load(const u32* p) { return __ldcg(p); }
__device__ inline uint2 load(const uint2* p) { return __ldcg(p); }

// Takes one place. In assembly, since the compiler would merge a warp's additions into one,
// which is the hybrid way.
__device__ inline u32 take_place(u32* count) {
    u32 place;
    asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(place) : "l"(count) : "memory");
    return place;
}

// A barrier for all blocks of the grid, which must all be running. After it, each block
// sees what the others wrote before it.
__device__ inline void grid_barrier(EventControl* control, u64& passed) {
    __syncthreads();
    passed += gridDim.x;
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&control->barrier, 1ull);
        u64 arrived;
        do {
            asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(arrived) : "l"(&control->barrier) : "memory");
        } while (arrived < passed);
        __threadfence();
    }
    __syncthreads();
}

// Adds a block's values to a sum.
__device__ inline void add_block(u64* sum, u64 value) {
    value = block_sum(value);
    if (threadIdx.x == 0 && value) atomicAdd(sum, value);
}

// The least of a block's values; thread 0 gets it.
__device__ inline u32 block_least(u32 value) {
    __shared__ u32 leasts[32];
    value = __reduce_min_sync(~0u, value);
    __syncthreads();
    if (lane() == 0) leasts[threadIdx.x >> 5] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < blockDim.x >> 5 ? leasts[threadIdx.x] : NEVER;
        value = __reduce_min_sync(~0u, value);
    }
    return value;
}
