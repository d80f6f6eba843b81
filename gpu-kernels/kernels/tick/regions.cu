// Regions of clients and entities: the frame's changes, the regions of newborns, the index
// of publications, and their part of the state hash.
#include "tick/regions.cuh"

KERNEL regions_apply(World w, Tick t, Regions h) {
    u32 i = thread_index();
    if (i >= t.region_sets) return;
    const RegionSet& set = t.region_set[i];
    if (set.holder == CLIENT_REGION) {
        h.clients[set.place] = set.region;
    } else if (!is_somewhere(w, set.place) || w.generations[set.place] != set.generation) {
        atomicAdd(&t.counters->ignored_entries, 1ull + set.repeats);
    } else {
        (set.holder == PUBLICATION ? h.publications : h.subscriptions)[set.place] = set.region;
    }
}

__device__ inline Region carried(const i32* edges, u32 slot, u32 generation) {
    Region r = {};
    if (edges[0] == 0) return r;
    r = {2, slot, generation, {}, {}};
    for (int a = 0; a < 3; a++) r.low[a] = -(edges[a] / 2), r.high[a] = edges[a] - edges[a] / 2;
    return r;
}

// Newborns get their kind's regions, whatever the slot's previous entity left.
KERNEL regions_bear(World w, Tick t, Regions h) {
    u32 i = thread_index();
    if (i >= t.counters->births_asked) return;
    Birth b = t.births[i];
    if (b.slot >= w.capacity) return;
    const i32* edges = h.newborn + 6 * b.kind;
    h.publications[b.slot] = carried(edges, b.slot, b.generation);
    h.subscriptions[b.slot] = carried(edges + 3, b.slot, b.generation);
}

// The index of publications: count, collect, sort, gather.
KERNEL regions_count(World w, Tick t, Regions h) {
    u32 slot = thread_index();
    bool is_one = slot < w.capacity && w.states[slot] == LIVE && h.publications[slot].tag;
    add_once(&t.counters->published, put_partial(w, t, SCAN_PUBLISHED, is_one));
}
KERNEL regions_collect(World w, Tick t, const __grid_constant__ Regions h) {
    u32 slot = thread_index();
    bool is_one = slot < w.capacity && w.states[slot] == LIVE && h.publications[slot].tag;
    u64 place = offset_of(w, t, SCAN_PUBLISHED, is_one);
    Box box;
    if (!is_one || !find_box(w, h.publications[slot], box)) return;
    h.published.given_keys[place] = key_of(w, h, box);
    h.published.given_numbers[place] = slot;
}
KERNEL regions_gather(World w, Tick t, const __grid_constant__ Regions h) {
    const BoxIndex& index = h.published;
    u32 i = thread_index(), n = (u32)t.counters->published;
    if (i < h.levels) index.starts[i] = lower_bound(index.keys, n, h.level[i].base);
    if (i == h.levels) index.starts[i] = n;
    Box box;
    if (i < n && find_box(w, h.publications[index.numbers[i]], box)) box.store(index.boxes, i);
}

__device__ inline u64 element_of(u64 place, const Region& r) {
    u64 element = r.tag == 2 ? mix(place | 1ull << 48, entity_bits(r.slot, r.generation)) : mix(place, 0);
    for (int a = 0; a < 3; a++) element = mix(element, (u64)(u32)r.low[a] << 32 | (u32)r.high[a]);
    return element;
}
KERNEL regions_hash(World w, Tick t, Regions h) {
    u64 sum = 0;
    u64 n = (u64)w.clients * h.per_client;
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const Region& r = h.clients[i];
        if (r.tag) sum += element_of(9ull << 56 | i / h.per_client << 8 | i % h.per_client, r);
    }
    u32 slots = h.of_entities ? w.capacity : 0;
    for (u32 slot = thread_index(); slot < slots; slot += thread_count()) {
        if (w.states[slot] != LIVE) continue;
        if (h.publications[slot].tag) sum += element_of(10ull << 56 | slot, h.publications[slot]);
        if (h.subscriptions[slot].tag) sum += element_of(11ull << 56 | slot, h.subscriptions[slot]);
    }
    add_part(t, PART_OBSERVERS, sum);
}
