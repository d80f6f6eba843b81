// Counts deliveries: compares what each client sees with what it knows. A warp serves a client.
#include "lib/select.cuh"
#include "lib/warp_sort.cuh"
#include "tick/candidates.cuh"

// Entities about as far as the last one of a view, that a warp sorts in its registers: as many
// as a histogram has words.
constexpr u32 TIES_MAX = 256;
constexpr int SLOT_BITS = 24;

KERNEL interest_ranges(World w, Tick t) {
    u64 item = (u64)blockIdx.x * BLOCK + threadIdx.x;
    u32 first = t.own_first * w.observers_per_client;
    u32 observer = first + (u32)(item / w.rows_max), row = (u32)(item % w.rows_max);
    if (observer >= t.own_end * w.observers_per_client) return;
    w.ranges[(u64)observer * w.rows_max + row] = observer_range(w, observer, row);
}

// Adds the entities of a list of `n` slots that rank before the others: `wanted` of them by
// (rank, slot). Their ranks begin with a prefix. `n` is at most TIES_MAX.
template <bool REGIONS>
__device__ void add_nearest_of(const World& w, const Regions* h, u32 client, const Known& known, const u32* slots, u32 n,
                               const Prefix<u64>& near, u32* view, u32 found) {
    u64 ranks[TIES_MAX / 32];
    u32 own[TIES_MAX / 32];
    for (int i = 0; i < TIES_MAX / 32; i++) {
        u32 at = i * 32 + lane();
        own[i] = at < n ? slots[at] : ~0u;
        ranks[i] = ~0ull;
        if (at >= n) continue;
        bool is_known = w.margin && known.has(own[i]);
        ranks[i] = rank_in<REGIONS>(w, h, client, own[i], position(w, own[i]), is_known);
    }
    u64 last = nth_of_lanes(ranks, near.wanted, near.prefix << near.shift, near.shift);
    u32 nearer = 0;
    u32 ties[TIES_MAX / 32];
    for (int i = 0; i < TIES_MAX / 32; i++) {
        nearer += __popc(__ballot_sync(~0u, ranks[i] < last));
        ties[i] = ranks[i] == last ? own[i] : ~0u;
    }
    u32 last_slot = nth_of_lanes(ties, near.wanted - nearer, 0u, SLOT_BITS);
    for (int i = 0; i < TIES_MAX / 32; i++) {
        bool is_one = own[i] != ~0u && (ranks[i] < last || (ranks[i] == last && own[i] <= last_slot));
        u32 lanes = __ballot_sync(~0u, is_one);
        if (is_one) view[found + __popc(lanes & ((1u << lane()) - 1))] = word_of(w, own[i], ranks[i]);
        found += __popc(lanes);
    }
}

// Finds the nearest of a client's candidates, as many as it may know; there are more. Looks at
// all of them twice, as long as few of them are about as far as the last one; in shared memory
// there is no room for more of them than TIES_MAX. `each` visits them, whose ranks have `bits`
// bits.
template <bool REGIONS, class Each>
__device__ void see_nearest_of(const World& w, const Regions* h, u32 client, const Known& known, u32* view,
                               u32* histogram, int bits, Each each) {
    Prefix<u64> near = narrow_down<u64>(histogram, w.visible_max, bits, TIES_MAX, [&](auto visit) {
        each([&](bool candidate, u32, u64 rank) { visit(candidate, rank); });
    });
    u32 slot_limit = ~0u;
    bool is_many = near.same > TIES_MAX;
    if (is_many) {
        // All of these have the same rank.
        u32 wanted = near.wanted;
        slot_limit = nth_smallest<u32, SLOT_BITS>(histogram, wanted, [&](auto visit) {
            each([&](bool candidate, u32 slot, u64 rank) { visit(candidate && rank == near.prefix, slot); });
        });
    }
    u32 found = 0, ties = 0;
    each([&](bool candidate, u32 slot, u64 rank) {
        u64 high = rank >> near.shift;
        bool is_tie = candidate && high == near.prefix;
        bool is_one = candidate && (high < near.prefix || (is_tie && is_many && slot <= slot_limit));
        u32 lanes = __ballot_sync(~0u, is_one);
        if (is_one) view[found + __popc(lanes & ((1u << lane()) - 1))] = word_of(w, slot, rank);
        found += __popc(lanes);
        if (is_many) return;
        lanes = __ballot_sync(~0u, is_tie);
        if (is_tie) histogram[ties + __popc(lanes & ((1u << lane()) - 1))] = slot;
        ties += __popc(lanes);
    });
    __syncwarp();
    if (!is_many) add_nearest_of<REGIONS>(w, h, client, known, histogram, ties, near, view, found);
    __syncwarp();
}

// These are not inlined, so that they take no registers when few entities are near.
template <bool REGIONS>
__device__ __noinline__ void
see_nearest(const World& w, const Regions* h, u32 client, const Known& known, u32* view, u32* histogram) {
    see_nearest_of<REGIONS>(w, h, client, known, view, histogram, w.rank_bits, [&](auto visit) {
        each_candidate<REGIONS, true>(w, h, client, known, visit);
    });
}
// Collects a client's candidates, which `each` visits, into `view`, as many as have room;
// returns their number.
template <class Each>
__device__ u32 collect(const World& w, u32* view, Each each) {
    u32 found = 0;
    each([&](bool candidate, u32 slot, u64 rank) {
        u32 lanes = __ballot_sync(~0u, candidate);
        u32 place = found + __popc(lanes & ((1u << lane()) - 1));
        if (candidate && place < w.view_places) view[place] = word_of(w, slot, rank);
        found += __popc(lanes);
    });
    __syncwarp();
    return found;
}
// What a client sees in a crowd, whose cells say where the nearest entities are; returns their
// number. NOBODY: it can't be found by cells.
__device__ __noinline__ u32 see_in_crowd(const World& w, u32 client, const Known& known, u32* view, u32* histogram) {
    Place place;
    Nearby nearby;
    if (!find_place(w, client, 0, place)) return NOBODY;
    if (!find_nearby(w, place.center, place.radius, w.visible_max, nearby)) return NOBODY;
    auto each = [&](auto visit) { each_nearby(w, place, nearby, known, visit); };
    // Beside a crowd, few of it may be within the radius.
    u32 found = nearby.is_full ? w.visible_max + 1 : collect(w, view, each);
    if (found <= w.visible_max) return found;
    see_nearest_of<false>(w, nullptr, client, known, view, histogram, nearby.bits, each);
    return w.visible_max;
}

// Whether so many entities are around that it is worth to look for the nearest ones by cell.
__device__ inline bool is_in_crowd(const World& w, const Tick& t, u32 client) {
    if (w.crowds == 0 || t.counters->crowds == 0) return false;
    Range own = {0, 0};
    if (lane() < w.rows_max) own = w.ranges[(u64)client * w.rows_max + lane()];
    return __reduce_add_sync(~0u, own.end - own.start) >= max(CROWD, 4 * w.visible_max);
}

// Finds the entities that a client sees, ascending by slot, into `view` (`view_places`
// long); returns their number.
template <bool REGIONS, bool CROWD>
__device__ u32 see(const World& w, const Regions* h, u32 client, const Known& known, u32* view, u32* histogram) {
    u32 found = CROWD ? see_in_crowd(w, client, known, view, histogram) : NOBODY;
    if (found == NOBODY) {
        found = collect(w, view, [&](auto visit) { each_candidate<REGIONS, true>(w, h, client, known, visit); });
        if (found > w.visible_max) {
            see_nearest<REGIONS>(w, h, client, known, view, histogram);
            found = w.visible_max;
        }
    }
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

// Views for which shared memory has no room (LARGE) are sorted in `w.views`.
template <bool REGIONS, bool LARGE, bool CROWD>
__device__ void see_client(const World& w, const Tick& t, const Regions* h, u32 client) {
    u32* histogram = warp_memory(LARGE ? 256 : 256 + w.view_places + w.visible_max);
    u32* view = LARGE ? w.views + 2ull * client * w.visible_max : histogram + 256;
    Known known = {w.known + (u64)client * w.visible_max, w.known_counts[client]};
    if (!LARGE) {
        // In shared memory, since it is searched; loaded first, since everything else waits for memory.
        u32* words = view + w.view_places;
        for (u32 i = lane(); i < known.n; i += 32) words[i] = known.words[i];
        __syncwarp();
        known.words = words;
    }
    bool behind = w.behind[client];
    u32 seen = see<REGIONS, CROWD>(w, h, client, known, view, histogram);
    u32* out = w.visible + (u64)client * w.visible_max;
    u32 deliveries = 0, both = 0;
    for (u32 i = lane(); i < seen; i += 32) {
        u32 word = view[i], slot = slot_of(word);
        out[i] = word;
        bool is_known = known.has(slot);
        both += is_known;
        deliveries += !is_known || behind || w.changed[slot] == t.stamp;
    }
    for (int d = 16; d; d >>= 1) {
        deliveries += __shfl_down_sync(~0u, deliveries, d);
        both += __shfl_down_sync(~0u, both, d);
    }
    if (lane() == 0) {
        w.visible_counts[client] = seen;
        w.client_counts[client] = deliveries + (known.n - both);
    }
}
template <bool REGIONS, bool LARGE>
__device__ void see_own_client(const World& w, const Tick& t, const Regions* h) {
    u32 client = warp_client(t);
    if (client < t.client_end && !is_in_crowd(w, t, client)) see_client<REGIONS, LARGE, false>(w, t, h, client);
}
// Clients in a crowd have kernels of their own, which take more registers. Warps loop over
// clients, so few have to exit where there is no crowd.
template <bool LARGE>
__device__ void see_crowds(const World& w, const Tick& t) {
    if (t.counters->crowds == 0) return;
    for (u32 client = warp_client(t); client < t.client_end; client += thread_count() >> 5) {
        if (!is_in_crowd(w, t, client)) continue;
        see_client<false, LARGE, true>(w, t, nullptr, client);
        __syncwarp();
    }
}
extern "C" __global__ void __launch_bounds__(BLOCK, 6) interest_see(const __grid_constant__ World w, Tick t) {
    see_own_client<false, false>(w, t, nullptr);
}
extern "C" __global__ void __launch_bounds__(BLOCK, 3) interest_crowd_see(const __grid_constant__ World w, Tick t) {
    see_crowds<false>(w, t);
}
extern "C" __global__ void __launch_bounds__(BLOCK, 3) interest_large_see(const __grid_constant__ World w, Tick t) {
    see_own_client<false, true>(w, t, nullptr);
}
extern "C" __global__ void __launch_bounds__(BLOCK, 3) interest_large_crowd_see(const __grid_constant__ World w, Tick t) {
    see_crowds<true>(w, t);
}
// The variants for worlds with regions.
extern "C" __global__ void __launch_bounds__(BLOCK, 3)
    interest_regions_see(const __grid_constant__ World w, Tick t, const __grid_constant__ Regions h) {
    see_own_client<true, false>(w, t, &h);
}
extern "C" __global__ void __launch_bounds__(BLOCK, 3)
    interest_large_regions_see(const __grid_constant__ World w, Tick t, const __grid_constant__ Regions h) {
    see_own_client<true, true>(w, t, &h);
}
