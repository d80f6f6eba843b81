// The hash and random numbers of shared/src/world/mix.rs.
#pragma once
#include "lib/types.cuh"

__device__ inline u64 mix(u64 a, u64 b) {
    a ^= 0xa0761d6478bd642full;
    b ^= 0xe7037ed1a0b428dbull;
    return (a * b) ^ __umul64hi(a, b);
}

// The finalizer of splitmix64.
__device__ inline u64 split_mix(u64 z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
constexpr u64 SPLIT_MIX_STEP = 0x9e3779b97f4a7c15ull;

__device__ inline u64 rotate_left(u64 x, int k) { return (x << k) | (x >> (64 - k)); }

// xoshiro256++.
struct Random {
    u64 s[4];
    __device__ Random(u64 world_seed, u64 tick, u64 entity) {
        u64 x = ~mix(mix(world_seed, tick), entity);
        for (int i = 0; i < 4; i++) {
            x += SPLIT_MIX_STEP;
            s[i] = split_mix(x);
        }
    }
    __device__ u64 next() {
        u64 result = rotate_left(s[0] + s[3], 23) + s[0];
        u64 t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = rotate_left(s[3], 45);
        return result;
    }
    __device__ u32 below(u32 bound) { return (u32)(((next() >> 32) * (u64)bound) >> 32); }
};
