// Region matching on the device: the parts that its kernels share.
#pragma once

#include "lib/warp.cuh"
#include "regions_layout.cuh"

// The `end` of a task that covers rows, not entries.
constexpr u32 ROWS = ~0u;

// An entry: a region's number, its side, and whether it stands for only one of the
// region's boxes.
constexpr u32 NUMBER_MASK = (1u << 29) - 1, SIDE_SHIFT = 29;
constexpr u32 BEFORE_ONLY = 1u << 31, NOW_ONLY = 1u << 30;

template <int D>
struct alignas(D == 2 ? 16 : 4) Aabb {
    i32 low[D], high[D];

    __device__ static Aabb nowhere() {
        Aabb a;
        for (int i = 0; i < D; i++) a.low[i] = 0x7fffffff, a.high[i] = (i32)0x80000000;
        return a;
    }
    __device__ static Aabb load(const i32* boxes, u64 i) {
        Aabb a;
        const i32* from = boxes + i * 2 * D;
        if constexpr (D == 2) {
            int4 v = *(const int4*)from;
            a.low[0] = v.x, a.low[1] = v.y, a.high[0] = v.z, a.high[1] = v.w;
        } else {
            for (int k = 0; k < D; k++) {
                a.low[k] = from[k];
                a.high[k] = from[D + k];
            }
        }
        return a;
    }
    __device__ void store(i32* boxes, u64 i) const {
        i32* to = boxes + i * 2 * D;
        if constexpr (D == 2) {
            *(int4*)to = make_int4(low[0], low[1], high[0], high[1]);
        } else {
            for (int k = 0; k < D; k++) {
                to[k] = low[k];
                to[D + k] = high[k];
            }
        }
    }
    __device__ bool is_nowhere() const { return low[0] == 0x7fffffff; }
    __device__ u32 extent(int i) const { return is_nowhere() ? 0 : (u32)high[i] - (u32)low[i]; }
    __device__ bool overlaps(const Aabb& o) const {
        bool all = true;
        for (int i = 0; i < D; i++) all = all & (low[i] < o.high[i]) & (o.low[i] < high[i]);
        return all;
    }
    __device__ Aabb hull(const Aabb& o) const {
        Aabb h;
        for (int i = 0; i < D; i++) {
            h.low[i] = min(low[i], o.low[i]);
            h.high[i] = max(high[i], o.high[i]);
        }
        return h;
    }
    __device__ int size_class() const {
        u32 longest = 1;
        for (int i = 0; i < D; i++) longest = max(longest, extent(i));
        return (31 - __clz(longest)) / 2;
    }
};

template <int D>
struct Motion {
    Aabb<D> before, now;

    // The boxes of a region by its number.
    __device__ static Motion of(const RegionsWorld& w, int side, u32 number) {
        Motion m;
        m.before = w.overlaps ? Aabb<D>::nowhere() : Aabb<D>::load(w.tables[side].boxes, 2 * (u64)number);
        m.now = Aabb<D>::load(w.tables[side].boxes, 2 * (u64)number + 1);
        return m;
    }
    __device__ static Motion of_entry(const RegionsWorld& w, u32 entry) {
        return of(w, entry >> SIDE_SHIFT & 1, entry & NUMBER_MASK);
    }
    __device__ static Motion nowhere() { return {Aabb<D>::nowhere(), Aabb<D>::nowhere()}; }
    __device__ static Motion load(const i32* motions, u64 i) {
        return {Aabb<D>::load(motions, 2 * i), Aabb<D>::load(motions, 2 * i + 1)};
    }
    __device__ void store(i32* motions, u64 i) const {
        before.store(motions, 2 * i);
        now.store(motions, 2 * i + 1);
    }
    __device__ Aabb<D> box_of(u32 entry) const {
        return entry & BEFORE_ONLY ? before : entry & NOW_ONLY ? now : before.hull(now);
    }
    // Whether the hull would be much larger than either box.
    __device__ bool is_apart() const {
        if (before.is_nowhere() || now.is_nowhere()) return false;
        Aabb<D> h = before.hull(now);
        bool apart = false;
        for (int i = 0; i < D; i++) apart |= h.extent(i) > 2ull * max(before.extent(i), now.extent(i));
        return apart;
    }
};

// Whether the step updates a region.
__device__ inline bool is_updated(const RegionsWorld& w, u32 side, u32 number) {
    return w.overlaps || w.tables[side].stamps[number] == w.step;
}

// Reserves places in a list for `n` items of each thread of a block. All of them must
// call it.
__device__ inline u64 reserve_together(u64* counter, u32 n) {
    __shared__ u64 base;
    u64 before = block_exclusive(n);
    if (threadIdx.x == blockDim.x - 1 && before + n) base = atomicAdd(counter, before + n);
    __syncthreads();
    return base + before;
}

// Whether all other blocks are done, and what they wrote can be read. All threads of
// a block must call it.
__device__ inline bool is_last_block(u64* done) {
    __shared__ bool is_last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(done, 1ull) == gridDim.x - 1;
    __syncthreads();
    __threadfence();
    return is_last;
}

// Sets how many finds are sorted: none if the step failed.
__device__ inline void keep(const RegionsWorld& w) {
    volatile RegionsCounters* c = w.counters;
    if (threadIdx.x == 0) c->kept = c->error || c->found > w.found_max ? 0 : c->found;
}

constexpr u32 HITS_KEPT = 1536;

// A block's finds, written out together, since threads would wait for each other at one
// cursor for all blocks. Their order doesn't matter: all finds are sorted in the end.
struct Hits {
    u64 kept[HITS_KEPT];
    u32 n;
    u64 start;

    __device__ void begin() {
        if (threadIdx.x == 0) n = 0;
        __syncthreads();
    }
    template <int D>
    __device__ void compare(const RegionsWorld& w, bool publication_first, u32 one, const Motion<D>& a, u32 other,
                            const Motion<D>& b) {
        bool before = a.before.overlaps(b.before), now = a.now.overlaps(b.now);
        if (before == now) return;
        u32 flags = one | other;
        if (flags & (now ? BEFORE_ONLY : NOW_ONLY)) return;
        u64 p = (publication_first ? one : other) & NUMBER_MASK;
        u64 s = (publication_first ? other : one) & NUMBER_MASK;
        put(w, (u64)!now << (2 * w.number_bits) | p << w.number_bits | s);
    }
    __device__ void put(const RegionsWorld& w, u64 key) {
        u32 place = atomicAdd(&n, 1u);
        if (place < HITS_KEPT) {
            kept[place] = key;
            return;
        }
        u64 at = atomicAdd(&w.counters->found, 1ull);
        if (at < w.found_max) w.found[at] = key;
    }
    __device__ void end(const RegionsWorld& w) {
        __syncthreads();
        u32 keep = min(n, HITS_KEPT);
        if (threadIdx.x == 0 && keep) start = atomicAdd(&w.counters->found, (u64)keep);
        __syncthreads();
        for (u32 i = threadIdx.x; i < keep; i += blockDim.x)
            if (start + i < w.found_max) w.found[start + i] = kept[i];
    }
};
