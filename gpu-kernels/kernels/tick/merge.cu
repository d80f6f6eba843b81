// Merges the updates of each (entity, attribute) into one change (thesis 3.4): separation
// marks on the sorted updates, a scan, a fold of each interval by its rule, then the
// changes as a CSR by entity.
#include "tick/walls.cuh"

__device__ inline bool is_head(const World& w, u64 i) { return i == 0 || w.keys[i - 1] != w.keys[i]; }

// The columns of numbers of 64 bits, in two halves: the low one has as many updates as the high one,
// and they stand before them in the same order.
__device__ inline u32 rule_of(const World& w, u32 key) { return w.merge_rules[key % w.columns] & RULE_MASK; }
__device__ inline u32 half_of(const World& w, u32 key) { return w.merge_rules[key % w.columns] & ~RULE_MASK; }

// An update's value for the fold of an interval. Sums of halves are apart, and can't overflow; where
// numbers are compared, the high half's interval has the whole ones, of which `updates` is the number.
__device__ inline i64 value_of(const World& w, u32 rule, u32 half, u64 i, u64 updates) {
    u32 word = w.values[i];
    if (half == HALF_LOW) return (i64)word;
    if (half == HALF_HIGH && (rule == MIN || rule == MAX)) return (i64)((u64)word << 32 | w.values[i - updates]);
    return (i32)word;
}

KERNEL merge_mark(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->updates) return;
    u64 i = thread_index();
    bool head = i < t.counters->updates && is_head(w, i);
    add_once(&t.counters->intervals, put_partial(w, t, SCAN_INTERVALS, head));
}

KERNEL merge_intervals(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->updates) return;
    u64 i = thread_index();
    bool head = i < t.counters->updates && is_head(w, i);
    u64 interval = offset_of(w, t, SCAN_INTERVALS, head);
    if (i >= t.counters->updates) return;
    if (head) {
        u32 key = w.keys[i];
        w.interval_keys[interval] = key;
        w.interval_starts[interval] = (u32)i;
        u32 rule = rule_of(w, key);
        w.interval_values[interval] = rule == MIN ? 0x7fffffffffffffffll : rule == MAX ? -0x7fffffffffffffffll - 1 : 0;
    }
}

__device__ inline void fold_into(const World& w, u32 rule, u32 interval, i64 value) {
    switch (rule) {
    case SUM: atomicAdd((u64*)&w.interval_values[interval], (u64)value); break;
    case MIN: atomicMin(&w.interval_values[interval], value); break;
    case MAX: atomicMax(&w.interval_values[interval], value); break;
    }
}
__device__ inline i64 fold_two(u32 rule, i64 a, i64 b) { return rule == SUM ? a + b : rule == MIN ? min(a, b) : max(a, b); }

// One warp for each FOLD_ITEMS updates. Integer sums, minima and maxima don't depend on the
// order, so intervals that span several warps are joined by atomics, one for each warp and
// interval: all warps share the work of a long interval.
constexpr u32 FOLD_ITEMS = 256;
KERNEL merge_fold(World w, Tick t) {
    u64 n = t.counters->updates;
    u32 intervals = (u32)t.counters->intervals;
    u64 first = (u64)(thread_index() >> 5) * FOLD_ITEMS;
    if (first >= n) return;
    u64 end = min(n, first + FOLD_ITEMS);
    // The interval in which the share begins.
    u32 interval = lower_bound(w.interval_starts, intervals, (u32)first + 1) - 1;
    while (interval < intervals && w.interval_starts[interval] < end) {
        // 32 intervals at a time: one thread folds a short one.
        u32 own = interval + lane();
        bool exists = own < intervals && w.interval_starts[own] < end;
        u64 from = 0, to = 0, updates = 0;
        u32 rule = SUM, half = 0;
        if (exists) {
            u64 stop = own + 1 < intervals ? w.interval_starts[own + 1] : n;
            updates = stop - w.interval_starts[own];
            rule = rule_of(w, w.interval_keys[own]);
            half = half_of(w, w.interval_keys[own]);
            from = max(first, (u64)w.interval_starts[own]);
            to = min(end, stop);
            if (rule == FIRST && from == w.interval_starts[own]) w.interval_values[own] = (i32)w.values[from];
            if (rule == LAST && to == stop) w.interval_values[own] = (i32)w.values[to - 1];
        }
        bool folds = exists && rule <= MAX;
        bool is_long = folds && to - from > 16;
        if (folds && !is_long) {
            i64 value = value_of(w, rule, half, from, updates);
            for (u64 i = from + 1; i < to; i++) value = fold_two(rule, value, value_of(w, rule, half, i, updates));
            fold_into(w, rule, own, value);
        }
        // The whole warp folds the long ones, one after the other.
        for (u32 longs = __ballot_sync(~0u, is_long); longs; longs &= longs - 1) {
            int owner = __ffs(longs) - 1;
            u64 begin = __shfl_sync(~0u, from, owner), stop = __shfl_sync(~0u, to, owner);
            u32 common = __shfl_sync(~0u, rule, owner), side = __shfl_sync(~0u, half, owner);
            u64 all = __shfl_sync(~0u, updates, owner);
            i64 value = common == SUM ? 0 : value_of(w, common, side, begin, all);
            for (u64 i = begin + lane(); i < stop; i += 32)
                value = fold_two(common, value, value_of(w, common, side, i, all));
            for (int d = 16; d; d >>= 1) value = fold_two(common, value, __shfl_down_sync(~0u, value, d));
            if (lane() == 0) fold_into(w, common, interval + owner, value);
        }
        interval += 32;
    }
}

// Applies both halves of a number: their updates are the intervals `i` and `i + 1`.
__device__ inline void apply_wide(const World& w, const Tick& t, u32 i, u32 rule) {
    u32 key = w.interval_keys[i], slot = key / w.columns, column = key % w.columns;
    i64 low = w.interval_values[i], high = w.interval_values[i + 1];
    i64 after;
    if (rule == SUM) {
        // In 96 bits: a high half of 64, and a low one of 32.
        u64 sum = (u64)low + (u32)w.rows[key];
        high += w.rows[key + 1] + (i64)(sum >> 32);
        after = high > 0x7fffffffll ? 0x7fffffffffffffffll
            : high < -0x80000000ll ? -0x7fffffffffffffffll - 1
                                   : (i64)((u64)high << 32 | (u32)sum);
    } else {
        after = rule == MIN || rule == MAX ? high : (i64)((u64)high << 32 | (u32)low);
    }
    after = min(max(after, w.wide_bounds[2 * column]), w.wide_bounds[2 * column + 1]);
    i32 halves[2] = {(i32)after, (i32)(after >> 32)};
    for (u32 half = 0; half < 2; half++) {
        bool changes = w.rows[key + half] != halves[half];
        w.interval_changed[i + half] = changes;
        w.interval_values[i + half] = halves[half];
        if (!changes) continue;
        w.rows[key + half] = halves[half];
        if (w.visible_columns[column]) w.changed[slot] = t.stamp;
    }
}

KERNEL merge_apply(World w, Tick t) {
    u32 i = thread_index();
    if (i >= t.counters->intervals) return;
    u32 key = w.interval_keys[i], slot = key / w.columns, column = key % w.columns;
    u32 half = half_of(w, key);
    if (half == HALF_LOW) apply_wide(w, t, i, rule_of(w, key));
    if (half) return;
    i32 before = w.rows[key];
    i64 folded = w.interval_values[i] + (w.merge_rules[column] == SUM ? before : 0);
    int2 bounds = w.bounds[w.slot_kinds[slot] * w.columns + column];
    i32 after = (i32)min(max(folded, (i64)bounds.x), (i64)bounds.y);
    w.interval_changed[i] = after != before;
    w.interval_values[i] = after;
    if (w.wall_edge_bits && column < 2) {
        u64 stop = i + 1 < t.counters->intervals ? w.interval_starts[i + 1] : t.counters->updates;
        if (stop - w.interval_starts[i] > 1) w.several[slot] = t.stamp;
    }
    if (after == before) return;
    w.rows[key] = after;
    if (w.visible_columns[column]) w.changed[slot] = t.stamp;
}

// Keeps entities out of walls: one that is in a wall after its changes, and one that several updates
// moved along an axis, goes from where it was as far as walls leave it. One thread for each entity
// that moved.
KERNEL merge_hold(World w, Tick t) {
    u32 i = thread_index(), intervals = (u32)t.counters->intervals;
    if (i >= intervals) return;
    u32 key = w.interval_keys[i], slot = key / w.columns, column = key % w.columns;
    if (column > 1 || (column == 1 && i > 0 && w.interval_keys[i - 1] == key - 1)) return;
    bool is_next = column == 0 && i + 1 < intervals && w.interval_keys[i + 1] == key + 1;
    if (!w.interval_changed[i] && !(is_next && w.interval_changed[i + 1])) return;
    u32 place_of[2] = {slot, w.capacity + slot};
    i32* row = w.rows + (u64)slot * w.columns;
    i32 here[2] = {row[0], row[1]};
    i32 held[2] = {here[0], here[1]};
    if (w.several[slot] == t.stamp || is_blocked(w, here)) {
        for (u32 axis = 0; axis < 2; axis++) held[axis] = w.wall_places[place_of[axis]];
        slide(w, held, here);
    }
    for (u32 axis = 0; axis < 2; axis++) {
        w.wall_places[place_of[axis]] = held[axis];
        if (held[axis] == here[axis]) continue;
        row[axis] = held[axis];
        w.interval_values[axis == column ? i : i + 1] = held[axis];
    }
}

// Whether a change is the first of its entity.
__device__ inline bool leads(const World& w, u32 i) {
    u32 slot = w.interval_keys[i] / w.columns;
    for (u32 j = i; j-- > 0 && w.interval_keys[j] / w.columns == slot;)
        if (w.interval_changed[j]) return false;
    return true;
}
__device__ inline u64 change_weight(const World& w, const Tick& t, u32 i) {
    if (i >= t.counters->intervals || !w.interval_changed[i]) return 0;
    return 1ull << 32 | (u64)leads(w, i);
}

KERNEL merge_count(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->intervals) return;
    u64 sum = put_partial(w, t, SCAN_CHANGES, change_weight(w, t, thread_index()));
    add_once(&t.counters->changes, sum >> 32);
    add_once(&t.counters->changed_entities, (u32)sum);
}

KERNEL merge_store(World w, Tick t) {
    u32 i = thread_index();
    if (i == 0) t.change_offsets[t.counters->changed_entities] = (u32)t.counters->changes;
    if ((u64)blockIdx.x * BLOCK >= t.counters->intervals) return;
    u64 weight = change_weight(w, t, i);
    u64 place = offset_of(w, t, SCAN_CHANGES, weight);
    if (!weight) return;
    u32 change = (u32)(place >> 32), entity = (u32)place;
    u32 key = w.interval_keys[i];
    t.change_columns[change] = (u16)(key % w.columns);
    t.change_values[change] = (i32)w.interval_values[i];
    if (w.first_updates) {
        Command cause = w.commands[(u32)w.first_updates[key]];
        t.change_causes[change] = cause.kind;
        t.change_actors[change] = w.forms[cause.kind] & HAS_ACTOR ? cause.slot : NOBODY;
    }
    if (weight & 1) {
        t.change_slots[entity] = key / w.columns;
        t.change_offsets[entity] = change;
    }
}
