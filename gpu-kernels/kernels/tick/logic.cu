// Runs the commands to count their updates, then again to store them (thesis 3.3).
#include "logic/blast.cuh"
#include "logic/burn.cuh"
#include "logic/heal.cuh"
#include "logic/move.cuh"
#include "logic/pick.cuh"
#include "logic/roam.cuh"
#include "logic/shout.cuh"
#include "logic/strike.cuh"

// Sinks that a command emits to, one for each run of it.
struct CountUpdates {
    static constexpr bool UPDATES = true;
    u64 n = 0;
    u32 afters = 0, notifications = 0;
    __device__ void update(u32, u32, i32) { n++; }
    __device__ void after(u32, Timed&) { afters++; }
    __device__ void notify(const Notification&) { notifications++; }
};
struct StoreUpdates {
    static constexpr bool UPDATES = true;
    const World& w;
    u64 next;
    u64 first;  // in the format of `first_updates`
    __device__ void update(u32 slot, u32 column, i32 value) {
        u32 key = slot * w.columns + column;
        // The minimum is the first update, in whatever order threads run.
        if (w.first_updates) atomicMin(&w.first_updates[key], first);
        w.keys[next] = key;
        w.values[next] = (u32)value;
        next++;
    }
    __device__ void after(u32, Timed&) {}
    __device__ void notify(const Notification&) {}
};
// Stores the commands that a command delays, without its updates.
struct StoreAfters {
    static constexpr bool UPDATES = false;
    const World& w;
    const Tick& t;
    u64 next;
    u64 elements = 0;
    __device__ void update(u32, u32, i32) {}
    __device__ void after(u32 ticks, Timed& timed) {
        timed.column[TIMED_DUE] = t.number + ticks;
        elements += schedule(w, t, next++, timed);
    }
    __device__ void notify(const Notification&) {}
};
// Stores only the notifications of a command.
struct StoreNotifications {
    static constexpr bool UPDATES = false;
    const World& w;
    const Tick& t;
    u64 next;
    __device__ void update(u32, u32, i32) {}
    __device__ void after(u32, Timed&) {}
    __device__ void notify(const Notification& notification) { tell(w, t, next++, notification); }
};

template <class Emit>
__device__ void run(const World& w, const Tick& t, u32 kind, const Invocation& in, Emit& emit) {
    switch (kind) {
    case MOVE: move(w, in, emit); break;
    case STRIKE: strike(w, in, emit); break;
    case HEAL: heal(w, in, emit); break;
    case BLAST: blast(w, in, emit); break;
    case PICK: pick(w, in, emit); break;
    case BURN: burn(w, in, emit); break;
    case SHOUT: shout(w, in, emit); break;
    case ROAM: roam(w, t, in, emit); break;
    }
}

__device__ inline Invocation invocation(const World& w, const Tick& t, const Command& c) {
    return {c.slot, c.generation, words_of(w, t, c), c.word_count};
}

__device__ inline u32 verdict(const World& w, const Tick& t, const Command& c) {
    if (c.kind >= COMMANDS_MAX) return MALFORMED;
    i32 expected = w.word_counts[c.kind];
    bool fits = c.word_count == expected || (c.kind == SPAWN && c.word_count == expected + w.dimensions);
    if (expected < 0 || !fits) return MALFORMED;
    if (c.kind == SPAWN) {
        u32 kind = (u32)words_of(w, t, c)[0];
        return kind < w.kinds ? SPAWN : MALFORMED;
    }
    if (!(w.command_flags[c.kind] & HAS_ACTOR)) return c.kind;
    bool lives = c.slot < w.capacity && w.states[c.slot] == LIVE && w.generations[c.slot] == c.generation;
    return lives ? c.kind : STALE;
}

KERNEL logic_count(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->commands) return;
    u32 i = thread_index();
    CountUpdates updates;
    u32 fate = 0;
    bool is_command = i < t.counters->commands;
    if (is_command) {
        Command c = w.commands[i];
        fate = verdict(w, t, c);
        w.verdicts[i] = fate;
        if (fate < COMMANDS_MAX) run(w, t, fate, invocation(w, t, c), updates);
        w.update_counts[i] = (u32)updates.n;
        if (w.timed_max) w.after_counts[i] = updates.afters;
        if (w.notifications_max) w.notification_counts[i] = updates.notifications;
    }
    add_once(&t.counters->updates_total, put_partial(w, t, SCAN_UPDATES, updates.n));
    // The conditions are the same in all blocks, so all of them take part in the scans.
    if (w.timed_max) add_once(&t.counters->afters, put_partial(w, t, SCAN_AFTERS, updates.afters));
    if (w.notifications_max)
        add_once(&t.counters->notified, put_partial(w, t, SCAN_NOTIFICATIONS, updates.notifications));
    count(&t.counters->malformed, is_command && fate == MALFORMED);
    count(&t.counters->stale, is_command && fate == STALE);
    count(&t.counters->applied, is_command && fate < COMMANDS_MAX);
    count(&t.counters->births_asked, is_command && fate == SPAWN);
}

// Schedules the commands that commands delay: after the server's, in command order.
KERNEL logic_after(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->commands || !t.counters->afters) return;
    u32 i = thread_index();
    u32 n = i < t.counters->commands ? w.after_counts[i] : 0;
    StoreAfters store{w, t, t.afters_asked + offset_of(w, t, SCAN_AFTERS, n)};
    if (n) {
        Command c = w.commands[i];
        run(w, t, w.verdicts[i], invocation(w, t, c), store);
    }
    add_elements(w, store.elements);
}

// Stores the notifications of commands, in command order.
KERNEL logic_notify(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->commands || !t.counters->notified) return;
    u32 i = thread_index();
    u32 n = i < t.counters->commands ? w.notification_counts[i] : 0;
    StoreNotifications store{w, t, offset_of(w, t, SCAN_NOTIFICATIONS, n)};
    if (!n) return;
    Command c = w.commands[i];
    run(w, t, w.verdicts[i], invocation(w, t, c), store);
}

// A command keeps all its updates or none: the first command that doesn't fit and all after
// it lose theirs.
KERNEL logic_store(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->commands) return;
    u32 i = thread_index();
    u32 n = i < t.counters->commands ? w.update_counts[i] : 0;
    u64 start = offset_of(w, t, SCAN_UPDATES, n);
    bool fits = n && start + n <= w.updates_max;
    if (fits) {
        StoreUpdates store{w, start, (u64)~t.stamp << 32 | i};
        Command c = w.commands[i];
        run(w, t, w.verdicts[i], invocation(w, t, c), store);
    }
    if (t.counters->updates_total <= w.updates_max) {
        if (i == 0) t.counters->updates = t.counters->updates_total;
        return;
    }
    u64 end = fits ? start + n : 0;
    for (int d = 16; d; d >>= 1) end = max(end, __shfl_down_sync(~0u, end, d));
    if (lane() == 0 && end) atomicMax(&t.counters->updates, end);
}
