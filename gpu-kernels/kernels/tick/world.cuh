// The world as the tick's kernels see it. `layout.cuh` has its structures, generated from
// `src/tick/cuda/layout.rs`. `World` is passed by value, so it lies in constant memory.
#pragma once
#include "lib/mix.cuh"
#include "lib/scan.cuh"
#include "lib/search.cuh"
#include "lib/warp.cuh"
#include "tick/layout.cuh"

// The slot of no entity.
constexpr u32 NOBODY = 0xffffffffu;

__device__ inline u64 entity_bits(u32 slot, u32 generation) { return (u64)generation << 32 | slot; }

// Scans that overlap have separate partial sums.
__device__ inline u64* partials_of(const World& w, Scan scan) {
    switch (scan) {
    case SCAN_AFTERS:
    case SCAN_ATOMIC_AFTERS: return w.after_partials;
    case SCAN_NOTIFICATIONS:
    case SCAN_ATOMIC_NOTIFICATIONS: return w.notification_partials;
    default: return w.partials;
    }
}
// Every thread gets the block's sum.
__device__ inline u64 put_partial(const World& w, const Tick& t, Scan scan, u64 value) {
    return scan_put(partials_of(w, scan), t.scan_sums + scan * w.scan_groups, value);
}
__device__ inline u64 offset_of(const World& w, const Tick& t, Scan scan, u64 value) {
    return scan_offset(partials_of(w, scan), t.scan_sums + scan * w.scan_groups, value);
}

// Whether commands of a kind that is below COMMANDS_MAX are atomic.
// The reason for which a command had no effect, as the refusal of a client's command has it.
__device__ inline u32 because(const World& w, u32 kind, u32 place) {
    return w.reasoned_kinds[kind >> 6] >> (kind & 63) & 1 ? w.reasons[place] << 8 : 0;
}
__device__ inline bool is_atomic(const World& w, u32 kind) { return w.atomic_kinds[kind >> 6] >> (kind & 63) & 1; }

// Adds a block's values to a part of the state hash. All its threads must call it.
__device__ inline void add_part(Tick& t, u32 part, u64 value) {
    u64 sum = block_sum(value);
    if (threadIdx.x == 0 && sum) atomicAdd(&t.counters->hash[part], sum);
}

// Set in the `word_start` of words that are in `due_words`, not in the frame.
constexpr u32 DUE_WORDS = 0x80000000u;
__device__ inline const i32* words_of(const World& w, const Tick& t, const Command& c) {
    return c.word_start & DUE_WORDS ? w.due_words + (c.word_start & ~DUE_WORDS) : t.words + c.word_start;
}

struct Point {
    i32 p[3];
};

// Whether entities of a kind are things, which are nowhere: their positions can only be 0.
__device__ inline bool is_thing_kind(const World& w, u32 kind) {
    return w.holder_column >= 0 && kind != w.shared_kind && w.bounds[kind * w.columns].y == 0;
}
// Whether an entity lives in a slot that is somewhere in the world.
__device__ inline bool is_somewhere(const World& w, u32 slot) {
    return w.states[slot] == LIVE && slot != w.shared_slot &&
           (w.holder_column < 0 || !is_thing_kind(w, w.slot_kinds[slot]));
}

// The slot of the live entity that a reference names, or capacity.
__device__ inline u32 resolve(const World& w, i32 reference) {
    u32 slot = (u32)reference & 0xffffffu;
    bool meant = slot < w.capacity && w.states[slot] == LIVE && (w.generations[slot] & 0xff) == (u32)reference >> 24;
    return meant ? slot : w.capacity;
}

// The slot of the entity that holds a thing, or of the group of a member, as the column says; capacity
// if it has none, NOBODY if that has ended, can't hold it, or is no group.
__device__ inline u32 related(const World& w, u32 slot, u32 column) {
    i32 reference = w.rows[(u64)slot * w.columns + column];
    if (reference == -1) return w.capacity;
    u32 other = resolve(w, reference);
    if (other == w.capacity) return NOBODY;
    u32 kind = w.slot_kinds[other];
    bool is_thing = is_thing_kind(w, kind);
    if ((i32)column != w.holder_column) return is_thing ? other : NOBODY;
    return is_thing && kind >= w.slot_kinds[slot] ? NOBODY : other;
}

__device__ inline i64 squared_distance(const Point& a, const Point& b) {
    i64 x = (i64)a.p[0] - b.p[0], y = (i64)a.p[1] - b.p[1], z = (i64)a.p[2] - b.p[2];
    return x * x + y * y + z * z;
}
__device__ inline bool is_within(const Point& a, const Point& b, i32 distance) {
    return squared_distance(a, b) <= (i64)distance * distance;
}
__device__ inline Point position(const World& w, u32 slot) {
    Point p = {{0, 0, 0}};
    for (u32 axis = 0; axis < w.dimensions; axis++) p.p[axis] = w.rows[(u64)slot * w.columns + axis];
    return p;
}
// From positions by axis, then place.
__device__ inline Point position_at(const World& w, const i32* positions, u32 i) {
    Point p = {{positions[i], positions[w.capacity + i], 0}};
    if (w.dimensions == 3) p.p[2] = positions[2 * w.capacity + i];
    return p;
}
__device__ inline Point indexed_position(const World& w, u32 i) { return position_at(w, w.index_positions, i); }

// A block of buckets, both ends included.
struct Block {
    u32 low[3], high[3];
};
__device__ inline u32 bucket_of(const World& w, int axis, i64 position) {
    i64 inside = min(max(position, (i64)0), (i64)w.size[axis] - 1);
    return (u32)inside / (u32)w.aoi;
}
__device__ inline Block block_around(const World& w, const Point& center, i32 reach) {
    Block block;
    for (int axis = 0; axis < 3; axis++) {
        block.low[axis] = bucket_of(w, axis, (i64)center.p[axis] - reach);
        block.high[axis] = bucket_of(w, axis, (i64)center.p[axis] + reach);
    }
    return block;
}
__device__ inline Block block_of_neighbours(const World& w, const Point& center) {
    Block block;
    for (int axis = 0; axis < 3; axis++) {
        u32 own = bucket_of(w, axis, center.p[axis]);
        block.low[axis] = own ? own - 1 : 0;
        block.high[axis] = min(own + 1, (u32)w.buckets[axis] - 1);
    }
    return block;
}
// Where a bucket starts in the index; the directory narrows it down to a few entries.
__device__ inline u32 bucket_start(const World& w, u64 key) {
    u32 entry = (u32)(key >> w.directory_shift);
    u32 start = w.directory[entry];
    if (w.directory_shift == 0) return start;
    u32 end = w.directory[entry + 1];
    return start + lower_bound(w.index_keys + start, end - start, key);
}
__device__ inline Range bucket_range(const World& w, u64 bucket) {
    return {bucket_start(w, bucket), bucket_start(w, bucket + 1)};
}
__device__ inline Range row_range(const World& w, const Block& b, u32 y, u32 z) {
    u64 row = ((u64)z * w.buckets[1] + y) * w.buckets[0];
    return {bucket_start(w, row + b.low[0]), bucket_start(w, row + b.high[0] + 1)};
}
