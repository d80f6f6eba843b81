// Counts deliveries: compares what each client sees with what it knows. A warp serves a client.
#include "lib/select.cuh"
#include "lib/warp_sort.cuh"
#include "tick/candidates.cuh"

KERNEL interest_ranges(World w, Tick t) {
    u64 item = (u64)blockIdx.x * BLOCK + threadIdx.x;
    u32 observer = (u32)(item / w.rows_max), row = (u32)(item % w.rows_max);
    if (observer >= t.clients_used * w.observers_per_client) return;
    w.ranges[item] = observer_range(w, observer, row);
}

// The (rank, slot) of the last entity that a client may know, if more are near than the limit.
template <bool REGIONS>
__device__ void find_limit(const World& w, const Regions* h, u32 client, u32* histogram, u64& rank_limit, u32& slot_limit) {
    u32 wanted = w.visible_max;
    rank_limit = nth_smallest<u64, 64>(histogram, wanted, [&](auto visit) {
        each_candidate<REGIONS>(w, h, client, [&](bool candidate, u32 slot, u32 i) {
            visit(candidate, candidate ? rank_in<REGIONS>(w, h, client, slot, i) : 0);
        });
    });
    slot_limit = nth_smallest<u32, 24>(histogram, wanted, [&](auto visit) {
        each_candidate<REGIONS>(w, h, client, [&](bool candidate, u32 slot, u32 i) {
            visit(candidate && rank_in<REGIONS>(w, h, client, slot, i) == rank_limit, slot);
        });
    });
}

// Finds the nearest entities that a client can see, as many as it may know. Not inlined, so
// that it takes no registers when few entities are near.
template <bool REGIONS>
__device__ __noinline__ u32 see_nearest(const World& w, const Regions* h, u32 client, u32* view, u32* histogram) {
    u64 rank_limit;
    u32 slot_limit, found = 0;
    find_limit<REGIONS>(w, h, client, histogram, rank_limit, slot_limit);
    each_candidate<REGIONS>(w, h, client, [&](bool candidate, u32 slot, u32 i) {
        if (candidate) {
            u64 rank = rank_in<REGIONS>(w, h, client, slot, i);
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

// Finds the entities that a client sees, ascending by slot, into `view` (shared,
// `view_places` long); returns their number.
template <bool REGIONS>
__device__ u32 see(const World& w, const Regions* h, u32 client, u32* view, u32* histogram) {
    u32 found = 0;
    each_candidate<REGIONS>(w, h, client, [&](bool candidate, u32 slot, u32) {
        u32 lanes = __ballot_sync(~0u, candidate);
        u32 place = found + __popc(lanes & ((1u << lane()) - 1));
        if (candidate && place < w.view_places) view[place] = slot;
        found += __popc(lanes);
    });
    __syncwarp();
    if (found > w.visible_max) found = see_nearest<REGIONS>(w, h, client, view, histogram);
    if (found <= 32) {
        u32 word = sort_word(lane() < found ? view[lane()] : ~0u);
        __syncwarp();
        if (lane() < found) view[lane()] = word;
        __syncwarp();
    } else {
        u32 places = 64;
        while (places < found) places <<= 1;
        sort_words(view, found, places);
    }
    return found;
}

template <bool REGIONS>
__device__ void see_client(const World& w, const Tick& t, const Regions* h) {
    u32 client = warp_client(t);
    if (client >= t.client_end) return;
    u32* view = warp_memory(w.view_places + 256 + w.visible_max);
    // In shared memory, since it is searched; loaded first, since everything else waits for memory.
    u32* known = view + w.view_places + 256;
    u32 knows = w.known_counts[client];
    bool behind = w.behind[client];
    for (u32 i = lane(); i < knows; i += 32) known[i] = w.known[(u64)client * w.visible_max + i];
    u32 seen = see<REGIONS>(w, h, client, view, view + w.view_places);
    u32* out = w.visible + (u64)client * w.visible_max;
    u32 deliveries = 0, both = 0;
    for (u32 i = lane(); i < seen; i += 32) {
        u32 slot = view[i];
        out[i] = slot;
        u32 at = lower_bound(known, knows, slot);
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
// The variant for worlds with regions.
extern "C" __global__ void __launch_bounds__(BLOCK, 3)
    interest_regions_see(const __grid_constant__ World w, Tick t, const __grid_constant__ Regions h) {
    see_client<true>(w, t, &h);
}
