// Deliveries in worlds where clients remember nothing: one by one, or by buckets.
#include "tick/candidates.cuh"

// Counts each client's changed entities in range. Warps loop over clients, so few warps
// have to exit when the ranges are enough.
template <bool REGIONS>
__device__ void count_changed(const World& w, const Tick& t, const Regions* h) {
    if (is_by_ranges(w, t)) return;
    for (u32 client = t.own_first + (thread_index() >> 5); client < t.own_end; client += thread_count() >> 5) {
        u64 n = 0;
        each_candidate<REGIONS, false>(w, h, client, {nullptr, 0}, [&](bool candidate, u32 slot, u64) {
            n += __popc(__ballot_sync(~0u, candidate && w.changed[slot] == t.stamp));
        });
        if (lane() == 0) w.client_counts[client] = n;
    }
}
template <bool REGIONS>
__device__ void store_changed(const World& w, const Tick& t, const Regions* h) {
    u32 client = warp_client(t);
    if (client >= t.client_end) return;
    u32 place = t.delivery_offsets[client];
    if (place == ~0u) return;
    bool all = is_by_ranges(w, t);
    each_candidate<REGIONS, false>(w, h, client, {nullptr, 0}, [&](bool candidate, u32 slot, u64) {
        bool deliver = candidate && (all || w.changed[slot] == t.stamp);
        u32 lanes = __ballot_sync(~0u, deliver);
        if (deliver) t.deliveries[place + __popc(lanes & ((1u << lane()) - 1))] = slot;
        place += __popc(lanes);
    });
}
KERNEL interest_changed_count(const __grid_constant__ World w, Tick t) { count_changed<false>(w, t, nullptr); }
KERNEL interest_changed_store(const __grid_constant__ World w, Tick t) { store_changed<false>(w, t, nullptr); }
KERNEL interest_regions_changed_count(const __grid_constant__ World w, Tick t, const __grid_constant__ Regions h) {
    count_changed<true>(w, t, &h);
}
KERNEL interest_regions_changed_store(const __grid_constant__ World w, Tick t, const __grid_constant__ Regions h) {
    store_changed<true>(w, t, &h);
}

// By buckets: the changed entities in the index's order, and each client's ranges of that
// list, one per row of buckets.
__device__ inline bool changed_at(const World& w, const Tick& t, u32 i) {
    return i < t.counters->entities && w.changed[w.index_slots[i]] == t.stamp;
}
KERNEL interest_order_count(World w, Tick t) {
    put_partial(w, t, SCAN_ORDER, changed_at(w, t, thread_index()));
}
KERNEL interest_order_store(World w, Tick t) {
    u32 i = thread_index();
    bool changed = changed_at(w, t, i);
    u32 place = (u32)offset_of(w, t, SCAN_ORDER, changed);
    // The place after the last one is written too: ranges end there.
    if (i <= t.counters->entities) w.changed_before[i] = place;
    if (changed) t.bucket_order[place] = w.index_slots[i];
}
KERNEL interest_bucket_ranges(World w, Tick t) {
    u64 item = (u64)blockIdx.x * BLOCK + threadIdx.x;
    u32 client = (u32)(item / w.rows_max), row = (u32)(item % w.rows_max);
    u64 n = 0;
    if (client < t.own_end) {
        Range range = observer_range(w, client, row);
        range = {w.changed_before[range.start], w.changed_before[range.end]};
        t.bucket_ranges[item] = range;
        n = range.end - range.start;
    }
    u64 sum = block_sum(n);
    add_once(&t.counters->deliveries_total, sum);
    add_once(&t.counters->deliveries, sum);
}
