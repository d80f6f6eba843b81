// Things by holder, for scripts that ask for them. They are sorted in ticks in which any has
// another holder than when they were sorted last.
#include "tick/world.cuh"

// Writes the holder of each slot's thing, and one more than there are slots for all others.
KERNEL held_collect(World w, Tick t) {
    u32 slot = thread_index();
    bool differs = false;
    if (slot < w.capacity) {
        bool is_thing = w.states[slot] == LIVE && is_thing_kind(w, w.slot_kinds[slot]);
        u32 holder = is_thing ? min(holder_of(w, slot), w.capacity) : w.capacity;
        differs = w.held_by[slot] != holder;
        w.held_by[slot] = holder;
        // An odd number of passes leaves what is sorted in the other halves.
        ((u32*)w.index_keys_spare)[w.capacity + slot] = holder;
        w.index_slots_spare[slot] = slot;
    }
    if (__syncthreads_or(differs) && threadIdx.x == 0) t.counters->held = w.capacity;
}

// Runs after the sort: says where the things of each holder begin, and at last where all end.
KERNEL held_begin(World w, Tick t) {
    u32 holder = thread_index();
    if (!t.counters->held || holder > w.capacity) return;
    w.held_starts[holder] = lower_bound((const u32*)w.index_keys_spare, w.capacity, holder);
}
