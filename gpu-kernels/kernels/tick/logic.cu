// Runs the commands to count their effects, then again to store them (thesis 3.3).
//
// What runs them is written from the world's scripts: two kernels for each command, which
// take the tick's commands of their kind. The kernels here are around those, in this order:
// judge, group, count (for each kind), sum, offsets, refused, store (for each kind), after.
#include "tick/timed.cuh"

// A birth may have a position, or all columns. Values for one and follow-ups, which have waited, are
// below 0, as shared/src/world/given.rs says.
__device__ inline u32 birth_verdict(const World& w, const Tick& t, u32 i, const Command& c) {
    bool is_full = c.word_count == TIMED_WORDS_MAX;
    bool is_birth = c.word_count == 2 || c.word_count == 2 + w.dimensions || c.word_count == 2 + w.columns;
    if (!is_full && !is_birth) return MALFORMED;
    i32 word = words_of(w, t, c)[0];
    if (word < 0 && (word & FOLLOW_UP_BITS) == FOLLOW_UP_BITS) return is_full && i >= t.frame_commands ? FOLLOW_UP : MALFORMED;
    if (word < 0) return is_full ? VALUES : MALFORMED;
    u32 kind = (u32)word & 0xffffu;
    bool is_born = kind < w.kinds && kind != w.shared_kind && (u32)word >> 16 <= GIVEN_COMMANDS_MAX;
    return is_birth && is_born ? SPAWN : MALFORMED;
}

__device__ inline u32 verdict(const World& w, const Tick& t, u32 i, const Command& c) {
    if (c.kind >= COMMANDS_MAX) return MALFORMED;
    u32 form = w.forms[c.kind], words = form & (IS_CLIENTS - 1);
    if (!(form & IS_COMMAND)) return MALFORMED;
    if (c.kind == SPAWN) return birth_verdict(w, t, i, c);
    if (c.word_count != words) return MALFORMED;
    if (!(form & HAS_ACTOR)) return c.kind;
    bool lives = c.slot < w.capacity && w.states[c.slot] == LIVE && w.generations[c.slot] == c.generation;
    return lives ? c.kind : STALE;
}

// Whether the entity of a frame's command has given it as often before as it may. A frame has
// the commands of an entity one after another.
__device__ inline bool is_surplus(const World& w, u32 i, const Command& c) {
    u32 most = w.per_tick[c.kind], before = 0;
    if (!most) return false;
    for (u32 j = i; j > 0 && before < most; j--) {
        const Command& other = w.commands[j - 1];
        if (other.slot != c.slot || other.generation != c.generation) return false;
        before += other.kind == c.kind;
    }
    return before == most;
}

// Where it is kept when the entity may use the command again; null for one that never rests.
__device__ inline u64* ready_of(const World& w, const Command& c) {
    u32 place = w.resting ? w.rest_places[c.kind] : NO_REST;
    return place == NO_REST ? nullptr : w.ready + (u64)c.slot * w.resting + place;
}

// The verdict on a command that could run: one of a client may have been used too often.
__device__ inline u32 bounded(const World& w, const Tick& t, u32 i, const Command& c, u32 fate) {
    if (i >= t.frame_commands || fate >= COMMANDS_MAX) return fate;
    if (is_surplus(w, i, c)) return OVER_PER_TICK;
    const u64* ready = ready_of(w, c);
    return ready && *ready > t.number ? RESTS : fate;
}

// Judges commands, and gives those to run a place within their kind: any order within a kind
// will do, since effects are stored by command.
KERNEL logic_judge(const __grid_constant__ World w, const __grid_constant__ Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->commands) return;
    // By kind: how many the block has, then the place of its first.
    __shared__ u32 of_kind[COMMANDS_MAX];
    static_assert(COMMANDS_MAX == BLOCK, "a thread for each kind");
    of_kind[threadIdx.x] = 0;
    __syncthreads();
    u32 i = thread_index();
    u32 fate = MALFORMED;
    if (i < t.counters->commands) {
        Command c = w.commands[i];
        fate = bounded(w, t, i, c, verdict(w, t, i, c));
        w.verdicts[i] = fate;
        w.update_counts[i] = 0;
        if (w.timed_max) w.after_counts[i] = 0;
        if (w.notifications_max) w.notification_counts[i] = 0;
    }
    bool runs = fate < COMMANDS_MAX;
    // The lanes of one kind add at once.
    u32 peers = __match_any_sync(~0u, fate);
    u32 before = __popc(peers & ((1u << lane()) - 1)), first = 0;
    if (runs && !before) first = atomicAdd(&of_kind[fate], __popc(peers));
    u32 place = __shfl_sync(~0u, first, __ffs(peers) - 1) + before;
    __syncthreads();
    u32 n = of_kind[threadIdx.x];
    if (n) of_kind[threadIdx.x] = atomicAdd(&t.group_counts[threadIdx.x], n);
    __syncthreads();
    if (runs) w.group_places[i] = of_kind[fate] + place;
}

// Orders the commands by kind.
KERNEL logic_group(World w, Tick t) {
    // The first block says where kinds begin even if there are no commands.
    if (blockIdx.x && (u64)blockIdx.x * BLOCK >= t.counters->commands) return;
    __shared__ u32 starts[COMMANDS_MAX];
    u32 n = t.group_counts[threadIdx.x];
    u32 start = (u32)block_exclusive(n);
    starts[threadIdx.x] = start;
    if (blockIdx.x == 0) {
        w.group_starts[threadIdx.x] = start;
        if (threadIdx.x == COMMANDS_MAX - 1) w.group_starts[COMMANDS_MAX] = start + n;
    }
    __syncthreads();
    u32 i = thread_index();
    if (i >= t.counters->commands) return;
    u32 fate = w.verdicts[i];
    if (fate < COMMANDS_MAX) w.group_order[starts[fate] + w.group_places[i]] = i;
}

// Adds up the counts, and the verdicts, which are final now.
KERNEL logic_sum(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->commands) return;
    u32 i = thread_index();
    bool is_command = i < t.counters->commands;
    u32 fate = is_command ? w.verdicts[i] : 0;
    u32 updates = is_command ? w.update_counts[i] : 0;
    add_once(&t.counters->updates_total, put_partial(w, t, SCAN_UPDATES, updates));
    // The conditions are the same in all blocks, so all of them take part in the scans.
    if (w.timed_max)
        add_once(&t.counters->afters, put_partial(w, t, SCAN_AFTERS, is_command ? w.after_counts[i] : 0));
    if (w.notifications_max)
        add_once(&t.counters->notified, put_partial(w, t, SCAN_NOTIFICATIONS, is_command ? w.notification_counts[i] : 0));
    count(&t.counters->malformed, is_command && fate == MALFORMED);
    count(&t.counters->stale, is_command && fate == STALE);
    count(&t.counters->over_per_tick, is_command && fate == OVER_PER_TICK);
    count(&t.counters->resting, is_command && fate == RESTS);
    count(&t.counters->over_budget, is_command && fate == OVER_BUDGET);
    if (is_command && fate == OVER_BUDGET) atomicAdd(&t.counters->over_budget_of[w.commands[i].kind], 1u);
    // What becomes of atomic commands is known after their turns.
    bool is_now = is_command && fate < COMMANDS_MAX && !is_atomic(w, fate);
    count(&t.counters->applied, is_now || (is_command && (fate == VALUES || fate == FOLLOW_UP)));
    count(&t.counters->births_asked, is_command && fate == SPAWN);
    // What was used rests. The commands of an entity write the same.
    if (w.resting && i < t.frame_commands && is_command && fate < COMMANDS_MAX) {
        u64* ready = ready_of(w, w.commands[i]);
        if (ready) *ready = t.number + w.rests[w.rest_places[fate]];
    }
}

// Where a command's scheduled commands and notifications begin, if any of them has room.
__device__ inline u32 place_below(u64 start, u32 n, u32 room) { return n && start < room ? (u32)start : NOWHERE; }

// Says where each command stores its effects, in command order. It keeps all its updates or
// none: the first command whose updates don't fit and all after it lose theirs.
KERNEL logic_offsets(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->commands) return;
    u32 i = thread_index();
    bool is_command = i < t.counters->commands;
    if (w.timed_max) {
        u32 n = is_command ? w.after_counts[i] : 0;
        u64 start = offset_of(w, t, SCAN_AFTERS, n);
        if (is_command) w.after_offsets[i] = place_below(start, n, w.timed_max);
    }
    if (w.notifications_max) {
        u32 n = is_command ? w.notification_counts[i] : 0;
        u64 start = offset_of(w, t, SCAN_NOTIFICATIONS, n);
        if (is_command) w.notification_offsets[i] = place_below(start, n, w.notifications_max);
    }
    u32 n = is_command ? w.update_counts[i] : 0;
    u64 start = offset_of(w, t, SCAN_UPDATES, n);
    bool fits = n && start + n <= w.updates_max;
    if (is_command) w.update_offsets[i] = fits ? (u32)start : NOWHERE;
    if (t.counters->updates_total <= w.updates_max) {
        if (i == 0) t.counters->updates = t.counters->updates_total;
        return;
    }
    u64 end = fits ? start + n : 0;
    for (int d = 16; d; d >>= 1) end = max(end, __shfl_down_sync(~0u, end, d));
    if (lane() == 0 && end) atomicMax(&t.counters->updates, end);
}

// Why a client's command had no effect, or NOWHERE if it had one.
__device__ inline u32 refusal(const World& w, const Tick& t, u32 i) {
    if (i >= t.frame_commands || i >= t.counters->commands) return NOWHERE;
    u32 kind = w.commands[i].kind;
    if (kind >= COMMANDS_MAX || !(w.forms[kind] & IS_CLIENTS)) return NOWHERE;
    if (w.verdicts[i] < COMMANDS_MAX && is_atomic(w, w.verdicts[i])) return NOWHERE;
    switch (w.verdicts[i]) {
        case MALFORMED: return NOWHERE;
        case STALE: return REFUSED_DEAD;
        case OVER_PER_TICK: return REFUSED_OVER_PER_TICK;
        case RESTS: return REFUSED_RESTING;
        case OVER_BUDGET: return REFUSED_BEYOND_LIMITS;
    }
    if (w.update_counts[i]) return w.update_offsets[i] == NOWHERE ? REFUSED_BEYOND_LIMITS : NOWHERE;
    bool schedules = w.timed_max && w.after_counts[i];
    bool notifies = w.notifications_max && w.notification_counts[i];
    return schedules || notifies ? NOWHERE : REFUSED_IDLE | because(w, kind, i);
}

// Collects the commands of clients that had no effect, in command order.
KERNEL logic_refused_count(World w, Tick t) {
    bool is_refused = refusal(w, t, thread_index()) != NOWHERE;
    add_once(&t.counters->refused, put_partial(w, t, SCAN_REFUSED, is_refused));
}
KERNEL logic_refused_store(World w, Tick t) {
    u32 i = thread_index();
    u32 reason = refusal(w, t, i);
    u64 place = offset_of(w, t, SCAN_REFUSED, reason != NOWHERE);
    if (reason == NOWHERE) return;
    const Command& c = w.commands[i];
    t.refused[place] = {c.slot, c.generation, c.sequence, reason};
}

// Schedules what commands schedule: after the server's, in command order.
KERNEL logic_after(World w, Tick t) {
    u64 n = min(t.counters->afters, (u64)w.timed_max);
    if ((u64)blockIdx.x * BLOCK >= n) return;
    u32 i = thread_index();
    u64 element = 0;
    if (i < n) {
        const AfterRecord& record = w.after_records[i];
        Timed timed(t.number + record.ticks, record.slot, record.generation, record.kind & 0xffffu, record.kind >> 16);
        for (u32 word = 0; word < TIMED_WORDS_MAX; word++) timed.column[TIMED_WORD + word] = (u32)record.words[word];
        element = schedule(w, t, t.afters_asked + i, timed);
    }
    add_elements(w, element);
}
