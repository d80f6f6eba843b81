// Who is told of what (thesis 3.5). A warp serves a client: it finds what the
// client sees among the neighbouring bucket rows, and compares that with what the
// client knows: count, scan, enumerate.
#include "held.cuh"

// An observer's place.
struct Place {
    Point center;
    i32 radius;
    u32 followed;  // a slot, or capacity
};

__device__ inline bool find_place(const World& w, u32 client, u32 index, Place& place) {
    Observer o = w.observers[client * w.observers_per_client + index];
    if (o.tag == 0) return false;
    place.radius = min(o.radius, w.aoi);
    place.followed = w.capacity;
    if (o.tag == 2) {
        place.center = {{o.a, o.b, o.c}};
        return true;
    }
    u32 slot = (u32)o.a;
    if (slot >= w.capacity || w.states[slot] != LIVE || w.generations[slot] != (u32)o.b) return false;
    place.center = position(w, slot);
    place.followed = slot;
    return true;
}
__device__ inline Block block_of(const World& w, const Place& place) {
    return w.exact ? block_around(w, place.center, place.radius) : block_of_neighbours(w, place.center);
}
__device__ inline bool perceives(const World& w, const Place& place, const Point& p) {
    if (w.exact) return is_within(p, place.center, place.radius);
    Block block = block_of_neighbours(w, place.center);
    for (int axis = 0; axis < 3; axis++) {
        u32 bucket = bucket_of(w, axis, p.p[axis]);
        if (bucket < block.low[axis] || bucket > block.high[axis]) return false;
    }
    return true;
}

// Whether an earlier observer of the client perceives it too. Kernels that call
// what is not inlined take the world as a grid constant: else each thread would
// first copy it to where it can be pointed to.
__device__ __noinline__ bool is_repeated(const World& w, u32 client, u32 index, const Point& p) {
    Place earlier;
    for (u32 i = 0; i < index; i++)
        if (find_place(w, client, i, earlier) && perceives(w, earlier, p)) return true;
    return false;
}

// Nearness of a candidate to the nearest of the client's observers: whom one of
// them follows comes before everyone.
__device__ inline u64 rank_of(const World& w, u32 client, u32 slot, const Point& p) {
    u64 best = ~0ull;
    Place place;
    for (u32 i = 0; i < w.observers_per_client; i++) {
        if (!find_place(w, client, i, place) || !perceives(w, place, p)) continue;
        if (place.followed == slot) return 0;
        best = min(best, (u64)squared_distance(p, place.center) + 1);
    }
    return best;
}

// Where the rows of buckets that an observer touches stand in the index: a thread
// for each row, since binary searches are little but waiting.
__device__ inline Range observer_range(const World& w, u32 observer, u32 row) {
    Place place;
    if (!find_place(w, observer / w.observers_per_client, observer % w.observers_per_client, place)) return {0, 0};
    Block block = block_of(w, place);
    u32 rows_y = block.high[1] - block.low[1] + 1;
    u32 y = block.low[1] + row % rows_y, z = block.low[2] + row / rows_y;
    if (z > block.high[2]) return {0, 0};
    return row_range(w, block, y, z);
}
KERNEL interest_ranges(World w, Tick t) {
    u64 item = (u64)blockIdx.x * BLOCK + threadIdx.x;
    u32 observer = (u32)(item / w.rows_max), row = (u32)(item % w.rows_max);
    if (observer >= t.clients_used * w.observers_per_client) return;
    w.ranges[item] = observer_range(w, observer, row);
}

// Whether one of a client's first subscriptions brings an entity.
__device__ inline bool is_subscribed(const World& w, const Held& h, u32 client, u32 subscriptions, u32 slot,
                                     const Point& p) {
    Box publication, box;
    bool is_published = find_publication(w, h, slot, publication);
    for (u32 i = 0; i < subscriptions; i++)
        if (find_subscription(w, h, client, i, box) && (box.contains(p) || (is_published && box.overlaps(publication))))
            return true;
    return false;
}
// Whether an observer, or an earlier subscription, shows it too.
__device__ __noinline__ bool is_repeated(const World& w, const Held& h, u32 client, u32 index, u32 slot,
                                         const Point& p) {
    return is_repeated(w, client, w.observers_per_client, p) || is_subscribed(w, h, client, index, slot, p);
}

// The nearness of whom subscriptions bring is that to the nearest observer, however
// far it is; where there is none, all are as far as can be.
__device__ __noinline__ u64 rank_of(const World& w, const Held& h, u32 client, u32 slot) {
    Point p = position(w, slot);
    u64 best = rank_of(w, client, slot, p);
    if (best == 0 || !is_subscribed(w, h, client, subscriptions_max(w, h), slot, p)) return best;
    Place place;
    for (u32 i = 0; i < w.observers_per_client; i++)
        if (find_place(w, client, i, place)) best = min(best, (u64)squared_distance(p, place.center) + 1);
    return best;
}

// Whom only a client's subscriptions bring.
template <class Visit>
__device__ void each_subscribed(const World& w, const Held& h, u32 client, Visit visit) {
    u32 n = subscriptions_max(w, h);
    for (u32 s = 0; s < n; s++) {
        Box box;
        if (!find_subscription(w, h, client, s, box)) continue;
        each_in_box(w, box, [&](bool is_one, u32 slot, const Point& p) {
            visit(is_one && !is_repeated(w, h, client, s, slot, p), slot, 0u);
        });
        if (!h.of_entities) continue;
        each_overlapping(w, h, h.published, box, [&](bool is_one, u32 slot) {
            Point p = {{0, 0, 0}};
            if (is_one) p = position(w, slot);
            // Else it was found by its position.
            visit(is_one && !box.contains(p) && !is_repeated(w, h, client, s, slot, p), slot, 0u);
        });
    }
}

// Calls `visit(candidate, slot, i)` on all lanes for 32 places of the index at a
// time; `slot` and `i` are the lane's, and count only where `candidate` is set. With
// regions, `i` is no place of the index.
template <bool HELD, class Visit>
__device__ void each_candidate(const World& w, const Held* h, u32 client, Visit visit) {
    for (u32 o = 0; o < w.observers_per_client; o++) {
        Place place;
        if ((w.exact || o > 0) && !find_place(w, client, o, place)) continue;
        Range own = {0, 0};
        if (lane() < w.rows_max) own = w.ranges[((u64)client * w.observers_per_client + o) * w.rows_max + lane()];
        for (u32 r = 0; r < w.rows_max; r++) {
            u32 start = __shfl_sync(~0u, own.start, r), end = __shfl_sync(~0u, own.end, r);
            for (u32 base = start; base < end; base += 32) {
                u32 i = base + lane();
                bool candidate = i < end;
                u32 slot = candidate ? w.index_slots[i] : w.capacity;
                if (candidate && (w.exact || o > 0)) {
                    Point p = indexed_position(w, i);
                    if (w.exact && !is_within(p, place.center, place.radius)) candidate = false;
                    else if (o > 0 && is_repeated(w, client, o, p)) candidate = false;
                }
                visit(candidate, slot, i);
            }
        }
    }
    if constexpr (HELD) each_subscribed(w, *h, client, visit);
}
template <bool HELD>
__device__ inline u64 rank_in(const World& w, const Held* h, u32 client, u32 slot, u32 i) {
    if constexpr (HELD) return rank_of(w, *h, client, slot);
    else return rank_of(w, client, slot, indexed_position(w, i));
}

// Sorts up to `places` (a power of two) slots in shared memory, by a warp.
__device__ void sort_slots(u32* slots, u32 n, u32 places) {
    for (u32 i = n + lane(); i < places; i += 32) slots[i] = ~0u;
    __syncwarp();
    for (u32 size = 2; size <= places; size <<= 1)
        for (u32 stride = size >> 1; stride; stride >>= 1) {
            for (u32 pair = lane(); pair < places / 2; pair += 32) {
                u32 i = 2 * pair - (pair & (stride - 1)), j = i + stride;
                u32 a = slots[i], b = slots[j];
                bool ascending = (i & size) == 0;
                if ((a > b) == ascending) {
                    slots[i] = b;
                    slots[j] = a;
                }
            }
            __syncwarp();
        }
}
__device__ u32 sort_word(u32 word) {
    for (u32 size = 2; size <= 32; size <<= 1)
        for (u32 stride = size >> 1; stride; stride >>= 1) {
            u32 other = __shfl_xor_sync(~0u, word, stride);
            bool ascending = (lane() & size) == 0, lower = (lane() & stride) == 0;
            word = (ascending == lower) ? min(word, other) : max(word, other);
        }
    return word;
}

// Where more are near than a client may know: the (rank, slot) of the last one it
// may, digit by digit.
template <bool HELD>
__device__ void find_limit(const World& w, const Held* h, u32 client, u32* histogram, u64& rank_limit, u32& slot_limit) {
    u32 wanted = w.visible_max;
    u64 prefix = 0;
    for (int shift = 56; shift >= 0; shift -= 8) {
        for (u32 i = lane(); i < 256; i += 32) histogram[i] = 0;
        __syncwarp();
        each_candidate<HELD>(w, h, client, [&](bool candidate, u32 slot, u32 i) {
            if (!candidate) return;
            u64 rank = rank_in<HELD>(w, h, client, slot, i);
            if (shift == 56 || rank >> (shift + 8) == prefix) atomicAdd(&histogram[rank >> shift & 255], 1);
        });
        __syncwarp();
        u32 digit = 0;
        while (histogram[digit] < wanted) wanted -= histogram[digit++];
        prefix = prefix << 8 | digit;
        __syncwarp();
    }
    rank_limit = prefix;
    u32 low = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        for (u32 i = lane(); i < 256; i += 32) histogram[i] = 0;
        __syncwarp();
        each_candidate<HELD>(w, h, client, [&](bool candidate, u32 slot, u32 i) {
            if (!candidate || rank_in<HELD>(w, h, client, slot, i) != rank_limit) return;
            if (shift == 16 || slot >> (shift + 8) == low) atomicAdd(&histogram[slot >> shift & 255], 1);
        });
        __syncwarp();
        u32 digit = 0;
        while (histogram[digit] < wanted) wanted -= histogram[digit++];
        low = low << 8 | digit;
        __syncwarp();
    }
    slot_limit = low;
}

// The nearest of those that a client could see, as many as it may know. Apart, so
// that where there are few no registers are kept for it.
template <bool HELD>
__device__ __noinline__ u32 see_nearest(const World& w, const Held* h, u32 client, u32* view, u32* histogram) {
    u64 rank_limit;
    u32 slot_limit, found = 0;
    find_limit<HELD>(w, h, client, histogram, rank_limit, slot_limit);
    each_candidate<HELD>(w, h, client, [&](bool candidate, u32 slot, u32 i) {
        if (candidate) {
            u64 rank = rank_in<HELD>(w, h, client, slot, i);
            candidate = rank < rank_limit || (rank == rank_limit && slot <= slot_limit);
        }
        u32 lanes = __ballot_sync(~0u, candidate);
        u32 place = found + __popc(lanes & ((1u << lane()) - 1));
        if (candidate) view[place] = slot;
        found += __popc(lanes);
    });
    __syncwarp();
    return found;
}

// Finds what a client sees, ascending by slot, into `view` (shared, `view_places`
// long), and says how many.
template <bool HELD>
__device__ u32 see(const World& w, const Held* h, u32 client, u32* view, u32* histogram) {
    u32 found = 0;
    each_candidate<HELD>(w, h, client, [&](bool candidate, u32 slot, u32) {
        u32 lanes = __ballot_sync(~0u, candidate);
        u32 place = found + __popc(lanes & ((1u << lane()) - 1));
        if (candidate && place < w.view_places) view[place] = slot;
        found += __popc(lanes);
    });
    __syncwarp();
    if (found > w.visible_max) found = see_nearest<HELD>(w, h, client, view, histogram);
    if (found <= 32) {
        u32 word = sort_word(lane() < found ? view[lane()] : ~0u);
        __syncwarp();
        if (lane() < found) view[lane()] = word;
        __syncwarp();
    } else {
        u32 places = 64;
        while (places < found) places <<= 1;
        sort_slots(view, found, places);
    }
    return found;
}

__device__ inline u32 slot_bound(const u32* slots, u32 n, u32 slot) {
    u32 low = 0, high = n;
    while (low < high) {
        u32 middle = (low + high) >> 1;
        if (slots[middle] < slot) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Shared memory of a warp: the view, then room for a histogram or a second view,
// then two prefix arrays or what is known.
__device__ inline u32* warp_memory(u32 words) {
    extern __shared__ u32 shared_words[];
    return shared_words + (threadIdx.x >> 5) * words;
}
__device__ inline u32 warp_client(const Tick& t) { return t.client_first + (thread_index() >> 5); }

template <bool HELD>
__device__ void see_client(const World& w, const Tick& t, const Held* h) {
    u32 client = warp_client(t);
    if (client >= t.client_end) return;
    u32* view = warp_memory(w.view_places + 256 + w.visible_max);
    // Near, since it is searched; at once, since everything else waits for memory.
    u32* known = view + w.view_places + 256;
    u32 knows = w.known_counts[client];
    bool behind = w.behind[client];
    for (u32 i = lane(); i < knows; i += 32) known[i] = w.known[(u64)client * w.visible_max + i];
    u32 seen = see<HELD>(w, h, client, view, view + w.view_places);
    u32* out = w.visible + (u64)client * w.visible_max;
    u32 deliveries = 0, both = 0;
    for (u32 i = lane(); i < seen; i += 32) {
        u32 slot = view[i];
        out[i] = slot;
        u32 at = slot_bound(known, knows, slot);
        bool is_known = at < knows && known[at] == slot;
        both += is_known;
        deliveries += !is_known || behind || w.changed[slot] == t.stamp;
    }
    for (int d = 16; d; d >>= 1) {
        deliveries += __shfl_down_sync(~0u, deliveries, d);
        both += __shfl_down_sync(~0u, both, d);
    }
    if (lane() == 0) {
        w.visible_counts[client] = seen;
        w.client_counts[client] = deliveries + (knows - both);
    }
}
extern "C" __global__ void __launch_bounds__(BLOCK, 6) interest_see(const __grid_constant__ World w, Tick t) {
    see_client<false>(w, t, nullptr);
}
// The same in worlds with regions.
extern "C" __global__ void __launch_bounds__(BLOCK, 3)
    interest_held_see(const __grid_constant__ World w, Tick t, const __grid_constant__ Held h) {
    see_client<true>(w, t, &h);
}

// Whether everybody changed and each client sees whole buckets: then the ranges
// alone say how many deliveries there are.
__device__ inline bool is_by_ranges(const World& w, const Tick& t) {
    return w.visible_max == 0 && !w.exact && w.observers_per_client == 1 && t.counters->changed_live == t.counters->live;
}

// Offsets from counts. A client gets all of its deliveries or none: those from
// the first that doesn't fit get none.
KERNEL interest_partial(World w, Tick t) {
    u32 client = thread_index();
    u64 n = 0;
    if (client < t.clients_used) {
        if (is_by_ranges(w, t)) {
            const Range* ranges = w.ranges + (u64)client * w.rows_max;
            for (u32 row = 0; row < w.rows_max; row++) n += ranges[row].end - ranges[row].start;
            w.client_counts[client] = n;
        } else {
            n = w.client_counts[client];
        }
    }
    add_once(&t.counters->deliveries_total, put_partial(w, t, SCAN_DELIVERIES, n));
}
KERNEL interest_offsets(World w, Tick t) {
    u32 client = thread_index();
    bool is_client = client < t.clients_used;
    u64 n = is_client ? w.client_counts[client] : 0;
    u64 start = offset_of(w, t, SCAN_DELIVERIES, n);
    bool all = t.counters->deliveries_total <= w.deliveries_max;
    bool served = is_client && start + n <= w.deliveries_max;
    if (is_client) {
        t.delivery_offsets[client] = served ? (u32)start : ~0u;
        if (client % t.chunk_clients == 0) t.counters->chunk_starts[client / t.chunk_clients] = start;
    }
    if (all) {
        if (client == 0) {
            t.counters->served = t.clients_used;
            t.counters->deliveries = t.counters->deliveries_total;
        }
        return;
    }
    count(&t.counters->served, served);
    count(&t.counters->behind, is_client && !served && n);
    u64 end = served ? start + n : 0;
    for (int d = 16; d; d >>= 1) end = max(end, __shfl_down_sync(~0u, end, d));
    if (lane() == 0 && end) atomicMax(&t.counters->deliveries, end);
}

// The exclusive prefix of a flag over a warp's 32 items, and how many are set.
__device__ inline u32 prefix_of(bool flag, u32& total) {
    u32 lanes = __ballot_sync(~0u, flag);
    total = __popc(lanes);
    return __popc(lanes & ((1u << lane()) - 1));
}

KERNEL interest_compare(World w, Tick t) {
    u32 client = warp_client(t);
    if (client >= t.client_end) return;
    u32 start = t.delivery_offsets[client];
    u32* out_view = w.visible + (u64)client * w.visible_max;
    const u32* known = w.known + (u64)client * w.visible_max;
    u32 knows = w.known_counts[client], seen = w.visible_counts[client];
    if (start == ~0u) {
        // Not served: what it knows stays.
        for (u32 i = lane(); i < knows; i += 32) out_view[i] = known[i];
        __syncwarp();
        if (lane() == 0) {
            w.visible_counts[client] = knows;
            w.behind[client] = w.client_counts[client] != 0;
        }
        return;
    }
    bool behind = w.behind[client];
    u32 stride = w.visible_max;
    u32* view = warp_memory(4 * stride);
    u32* old = view + stride;
    u32* delivered_before = old + stride;  // of what is seen
    u32* leaves_before = delivered_before + stride;  // of what is known
    for (u32 i = lane(); i < seen; i += 32) view[i] = out_view[i];
    for (u32 i = lane(); i < knows; i += 32) old[i] = known[i];
    __syncwarp();
    u32 delivered = 0, left = 0, total;
    for (u32 base = 0; base < seen; base += 32) {
        u32 i = base + lane();
        bool deliver = false;
        if (i < seen) {
            u32 at = slot_bound(old, knows, view[i]);
            bool is_known = at < knows && old[at] == view[i];
            deliver = !is_known || behind || w.changed[view[i]] == t.stamp;
        }
        u32 before = delivered + prefix_of(deliver, total);
        if (i < seen) delivered_before[i] = before;
        delivered += total;
    }
    for (u32 base = 0; base < knows; base += 32) {
        u32 i = base + lane();
        bool leave = false;
        if (i < knows) {
            u32 at = slot_bound(view, seen, old[i]);
            leave = at == seen || view[at] != old[i];
        }
        u32 before = left + prefix_of(leave, total);
        if (i < knows) leaves_before[i] = before;
        left += total;
    }
    __syncwarp();
    u32* out = t.deliveries + start;
    for (u32 i = lane(); i < seen; i += 32) {
        u32 after = i + 1 < seen ? delivered_before[i + 1] : delivered;
        if (after == delivered_before[i]) continue;
        u32 at = slot_bound(old, knows, view[i]);
        bool is_known = at < knows && old[at] == view[i];
        u32 leaves = at < knows ? leaves_before[at] : left;
        out[delivered_before[i] + leaves] = (is_known ? UPDATE : ENTER) << 30 | view[i];
    }
    for (u32 i = lane(); i < knows; i += 32) {
        u32 after = i + 1 < knows ? leaves_before[i + 1] : left;
        if (after == leaves_before[i]) continue;
        u32 at = slot_bound(view, seen, old[i]);
        u32 others = at < seen ? delivered_before[at] : delivered;
        out[leaves_before[i] + others] = (u32)LEAVE << 30 | old[i];
    }
    if (lane() == 0) w.behind[client] = 0;
}

// Where nothing is remembered: each client's changed entities in range. Warps go
// from client to client, so that there is little to end where ranges are enough.
template <bool HELD>
__device__ void count_changed(const World& w, const Tick& t, const Held* h) {
    if (is_by_ranges(w, t)) return;
    for (u32 client = thread_index() >> 5; client < t.clients_used; client += thread_count() >> 5) {
        u64 n = 0;
        each_candidate<HELD>(w, h, client, [&](bool candidate, u32 slot, u32) {
            n += __popc(__ballot_sync(~0u, candidate && w.changed[slot] == t.stamp));
        });
        if (lane() == 0) w.client_counts[client] = n;
    }
}
template <bool HELD>
__device__ void store_changed(const World& w, const Tick& t, const Held* h) {
    u32 client = warp_client(t);
    if (client >= t.client_end) return;
    u32 place = t.delivery_offsets[client];
    if (place == ~0u) return;
    bool all = is_by_ranges(w, t);
    each_candidate<HELD>(w, h, client, [&](bool candidate, u32 slot, u32) {
        bool deliver = candidate && (all || w.changed[slot] == t.stamp);
        u32 lanes = __ballot_sync(~0u, deliver);
        if (deliver) t.deliveries[place + __popc(lanes & ((1u << lane()) - 1))] = slot;
        place += __popc(lanes);
    });
}
KERNEL interest_changed_count(const __grid_constant__ World w, Tick t) { count_changed<false>(w, t, nullptr); }
KERNEL interest_changed_store(const __grid_constant__ World w, Tick t) { store_changed<false>(w, t, nullptr); }
KERNEL interest_held_changed_count(const __grid_constant__ World w, Tick t, const __grid_constant__ Held h) {
    count_changed<true>(w, t, &h);
}
KERNEL interest_held_changed_store(const __grid_constant__ World w, Tick t, const __grid_constant__ Held h) {
    store_changed<true>(w, t, &h);
}

// The same told by buckets: who changed, in the index's order, and which part of
// that each client's rows of buckets are.
__device__ inline bool changed_at(const World& w, const Tick& t, u32 i) {
    return i < t.counters->live && w.changed[w.index_slots[i]] == t.stamp;
}
KERNEL interest_order_count(World w, Tick t) {
    put_partial(w, t, SCAN_ORDER, changed_at(w, t, thread_index()));
}
KERNEL interest_order_store(World w, Tick t) {
    u32 i = thread_index();
    bool changed = changed_at(w, t, i);
    u32 place = (u32)offset_of(w, t, SCAN_ORDER, changed);
    // The place after the last one too: ranges end there.
    if (i <= t.counters->live) w.changed_before[i] = place;
    if (changed) t.bucket_order[place] = w.index_slots[i];
}
KERNEL interest_bucket_ranges(World w, Tick t) {
    u64 item = (u64)blockIdx.x * BLOCK + threadIdx.x;
    u32 client = (u32)(item / w.rows_max), row = (u32)(item % w.rows_max);
    u64 n = 0;
    if (client < t.clients_used) {
        Range range = observer_range(w, client, row);
        range = {w.changed_before[range.start], w.changed_before[range.end]};
        t.bucket_ranges[item] = range;
        n = range.end - range.start;
    }
    u64 sum = block_sum(n);
    add_once(&t.counters->deliveries_total, sum);
    add_once(&t.counters->deliveries, sum);
}
