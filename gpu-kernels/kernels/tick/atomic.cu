// Atomic commands, which run after the merge, each as if alone. Turns are given in the order of
// the commands, those that waited first. What runs them is written from the world's scripts
// (`script/src/ptx/atomic.rs`): these kernels are around that, in this order: take, select, (keys),
// pairs, sort, link, heads, before, begin, (run), left, fresh, join, ended, wait, end.
#include "tick/notifications.cuh"
#include "tick/timed.cuh"

// Set in the flags of a command that waits: a frame gave it; its references had changed.
constexpr u32 WAS_GIVEN = 1, HAS_MOVED = 2;

__device__ inline u64 turns(const World& w, const Tick& t) { return min(t.counters->atomic_asked, (u64)w.atomic_max); }

// The verdict on a command that waited: scripts and entities may have changed meanwhile.
__device__ inline u32 judge_again(const World& w, const Command& c) {
    if (c.kind >= COMMANDS_MAX) return MALFORMED;
    u32 form = w.forms[c.kind];
    if (!(form & IS_COMMAND) || !is_atomic(w, c.kind) || c.word_count != (form & (IS_CLIENTS - 1))) return MALFORMED;
    if (!(form & HAS_ACTOR)) return c.kind;
    bool lives = c.slot < w.capacity && w.states[c.slot] == LIVE && w.generations[c.slot] == c.generation;
    return lives ? c.kind : STALE;
}

// Whether a frame gave the command at a place; those that waited are behind all others.
__device__ inline bool was_given(const World& w, const Tick& t, u32 place) {
    return place < w.commands_max ? place < t.frame_commands : w.deferred_flags[place - w.commands_max] & WAS_GIVEN;
}
// Notifies a client that its command had no effect. The host sorts these.
__device__ inline void refuse(const World& w, const Tick& t, u32 place, u32 reason) {
    Command c = w.commands[place];
    if (!was_given(w, t, place) || c.kind >= COMMANDS_MAX || !(w.forms[c.kind] & IS_CLIENTS)) return;
    t.refused[atomicAdd(&t.counters->refused, 1ull)] = {c.slot, c.generation, c.sequence, reason};
}

// The commands that waited come behind the tick's.
KERNEL atomic_take(World w, Tick t) {
    u64 waited = w.deferred_state->len;
    if ((u64)blockIdx.x * BLOCK >= waited) return;
    u32 i = thread_index();
    bool is_one = i < waited;
    u32 fate = 0;
    if (is_one) {
        Command c = w.deferred[i];
        u32 start = w.deferred_base + i * TIMED_WORDS_MAX;
        for (u32 word = 0; word < TIMED_WORDS_MAX; word++)
            w.due_words[start + word] = w.deferred_words[(u64)i * TIMED_WORDS_MAX + word];
        c.word_start = start | DUE_WORDS;
        w.commands[w.commands_max + i] = c;
        fate = judge_again(w, c);
        if (fate == STALE) refuse(w, t, w.commands_max + i, REFUSED_DEAD);
    }
    count(&t.counters->malformed, is_one && fate == MALFORMED);
    count(&t.counters->stale, is_one && fate == STALE);
}

// Those that ask for a turn, in order: by number, those that waited first.
__device__ inline u32 place_of(const World& w, u64 waited, u64 i) {
    return (u32)(i < waited ? w.commands_max + i : i - waited);
}
__device__ inline bool asks(const World& w, const Tick& t, u64 waited, u64 i) {
    if (i >= waited + t.counters->commands) return false;
    u32 place = place_of(w, waited, i);
    if (i < waited) return judge_again(w, w.commands[place]) < COMMANDS_MAX;
    u32 fate = w.verdicts[place];
    return fate < COMMANDS_MAX && is_atomic(w, fate);
}
KERNEL atomic_select_count(World w, Tick t) {
    u64 waited = w.deferred_state->len;
    if ((u64)blockIdx.x * BLOCK >= waited + t.counters->commands) return;
    bool one = asks(w, t, waited, thread_index());
    add_once(&t.counters->atomic_asked, put_partial(w, t, SCAN_ATOMIC_ORDER, one));
}
KERNEL atomic_select_store(World w, Tick t) {
    u64 waited = w.deferred_state->len;
    if ((u64)blockIdx.x * BLOCK >= waited + t.counters->commands) return;
    u32 i = thread_index();
    bool one = asks(w, t, waited, i);
    u64 turn = offset_of(w, t, SCAN_ATOMIC_ORDER, one);
    if (i < waited + t.counters->commands) w.atomic_ranks[i] = one ? (u32)turn : NOWHERE;
    if (!one || turn >= w.atomic_max) return;
    w.atomic_places[turn] = place_of(w, waited, i);
    w.atomic_queue[turn] = NOBODY;
    w.atomic_verdicts[turn] = MALFORMED;
    if (w.timed_max) w.atomic_after_counts[turn] = 0;
    if (w.notifications_max) w.atomic_notification_counts[turn] = 0;
}

__device__ inline void enqueue(const World& w, const Tick& t, u32 turn) {
    w.atomic_queue[atomicAdd((u32*)&t.counters->atomic_tail, 1u)] = turn;
}

// Pairs of turn and key, each entity once.
KERNEL atomic_pairs_count(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= turns(w, t)) return;
    u32 turn = thread_index(), n = 0;
    if (turn < turns(w, t)) {
        u32* slots = w.atomic_slots + (u64)turn * ATOMIC_KEYS;
        for (u32 key = 0; key < ATOMIC_KEYS; key++) {
            u32 slot = slots[key];
            for (u32 before = 0; before < key; before++)
                if (slots[before] == slot) slot = NOBODY;
            slots[key] = slot;
            w.atomic_next[(u64)turn * ATOMIC_KEYS + key] = NOBODY;
            n += slot != NOBODY;
        }
        w.atomic_waits[turn] = n;
    }
    add_once(&t.counters->atomic_pairs, put_partial(w, t, SCAN_ATOMIC_PAIRS, n));
}
KERNEL atomic_pairs_store(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= turns(w, t)) return;
    u32 turn = thread_index();
    bool is_turn = turn < turns(w, t);
    u32 n = is_turn ? w.atomic_waits[turn] : 0;
    u64 place = offset_of(w, t, SCAN_ATOMIC_PAIRS, n);
    if (!is_turn) return;
    for (u32 key = 0; n && key < ATOMIC_KEYS; key++) {
        u32 slot = w.atomic_slots[(u64)turn * ATOMIC_KEYS + key];
        if (slot == NOBODY) continue;
        w.pair_keys[place] = slot;
        w.pair_values[place++] = turn * ATOMIC_KEYS + key;
    }
    if (!n) enqueue(w, t, turn);
}

__device__ inline bool begins_queue(const World& w, const Tick& t, u64 i) {
    return i < t.counters->atomic_pairs && (i == 0 || w.atomic_pair_keys[i - 1] != w.atomic_pair_keys[i]);
}
// Turns that are at the head of all their queues can run.
KERNEL atomic_link(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->atomic_pairs) return;
    u32 i = thread_index();
    bool head = begins_queue(w, t, i);
    add_once(&t.counters->atomic_entities, put_partial(w, t, SCAN_ATOMIC_HEADS, head));
    if (i >= t.counters->atomic_pairs) return;
    u32 pair = w.atomic_pair_values[i];
    if (i + 1 < t.counters->atomic_pairs && w.atomic_pair_keys[i + 1] == w.atomic_pair_keys[i])
        w.atomic_next[pair] = w.atomic_pair_values[i + 1] / ATOMIC_KEYS;
    if (head && atomicSub(&w.atomic_waits[pair / ATOMIC_KEYS], 1u) == 1) enqueue(w, t, pair / ATOMIC_KEYS);
}
KERNEL atomic_heads(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->atomic_pairs) return;
    u32 i = thread_index();
    bool head = begins_queue(w, t, i);
    u64 place = offset_of(w, t, SCAN_ATOMIC_HEADS, head);
    if (head) w.atomic_entities[place] = w.atomic_pair_keys[i];
}
// Keeps what the merge left in the rows of all entities that are keys.
KERNEL atomic_before(World w, Tick t) {
    u64 n = t.counters->atomic_entities * w.columns;
    for (u64 i = thread_index(); i < n; i += thread_count())
        w.atomic_rows[i] = w.rows[(u64)w.atomic_entities[i / w.columns] * w.columns + i % w.columns];
}
// Where few can run, threads of their own warps run all.
KERNEL atomic_begin(World w, Tick t) {
    u64 ready = (u32)t.counters->atomic_tail;
    t.counters->atomic_first = ready >= ATOMIC_THREADS_MIN ? ready : 0;
}

// What the commands left in the rows, by entity, then column.
KERNEL atomic_left_count(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->atomic_entities) return;
    u32 i = thread_index(), n = 0;
    if (i < t.counters->atomic_entities) {
        const i32 *row = w.rows + (u64)w.atomic_entities[i] * w.columns, *before = w.atomic_rows + (u64)i * w.columns;
        for (u32 column = 0; column < w.columns; column++) n += row[column] != before[column];
    }
    add_once(&t.counters->atomic_left, put_partial(w, t, SCAN_ATOMIC_LEFT, n));
}
KERNEL atomic_left_store(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->atomic_entities) return;
    u32 i = thread_index(), n = 0, slot = 0;
    const i32 *row = nullptr, *before = nullptr;
    if (i < t.counters->atomic_entities) {
        slot = w.atomic_entities[i];
        row = w.rows + (u64)slot * w.columns;
        before = w.atomic_rows + (u64)i * w.columns;
        for (u32 column = 0; column < w.columns; column++) n += row[column] != before[column];
    }
    u64 place = offset_of(w, t, SCAN_ATOMIC_LEFT, n);
    for (u32 column = 0; n && column < w.columns; column++) {
        if (row[column] == before[column]) continue;
        u32 key = slot * w.columns + column;
        w.left_keys[place] = key;
        w.left_values[place++] = row[column];
        if (w.visible_columns[column]) w.changed[slot] = t.stamp;
        if (w.first_updates) w.first_updates[key] = (u64)~t.stamp << 32 | w.atomic_writers[key];
    }
}

// Those that the merge has not changed, too; the others are changes of the merge with another value.
__device__ inline u64 interval_of(const World& w, const Tick& t, u64 i) {
    return lower_bound(w.interval_keys, (u32)t.counters->intervals, w.left_keys[i]);
}
__device__ inline bool is_fresh(const World& w, const Tick& t, u64 i, u64& interval) {
    if (i >= t.counters->atomic_left) return false;
    interval = interval_of(w, t, i);
    return interval >= t.counters->intervals || w.interval_keys[interval] != w.left_keys[i];
}
KERNEL atomic_fresh_count(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->atomic_left) return;
    u32 i = thread_index();
    u64 interval;
    bool fresh = is_fresh(w, t, i, interval);
    if (!fresh && i < t.counters->atomic_left) {
        w.interval_changed[interval] = 1;
        w.interval_values[interval] = w.left_values[i];
    }
    add_once(&t.counters->atomic_fresh, put_partial(w, t, SCAN_ATOMIC_FRESH, fresh));
}
KERNEL atomic_fresh_store(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->atomic_left) return;
    u32 i = thread_index();
    u64 interval;
    bool fresh = is_fresh(w, t, i, interval);
    u64 place = offset_of(w, t, SCAN_ATOMIC_FRESH, fresh);
    if (!fresh) return;
    w.fresh_keys[place] = w.left_keys[i];
    w.fresh_values[place] = w.left_values[i];
}
// Joins both, in order.
KERNEL atomic_join(World w, Tick t) {
    u32 intervals = (u32)t.counters->intervals, fresh = (u32)t.counters->atomic_fresh;
    u32 i = thread_index();
    if (i >= intervals + fresh) return;
    bool is_fresh = i >= intervals;
    u32 n = is_fresh ? i - intervals : i;
    u32 key = is_fresh ? w.fresh_keys[n] : w.interval_keys[n];
    u32 place = n + (is_fresh ? lower_bound(w.interval_keys, intervals, key) : lower_bound(w.fresh_keys, fresh, key));
    w.joined_keys[place] = key;
    w.joined_values[place] = is_fresh ? w.fresh_values[n] : w.interval_values[n];
    w.joined_changed[place] = is_fresh ? 1 : w.interval_changed[n];
}

// Whether a turn's command comes again: its references had changed, for the first time.
__device__ inline bool comes_again(const World& w, u32 turn) {
    if (w.atomic_verdicts[turn] != MOVED) return false;
    u32 place = w.atomic_places[turn];
    return place < w.commands_max || !(w.deferred_flags[place - w.commands_max] & HAS_MOVED);
}
KERNEL atomic_ended_count(World w, Tick t) {
    u64 n = turns(w, t);
    if ((u64)blockIdx.x * BLOCK >= n) return;
    u32 turn = thread_index();
    bool is_turn = turn < n;
    u32 fate = is_turn ? w.atomic_verdicts[turn] : 0, place = is_turn ? w.atomic_places[turn] : 0;
    bool again = is_turn && comes_again(w, turn), applied = is_turn && (fate < COMMANDS_MAX || fate == IDLE);
    add_once(&t.counters->atomic_again, put_partial(w, t, SCAN_ATOMIC_AGAIN, again));
    bool acts = is_turn && fate < COMMANDS_MAX;
    if (w.timed_max)
        add_once(&t.counters->atomic_afters, put_partial(w, t, SCAN_ATOMIC_AFTERS, acts ? w.atomic_after_counts[turn] : 0));
    if (w.notifications_max)
        add_once(&t.counters->atomic_notified,
                 put_partial(w, t, SCAN_ATOMIC_NOTIFICATIONS, acts ? w.atomic_notification_counts[turn] : 0));
    bool is_over = is_turn && fate == OVER_BUDGET, moved = is_turn && fate == MOVED && !again;
    count(&t.counters->applied, applied);
    count(&t.counters->over_budget, is_over);
    count(&t.counters->atomic_refused, is_turn && fate == REFUSED);
    count(&t.counters->atomic_moved, moved);
    if (is_over) atomicAdd(&t.counters->over_budget_of[w.commands[place].kind], 1u);
    if (is_over) refuse(w, t, place, REFUSED_BEYOND_LIMITS);
    if (moved) refuse(w, t, place, REFUSED_MOVED);
    if (is_turn && fate == REFUSED) refuse(w, t, place, REFUSED_UNMET | because(w, w.commands[place].kind, place));
    if (is_turn && fate == IDLE) refuse(w, t, place, REFUSED_IDLE | because(w, w.commands[place].kind, place));
}

// Lets the command at a place wait for the next tick, if there is room; returns what it adds to the hash.
__device__ inline u64 defer(const World& w, const Tick& t, u64 n, u32 place, bool moved) {
    if (n >= w.deferred_max) {
        atomicAdd(&t.counters->atomic_dropped, 1ull);
        refuse(w, t, place, REFUSED_BEYOND_LIMITS);
        return 0;
    }
    Command c = w.commands[place];
    const i32* words = words_of(w, t, c);
    u32 flags = (was_given(w, t, place) ? WAS_GIVEN : 0) | (moved ? HAS_MOVED : 0);
    u32 own[5] = {};
    for (u32 word = 0; word < min((u32)c.word_count, 5u); word++) own[word] = (u32)words[word];
    for (u32 word = 0; word < 5; word++) w.deferred_words_next[n * TIMED_WORDS_MAX + word] = (i32)own[word];
    w.deferred_next[n] = c;
    w.deferred_flags_next[n] = flags;
    u64 element = mix(16ull << 56 | n, entity_bits(c.slot, c.generation));
    element = mix(element, (u64)c.sequence << 32 | (u64)c.word_count << 16 | c.kind);
    element = mix(element, (u64)own[0] << 32 | flags);
    element = mix(element, (u64)own[2] << 32 | own[1]);
    return mix(element, (u64)own[4] << 32 | own[3]);
}
static_assert(TIMED_WORDS_MAX == 5, "as in the hash");

KERNEL atomic_ended_store(World w, Tick t) {
    u64 n = turns(w, t);
    if ((u64)blockIdx.x * BLOCK >= n) return;
    u32 turn = thread_index();
    bool is_turn = turn < n, acts = is_turn && w.atomic_verdicts[turn] < COMMANDS_MAX;
    u64 timed = 0, deferred = 0;
    if (w.timed_max) {
        u32 own = acts ? w.atomic_after_counts[turn] : 0;
        u64 first = t.afters_asked + t.counters->afters + offset_of(w, t, SCAN_ATOMIC_AFTERS, own);
        for (u32 i = 0; i < own; i++) {
            const AfterRecord& record = w.atomic_afters[(u64)turn * ATOMIC_EFFECTS + i];
            Timed after(t.number + record.ticks, record.slot, record.generation, record.kind & 0xffffu, record.kind >> 16);
            for (u32 word = 0; word < TIMED_WORDS_MAX; word++) after.column[TIMED_WORD + word] = (u32)record.words[word];
            timed += schedule(w, t, first + i, after);
        }
    }
    if (w.notifications_max) {
        u32 own = acts ? w.atomic_notification_counts[turn] : 0;
        u64 first = t.counters->notified + offset_of(w, t, SCAN_ATOMIC_NOTIFICATIONS, own);
        for (u32 i = 0; i < own; i++) tell(w, t, first + i, w.atomic_notifications[(u64)turn * ATOMIC_EFFECTS + i]);
    }
    bool again = is_turn && comes_again(w, turn);
    u64 place = offset_of(w, t, SCAN_ATOMIC_AGAIN, again);
    if (again) deferred = defer(w, t, place, w.atomic_places[turn], true);
    add_elements(w, timed);
    add_once(&t.counters->deferred_hash, block_sum(deferred));
}
// Those that got no turn.
KERNEL atomic_wait(World w, Tick t) {
    u64 waited = w.deferred_state->len, asked = t.counters->atomic_asked;
    if (asked <= w.atomic_max || (u64)blockIdx.x * BLOCK >= waited + t.counters->commands) return;
    u32 i = thread_index();
    u32 rank = i < waited + t.counters->commands ? w.atomic_ranks[i] : NOWHERE;
    u64 element = 0;
    if (rank != NOWHERE && rank >= w.atomic_max) {
        bool moved = i < waited && w.deferred_flags[i] & HAS_MOVED;
        element = defer(w, t, t.counters->atomic_again + rank - w.atomic_max, place_of(w, waited, i), moved);
    }
    add_once(&t.counters->deferred_hash, block_sum(element));
}
KERNEL atomic_end(World w, Tick t) {
    Counters& c = *t.counters;
    u64 beyond = c.atomic_asked - turns(w, t);
    c.atomic_deferred = c.atomic_again + beyond;
    w.deferred_state->len = min(c.atomic_deferred, (u64)w.deferred_max);
    c.afters += c.atomic_afters;
    c.notified += c.atomic_notified;
    c.intervals += c.atomic_fresh;
}
