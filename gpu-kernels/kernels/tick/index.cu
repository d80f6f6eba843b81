// The index: entities sorted by bucket (thesis 3.5). Buckets are numbered row by row;
// nothing is allocated per bucket.
#include "tick/world.cuh"

KERNEL index_count(World w, Tick t) {
    u32 slot = thread_index();
    bool live = slot < w.capacity && w.states[slot] == LIVE;
    bool changed = live && w.changed[slot] == t.stamp;
    add_once(&t.counters->entities, put_partial(w, t, SCAN_LIVE, live));
    count(&t.counters->changed_live, changed);
}

KERNEL index_collect(World w, Tick t) {
    u32 slot = thread_index();
    bool live = slot < w.capacity && w.states[slot] == LIVE;
    u64 place = offset_of(w, t, SCAN_LIVE, live);
    if (slot == 0) *w.index_len = t.counters->entities;
    if (!live) return;
    Point p = position(w, slot);
    u64 key = 0;
    for (int axis = 2; axis >= 0; axis--) key = key * w.buckets[axis] + bucket_of(w, axis, p.p[axis]);
    w.bucket_keys[place] = key;
    w.bucket_slots[place] = slot;
}

// Runs after the sort: fills the directory and the positions.
KERNEL index_gather(World w, Tick t) {
    u32 i = thread_index();
    if (i < w.directory_len)
        w.directory[i] = lower_bound(w.index_keys, (u32)t.counters->entities, (u64)i << w.directory_shift);
    if (i >= t.counters->entities) return;
    const i32* row = w.rows + (u64)w.index_slots[i] * w.columns;
    for (u32 axis = 0; axis < w.dimensions; axis++) w.index_positions[axis * w.capacity + i] = row[axis];
}
