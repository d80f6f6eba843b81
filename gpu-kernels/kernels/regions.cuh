// Region matching on the device: what all of its kernels share.
//
// The layouts are those of `regions/cuda/layout.rs`, which are compared when the
// module is loaded.
#pragma once

#include "world.cuh"

constexpr int SIZE_CLASSES = 16;

// Counted in one step, from zero, so all extremes are maxima of numbers made
// non-negative: `~ordered(low)` for a lowest corner.
struct RegionsCounters {
    u64 error;  // the complement of (update << 2 | reason), or 0
    u64 updated[2], added[2], removed[2];
    u64 entries[2];
    u64 found, kept, gained, lost;
    u64 tasks, wide;
    u32 low[2][3], high[2][3];
    u32 count[2][SIZE_CLASSES];
    u32 reach[2][SIZE_CLASSES][3];
};

struct RegionsClass {
    u32 count, base;
    u32 reach[3], shift[3], cells[3];
};
struct RegionsLayout {
    i32 origin[3];
    u32 span[3];
    u32 keys, directory_shift;
    RegionsClass classes[SIZE_CLASSES];
};

// Entries that one query is to be compared with.
struct RegionsTask {
    u32 query, start, end;
};

struct RegionsWorld {
    u32 capacity, number_bits, updates, step;
    u32 key_bits, tasks_max, wide_max, overlaps;
    u64 found_max;
    const i32* words;
    i32* before[2];
    i32* now[2];
    u32* stamps[2];
    u64* claims[2];
    u32* updated[2];
    u32* raw_keys[2];
    u32* raw_entries[2];
    u32* keys[2];
    u32* entries[2];
    i32* motions[2];
    u32* directory[2];
    RegionsLayout* layouts;
    RegionsTask* tasks;
    u32* wide;
    RegionsCounters* counters;
    u64* found;
    u64* sorted;
    u64* output;
};

enum RegionsReason : u32 { NAMED_TWICE = 0, ALREADY_THERE = 1, UNKNOWN = 2 };
enum RegionsKind : u32 { ADD = 0, MODIFY = 1, REMOVE = 2 };
constexpr u32 NUMBER_MASK = (1u << 29) - 1;
constexpr u32 BEFORE_ONLY = 1u << 31, NOW_ONLY = 1u << 30, ENTRY_MASK = NOW_ONLY - 1;
// Whose query a task is: a sorted publication's, or one that stays.
constexpr u32 QUERY_SORTED = 0, QUERY_PUBLICATION = 1, QUERY_SUBSCRIPTION = 2;

template <int D>
struct Aabb {
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

    // Of a region by its number.
    __device__ static Motion of(const RegionsWorld& w, int side, u32 number) {
        Motion m;
        m.before = w.overlaps ? Aabb<D>::nowhere() : Aabb<D>::load(w.before[side], number);
        m.now = Aabb<D>::load(w.now[side], number);
        return m;
    }
    __device__ static Motion load(const i32* motions, u64 i) {
        return {Aabb<D>::load(motions, 2 * i), Aabb<D>::load(motions, 2 * i + 1)};
    }
    __device__ void store(i32* motions, u64 i) const {
        before.store(motions, 2 * i);
        now.store(motions, 2 * i + 1);
    }
    __device__ Aabb<D> of_entry(u32 entry) const {
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

// Places in a list for the threads of a warp that are active together and add to
// the same list: neighbours may be of different sides.
__device__ inline u64 reserve(u64* counter) {
    u32 peers = __match_any_sync(__activemask(), (u64)counter);
    int leader = __ffs(peers) - 1;
    u64 base = 0;
    if ((int)lane() == leader) base = atomicAdd(counter, (u64)__popc(peers));
    return __shfl_sync(peers, base, leader) + __popc(peers & ((1u << lane()) - 1));
}

// Entries of a row that a thread doesn't compare itself.
constexpr u32 TASK_WORTH = 96, TASK_ENTRIES = 1024;
// Rows that a thread doesn't look up itself, and how they are shared out.
constexpr u32 ROWS_WIDE = 64, WIDE_SLICES = 8;
constexpr u32 HITS_KEPT = 1536;

// A block's finds, written out together: one cursor for all blocks would be
// waited for. Their order doesn't show, since all finds are sorted in the end.
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
        u64 p = (publication_first ? one : other) & ENTRY_MASK;
        u64 s = (publication_first ? other : one) & ENTRY_MASK;
        put(w, (u64)!now << (2 * w.number_bits) | p << w.number_bits | s);
    }
    __device__ void put(const RegionsWorld& w, u64 key) {
        u32 place = atomicAdd(&n, 1u);
        if (place < HITS_KEPT) {
            kept[place] = key;
            return;
        }
        u64 at = reserve(&w.counters->found);
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
