// The census: the slots of living entities by kind, for scripts that ask for them.
#include "tick/world.cuh"

// Writes the kind of each slot, and for those without an entity one more than there are.
KERNEL census_collect(World w, Tick t) {
    u32 slot = thread_index();
    if (slot == 0) t.counters->census = w.capacity;
    if (slot >= w.capacity) return;
    bool is_one = w.states[slot] == LIVE && slot != w.shared_slot;
    w.census_given_keys[slot] = is_one ? w.slot_kinds[slot] : w.kinds;
    w.census_given_slots[slot] = slot;
}

// Runs after the sort: says where each kind begins, and at last where all end.
KERNEL census_begin(World w, Tick t) {
    u32 kind = thread_index();
    if (kind <= w.kinds) w.census_starts[kind] = lower_bound(w.census_keys, w.capacity, kind);
}
