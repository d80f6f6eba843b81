// Regions that clients and entities hold: what `frame/regions.rs` defines, and how
// boxes are sorted, as `levels.rs` says. Kernels of worlds with regions get a `Held`
// beside world and tick; its layout is `cuda/held/layout.rs`'s.
#pragma once
#include "world.cuh"

// tag: 0 none, 1 fixed, 2 follows an entity.
struct HeldRegion {
    u32 tag, slot, generation;
    i32 low[3], high[3];
};
// A change of one. Of an entity's, `repeats` more of its holder's went before it in
// the frame, which are ignored where it is.
struct RegionSet {
    u32 holder, place, generation, repeats;
    HeldRegion region;
};
enum RegionHolder : u32 { CLIENT_REGION = 0, PUBLICATION = 1, SUBSCRIPTION = 2 };

constexpr u32 LEVELS_MAX = 20;
struct HeldLevel {
    u64 base;
    u32 edge, cells[3];
};
// Boxes by level and cell.
struct BoxIndex {
    u64* keys;
    u32* numbers;
    i32* boxes;       // six an entry, sorted
    u32* starts;      // by level: its first entry; and how many entries there are
    u64* given_keys;  // as they are before the sort
    u32* given_numbers;
};
struct Held {
    u32 per_client, of_entities, levels, sets;
    u32 hearings_max, hearing_places;  // of one client; as many as a sort needs
    const RegionSet* set;
    const i32* newborn;  // by kind: six edges, those of its publication first; or 0
    HeldRegion* clients;
    HeldRegion* publications;
    HeldRegion* subscriptions;
    BoxIndex published, areas;
    u32* heard;            // client × hearings_max: numbers of notifications
    u32* heard_counts;
    u32* hearing_offsets;  // by client, into `hearings`: the tick's own
    u32* hearings;
    HeldLevel level[LEVELS_MAX];
};

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

// Where a region is; false for nowhere.
__device__ inline bool find_box(const World& w, const HeldRegion& r, Box& box) {
    if (r.tag == 0) return false;
    Point offset = {{0, 0, 0}};
    if (r.tag == 2) {
        if (r.slot >= w.capacity || w.states[r.slot] != LIVE || w.generations[r.slot] != r.generation) return false;
        offset = position(w, r.slot);
    }
    for (int a = 0; a < 3; a++) box.low[a] = r.low[a] + offset.p[a], box.high[a] = r.high[a] + offset.p[a];
    return true;
}

// Where a living entity is published beside its position. What the dead carried is
// still there; newborns overwrite it.
__device__ inline bool find_publication(const World& w, const Held& h, u32 slot, Box& box) {
    return h.of_entities && w.states[slot] == LIVE && find_box(w, h.publications[slot], box);
}

// A client's subscriptions: its own by index, then those that the living carry whom
// its observers follow, by observer.
__device__ inline u32 subscriptions_max(const World& w, const Held& h) {
    return h.per_client + (h.of_entities ? w.observers_per_client : 0);
}
__device__ inline bool find_subscription(const World& w, const Held& h, u32 client, u32 index, Box& box) {
    if (index < h.per_client) return find_box(w, h.clients[(u64)client * h.per_client + index], box);
    Observer o = w.observers[client * w.observers_per_client + index - h.per_client];
    u32 slot = (u32)o.a;
    if (o.tag != 1 || slot >= w.capacity || w.states[slot] != LIVE || w.generations[slot] != (u32)o.b) return false;
    return find_box(w, h.subscriptions[slot], box);
}

// The cell of the nearest point inside the world.
__device__ inline u32 cell_of(const World& w, const HeldLevel& l, int axis, i64 position) {
    return (u32)min(max(position, (i64)0), (i64)w.size[axis] - 1) / l.edge;
}
__device__ inline u64 row_key(const HeldLevel& l, u32 y, u32 z) {
    return l.base + ((u64)z * l.cells[1] + y) * l.cells[0];
}
__device__ inline u64 key_of(const World& w, const Held& h, const Box& box) {
    u32 longest = 0;
    for (int a = 0; a < 3; a++) longest = max(longest, (u32)box.high[a] - (u32)box.low[a]);
    u32 n = 0;
    while (n + 1 < h.levels && h.level[n].edge < longest) n++;
    const HeldLevel& l = h.level[n];
    return row_key(l, cell_of(w, l, 1, box.low[1]), cell_of(w, l, 2, box.low[2])) + cell_of(w, l, 0, box.low[0]);
}

// Calls `visit(is_one, slot, position)` on all lanes for those who stand in a box, in
// the index's order.
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

// Calls `visit(is_one, number)` on all lanes for the boxes of an index that overlap
// one: by level, cell, and number.
template <class Visit>
__device__ void each_overlapping(const World& w, const Held& h, const BoxIndex& index, const Box& box, Visit visit) {
    auto look_at = [&](bool is_one, u32 i) {
        bool overlaps = is_one && box.overlaps(Box::load(index.boxes, i));
        visit(overlaps, overlaps ? index.numbers[i] : 0);
    };
    for (u32 n = 0; n < h.levels; n++) {
        u32 start = index.starts[n], end = index.starts[n + 1];
        if (start == end) continue;
        const HeldLevel& l = h.level[n];
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
