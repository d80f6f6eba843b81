// Births and deaths. The n-th birth gets the n-th lowest free slot: both numbers
// come from scans.
#include "tick/notifications.cuh"
#include "tick/timed.cuh"

constexpr u32 NOBODY = 0xffffffffu;

__device__ inline void die(const World& w, const Tick& t, u32 slot) {
    w.died[slot] = t.stamp;
    w.slot_kinds[slot] = 0;
    if (w.motion) {
        w.track_glides[slot] = 0;
        for (u32 axis = 0; axis < w.dimensions; axis++) {
            w.track_steps[(u64)axis * w.capacity + slot] = 0;
            w.track_offsets[(u64)axis * w.capacity + slot] = 0;
        }
    }
    for (u32 column = 0; column < w.columns; column++) w.rows[(u64)slot * w.columns + column] = 0;
}

KERNEL lifecycle_deaths(World w, Tick t) {
    u32 i = thread_index();
    if (i >= t.counters->commands || w.verdicts[i] != DESPAWN) return;
    u32 slot = w.commands[i].slot;
    // Several commands may despawn the same entity.
    if (atomicCAS(&w.states[slot], (u32)LIVE, (u32)RESTING) == LIVE) die(w, t, slot);
}

// Two counts in one scan: entities that fall, and those of them that have a successor.
__device__ inline u64 fall_weight(bool falls, bool is_reborn) { return (u64)falls << 32 | (u64)is_reborn; }

// Marks the entities that fall. An entity that a command has already despawned has no
// successor.
KERNEL lifecycle_fallen(World w, Tick t) {
    u32 slot = thread_index();
    bool falls = false, is_reborn = false;
    if (slot < w.capacity) {
        u32 kind = w.slot_kinds[slot];
        Fall fall = w.falls[kind];
        falls = w.states[slot] == LIVE && fall.respawn_ticks && w.rows[(u64)slot * w.columns + fall.column] <= fall.at;
        is_reborn = falls && fall.respawn_ticks != BY_THE_SERVER;
        w.fallen[slot] = falls ? kind : NOBODY;
        if (falls) w.states[slot] = RESTING;
    }
    u64 sum = put_partial(w, t, SCAN_RESPAWNS, fall_weight(falls, is_reborn));
    add_once(&t.counters->fallen, sum >> 32);
    add_once(&t.counters->respawns, (u32)sum);
    if (tells(w, NOTIFY_FALL)) add_once(&t.counters->falls, sum >> 32);
}

// Fallen entities die. Their successors are scheduled by slot, after everything else that
// the tick schedules.
KERNEL lifecycle_respawn(World w, Tick t) {
    if (!t.counters->fallen) return;
    u32 slot = thread_index();
    u32 kind = slot < w.capacity ? w.fallen[slot] : NOBODY;
    bool falls = kind != NOBODY, is_reborn = falls && w.falls[kind].respawn_ticks != BY_THE_SERVER;
    u64 place = offset_of(w, t, SCAN_RESPAWNS, fall_weight(falls, is_reborn));
    u64 element = 0;
    if (is_reborn) {
        Timed timed(t.number + w.falls[kind].respawn_ticks, 0xffffffffu, 0, SPAWN, 2);
        timed.column[TIMED_WORD] = kind;
        timed.column[TIMED_WORD + 1] = POPULATION_TOKEN;
        element = schedule(w, t, t.afters_asked + t.counters->afters + t.counters->born + (u32)place, timed);
    }
    if (falls && tells(w, NOTIFY_FALL)) {
        Notification n = notification(w, NOTIFY_FALL, slot, w.generations[slot], position(w, slot), 0);
        n.word_count = 1;
        n.words[0] = (i32)kind;
        tell(w, t, t.counters->notified + t.counters->picked + (place >> 32), n);
    }
    if (falls) die(w, t, slot);
    add_elements(w, element);
}

// Updates the totals of timed commands at the end of the tick's scheduling.
KERNEL lifecycle_timed(World w, Tick t) {
    TimedState& state = *w.timed_state;
    u64 stayed = state.len - t.counters->timed_due;
    u64 asked = t.afters_asked + t.counters->afters + t.counters->born + t.counters->respawns;
    u64 kept = min(asked, w.timed_max - stayed);
    state.len = stayed + kept;
    state.next_sequence += kept;
    t.counters->timed = state.len;
    t.counters->timed_unscheduled = asked - kept;
    t.counters->hash[PART_TIMED] = state.hash + (state.next_sequence ? mix(8ull << 56, state.next_sequence) : 0);
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
// An attribute of a newborn.
__device__ inline i32 initial(const World& w, const Initial& of, u32 turn, Random& random) {
    u32 place = of.drawn ? random.below(of.drawn) : of.listed ? turn % of.listed : 0;
    return of.listed ? w.choices[of.value + place] : (i32)((u32)of.value + place);
}

// Two counts in one scan: births, and those of them whose newborn gives a command.
__device__ inline u64 birth_weight(const World& w, const Tick& t, u32 i) {
    if (!is_birth(w, t, i)) return 0;
    bool acts = w.born[words_of(w, t, w.commands[i])[0]] != NOWHERE;
    return 1ull << 32 | (u64)acts;
}

KERNEL lifecycle_births_count(World w, Tick t) {
    put_partial(w, t, SCAN_BIRTHS, birth_weight(w, t, thread_index()));
}
// The n-th birth of the tick, if there is a slot for it.
__device__ inline Birth bear(const World& w, const Tick& t, const Command& c, u64 place) {
    const i32* words = words_of(w, t, c);
    Birth b = {(u32)words[1], (u32)words[0], 0xffffffffu, 0};
    if (place >= t.counters->free_slots) return b;
    atomicAdd(&t.counters->births, 1ull);
    b.slot = w.free_list[place];
    b.generation = w.generations[b.slot] + 1;
    w.states[b.slot] = LIVE;
    w.generations[b.slot] = b.generation;
    w.slot_kinds[b.slot] = b.kind;
    w.changed[b.slot] = t.stamp;
    Random random(w.seed, t.number, entity_bits(b.slot, b.generation));
    u32 turn = b.token == POPULATION_TOKEN ? b.slot : b.token;
    for (u32 column = 0; column < w.columns; column++) {
        i32 value;
        if (column >= w.dimensions) {
            value = initial(w, w.initials[b.kind * w.columns + column], turn, random);
        } else {
            bool placed = 2 + column < c.word_count;
            value = placed ? min(max(words[2 + column], 0), w.size[column] - 1) : (i32)random.below((u32)w.size[column]);
            // Clients are told of newborns as they enter the view.
            if (w.motion) w.last_positions[(u64)column * w.capacity + b.slot] = value;
        }
        w.rows[(u64)b.slot * w.columns + column] = value;
        t.birth_rows[place * w.columns + column] = value;
    }
    return b;
}

KERNEL lifecycle_births_store(World w, Tick t) {
    u32 i = thread_index();
    u64 weight = birth_weight(w, t, i);
    u64 before = offset_of(w, t, SCAN_BIRTHS, weight);
    u64 place = before >> 32;
    bool acts = (u32)weight && place < t.counters->free_slots;
    u64 element = 0;
    if (weight) {
        Birth b = bear(w, t, w.commands[i], place);
        if (acts) {
            Timed timed(t.number + 1, b.slot, b.generation, w.born[b.kind], 0);
            element = schedule(w, t, t.afters_asked + t.counters->afters + (u32)before, timed);
        }
        t.births[place] = b;
    }
    add_elements(w, element);
    add_once(&t.counters->born, block_sum((u64)acts));
}
