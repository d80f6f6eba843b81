// What an observer perceives, and its ranges in the index (thesis 3.5).
#pragma once
#include "tick/regions.cuh"

// Where an observer is, and how far it perceives.
struct Place {
    Point center;
    i32 radius;
    u32 followed;  // a slot, or capacity
};

__device__ inline bool find_place(const World& w, u32 client, u32 index, Place& place) {
    Observer o = w.observers[client * w.observers_per_client + index];
    if (o.tag == 0) return false;
    place.radius = min(o.radius, w.aoi);
    place.followed = w.capacity;
    if (o.tag == 2) {
        place.center = {{o.a, o.b, o.c}};
        return true;
    }
    u32 slot = (u32)o.a;
    if (slot >= w.capacity || w.states[slot] != LIVE || w.generations[slot] != (u32)o.b) return false;
    place.center = position(w, slot);
    place.followed = slot;
    return true;
}
__device__ inline Block block_of(const World& w, const Place& place) {
    return w.exact ? block_around(w, place.center, place.radius) : block_of_neighbours(w, place.center);
}
__device__ inline bool perceives(const World& w, const Place& place, const Point& p) {
    if (w.exact) return is_within(p, place.center, place.radius);
    Block block = block_of_neighbours(w, place.center);
    for (int axis = 0; axis < 3; axis++) {
        u32 bucket = bucket_of(w, axis, p.p[axis]);
        if (bucket < block.low[axis] || bucket > block.high[axis]) return false;
    }
    return true;
}

// Whether an earlier observer of the client perceives the point too. Kernels that call
// functions that aren't inlined take the world as a grid constant: otherwise each thread
// would first copy it to addressable memory.
__device__ __noinline__ bool is_repeated(const World& w, u32 client, u32 index, const Point& p) {
    Place earlier;
    for (u32 i = 0; i < index; i++)
        if (find_place(w, client, i, earlier) && perceives(w, earlier, p)) return true;
    return false;
}

// A candidate's distance to the nearest of the client's observers; 0 for an entity
// that one of them follows, which comes before all others.
__device__ inline u64 rank_of(const World& w, u32 client, u32 slot, const Point& p) {
    u64 best = ~0ull;
    Place place;
    for (u32 i = 0; i < w.observers_per_client; i++) {
        if (!find_place(w, client, i, place) || !perceives(w, place, p)) continue;
        if (place.followed == slot) return 0;
        best = min(best, (u64)squared_distance(p, place.center) + 1);
    }
    return best;
}

// The range of the index for one row of buckets that an observer touches. Each row has its
// own thread, since binary searches mostly wait for memory.
__device__ inline Range observer_range(const World& w, u32 observer, u32 row) {
    Place place;
    if (!find_place(w, observer / w.observers_per_client, observer % w.observers_per_client, place)) return {0, 0};
    Block block = block_of(w, place);
    u32 rows_y = block.high[1] - block.low[1] + 1;
    u32 y = block.low[1] + row % rows_y, z = block.low[2] + row / rows_y;
    if (z > block.high[2]) return {0, 0};
    return row_range(w, block, y, z);
}
// Shared memory of a warp, `words` long.
__device__ inline u32* warp_memory(u32 words) {
    extern __shared__ u32 shared_words[];
    return shared_words + (threadIdx.x >> 5) * words;
}
// The client that a warp serves.
__device__ inline u32 warp_client(const Tick& t) { return t.client_first + (thread_index() >> 5); }
