// Rankings: the entities of a kind by the value of an attribute, for scripts that ask for them.
// Each launch is for one ranking, after the census.
#include "tick/world.cuh"

// Writes what decides, and the slots, in the order of slots: the sort is stable.
KERNEL standings_collect(World w, Tick t) {
    u32 i = thread_index();
    u32 first = w.census_starts[t.ranking_kind], n = w.census_starts[t.ranking_kind + 1] - first;
    if (i == 0) t.counters->ranked[t.ranking] = n;
    if (i >= n) return;
    u32 slot = w.census_slots[first + i];
    w.census_keys[i] = (u32)w.rows[(u64)slot * w.columns + t.ranking_column] ^ t.ranking_flip;
    w.standing_slots[(u64)t.ranking * w.capacity + i] = slot;
}

// Runs after the sort: gives each entity its place.
KERNEL standings_place(World w, Tick t) {
    u32 i = thread_index();
    if (i >= t.counters->ranked[t.ranking]) return;
    u64 first = (u64)t.ranking * w.capacity;
    w.standing_ranks[first + w.standing_slots[first + i]] = i + 1;
}
