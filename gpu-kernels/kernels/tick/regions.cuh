// Regions of clients and entities, and how boxes are sorted (`space/levels.rs`). Kernels of
// worlds with regions take `Regions` beside world and tick.
#pragma once
#include "tick/world.cuh"

struct Box {
    i32 low[3], high[3];

    __device__ bool overlaps(const Box& o) const {
        bool all = true;
        for (int a = 0; a < 3; a++) all = all & (low[a] < o.high[a]) & (o.low[a] < high[a]);
        return all;
    }
    __device__ bool contains(const Point& p) const {
        bool all = true;
        for (int a = 0; a < 3; a++) all = all & (low[a] <= p.p[a]) & (p.p[a] < high[a]);
        return all;
    }
    __device__ static Box load(const i32* boxes, u64 i) {
        Box b;
        for (int a = 0; a < 3; a++) b.low[a] = boxes[6 * i + a], b.high[a] = boxes[6 * i + 3 + a];
        return b;
    }
    __device__ void store(i32* boxes, u64 i) const {
        for (int a = 0; a < 3; a++) boxes[6 * i + a] = low[a], boxes[6 * i + 3 + a] = high[a];
    }
};

// The box of a region; false if the region is nowhere.
__device__ inline bool find_box(const World& w, const Region& r, Box& box) {
    if (r.tag == 0) return false;
    Point offset = {{0, 0, 0}};
    if (r.tag == 2) {
        if (r.slot >= w.capacity || w.states[r.slot] != LIVE || w.generations[r.slot] != r.generation) return false;
        offset = position(w, r.slot);
    }
    for (int a = 0; a < 3; a++) box.low[a] = r.low[a] + offset.p[a], box.high[a] = r.high[a] + offset.p[a];
    return true;
}

// The box in which a living entity is published beside its position. Dead entities'
// publications are not cleared; newborns overwrite them.
__device__ inline bool find_publication(const World& w, const Regions& h, u32 slot, Box& box) {
    return h.of_entities && w.states[slot] == LIVE && find_box(w, h.publications[slot], box);
}

// A client's subscriptions: its own regions by index, then those of the entities that
// its observers follow, by observer.
__device__ inline u32 subscriptions_max(const World& w, const Regions& h) {
    return h.per_client + (h.of_entities ? w.observers_per_client : 0);
}
__device__ inline bool find_subscription(const World& w, const Regions& h, u32 client, u32 index, Box& box) {
    if (index < h.per_client) return find_box(w, h.clients[(u64)client * h.per_client + index], box);
    Observer o = w.observers[client * w.observers_per_client + index - h.per_client];
    u32 slot = (u32)o.a;
    if (o.tag != 1 || slot >= w.capacity || w.states[slot] != LIVE || w.generations[slot] != (u32)o.b) return false;
    return find_box(w, h.subscriptions[slot], box);
}

// The cell of the nearest point inside the world.
__device__ inline u32 cell_of(const World& w, const Level& l, int axis, i64 position) {
    return (u32)min(max(position, (i64)0), (i64)w.size[axis] - 1) / l.edge;
}
__device__ inline u64 row_key(const Level& l, u32 y, u32 z) {
    return l.base + ((u64)z * l.cells[1] + y) * l.cells[0];
}
__device__ inline u64 key_of(const World& w, const Regions& h, const Box& box) {
    u32 longest = 0;
    for (int a = 0; a < 3; a++) longest = max(longest, (u32)box.high[a] - (u32)box.low[a]);
    u32 n = 0;
    while (n + 1 < h.levels && h.level[n].edge < longest) n++;
    const Level& l = h.level[n];
    return row_key(l, cell_of(w, l, 1, box.low[1]), cell_of(w, l, 2, box.low[2])) + cell_of(w, l, 0, box.low[0]);
}

// Calls `visit(is_one, slot, position)` on all lanes for the entities in a box, in the
// index's order.
template <class Visit>
__device__ void each_in_box(const World& w, const Box& box, Visit visit) {
    Block block;
    for (int a = 0; a < 3; a++) {
        block.low[a] = bucket_of(w, a, box.low[a]);
        block.high[a] = bucket_of(w, a, (i64)box.high[a] - 1);
    }
    auto look_at = [&](bool is_one, u32 i) {
        Point p = {{0, 0, 0}};
        u32 slot = w.capacity;
        if (is_one) {
            p = indexed_position(w, i);
            slot = w.index_slots[i];
        }
        visit(is_one && box.contains(p), slot, p);
    };
    u32 n = (u32)*w.index_len, rows_y = block.high[1] - block.low[1] + 1;
    u64 rows = (u64)rows_y * (block.high[2] - block.low[2] + 1);
    // A long box can touch more rows of buckets than there are entities.
    if (rows > n) {
        each_place(lane() == 0 ? Range{0, n} : Range{0, 0}, look_at);
        return;
    }
    for (u32 base = 0; base < rows; base += 32) {
        u32 row = base + lane();
        Range own = {0, 0};
        if (row < rows) own = row_range(w, block, block.low[1] + row % rows_y, block.low[2] + row / rows_y);
        each_place(own, look_at);
    }
}

// Calls `visit(is_one, number)` on all lanes for the indexed boxes that overlap `box`,
// ordered by level, cell and number.
template <class Visit>
__device__ void each_overlapping(const World& w, const Regions& h, const BoxIndex& index, const Box& box, Visit visit) {
    auto look_at = [&](bool is_one, u32 i) {
        bool overlaps = is_one && box.overlaps(Box::load(index.boxes, i));
        visit(overlaps, overlaps ? index.numbers[i] : 0);
    };
    for (u32 n = 0; n < h.levels; n++) {
        u32 start = index.starts[n], end = index.starts[n + 1];
        if (start == end) continue;
        const Level& l = h.level[n];
        u32 low[3], high[3];
        for (int a = 0; a < 3; a++) {
            low[a] = cell_of(w, l, a, (i64)box.low[a] - l.edge + 1);
            high[a] = cell_of(w, l, a, (i64)box.high[a] - 1);
        }
        u32 rows_y = high[1] - low[1] + 1;
        u64 rows = (u64)rows_y * (high[2] - low[2] + 1);
        if (rows > end - start) {
            each_place(lane() == 0 ? Range{start, end} : Range{0, 0}, look_at);
            continue;
        }
        for (u32 base = 0; base < rows; base += 32) {
            u32 row = base + lane();
            Range own = {0, 0};
            if (row < rows) {
                u64 key = row_key(l, low[1] + row % rows_y, low[2] + row / rows_y);
                const u64* keys = index.keys + start;
                own.start = start + lower_bound(keys, end - start, key + low[0]);
                own.end = start + lower_bound(keys, end - start, key + high[0] + 1);
            }
            each_place(own, look_at);
        }
    }
}
