// The embers that a blast leaves, and the damage that both do around a point.
#pragma once
#include "logic/invocation.cuh"

// Makes embers burn around a point for `ticks` ticks, from the next tick on.
template <class Emit>
__device__ void kindle(const World& w, const Point& center, i32 ticks, Emit& emit) {
    if (ticks <= 0) return;
    Timed timed(0, 0xffffffffu, 0, BURN, w.dimensions + 1);
    for (u32 axis = 0; axis < 3; axis++)
        if (axis < w.dimensions) timed.column[TIMED_WORD + axis] = (u32)center.p[axis];
    timed.column[TIMED_WORD + w.dimensions] = (u32)ticks;
    emit.after(1, timed);
}

// Takes hit points from everyone around a point but one.
template <class Emit>
__device__ void hurt(const World& w, const Point& center, u32 except, i32 damage, Emit& emit) {
    if (!Emit::UPDATES) return;
    u32 n = (u32)*w.index_len;
    Block block = block_around(w, center, w.blast_radius);
    u64 rows = (u64)(block.high[1] - block.low[1] + 1) * (block.high[2] - block.low[2] + 1);
    auto look_at = [&](Range range) {
        for (u32 i = range.start; i < range.end; i++) {
            u32 slot = w.index_slots[i];
            if (slot != except && is_within(indexed_position(w, i), center, w.blast_radius) && has_column(w, slot, w.hp))
                emit.update(slot, w.hp, -damage);
        }
    };
    if (rows > n) {
        look_at({0, n});
        return;
    }
    for (u32 z = block.low[2]; z <= block.high[2]; z++)
        for (u32 y = block.low[1]; y <= block.high[1]; y++) look_at(row_range(w, block, y, z));
}

template <class Emit>
__device__ void burn(const World& w, const Invocation& in, Emit& emit) {
    Point center = point_of(w, in);
    kindle(w, center, max(in.words[w.dimensions], 1) - 1, emit);
    hurt(w, center, w.capacity, w.ember_damage, emit);
}
