// Things by holder and members by group, for scripts that ask for them. Each launch is for one
// relation. They are sorted in ticks in which any relates to another entity than when they were sorted
// last.
#include "tick/world.cuh"

// Writes to which entity each slot's relates, and one more than there are slots for all others.
KERNEL held_collect(World w, Tick t) {
    u32 slot = thread_index();
    bool differs = false;
    if (slot < w.capacity) {
        u32 kind = w.slot_kinds[slot];
        bool has_one = t.relation_kind == NOWHERE ? is_thing_kind(w, kind) : kind == t.relation_kind;
        bool relates = has_one && w.states[slot] == LIVE;
        u32 holder = relates ? min(related(w, slot, t.relation_column), w.capacity) : w.capacity;
        u32* before = w.held_by + (u64)t.relation * w.capacity + slot;
        differs = *before != holder;
        *before = holder;
        // An odd number of passes leaves what is sorted in the other halves.
        ((u32*)w.index_keys_spare)[w.capacity + slot] = holder;
        w.index_slots_spare[slot] = slot;
    }
    if (__syncthreads_or(differs) && threadIdx.x == 0) t.counters->held[t.relation] = w.capacity;
}

// Runs after the sort: says where those of each holder or group begin, and at last where all end.
KERNEL held_begin(World w, Tick t) {
    u32 holder = thread_index();
    if (!t.counters->held[t.relation] || holder > w.capacity) return;
    u32* starts = w.held_starts + (u64)t.relation * (w.capacity + 1);
    starts[holder] = lower_bound((const u32*)w.index_keys_spare, w.capacity, holder);
}
