// Births and deaths. The n-th birth gets the n-th lowest free slot: both numbers
// come from scans. The fallen that respawn keep their slots, and are born there again.
#include "tick/notifications.cuh"
#include "tick/hooks.cuh"
#include "tick/walls.cuh"

// `kind` is that of the entity to be born here again, or 0.
__device__ inline void die(const World& w, const Tick& t, u32 slot, u32 kind) {
    w.died[slot] = t.stamp;
    if (w.slot_kinds[slot] == w.keeping_kind) {
        w.left[slot] = t.stamp;
        atomicAdd(&t.counters->left, 1ull);
    }
    w.slot_kinds[slot] = kind;
    if (w.respawns) w.rebirth_due[slot] = 0;
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
    if (slot == w.shared_slot) return;
    // Several commands may despawn the same entity.
    if (atomicCAS(&w.states[slot], (u32)LIVE, (u32)RESTING) == LIVE) die(w, t, slot, 0);
}

// Marks the entities that fall. An entity that a command has already despawned has no
// successor. One with hooks for its fall dies one tick later, once they have run.
KERNEL lifecycle_fallen(World w, Tick t) {
    u32 slot = thread_index();
    bool falls = false;
    u64 acts = 0;
    if (slot < w.capacity) {
        u32 kind = w.slot_kinds[slot];
        Fall fall = w.falls[kind];
        bool lives = w.states[slot] == LIVE && fall.respawn_ticks, is_dying = lives && w.rebirth_due[slot];
        if (lives && !is_dying && w.rows[(u64)slot * w.columns + fall.column] <= fall.at) {
            acts = hooks_of(w, ON_FALL, kind);
            falls = !acts;
        }
        falls |= is_dying;
        w.fallen[slot] = falls ? kind : acts ? kind | BEGINS : NOBODY;
        if (falls) w.states[slot] = fall.respawn_ticks == BY_THE_SERVER ? RESTING : FALLEN;
    }
    u64 sum = put_partial(w, t, SCAN_FALLS, acts << 32 | (u64)falls);
    add_once(&t.counters->fallen, (u32)sum);
    add_once(&t.counters->fall_acts, sum >> 32);
    if (has_notification(w, NOTIFY_FALL)) add_once(&t.counters->falls, (u32)sum);
}

// The reference to the entity whose command changed an attribute first in this tick.
__device__ inline i32 actor_of(const World& w, const Tick& t, u32 slot, u32 column) {
    if (!w.first_updates) return NOBODY_REFERENCE;
    u64 first = w.first_updates[(u64)slot * w.columns + column];
    if ((u32)(first >> 32) != ~t.stamp) return NOBODY_REFERENCE;
    Command c = w.commands[(u32)first];
    return w.forms[c.kind] & HAS_ACTOR ? reference_to(c.slot, c.generation) : NOBODY_REFERENCE;
}

// Fallen entities die, and note when they may be born again.
KERNEL lifecycle_fall(World w, Tick t) {
    if (!t.counters->fallen && !t.counters->fall_acts) return;
    u32 slot = thread_index();
    u32 kind = slot < w.capacity ? w.fallen[slot] : NOBODY;
    bool begins = kind != NOBODY && kind & BEGINS;
    if (begins) kind &= ~BEGINS;
    u64 acts = begins ? hooks_of(w, ON_FALL, kind) : 0;
    u64 before = offset_of(w, t, SCAN_FALLS, acts << 32 | (u64)(kind != NOBODY && !begins));
    u64 element = 0;
    if (begins) {
        w.rebirth_due[slot] = t.number + 1;
        // Nobody updated a newborn: its slot was free.
        i32 by = actor_of(w, t, slot, w.falls[kind].column);
        u64 n = scheduled_by_births(t) + (before >> 32);
        element = give_hooks(w, t, ON_FALL, kind, slot, w.generations[slot], by, n);
    }
    add_elements(w, element);
    if (kind == NOBODY || begins) return;
    if (has_notification(w, NOTIFY_FALL)) {
        Notification n = notification(w, NOTIFY_FALL, slot, w.generations[slot], position(w, slot), 0);
        n.word_count = 1;
        n.words[0] = (i32)kind;
        tell(w, t, t.counters->notified + t.counters->picked + (u32)before, n);
    }
    u32 ticks = w.falls[kind].respawn_ticks;
    bool respawns = ticks != BY_THE_SERVER;
    die(w, t, slot, respawns ? kind : 0);
    if (respawns) w.rebirth_due[slot] = t.number + ticks;
}

// Marks the things that accounts keep of players who died in this tick, also those in other such
// things. What holds a thing is of a kind before its own, so this ends.
KERNEL lifecycle_kept_find(World w, Tick t) {
    if (!t.counters->left) return;
    u32 slot = thread_index();
    if (slot >= w.capacity || w.states[slot] != LIVE || !w.kept_kinds[w.slot_kinds[slot]]) return;
    for (u32 thing = slot;;) {
        u32 reference = (u32)w.rows[(u64)thing * w.columns + w.holder_column];
        u32 holder = reference & 0xffffffu;
        if (holder >= w.capacity || (w.generations[holder] & 0xff) != reference >> 24) return;
        if (w.left[holder] == t.stamp) break;
        u32 kind = w.slot_kinds[holder];
        if (w.states[holder] != LIVE || !w.kept_kinds[kind] || kind >= w.slot_kinds[thing]) return;
        thing = holder;
    }
    w.kept[slot] = t.stamp;
}
KERNEL lifecycle_kept_end(World w, Tick t) {
    if (!t.counters->left) return;
    u32 slot = thread_index();
    if (slot >= w.capacity || w.kept[slot] != t.stamp) return;
    w.states[slot] = RESTING;
    die(w, t, slot, 0);
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
    if (w.respawns) w.rebirth_due[b.slot] = 0;
    w.generations[b.slot] = b.generation;
    w.slot_kinds[b.slot] = b.kind;
    w.changed[b.slot] = t.stamp;
    Random random(w.seed, t.number, entity_bits(b.slot, b.generation));
    u32 turn = b.token == POPULATION_TOKEN ? b.slot : b.token;
    bool is_thing = is_thing_kind(w, b.kind);
    for (u32 column = 0; column < w.columns; column++) {
        i32 value;
        int2 bounds = w.bounds[b.kind * w.columns + column];
        if (is_thing && column < w.dimensions) value = 0;
        else if (column < given) value = min(max(values[column], bounds.x), bounds.y);
        else if (column < w.dimensions) value = (i32)random.below((u32)w.size[column]);
        else value = initial(w, w.initials[b.kind * w.columns + column], turn, random);
        w.rows[(u64)b.slot * w.columns + column] = value;
        t.birth_rows[row * w.columns + column] = value;
        // Newborns are sent to clients as they enter the view.
        if (w.motion && column < w.dimensions) w.last_positions[(u64)column * w.capacity + b.slot] = value;
    }
    if (!w.wall_edge_bits) return;
    if (is_thing) {
        for (u32 axis = 0; axis < 2; axis++) w.wall_places[(u64)axis * w.capacity + b.slot] = 0;
        return;
    }
    i32* place = w.rows + (u64)b.slot * w.columns;
    free_place(w, place);
    for (u32 axis = 0; axis < 2; axis++) {
        t.birth_rows[row * w.columns + axis] = place[axis];
        if (w.motion) w.last_positions[(u64)axis * w.capacity + b.slot] = place[axis];
        w.wall_places[(u64)axis * w.capacity + b.slot] = place[axis];
    }
}

// The column of a value, from 0 on, that a command with this first word has for a birth, as
// shared/src/world/given.rs says; no column of a world if there is no value.
__device__ inline u32 given_column(u32 word, u32 value) {
    u32 bits = word >> value * COLUMN_BITS & FAR, far = word >> FAR_SHIFT & 7;
    if (bits == FAR) return ~0u;
    if (value + far >= GIVEN_PER_COMMAND) return FAR + bits;
    return bits < 2 ? 2 * FAR + bits : bits;
}

// Whether a command before a birth names newborns, and has no values.
__device__ inline bool names_newborns(const i32* words) { return ((u32)words[0] & FOLLOW_UP_BITS) == NAMES_BITS; }

// Sets the columns of a newborn whose values the commands right before its birth have, the i-th: as
// shared/src/world/given.rs says. The first of several commands counts, and its last value.
__device__ inline void bear_given(const World& w, const Tick& t, const Birth& b, u64 row, u32 i, u32 commands) {
    for (u32 n = 1; n <= commands && n <= i && w.verdicts[i - n] == VALUES; n++) {
        const i32* words = words_of(w, t, w.commands[i - n]);
        if (names_newborns(words)) continue;
        for (u32 value = 1; value < TIMED_WORDS_MAX; value++) {
            u32 column = given_column((u32)words[0], value - 1);
            if (column < w.dimensions || column >= w.columns) continue;
            int2 bounds = w.bounds[b.kind * w.columns + column];
            i32 given = min(max(words[value], bounds.x), bounds.y);
            w.rows[(u64)b.slot * w.columns + column] = given;
            t.birth_rows[row * w.columns + column] = given;
        }
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

// How many commands a newborn gives.
__device__ inline u32 first_acts(const World& w, u32 kind, bool joins) {
    return hooks_of(w, ON_BIRTH, kind) + (joins ? hooks_of(w, ON_JOIN, kind) : 0);
}
// Schedules the commands that a newborn gives first, the n-th that the tick schedules and those
// behind it.
__device__ inline u64 act_first(const World& w, const Tick& t, const Birth& b, bool joins, u64 n) {
    u64 element = give_hooks(w, t, ON_BIRTH, b.kind, b.slot, b.generation, NOBODY_REFERENCE, n);
    if (joins) {
        n += hooks_of(w, ON_BIRTH, b.kind);
        element += give_hooks(w, t, ON_JOIN, b.kind, b.slot, b.generation, NOBODY_REFERENCE, n);
    }
    return element;
}

// Whether a slot's entity is born again in this tick.
__device__ inline bool is_reborn(const World& w, const Tick& t, u32 slot) {
    return slot < w.capacity && w.states[slot] == RESERVED && t.number >= w.rebirth_due[slot];
}
// Two counts in one scan: those that are born again, and those of them that give a command.
__device__ inline u64 rebirth_weight(const World& w, bool reborn, u32 slot) {
    return reborn ? 1ull << 32 | (u64)hooks_of(w, ON_BIRTH, w.slot_kinds[slot]) : 0;
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
        if ((u32)weight) {
            u64 n = scheduled_by_births(t) + t.counters->fall_acts;
            element = act_first(w, t, b, false, n + (u32)before);
        }
        t.births[t.counters->births_asked + place] = b;
    }
    add_elements(w, element);
}

// Updates the totals of births and of timed commands at the end of the stage.
KERNEL lifecycle_end(World w, Tick t) {
    t.counters->births_asked += t.counters->reborn;
    t.counters->births += t.counters->reborn;
    t.counters->hash[PART_TIMED] = t.counters->deferred_hash;
    // In worlds with zones, crossings of their borders follow.
    if (!w.zoned) end_scheduling(w, t, 0);
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
    if (!died) return;
    bool is_kept = w.keeping_kind != NOWHERE && w.kept[slot] == t.stamp;
    t.deaths[place] = make_uint2(slot | (is_kept ? KEPT : 0), w.generations[slot]);
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

// Whether a birth is the first one of its client.
__device__ inline bool joins(u32 token) { return token != POPULATION_TOKEN && token & JOIN_TOKEN; }

__device__ inline bool is_birth(const World& w, const Tick& t, u32 i) {
    return i < t.counters->commands && w.verdicts[i] == SPAWN;
}
// Two counts in one scan: births, and those of them whose newborn gives a command.
__device__ inline u64 birth_weight(const World& w, const Tick& t, u32 i) {
    if (!is_birth(w, t, i)) return 0;
    const i32* words = words_of(w, t, w.commands[i]);
    return 1ull << 32 | (u64)first_acts(w, (u32)words[0] & 0xffffu, joins((u32)words[1]));
}

KERNEL lifecycle_births_count(World w, Tick t) {
    put_partial(w, t, SCAN_BIRTHS, birth_weight(w, t, thread_index()));
}
KERNEL lifecycle_births_store(World w, Tick t) {
    u32 i = thread_index();
    u64 weight = birth_weight(w, t, i);
    u64 before = offset_of(w, t, SCAN_BIRTHS, weight);
    u64 place = before >> 32;
    bool has_slot = weight && place < t.counters->free_slots;
    u64 acts = has_slot ? (u32)weight : 0;
    u64 element = 0;
    if (weight) {
        Command c = w.commands[i];
        const i32* words = words_of(w, t, c);
        bool is_first = joins((u32)words[1]);
        Birth b = {(u32)words[1] & ~(is_first ? JOIN_TOKEN : 0), (u32)words[0] & 0xffffu, 0xffffffffu, 0};
        if (has_slot) {
            atomicAdd(&t.counters->births, 1ull);
            b.slot = w.free_list[place];
            b.generation = w.generations[b.slot] + 1;
            bear(w, t, b, place, words + 2, c.word_count - 2u);
            bear_given(w, t, b, place, i, (u32)words[0] >> 16);
        }
        if (acts) element = act_first(w, t, b, is_first, t.afters_asked + t.counters->afters + (u32)before);
        t.births[place] = b;
        w.group_places[i] = b.slot;
    }
    add_elements(w, element);
    add_once(&t.counters->born, block_sum(acts));
}

// Lets newborns refer to others of this tick, as shared/src/world/given.rs says, once all are born.
KERNEL lifecycle_births_name(World w, Tick t) {
    u32 i = thread_index();
    u32 place = (u32)(offset_of(w, t, SCAN_BIRTHS, birth_weight(w, t, i)) >> 32);
    if (!is_birth(w, t, i) || w.group_places[i] == NOWHERE) return;
    u32 slot = w.group_places[i], kind = w.slot_kinds[slot];
    u32 commands = (u32)words_of(w, t, w.commands[i])[0] >> 16;
    for (u32 n = 1; n <= commands && n <= i && w.verdicts[i - n] == VALUES; n++) {
        const i32* words = words_of(w, t, w.commands[i - n]);
        if (!names_newborns(words)) continue;
        for (u32 value = 1; value < TIMED_WORDS_MAX; value++) {
            u32 column = (u32)words[value] >> AGO_BITS, ago = (u32)words[value] & ((1u << AGO_BITS) - 1);
            if (column < w.dimensions || column >= w.columns) continue;
            i32 reference = NOBODY_REFERENCE;
            if (ago <= place && t.births[place - ago].generation)
                reference = reference_to(t.births[place - ago].slot, t.births[place - ago].generation);
            int2 bounds = w.bounds[kind * w.columns + column];
            i32 given = min(max(reference, bounds.x), bounds.y);
            w.rows[(u64)slot * w.columns + column] = given;
            t.birth_rows[(u64)place * w.columns + column] = given;
        }
    }
}

__device__ inline bool is_follow_up(const World& w, const Tick& t, u32 i) {
    return i < t.counters->commands && w.verdicts[i] == FOLLOW_UP;
}
// The slot of the newborn that the i-th command, a follow-up, names, or NOWHERE: its birth was
// scheduled so many commands before it, those of other ticks too. None of the frame's is one of these.
__device__ inline u32 newborn_of(const World& w, const Tick& t, u32 i) {
    const Command& own = w.commands[i];
    u32 since = (u32)words_of(w, t, own)[1] >> FOLLOW_UP_TICK_BITS;
    if (since == FOLLOW_UP_SINCE_MAX) return NOWHERE;
    for (u32 j = i; j > t.frame_commands; j--) {
        u32 ago = own.sequence - w.commands[j - 1].sequence;
        if (ago == since && w.verdicts[j - 1] == SPAWN) return w.group_places[j - 1];
        if (ago >= since) break;
    }
    return NOWHERE;
}

// Schedules the commands that name newborns; one without its newborn is stale.
KERNEL lifecycle_follow_count(World w, Tick t) {
    u32 i = thread_index();
    bool is_one = is_follow_up(w, t, i);
    bool is_found = is_one && newborn_of(w, t, i) != NOWHERE;
    add_once(&t.counters->follow_ups, put_partial(w, t, SCAN_FOLLOW_UPS, is_found));
    u64 lost = block_sum((u64)(is_one && !is_found));
    add_once(&t.counters->stale, lost);
    add_once(&t.counters->applied, 0 - lost);
}
KERNEL lifecycle_follow_store(World w, Tick t) {
    if (!t.counters->follow_ups) return;
    u32 i = thread_index();
    u32 slot = is_follow_up(w, t, i) ? newborn_of(w, t, i) : NOWHERE;
    u64 before = offset_of(w, t, SCAN_FOLLOW_UPS, slot != NOWHERE);
    u64 element = 0;
    if (slot != NOWHERE) {
        const Command& c = w.commands[i];
        const i32* words = words_of(w, t, c);
        u64 n = t.afters_asked + t.counters->afters + t.counters->born + before;
        u32 form = (u32)words[0];
        u32 kind = form & ((1u << FOLLOW_UP_NUMBER_BITS) - 1);
        form >>= FOLLOW_UP_NUMBER_BITS;
        u32 count = min(form & ((1u << FOLLOW_UP_COUNT_BITS) - 1), TIMED_WORDS_MAX);
        form >>= FOLLOW_UP_COUNT_BITS;
        u32 ticks = min(max((u32)words[1] & ((1u << FOLLOW_UP_TICK_BITS) - 1), 1u), DELAY_TICKS_MAX);
        u32 generation = w.generations[slot];
        bool is_giver = form >> TIMED_WORDS_MAX & 1;
        Timed timed(t.number + ticks, is_giver ? slot : c.slot, is_giver ? generation : c.generation, kind, count);
        u32 next = 2;
        for (u32 word = 0; word < count; word++) {
            bool is_newborn = form >> word & 1;
            i32 other = !is_newborn && next < TIMED_WORDS_MAX ? words[next++] : 0;
            timed.column[TIMED_WORD + word] = (u32)(is_newborn ? reference_to(slot, generation) : other);
        }
        element = schedule(w, t, n, timed);
    }
    add_elements(w, element);
}
