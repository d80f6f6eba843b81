// The built-in commands, run twice: to count their updates and to store them
// (thesis 3.3).
#include "notifications.cuh"
#include "timed.cuh"

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
    u64 first;  // as `first_updates` has it
    __device__ void update(u32 slot, u32 column, i32 value) {
        u32 key = slot * w.columns + column;
        // The least is the first, whichever thread comes first.
        if (w.first_updates) atomicMin(&w.first_updates[key], first);
        w.keys[next] = key;
        w.values[next] = (u32)value;
        next++;
    }
    __device__ void after(u32, Timed&) {}
    __device__ void notify(const Notification&) {}
};
// What a command puts off, without its updates.
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
// What a command tells of, alone.
struct StoreNotifications {
    static constexpr bool UPDATES = false;
    const World& w;
    const Tick& t;
    u64 next;
    __device__ void update(u32, u32, i32) {}
    __device__ void after(u32, Timed&) {}
    __device__ void notify(const Notification& notification) { tell(w, t, next++, notification); }
};

struct Invocation {
    u32 slot, generation;
    const i32* words;
    u32 word_count;
};

__device__ inline bool has_column(const World& w, u32 slot, i32 column) {
    return w.kind_columns[w.slot_kinds[slot]] >> column & 1;
}
__device__ inline u32 target(const World& w, u32 from, i32 reference, i32 reach, i32 column) {
    u32 slot = resolve(w, reference);
    bool hit = slot < w.capacity && is_within(position(w, from), position(w, slot), reach) && has_column(w, slot, column);
    return hit ? slot : w.capacity;
}

// The point in the world that a command's first words mean.
__device__ inline Point point_of(const World& w, const Invocation& in) {
    Point point = {{0, 0, 0}};
    for (u32 axis = 0; axis < w.dimensions; axis++) point.p[axis] = min(max(in.words[axis], 0), w.size[axis] - 1);
    return point;
}

// Has embers burn around a point from the next tick on, for so many ticks.
template <class Emit>
__device__ void kindle(const World& w, const Point& center, i32 ticks, Emit& emit) {
    if (ticks <= 0) return;
    Timed timed(0, 0xffffffffu, 0, BURN, w.dimensions + 1);
    for (u32 axis = 0; axis < 3; axis++)
        if (axis < w.dimensions) timed.column[TIMED_WORD + axis] = (u32)center.p[axis];
    timed.column[TIMED_WORD + w.dimensions] = (u32)ticks;
    emit.after(1, timed);
}

// Takes hit points from everyone around a point but one.
template <class Emit>
__device__ void hurt(const World& w, const Point& center, u32 except, i32 damage, Emit& emit) {
    if (!Emit::UPDATES) return;
    u32 n = (u32)*w.index_len;
    Block block = block_around(w, center, w.blast_radius);
    u64 rows = (u64)(block.high[1] - block.low[1] + 1) * (block.high[2] - block.low[2] + 1);
    auto look_at = [&](Range range) {
        for (u32 i = range.start; i < range.end; i++) {
            u32 slot = w.index_slots[i];
            if (slot != except && is_within(indexed_position(w, i), center, w.blast_radius) && has_column(w, slot, w.hp))
                emit.update(slot, w.hp, -damage);
        }
    };
    if (rows > n) {
        look_at({0, n});
        return;
    }
    for (u32 z = block.low[2]; z <= block.high[2]; z++)
        for (u32 y = block.low[1]; y <= block.high[1]; y++) look_at(row_range(w, block, y, z));
}

template <class Emit>
__device__ void blast(const World& w, const Invocation& in, Emit& emit) {
    Point center = point_of(w, in);
    if (!is_within(position(w, in.slot), center, w.blast_reach)) return;
    kindle(w, center, w.ember_ticks, emit);
    if (tells(w, TOLD_BLAST)) {
        Notification n = notification(w, TOLD_BLAST, in.slot, in.generation, center, w.blast_sound);
        n.word_count = (u8)w.dimensions;
        for (u32 axis = 0; axis < 3; axis++)
            if (axis < w.dimensions) n.words[axis] = center.p[axis];
        emit.notify(n);
    }
    hurt(w, center, in.slot, w.blast_damage, emit);
}

template <class Emit>
__device__ void burn(const World& w, const Invocation& in, Emit& emit) {
    Point center = point_of(w, in);
    kindle(w, center, max(in.words[w.dimensions], 1) - 1, emit);
    hurt(w, center, w.capacity, w.ember_damage, emit);
}

template <class Emit>
__device__ void shout(const World& w, const Invocation& in, Emit& emit) {
    if (!tells(w, TOLD_SHOUT)) return;
    i32 radius = min(max(in.words[0], 0), w.shout_radius_max);
    Notification n = notification(w, TOLD_SHOUT, in.slot, in.generation, position(w, in.slot), radius);
    n.word_count = 1;
    n.words[0] = in.words[1];
    emit.notify(n);
}

template <class Emit>
__device__ void run(const World& w, const Tick& t, u32 kind, const Invocation& in, Emit& emit) {
    switch (kind) {
    case MOVE:
        for (u32 axis = 0; axis < in.word_count; axis++)
            emit.update(in.slot, axis, min(max(in.words[axis], -w.move_speed_max), w.move_speed_max));
        break;
    case STRIKE: {
        u32 slot = target(w, in.slot, in.words[0], w.strike_reach, w.hp);
        if (slot < w.capacity && slot != in.slot) emit.update(slot, w.hp, -w.strike_damage);
        break;
    }
    case HEAL: {
        u32 slot = target(w, in.slot, in.words[0], w.heal_reach, w.hp);
        if (slot < w.capacity) emit.update(slot, w.hp, w.heal_amount);
        break;
    }
    case BLAST: blast(w, in, emit); break;
    case PICK: {
        u32 slot = target(w, in.slot, in.words[0], w.pick_reach, w.owner);
        if (slot == w.capacity) break;
        u32 present = resolve(w, w.rows[(u64)slot * w.columns + w.owner]);
        if (present == w.capacity)
            emit.update(slot, w.owner, (i32)((in.generation & 0xff) << 24 | (in.slot & 0xffffff)));
        else if (present == in.slot) emit.update(slot, w.owner, -1);
        break;
    }
    case BURN: burn(w, in, emit); break;
    case SHOUT: shout(w, in, emit); break;
    case ROAM: {
        Random random(w.seed, t.number, entity_bits(in.slot, in.generation));
        for (u32 axis = 0; axis < w.dimensions; axis++) emit.update(in.slot, axis, random.around_zero(w.roam_step));
        break;
    }
    }
}

__device__ inline Invocation invocation(const World& w, const Tick& t, const Command& c) {
    return {c.slot, c.generation, words_of(w, t, c), c.word_count};
}

__device__ inline u32 verdict(const World& w, const Tick& t, const Command& c) {
    if (c.kind >= COMMAND_KINDS) return MALFORMED;
    i32 expected = w.word_counts[c.kind];
    bool fits = c.word_count == expected || (c.kind == SPAWN && c.word_count == expected + w.dimensions);
    if (expected < 0 || !fits) return MALFORMED;
    if (c.kind == SPAWN) {
        u32 kind = (u32)words_of(w, t, c)[0];
        return kind < w.kinds ? SPAWN : MALFORMED;
    }
    if (c.kind == BURN) return BURN;
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
        Command c = t.commands[i];
        fate = verdict(w, t, c);
        w.verdicts[i] = fate;
        if (fate < COMMAND_KINDS) run(w, t, fate, invocation(w, t, c), updates);
        w.update_counts[i] = (u32)updates.n;
        if (w.timed_max) w.after_counts[i] = updates.afters;
        if (w.notifications_max) w.notification_counts[i] = updates.notifications;
    }
    add_once(&t.counters->updates_total, put_partial(w, t, SCAN_UPDATES, updates.n));
    // Launched alike for all blocks, so all of them agree.
    if (w.timed_max) add_once(&t.counters->afters, put_partial(w, t, SCAN_AFTERS, updates.afters));
    if (w.notifications_max)
        add_once(&t.counters->notified, put_partial(w, t, SCAN_NOTIFICATIONS, updates.notifications));
    count(&t.counters->malformed, is_command && fate == MALFORMED);
    count(&t.counters->stale, is_command && fate == STALE);
    count(&t.counters->applied, is_command && fate < COMMAND_KINDS);
    count(&t.counters->births_asked, is_command && fate == SPAWN);
}

// What commands put off follows what the server puts off, in their order.
KERNEL logic_after(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->commands || !t.counters->afters) return;
    u32 i = thread_index();
    u32 n = i < t.counters->commands ? w.after_counts[i] : 0;
    StoreAfters store{w, t, t.afters_asked + offset_of(w, t, SCAN_AFTERS, n)};
    if (n) {
        Command c = t.commands[i];
        run(w, t, w.verdicts[i], invocation(w, t, c), store);
    }
    add_elements(w, store.elements);
}

// What commands tell of, in their order.
KERNEL logic_notify(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->commands || !t.counters->notified) return;
    u32 i = thread_index();
    u32 n = i < t.counters->commands ? w.notification_counts[i] : 0;
    StoreNotifications store{w, t, offset_of(w, t, SCAN_NOTIFICATIONS, n)};
    if (!n) return;
    Command c = t.commands[i];
    run(w, t, w.verdicts[i], invocation(w, t, c), store);
}

// Commands keep all their updates or none: those from the first that doesn't
// fit lose theirs.
KERNEL logic_store(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->commands) return;
    u32 i = thread_index();
    u32 n = i < t.counters->commands ? w.update_counts[i] : 0;
    u64 start = offset_of(w, t, SCAN_UPDATES, n);
    bool fits = n && start + n <= w.updates_max;
    if (fits) {
        StoreUpdates store{w, start, (u64)~t.stamp << 32 | i};
        Command c = t.commands[i];
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
