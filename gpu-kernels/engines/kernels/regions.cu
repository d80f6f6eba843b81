// Region matching on the device: reads a step's updates, builds the index of our approach,
// and outputs the pairs. `regions/cuda/launcher.rs` has the launches of a step.
#include "lib/search.cuh"
#include "regions.cuh"

// Cells are 2^3 times as high as they are wide, at first.
constexpr int NARROWER = 3;
constexpr u32 CELLS_PER_ENTRY = 2, CELLS_FEW = 8;

__device__ inline u32 ordered(i32 n) { return (u32)n ^ 0x80000000u; }
__device__ inline i32 unordered(u32 n) { return (i32)(n ^ 0x80000000u); }
// Reads first: most threads have nothing to raise, and atomics are slow.
__device__ inline void raise(u32* to, u32 value) {
    if (*(volatile u32*)to < value) atomicMax(to, value);
}
__device__ inline void refuse(const RegionsWorld& w, u32 update, u32 reason) {
    atomicMax(&w.counters->error, ~((u64)update << 2 | reason));
}

// Extremes and counts of a block's entries.
struct BlockStatistics {
    u32 low[2][3], high[2][3], count[2][SIZE_CLASSES], reach[2][SIZE_CLASSES][3];

    // All threads of the block must call `begin` and `end`.
    __device__ void begin() {
        for (u32 i = threadIdx.x; i < sizeof(*this) / 4; i += blockDim.x) ((u32*)this)[i] = 0;
        __syncthreads();
    }
    template <int D>
    __device__ void add(u32 side, const Aabb<D>& box) {
        int k = box.size_class();
        u32 peers = __match_any_sync(__activemask(), side * SIZE_CLASSES + k);
        if (__ffs(peers) - 1 == (int)lane()) atomicAdd(&count[side][k], (u32)__popc(peers));
        for (int a = 0; a < D; a++) {
            raise(&low[side][a], ~ordered(box.low[a]));
            raise(&high[side][a], ordered(box.low[a]));
            raise(&reach[side][k][a], box.extent(a));
        }
    }
    __device__ void end(RegionsCounters* c) {
        __syncthreads();
        for (u32 i = threadIdx.x; i < 6; i += blockDim.x) {
            if (((u32*)low)[i]) raise((u32*)c->low + i, ((u32*)low)[i]);
            if (((u32*)high)[i]) raise((u32*)c->high + i, ((u32*)high)[i]);
        }
        for (u32 i = threadIdx.x; i < 2 * SIZE_CLASSES; i += blockDim.x)
            if (((u32*)count)[i]) atomicAdd((u32*)c->count + i, ((u32*)count)[i]);
        for (u32 i = threadIdx.x; i < 2 * SIZE_CLASSES * 3; i += blockDim.x)
            if (((u32*)reach)[i]) raise((u32*)c->reach + i, ((u32*)reach)[i]);
    }
};

// Adds the entries of an updated region, where `is_one`. All threads of the block must call it.
template <int D>
__device__ void put_entries(const RegionsWorld& w, BlockStatistics& all, bool is_one, u32 side, u32 number,
                            const Motion<D>& m) {
    bool is_apart = is_one && m.is_apart();
    u32 n = is_apart ? 2 : is_one && !(m.before.is_nowhere() && m.now.is_nowhere());
    u64 place = reserve_together(&w.counters->entries, n);
    u32 entry = side << SIDE_SHIFT | number;
    if (is_apart) {
        w.raw_entries[place] = entry | BEFORE_ONLY;
        w.raw_entries[place + 1] = entry | NOW_ONLY;
        all.add(side, m.before);
        all.add(side, m.now);
    } else if (n) {
        w.raw_entries[place] = entry;
        all.add(side, m.before.hull(m.now));
    }
    if (!w.listed) return;
    for (u32 s = 0; s < 2; s++) {
        place = reserve_together(&w.counters->updated[s], is_one && side == s);
        if (is_one && side == s) w.tables[s].updated[place] = number;
    }
}

__device__ inline u64 warp_sum(u64 n) {
    for (int d = 16; d; d >>= 1) n += __shfl_xor_sync(~0u, n, d);
    return n;
}
__device__ inline u64 warp_max(u64 n) {
    for (int d = 16; d; d >>= 1) n = max(n, __shfl_xor_sync(~0u, n, d));
    return n;
}

template <int D>
struct ClassShape {
    RegionsClass c;
    __device__ void cut(const u32* span) {
        for (int a = 0; a < 3; a++) c.cells[a] = a < D ? (span[a] >> c.shift[a]) + 1 : 1;
    }
    __device__ u64 keys() const {
        if (!c.count) return 0;
        u64 n = 1;
        for (int a = 0; a < D; a++) n = min(n, 1ull << 31) * c.cells[a];
        return n;
    }
    __device__ void coarsen(const u32* span) {
        int axis = 0;
        for (int a = 1; a < D; a++)
            if (c.cells[a] >= c.cells[axis]) axis = a;
        c.shift[axis]++;
        cut(span);
    }
};

// Chooses how entries are keyed; `regions/cpu/layout.rs` says why. Cells are few enough for
// a directory of all of them, so no key has to be searched for. Each side has a warp, each
// size class a lane; all threads of a block call it.
template <int D>
__device__ void layout(const RegionsWorld& w) {
    __shared__ u32 keys_of[2];
    const volatile RegionsCounters& c = *w.counters;
    u32 side = threadIdx.x / 32, own = lane();
    ClassShape<D> shape = {};
    u64 inclusive = 0;
    if (side < 2) {
        RegionsSide& l = w.layout->sides[side];
        u32 n = own < SIZE_CLASSES ? c.count[side][own] : 0;
        u32 used = __ballot_sync(~0u, n > 0);
        u64 entries = warp_sum(n);
        u32 span[3] = {0, 0, 0};
        for (int a = 0; a < D; a++) {
            i32 low = unordered(~c.low[side][a]), high = unordered(c.high[side][a]);
            span[a] = entries ? (u32)high - (u32)low : 0;
            if (own == 0) l.origin[a] = low, l.span[a] = span[a];
        }
        if (own == 0) l.entries = (u32)entries, l.used = used;
        if (own < SIZE_CLASSES) {
            shape.c.count = n;
            for (int a = 0; a < D; a++) {
                u32 reach = c.reach[side][own][a];
                int cell = reach > 1 ? 32 - __clz(reach - 1) : 0;
                shape.c.reach[a] = reach;
                shape.c.shift[a] = a ? min(cell, 31) : max(cell - NARROWER, 0);
            }
            shape.cut(span);
            while (shape.keys() > (u64)n * CELLS_PER_ENTRY + CELLS_FEW) shape.coarsen(span);
        }
        u64 keys_max = 1ull << (min(w.key_bits, 31u) - 1);
        while (warp_sum(shape.keys()) > keys_max) {
            u64 largest = warp_max(shape.keys());
            if (shape.keys() == largest) shape.coarsen(span);
        }
        inclusive = warp_inclusive(shape.keys());
        if (own == 31) keys_of[side] = (u32)inclusive;
    }
    __syncthreads();
    if (side < 2 && own < SIZE_CLASSES) {
        shape.c.base = (u32)(inclusive - shape.keys()) + (side ? keys_of[0] : 0);
        w.layout->sides[side].classes[own] = shape.c;
    }
    if (threadIdx.x == 0) w.layout->keys = keys_of[0] + keys_of[1];
}

// Checks the updates and makes entries from them. Each update claims its region; if a
// region is named twice, the second update sees the claim of the first.
template <int D>
__device__ void apply(const RegionsWorld& w) {
    __shared__ BlockStatistics all;
    all.begin();
    u32 i = thread_index();
    bool is_one = false;
    u32 side = 0, kind = MODIFY, number = 0;
    Motion<D> m = Motion<D>::nowhere();
    if (i < w.updates) {
        const i32* update = w.words + (u64)i * (1 + 2 * D);
        u32 header = (u32)update[0];
        side = header >> 31, kind = header >> 29 & 3, number = header & NUMBER_MASK;
        // Later steps have smaller claims, so claims are never cleared.
        u64 other = atomicMin(&w.tables[side].claims[number], (u64)~w.step << 32 | i);
        is_one = (u32)(other >> 32) != ~w.step;
        if (!is_one) refuse(w, max((u32)other, i), NAMED_TWICE);
        m.before = Aabb<D>::load(w.tables[side].boxes, 2 * (u64)number);
        if (m.before.is_nowhere() != (kind == ADD)) refuse(w, i, kind == ADD ? ALREADY_THERE : UNKNOWN);
        for (int a = 0; a < D; a++) {
            m.now.low[a] = update[1 + a];
            m.now.high[a] = update[1 + D + a];
        }
        m.now.store(w.tables[side].boxes, 2 * (u64)number + 1);
        w.tables[side].stamps[number] = w.step;
    }
    for (u32 s = 0; s < 2; s++) {
        count(&w.counters->added[s], is_one && side == s && kind == ADD);
        count(&w.counters->removed[s], is_one && side == s && kind == REMOVE);
    }
    put_entries(w, all, is_one, side, number, m);
    all.end(w.counters);
    if (is_last_block(&w.counters->done[0])) layout<D>(w);
}

// All regions become entries, as if they had just been added.
template <int D>
__device__ void enlist(const RegionsWorld& w) {
    __shared__ BlockStatistics all;
    all.begin();
    u32 i = thread_index();
    u32 side = i >= w.capacity, number = side ? i - w.capacity : i;
    Motion<D> m = Motion<D>::nowhere();
    if (number < w.capacity) m = Motion<D>::of(w, side, number);
    put_entries(w, all, !m.now.is_nowhere(), side, number, m);
    all.end(w.counters);
    if (is_last_block(&w.counters->done[0])) layout<D>(w);
}

template <int D>
__device__ void keys(const RegionsWorld& w) {
    u32 i = thread_index();
    if (w.counters->error || i >= w.counters->entries) return;
    u32 entry = w.raw_entries[i];
    Aabb<D> box = Motion<D>::of_entry(w, entry).box_of(entry);
    const RegionsSide& l = w.layout->sides[entry >> SIDE_SHIFT & 1];
    const RegionsClass& c = l.classes[box.size_class()];
    u32 key = 0;
    for (int a = D - 1; a >= 0; a--) key = key * c.cells[a] + (((u32)box.low[a] - (u32)l.origin[a]) >> c.shift[a]);
    w.raw_keys[i] = c.base + key;
}

// Runs after the sort: stores the boxes in order, and where each key begins.
template <int D>
__device__ void gather(const RegionsWorld& w) {
    u32 i = thread_index();
    if (w.counters->error) return;
    u32 n = (u32)w.counters->entries;
    if (i < n) Motion<D>::of_entry(w, w.entries[i]).store(w.motions, i);
    if (i <= w.layout->keys) w.directory[i] = lower_bound(w.keys, n, i);
}

// Turns sorted finds into pairs: gained ones, then lost ones. The current boxes become the
// previous ones, or are restored from them if the step failed.
template <int D>
__device__ void give(const RegionsWorld& w) {
    RegionsCounters& c = *w.counters;
    u64 n = c.kept;
    u64 mask = (1ull << w.number_bits) - 1;
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        u64 key = w.sorted[i];
        bool is_last_gained = !(key >> 2 * w.number_bits) && (i + 1 == n || w.sorted[i + 1] >> 2 * w.number_bits);
        if (is_last_gained) c.gained = i + 1;
        w.output[i] = (key >> w.number_bits & mask) << 32 | (key & mask);
    }
    bool failed = c.error || c.found > w.found_max;
    for (u64 i = thread_index(); i < w.updates; i += thread_count()) {
        u32 header = (u32)w.words[i * (1 + 2 * D)];
        u32 side = header >> 31;
        u64 before = 2 * (u64)(header & NUMBER_MASK), now = before + 1;
        i32* regions = w.tables[side].boxes;
        if (failed) Aabb<D>::load(regions, before).store(regions, now);
        else Aabb<D>::load(regions, now).store(regions, before);
    }
}

template <int D>
__device__ void empty(const RegionsWorld& w) {
    u32 i = thread_index();
    if (i >= w.capacity) return;
    for (int side = 0; side < 2; side++) {
        Motion<D>::nowhere().store(w.tables[side].boxes, i);
        w.tables[side].claims[i] = ~0ull;
        w.tables[side].stamps[i] = 0;
    }
}

#define IN_DIMENSIONS(D)                                                                       \
    KERNEL regions_empty_##D(RegionsWorld w) { empty<D>(w); }                                  \
    KERNEL __launch_bounds__(BLOCK) regions_apply_##D(RegionsWorld w) { apply<D>(w); }     \
    KERNEL __launch_bounds__(BLOCK) regions_enlist_##D(RegionsWorld w) { enlist<D>(w); }       \
    KERNEL regions_keys_##D(RegionsWorld w) { keys<D>(w); }                                    \
    KERNEL regions_gather_##D(RegionsWorld w) { gather<D>(w); }                                \
    KERNEL regions_give_##D(RegionsWorld w) { give<D>(w); }
IN_DIMENSIONS(1)
IN_DIMENSIONS(2)
IN_DIMENSIONS(3)
#undef IN_DIMENSIONS
