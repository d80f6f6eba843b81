// Each client's deliveries in worlds where clients remember what they know: offsets, then
// enter, update and leave.
#include "tick/candidates.cuh"

// Offsets from counts. A client gets all of its deliveries or none: the first client that
// doesn't fit and all after it get none.
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
    count(&t.counters->clients_behind, is_client && !served && n);
    u64 end = served ? start + n : 0;
    for (int d = 16; d; d >>= 1) end = max(end, __shfl_down_sync(~0u, end, d));
    if (lane() == 0 && end) atomicMax(&t.counters->deliveries, end);
}

KERNEL interest_compare(World w, Tick t) {
    u32 client = warp_client(t);
    if (client >= t.client_end) return;
    u32 start = t.delivery_offsets[client];
    u32* out_view = w.visible + (u64)client * w.visible_max;
    const u32* known = w.known + (u64)client * w.visible_max;
    u32 knows = w.known_counts[client], seen = w.visible_counts[client];
    if (start == ~0u) {
        // Not served: the client's known entities stay.
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
    u32* delivered_before = old + stride;  // for each seen entity
    u32* leaves_before = delivered_before + stride;  // for each known entity
    for (u32 i = lane(); i < seen; i += 32) view[i] = out_view[i];
    for (u32 i = lane(); i < knows; i += 32) old[i] = known[i];
    __syncwarp();
    u32 delivered = 0, left = 0, total;
    for (u32 base = 0; base < seen; base += 32) {
        u32 i = base + lane();
        bool deliver = false;
        if (i < seen) {
            u32 at = lower_bound(old, knows, view[i]);
            bool is_known = at < knows && old[at] == view[i];
            deliver = !is_known || behind || w.changed[view[i]] == t.stamp;
        }
        u32 before = delivered + warp_prefix(deliver, total);
        if (i < seen) delivered_before[i] = before;
        delivered += total;
    }
    for (u32 base = 0; base < knows; base += 32) {
        u32 i = base + lane();
        bool leave = false;
        if (i < knows) {
            u32 at = lower_bound(view, seen, old[i]);
            leave = at == seen || view[at] != old[i];
        }
        u32 before = left + warp_prefix(leave, total);
        if (i < knows) leaves_before[i] = before;
        left += total;
    }
    __syncwarp();
    u32* out = t.deliveries + start;
    for (u32 i = lane(); i < seen; i += 32) {
        u32 after = i + 1 < seen ? delivered_before[i + 1] : delivered;
        if (after == delivered_before[i]) continue;
        u32 at = lower_bound(old, knows, view[i]);
        bool is_known = at < knows && old[at] == view[i];
        u32 leaves = at < knows ? leaves_before[at] : left;
        u32 kind = !is_known ? ENTER : behind ? RENEW : UPDATE;
        out[delivered_before[i] + leaves] = kind << 30 | view[i];
    }
    for (u32 i = lane(); i < knows; i += 32) {
        u32 after = i + 1 < knows ? leaves_before[i + 1] : left;
        if (after == leaves_before[i]) continue;
        u32 at = lower_bound(view, seen, old[i]);
        u32 others = at < seen ? delivered_before[at] : delivered;
        out[leaves_before[i] + others] = (u32)LEAVE << 30 | old[i];
    }
    if (lane() == 0) w.behind[client] = 0;
}
