// The paper's three ways of selection (section 3.2) alone, for its figure 10: they list the
// places of the numbers below a bound.
#include "events.cuh"
#include "lib/scan.cuh"

constexpr u32 TILE = 16 * BLOCK;

KERNEL events_select_fill(u32* numbers, u32 n, u64 seed) {
    for (u32 i = thread_index(); i < n; i += thread_count()) numbers[i] = (u32)(mix(seed, i) >> 32);
}

// One atomic per selected number.
KERNEL __launch_bounds__(BLOCK) events_select_atomic(const u32* numbers, u32 n, u32 bound, u32* count, u32* places) {
    for (u32 i = thread_index(); i < n; i += thread_count())
        if (numbers[i] < bound) places[take_place(count)] = i;
}

// Count, scan and store: one tile of TILE numbers per block.
KERNEL __launch_bounds__(BLOCK) events_select_count(const u32* numbers, u32 n, u32 bound, u64* partials) {
    u32 own = 0;
    for (u32 k = 0; k < TILE; k += BLOCK) {
        u32 i = blockIdx.x * TILE + k + threadIdx.x;
        own += i < n && numbers[i] < bound;
    }
    scan_put(partials, nullptr, own);
}
KERNEL __launch_bounds__(BLOCK)
    events_select_store(const u32* numbers, u32 n, u32 bound, const u64* partials, u32* count, u32* places) {
    // Each thread takes sixteen neighbours, which keeps the order.
    u32 first = blockIdx.x * TILE + threadIdx.x * 16, own = 0;
    for (u32 k = 0; k < 16; k++) own += first + k < n && numbers[first + k] < bound;
    u32 place = (u32)scan_offset(partials, nullptr, own);
    for (u32 k = 0; k < 16; k++)
        if (first + k < n && numbers[first + k] < bound) places[place++] = first + k;
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == BLOCK - 1) *count = place;
}

// A warp votes over 1,024 numbers and takes their places at once.
KERNEL __launch_bounds__(BLOCK) events_select_hybrid(const u32* numbers, u32 n, u32 bound, u32* count, u32* places) {
    u32 warps = thread_count() >> 5;
    for (u32 group = (thread_index() >> 5) * 1024; group < n; group += warps * 1024) {
        u32 own = 0;
#pragma unroll 8
        for (u32 k = 0; k < 32; k++) {
            u32 i = group + k * 32 + lane();
            u32 votes = __ballot_sync(~0u, i < n && numbers[i] < bound);
            if (k == lane()) own = votes;
        }
        u32 sum = warp_inclusive((u32)__popc(own)), base = 0;
        if (lane() == 31 && sum) base = atomicAdd(count, sum);
        base = __shfl_sync(~0u, base, 31) + sum - __popc(own);
        for (u32 k = 0; k < 32; k++) {
            u32 votes = __shfl_sync(~0u, own, k), start = __shfl_sync(~0u, base, k);
            if (votes >> lane() & 1)
                places[start + __popc(votes & ((1u << lane()) - 1))] = group + k * 32 + lane();
        }
    }
}
