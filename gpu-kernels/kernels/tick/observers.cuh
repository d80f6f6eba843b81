// What an observer perceives, and its ranges in the index (thesis 3.5).
#pragma once
#include "tick/regions.cuh"
#include "tick/walls.cuh"

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
    return w.exact ? block_around(w, place.center, place.radius + w.margin) : block_of_neighbours(w, place.center);
}
// Known entities are perceived farther, by the world's margin.
__device__ inline bool perceives(const World& w, const Place& place, const Point& p, bool is_known) {
    if (w.exact) return is_within(p, place.center, place.radius + (is_known ? w.margin : 0));
    Block block = block_of_neighbours(w, place.center);
    for (int axis = 0; axis < 3; axis++) {
        u32 bucket = bucket_of(w, axis, p.p[axis]);
        if (bucket < block.low[axis] || bucket > block.high[axis]) return false;
    }
    return true;
}

// Whether no wall hides an entity from an observer, which sees what it follows.
__device__ inline bool is_in_line(const World& w, const Place& place, u32 slot, const Point& p) {
    return !w.line_of_sight || place.followed == slot || shows(w, place.center, p, slot);
}

// Whether an earlier observer of the client perceives the entity too; where entities may be hidden
// (HIDES), whether it sees it. Kernels that call functions that aren't inlined take the world as a
// grid constant: otherwise each thread would first copy it to addressable memory.
template <bool HIDES>
__device__ __noinline__ bool is_repeated(const World& w, u32 client, u32 index, u32 slot, const Point& p, bool is_known) {
    Place earlier;
    for (u32 i = 0; i < index; i++)
        if (find_place(w, client, i, earlier) && perceives(w, earlier, p, is_known) &&
            (!HIDES || is_in_line(w, earlier, slot, p)))
            return true;
    return false;
}

// What a client's observers reveal together; 0 in worlds that hide nothing.
__device__ inline i32 revealed_to(const World& w, u32 client) {
    i32 bits = 0;
    if (w.hides < 0 || w.reveals < 0) return bits;
    Place place;
    for (u32 i = 0; i < w.observers_per_client; i++)
        if (find_place(w, client, i, place) && place.followed < w.capacity)
            bits |= w.rows[(u64)place.followed * w.columns + w.reveals];
    return bits;
}
// Whether a living entity is hidden from a client. What one of its observers follows is not.
__device__ __noinline__ bool is_hidden(const World& w, u32 client, u32 slot, i32 revealed) {
    if (!(w.rows[(u64)slot * w.columns + w.hides] & ~revealed)) return false;
    Place place;
    for (u32 i = 0; i < w.observers_per_client; i++)
        if (find_place(w, client, i, place) && place.followed == slot) return false;
    return true;
}

__device__ inline u64 square_root(u64 square) {
    u64 root = 0;
    for (u64 bit = 1ull << 31; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= square) root |= bit;
    return root;
}
// A squared distance as it counts: a known entity counts as nearer by the world's margin.
__device__ inline u64 counted(const World& w, u64 distance, bool is_known) {
    if (!is_known || w.margin == 0) return distance;
    u64 root = square_root(distance), shorter = root > (u64)w.margin ? root - w.margin : 0;
    return shorter * shorter;
}

// A candidate's rank is its distance to the nearest of the client's observers, squared, plus 1;
// 0 for an entity that one of them follows, which comes before all others. Where entities may be
// hidden (HIDES), only observers count that see it.
template <bool HIDES>
__device__ __noinline__ u64 rank_of(const World& w, u32 client, u32 slot, const Point& p, bool is_known) {
    u64 best = ~0ull;
    Place place;
    for (u32 i = 0; i < w.observers_per_client; i++) {
        if (!find_place(w, client, i, place) || !perceives(w, place, p, is_known)) continue;
        if (place.followed == slot) return 0;
        if (HIDES && !is_in_line(w, place, slot, p)) continue;
        best = min(best, counted(w, squared_distance(p, place.center), is_known) + 1);
    }
    return best;
}

// A slot with its tier, as views and known sets hold it: such words ascend as slots do.
__device__ inline u32 word_of(const World& w, u32 slot, u64 rank) {
    u64 distance = rank ? rank - 1 : 0;
    u32 tier = 0;
    for (int i = 0; i < 3; i++) tier += distance > w.tiers[i];
    return slot << TIER_BITS | tier;
}
__device__ inline u32 slot_of(u32 word) { return word >> TIER_BITS; }
// What a client knows, as ascending words.
struct Known {
    const u32* words;
    u32 n;
    // Where a slot is, or would be inserted.
    __device__ u32 place_of(u32 slot) const { return lower_bound(words, n, slot << TIER_BITS); }
    __device__ bool has(u32 slot) const {
        u32 at = place_of(slot);
        return at < n && slot_of(words[at]) == slot;
    }
};

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
