// Births and deaths. The n-th birth gets the n-th lowest free slot: both numbers
// come from scans. The fallen that respawn keep their slots, and are born there again.
#include "tick/notifications.cuh"
#include "tick/timed.cuh"

// `kind` is that of the entity to be born here again, or 0.
__device__ inline void die(const World& w, const Tick& t, u32 slot, u32 kind) {
    w.died[slot] = t.stamp;
    w.slot_kinds[slot] = kind;
    for (u32 place = 0; place < w.resting; place++) w.ready[(u64)slot * w.resting + place] = 0;
    if (w.motion) {
        w.track_glides[slot] = 0;
        for (u32 axis = 0; axis < w.dimensions; axis++) {
            w.track_steps[(u64)axis * w.capacity + slot] = 0;
            w.track_offsets[(u64)axis * w.capacity + slot] = 0;
        }
    }
    for (u32 place = 0; place < t.rewind_ticks; place++)
        for (u32 axis = 0; axis < w.dimensions; axis++)
            w.past[((u64)place * w.capacity + slot) * w.dimensions + axis] = 0;
    for (u32 column = 0; column < w.columns; column++) w.rows[(u64)slot * w.columns + column] = 0;
}

// Keeps where the living are after the tick. A newborn's slot has nothing of those before it.
KERNEL lifecycle_keep(World w, Tick t) {
    u32 slot = thread_index();
    if (slot >= w.capacity || w.states[slot] != LIVE) return;
    for (u32 axis = 0; axis < w.dimensions; axis++)
        w.past[((u64)t.past_next * w.capacity + slot) * w.dimensions + axis] = w.rows[(u64)slot * w.columns + axis] + 1;
}

KERNEL lifecycle_deaths(World w, Tick t) {
    u32 i = thread_index();
    if (i >= t.counters->commands || w.verdicts[i] != DESPAWN) return;
    u32 slot = w.commands[i].slot;
    // Several commands may despawn the same entity.
    if (atomicCAS(&w.states[slot], (u32)LIVE, (u32)RESTING) == LIVE) die(w, t, slot, 0);
}

// Marks the entities that fall. An entity that a command has already despawned has no
// successor.
KERNEL lifecycle_fallen(World w, Tick t) {
    u32 slot = thread_index();
    bool falls = false;
    if (slot < w.capacity) {
        u32 kind = w.slot_kinds[slot];
        Fall fall = w.falls[kind];
        falls = w.states[slot] == LIVE && fall.respawn_ticks && w.rows[(u64)slot * w.columns + fall.column] <= fall.at;
        w.fallen[slot] = falls ? kind : NOBODY;
        if (falls) w.states[slot] = fall.respawn_ticks == BY_THE_SERVER ? RESTING : FALLEN;
    }
    u64 sum = put_partial(w, t, SCAN_FALLS, falls);
    add_once(&t.counters->fallen, sum);
    if (tells(w, NOTIFY_FALL)) add_once(&t.counters->falls, sum);
}

// Fallen entities die, and note when they may be born again.
KERNEL lifecycle_fall(World w, Tick t) {
    if (!t.counters->fallen) return;
    u32 slot = thread_index();
    u32 kind = slot < w.capacity ? w.fallen[slot] : NOBODY;
    u64 place = offset_of(w, t, SCAN_FALLS, kind != NOBODY);
    if (kind == NOBODY) return;
    if (tells(w, NOTIFY_FALL)) {
        Notification n = notification(w, NOTIFY_FALL, slot, w.generations[slot], position(w, slot), 0);
        n.word_count = 1;
        n.words[0] = (i32)kind;
        tell(w, t, t.counters->notified + t.counters->picked + place, n);
    }
    u32 ticks = w.falls[kind].respawn_ticks;
    bool respawns = ticks != BY_THE_SERVER;
    if (respawns) w.rebirth_due[slot] = t.number + ticks;
    die(w, t, slot, respawns ? kind : 0);
}

// An attribute of a newborn.
__device__ inline i32 initial(const World& w, const Initial& of, u32 turn, Random& random) {
    u32 place = of.drawn ? random.below(of.drawn) : of.listed ? turn % of.listed : 0;
    return of.listed ? w.choices[of.value + place] : (i32)((u32)of.value + place);
}

// Fills a slot with a newborn entity; `values` has its first `given` columns, the others are
// chosen. `row` is its place among the tick's rows of newborns.
__device__ inline void bear(const World& w, const Tick& t, const Birth& b, u64 row, const i32* values, u32 given) {
    w.states[b.slot] = LIVE;
    w.generations[b.slot] = b.generation;
    w.slot_kinds[b.slot] = b.kind;
    w.changed[b.slot] = t.stamp;
    Random random(w.seed, t.number, entity_bits(b.slot, b.generation));
    u32 turn = b.token == POPULATION_TOKEN ? b.slot : b.token;
    for (u32 column = 0; column < w.columns; column++) {
        i32 value;
        int2 bounds = w.bounds[b.kind * w.columns + column];
        if (column < given) value = min(max(values[column], bounds.x), bounds.y);
        else if (column < w.dimensions) value = (i32)random.below((u32)w.size[column]);
        else value = initial(w, w.initials[b.kind * w.columns + column], turn, random);
        w.rows[(u64)b.slot * w.columns + column] = value;
        t.birth_rows[row * w.columns + column] = value;
        // Clients are told of newborns as they enter the view.
        if (w.motion && column < w.dimensions) w.last_positions[(u64)column * w.capacity + b.slot] = value;
    }
}

// A place in the area of a kind, as shared/src/world/spawn.rs draws it; false: it has none.
__device__ inline bool birthplace(const World& w, const Tick& t, u32 kind, u32 number, i32* place) {
    SpawnArea area = w.spawn_areas[kind];
    if (!area.form) return false;
    Random random(w.spawn_seed, t.number, entity_bits(number, kind));
    if (area.form == 2) {
        for (u32 axis = 0; axis < 3; axis++)
            place[axis] = area.low[axis] + (i32)random.below((u32)(area.high[axis] - area.low[axis]) + 1);
    } else {
        i64 within = (i64)area.radius * area.radius, squares = within + 1;
        i32 reach = min(max(area.radius, 0), 1 << 30);
        for (u32 n = 0; n < SPAWN_TRIES && squares > within; n++) {
            squares = 0;
            for (u32 axis = 0; axis < w.dimensions; axis++) {
                i64 offset = (i32)random.below(2 * (u32)reach + 1) - reach;
                place[axis] = area.low[axis] + (i32)offset;
                squares += offset * offset;
            }
        }
        for (u32 axis = 0; squares > within && axis < w.dimensions; axis++) place[axis] = area.low[axis];
    }
    return true;
}

// Schedules the command that a newborn gives first, the n-th that the tick schedules.
__device__ inline u64 act_first(const World& w, const Tick& t, const Birth& b, u64 n) {
    Timed timed(t.number + 1, b.slot, b.generation, w.born[b.kind], 0);
    return schedule(w, t, n, timed);
}

// Whether a slot's entity is born again in this tick.
__device__ inline bool is_reborn(const World& w, const Tick& t, u32 slot) {
    return slot < w.capacity && w.states[slot] == RESERVED && t.number >= w.rebirth_due[slot];
}
// Two counts in one scan: those that are born again, and those of them that give a command.
__device__ inline u64 rebirth_weight(const World& w, bool reborn, u32 slot) {
    return reborn ? 1ull << 32 | (u64)(w.born[w.slot_kinds[slot]] != NOWHERE) : 0;
}
KERNEL lifecycle_reborn_count(World w, Tick t) {
    u32 slot = thread_index();
    bool reborn = is_reborn(w, t, slot);
    bool waits = !reborn && slot < w.capacity && (w.states[slot] == FALLEN || w.states[slot] == RESERVED);
    u64 sum = put_partial(w, t, SCAN_REBORN, rebirth_weight(w, reborn, slot));
    add_once(&t.counters->reborn, sum >> 32);
    add_once(&t.counters->reborn_acts, (u32)sum);
    add_once(&t.counters->respawns, block_sum((u64)waits));
}
// They come after the tick's other births, by slot.
KERNEL lifecycle_reborn_store(World w, Tick t) {
    if (!t.counters->reborn) return;
    u32 slot = thread_index();
    bool reborn = is_reborn(w, t, slot);
    u64 weight = rebirth_weight(w, reborn, slot);
    u64 before = offset_of(w, t, SCAN_REBORN, weight), place = before >> 32;
    u64 element = 0;
    if (reborn) {
        Birth b = {POPULATION_TOKEN, w.slot_kinds[slot], slot, w.generations[slot] + 1};
        i32 axes[3];
        bool is_placed = birthplace(w, t, b.kind, slot, axes);
        bear(w, t, b, t.counters->births + place, axes, is_placed ? w.dimensions : 0);
        if ((u32)weight)
            element = act_first(w, t, b, t.afters_asked + t.counters->afters + t.counters->born + (u32)before);
        t.births[t.counters->births_asked + place] = b;
    }
    add_elements(w, element);
}

// Updates the totals of births and of timed commands at the end of the stage.
KERNEL lifecycle_end(World w, Tick t) {
    t.counters->births_asked += t.counters->reborn;
    t.counters->births += t.counters->reborn;
    t.counters->hash[PART_TIMED] = t.counters->deferred_hash;
    if (!w.timed_max) return;
    TimedState& state = *w.timed_state;
    u64 stayed = state.len - t.counters->timed_due;
    u64 asked = t.afters_asked + t.counters->afters + t.counters->born + t.counters->reborn_acts;
    u64 kept = min(asked, w.timed_max - stayed);
    state.len = stayed + kept;
    state.next_sequence += kept;
    t.counters->timed = state.len;
    t.counters->timed_unscheduled = asked - kept;
    t.counters->hash[PART_TIMED] += state.hash + (state.next_sequence ? mix(8ull << 56, state.next_sequence) : 0);
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
// Two counts in one scan: births, and those of them whose newborn gives a command.
__device__ inline u64 birth_weight(const World& w, const Tick& t, u32 i) {
    if (!is_birth(w, t, i)) return 0;
    bool acts = w.born[words_of(w, t, w.commands[i])[0]] != NOWHERE;
    return 1ull << 32 | (u64)acts;
}

KERNEL lifecycle_births_count(World w, Tick t) {
    put_partial(w, t, SCAN_BIRTHS, birth_weight(w, t, thread_index()));
}
KERNEL lifecycle_births_store(World w, Tick t) {
    u32 i = thread_index();
    u64 weight = birth_weight(w, t, i);
    u64 before = offset_of(w, t, SCAN_BIRTHS, weight);
    u64 place = before >> 32;
    bool has_slot = weight && place < t.counters->free_slots, acts = has_slot && (u32)weight;
    u64 element = 0;
    if (weight) {
        Command c = w.commands[i];
        const i32* words = words_of(w, t, c);
        Birth b = {(u32)words[1], (u32)words[0], 0xffffffffu, 0};
        if (has_slot) {
            atomicAdd(&t.counters->births, 1ull);
            b.slot = w.free_list[place];
            b.generation = w.generations[b.slot] + 1;
            bear(w, t, b, place, words + 2, c.word_count - 2u);
        }
        if (acts) element = act_first(w, t, b, t.afters_asked + t.counters->afters + (u32)before);
        t.births[place] = b;
    }
    add_elements(w, element);
    add_once(&t.counters->born, block_sum((u64)acts));
}
