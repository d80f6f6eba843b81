// The arguments of a command, and helpers that commands share.
#pragma once
#include "tick/notifications.cuh"
#include "tick/timed.cuh"

struct Invocation {
    u32 slot, generation;
    const i32* words;
    u32 word_count;
};

__device__ inline bool has_column(const World& w, u32 slot, i32 column) {
    return w.kind_columns[w.slot_kinds[slot]] >> column & 1;
}
__device__ inline u32 target(const World& w, u32 from, i32 reference, i32 reach, i32 column) {
    u32 slot = resolve(w, reference);
    bool hit = slot < w.capacity && is_within(position(w, from), position(w, slot), reach) && has_column(w, slot, column);
    return hit ? slot : w.capacity;
}

// The point that a command's first words give, clamped to the world.
__device__ inline Point point_of(const World& w, const Invocation& in) {
    Point point = {{0, 0, 0}};
    for (u32 axis = 0; axis < w.dimensions; axis++) point.p[axis] = min(max(in.words[axis], 0), w.size[axis] - 1);
    return point;
}
