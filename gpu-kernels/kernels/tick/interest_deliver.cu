// Each client's deliveries in worlds where clients remember what they know: offsets, then
// enter, update and leave.
#include "tick/candidates.cuh"

// Offsets from counts, in this part's deliveries. A client gets all of its deliveries or none:
// the first client that doesn't fit and all after it get none. The limit is one for all parts.
KERNEL interest_partial(World w, Tick t) {
    u32 client = t.own_first + thread_index();
    u64 n = 0;
    if (client < t.own_end) {
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
    u32 place = thread_index(), client = t.own_first + place;
    bool is_client = client < t.own_end;
    u64 n = is_client ? w.client_counts[client] : 0;
    u64 start = offset_of(w, t, SCAN_DELIVERIES, n), before = 0;
    for (u32 part = 0; part < t.part; part++) before += t.part_deliveries[part];
    bool all = before + t.counters->deliveries_total <= w.deliveries_max;
    bool served = is_client && before + start + n <= w.deliveries_max;
    if (is_client) {
        t.delivery_offsets[client] = served ? (u32)start : ~0u;
        if (place % t.chunk_clients == 0) t.counters->chunk_starts[place / t.chunk_clients] = start;
    }
    if (all) {
        if (place == 0) {
            t.counters->served = t.own_end - t.own_first;
            t.counters->deliveries = t.counters->deliveries_total;
        }
        return;
    }
    count(&t.counters->served, served);
    count(&t.counters->clients_behind, is_client && !served && n);
    u64 end = served ? start + n : 0;
    for (int d = 16; d; d >>= 1) end = max(end, __shfl_down_sync(~0u, end, d));
    if (lane() == 0 && end) atomicMax(&t.counters->deliveries, end);
}

// Compares what a client sees with what it knows, both ascending. For LARGE views, all is in
// global memory.
template <bool LARGE>
__device__ void compare(const World& w, const Tick& t) {
    u32 client = warp_client(t);
    if (client >= t.client_end) return;
    u32 start = t.delivery_offsets[client];
    u32 stride = w.visible_max;
    u32* out_view = w.visible + (u64)client * stride;
    Known known = {w.known + (u64)client * stride, w.known_counts[client]};
    Known view = {out_view, w.visible_counts[client]};
    if (start == ~0u) {
        // Not served: the client's known entities stay.
        for (u32 i = lane(); i < known.n; i += 32) out_view[i] = known.words[i];
        __syncwarp();
        if (lane() == 0) {
            w.visible_counts[client] = known.n;
            w.behind[client] = w.client_counts[client] != 0;
        }
        return;
    }
    bool behind = w.behind[client];
    u32* scratch = LARGE ? w.views + 2ull * client * stride : warp_memory(4 * stride);
    u32* delivered_before = scratch;  // for each seen entity
    u32* leaves_before = delivered_before + stride;  // for each known entity
    if (!LARGE) {
        u32 *seen_words = leaves_before + stride, *known_words = seen_words + stride;
        for (u32 i = lane(); i < view.n; i += 32) seen_words[i] = view.words[i];
        for (u32 i = lane(); i < known.n; i += 32) known_words[i] = known.words[i];
        __syncwarp();
        view.words = seen_words;
        known.words = known_words;
    }
    u32 delivered = 0, left = 0, total;
    for (u32 base = 0; base < view.n; base += 32) {
        u32 i = base + lane();
        bool deliver = false;
        if (i < view.n) {
            u32 slot = slot_of(view.words[i]);
            deliver = !known.has(slot) || behind || w.changed[slot] == t.stamp;
        }
        u32 before = delivered + warp_prefix(deliver, total);
        if (i < view.n) delivered_before[i] = before;
        delivered += total;
    }
    for (u32 base = 0; base < known.n; base += 32) {
        u32 i = base + lane();
        bool leave = i < known.n && !view.has(slot_of(known.words[i]));
        u32 before = left + warp_prefix(leave, total);
        if (i < known.n) leaves_before[i] = before;
        left += total;
    }
    __syncwarp();
    u32* out = t.deliveries + start;
    for (u32 i = lane(); i < view.n; i += 32) {
        u32 after = i + 1 < view.n ? delivered_before[i + 1] : delivered;
        if (after == delivered_before[i]) continue;
        u32 word = view.words[i], slot = slot_of(word), at = known.place_of(slot);
        bool is_known = at < known.n && slot_of(known.words[at]) == slot;
        u32 leaves = at < known.n ? leaves_before[at] : left;
        u32 kind = !is_known ? ENTER : behind ? RENEW : UPDATE;
        u32 tier = word & ((1u << TIER_BITS) - 1);
        out[delivered_before[i] + leaves] = kind << 30 | tier << 28 | slot;
    }
    for (u32 i = lane(); i < known.n; i += 32) {
        u32 after = i + 1 < known.n ? leaves_before[i + 1] : left;
        if (after == leaves_before[i]) continue;
        u32 slot = slot_of(known.words[i]), at = view.place_of(slot);
        u32 others = at < view.n ? delivered_before[at] : delivered;
        out[leaves_before[i] + others] = (u32)LEAVE << 30 | slot;
    }
    if (lane() == 0) w.behind[client] = 0;
}
KERNEL interest_compare(World w, Tick t) { compare<false>(w, t); }
KERNEL interest_large_compare(World w, Tick t) { compare<true>(w, t); }
