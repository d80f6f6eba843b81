// Births and deaths. The n-th birth gets the n-th lowest free slot: both numbers
// come from scans.
#include "world.cuh"

// Before births, so that nobody is born into a slot of this tick's dead: those
// rest.
KERNEL lifecycle_deaths(World w, Tick t) {
    u32 i = thread_index();
    if (i >= t.counters->commands || w.verdicts[i] != DESPAWN) return;
    u32 slot = t.commands[i].slot;
    // Several commands may ask for one death.
    if (atomicCAS(&w.states[slot], (u32)LIVE, (u32)RESTING) != LIVE) return;
    w.died[slot] = t.stamp;
    w.slot_kinds[slot] = 0;
    for (u32 column = 0; column < w.columns; column++) w.rows[(u64)slot * w.columns + column] = 0;
}

KERNEL lifecycle_deaths_count(World w, Tick t) {
    u32 slot = thread_index();
    bool died = slot < w.capacity && w.died[slot] == t.stamp;
    add_once(&t.counters->deaths, put_partial(w, t, SCAN_DEATHS, died));
}
KERNEL lifecycle_deaths_store(World w, Tick t) {
    u32 slot = thread_index();
    bool died = slot < w.capacity && w.died[slot] == t.stamp;
    u64 place = offset_of(w, t, SCAN_DEATHS, died);
    if (died) t.deaths[place] = make_uint2(slot, w.generations[slot]);
}

KERNEL lifecycle_free_count(World w, Tick t) {
    u32 slot = thread_index();
    bool free = slot < w.capacity && w.states[slot] == FREE;
    add_once(&t.counters->free_slots, put_partial(w, t, SCAN_FREE, free));
}
KERNEL lifecycle_free_store(World w, Tick t) {
    u32 slot = thread_index();
    bool free = slot < w.capacity && w.states[slot] == FREE;
    u64 place = offset_of(w, t, SCAN_FREE, free);
    if (free) w.free_list[place] = slot;
}

__device__ inline bool is_birth(const World& w, const Tick& t, u32 i) {
    return i < t.counters->commands && w.verdicts[i] == SPAWN;
}
KERNEL lifecycle_births_count(World w, Tick t) {
    put_partial(w, t, SCAN_BIRTHS, is_birth(w, t, thread_index()));
}
KERNEL lifecycle_births_store(World w, Tick t) {
    u32 i = thread_index();
    bool birth = is_birth(w, t, i);
    u64 place = offset_of(w, t, SCAN_BIRTHS, birth);
    if (!birth) return;
    Command c = t.commands[i];
    const i32* words = t.words + c.word_start;
    Birth b = {(u32)words[1], (u32)words[0], 0xffffffffu, 0};
    if (place < t.counters->free_slots) {
        atomicAdd(&t.counters->births, 1ull);
        b.slot = w.free_list[place];
        b.generation = w.generations[b.slot] + 1;
        w.states[b.slot] = LIVE;
        w.generations[b.slot] = b.generation;
        w.slot_kinds[b.slot] = b.kind;
        w.changed[b.slot] = t.stamp;
        Random random(w.seed, t.number, entity_bits(b.slot, b.generation));
        for (u32 column = 0; column < w.columns; column++) {
            i32 value = w.defaults[b.kind * w.columns + column];
            if (column < w.dimensions) {
                bool placed = 2 + column < c.word_count;
                value = placed ? min(max(words[2 + column], 0), w.size[column] - 1) : (i32)random.below((u32)w.size[column]);
            }
            w.rows[(u64)b.slot * w.columns + column] = value;
            t.birth_rows[place * w.columns + column] = value;
        }
    }
    t.births[place] = b;
}
