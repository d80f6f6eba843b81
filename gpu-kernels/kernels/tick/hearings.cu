// Hearings: which client hears which notification. Notification areas are sorted like
// publications; a warp serves a client.
#include "lib/select.cuh"
#include "lib/warp_sort.cuh"
#include "tick/observers.cuh"

__device__ inline u32 notification_count(const World& w, const Tick& t) {
    const Counters& c = *t.counters;
    return (u32)min(c.notified + c.picked + c.falls, (u64)w.notifications_max);
}
__device__ inline Box area_of(const Notification& n) {
    return {{n.low[0], n.low[1], n.low[2]}, {n.high[0], n.high[1], n.high[2]}};
}

// The index of areas: count, collect, sort, gather.
__device__ inline bool has_area(const World& w, const Tick& t, u32 i) {
    return i < notification_count(w, t) && t.notifications[i].has_area;
}
KERNEL hearings_count(World w, Tick t) {
    add_once(&t.counters->areas, put_partial(w, t, SCAN_AREAS, has_area(w, t, thread_index())));
}
KERNEL hearings_collect(World w, Tick t, const __grid_constant__ Regions h) {
    u32 i = thread_index();
    bool is_one = has_area(w, t, i);
    u64 place = offset_of(w, t, SCAN_AREAS, is_one);
    if (!is_one) return;
    h.areas.given_keys[place] = key_of(w, h, area_of(t.notifications[i]));
    h.areas.given_numbers[place] = i;
}
KERNEL hearings_gather(World w, Tick t, const __grid_constant__ Regions h) {
    u32 i = thread_index(), n = (u32)t.counters->areas;
    if (i < h.levels) h.areas.starts[i] = lower_bound(h.areas.keys, n, h.level[i].base);
    if (i == h.levels) h.areas.starts[i] = n;
    if (i < n) area_of(t.notifications[h.areas.numbers[i]]).store(h.areas.boxes, i);
}

// The bounding box of what an observer perceives.
__device__ inline Box perceived_box(const World& w, const Place& place) {
    Box box;
    if (w.exact) {
        for (int a = 0; a < 3; a++) {
            box.low[a] = place.center.p[a] - place.radius;
            box.high[a] = place.center.p[a] + place.radius + 1;
        }
        return box;
    }
    Block block = block_of_neighbours(w, place.center);
    for (int a = 0; a < 3; a++) {
        box.low[a] = (i32)min((i64)block.low[a] * w.aoi, (i64)0x7fffffff);
        box.high[a] = (i32)min(((i64)block.high[a] + 1) * w.aoi, (i64)0x7fffffff);
    }
    return box;
}
// Whether an area overlaps what an observer perceives.
__device__ inline bool is_perceived(const World& w, const Place& place, const Box& area) {
    if (!w.exact) return perceived_box(w, place).overlaps(area);
    Point nearest;
    for (int a = 0; a < 3; a++) nearest.p[a] = min(max(place.center.p[a], area.low[a]), area.high[a] - 1);
    return is_within(nearest, place.center, place.radius);
}
// Whether one of a client's first `sources` sources (observers, then subscriptions) hears an area.
__device__ __noinline__ bool is_heard(const World& w, const Regions& h, u32 client, u32 sources, const Box& area) {
    Place place;
    Box box;
    for (u32 s = 0; s < sources; s++) {
        if (s < w.observers_per_client) {
            if (find_place(w, client, s, place) && is_perceived(w, place, area)) return true;
        } else if (find_subscription(w, h, client, s - w.observers_per_client, box) && box.overlaps(area)) {
            return true;
        }
    }
    return false;
}

// Whether what a notification is about lives, and is hidden from a client.
__device__ inline bool is_of_hidden(const World& w, u32 client, const Notification& n, i32 revealed) {
    bool lives = n.slot < w.capacity && w.states[n.slot] == LIVE && w.generations[n.slot] == n.generation;
    return lives && is_hidden(w, client, n.slot, revealed);
}

// Calls `visit(is_one, number)` on all lanes for the notifications that a client hears, each once.
template <class Visit>
__device__ void each_heard(const World& w, const Tick& t, const Regions& h, u32 client, Visit visit) {
    u32 sources = w.observers_per_client + subscriptions_max(w, h);
    i32 revealed = revealed_to(w, client);
    for (u32 s = 0; s < sources; s++) {
        Place place;
        Box box;
        bool observes = s < w.observers_per_client;
        if (observes) {
            if (!find_place(w, client, s, place)) continue;
            box = perceived_box(w, place);
        } else if (!find_subscription(w, h, client, s - w.observers_per_client, box)) {
            continue;
        }
        each_overlapping(w, h, h.areas, box, [&](bool is_one, u32 number) {
            if (is_one) {
                Box area = area_of(t.notifications[number]);
                is_one = (!observes || is_perceived(w, place, area)) && !is_heard(w, h, client, s, area);
                if (is_one && w.hides >= 0) is_one = !is_of_hidden(w, client, t.notifications[number], revealed);
            }
            visit(is_one, number);
        });
    }
}

// Writes the notifications that a client hears, up to number `last`, as far as `view` has
// room; returns how many there are.
__device__ __noinline__ u32
collect_heard(const World& w, const Tick& t, const Regions& h, u32 client, u32 last, u32* view) {
    u32 found = 0;
    each_heard(w, t, h, client, [&](bool is_one, u32 number) {
        is_one = is_one && number <= last;
        u32 lanes = __ballot_sync(~0u, is_one);
        u32 place = found + __popc(lanes & ((1u << lane()) - 1));
        if (is_one && place < h.hearing_places) view[place] = number;
        found += __popc(lanes);
    });
    __syncwarp();
    return found;
}

// The number of the last notification that a client may hear, if it hears more than the limit.
__device__ __noinline__ u32
last_heard(const World& w, const Tick& t, const Regions& h, u32 client, u32* histogram) {
    u32 wanted = h.hearings_max;
    return nth_smallest<u32, 32>(histogram, wanted, [&](auto visit) { each_heard(w, t, h, client, visit); });
}

extern "C" __global__ void __launch_bounds__(BLOCK, 3)
    hearings_hear(const __grid_constant__ World w, const __grid_constant__ Tick t, const __grid_constant__ Regions h) {
    u32 client = warp_client(t);
    if (client >= t.client_end) return;
    if (t.counters->areas == 0) {
        if (lane() == 0) h.heard_counts[client] = 0;
        return;
    }
    u32* view = warp_memory(h.hearing_places + 256);
    u32 found = collect_heard(w, t, h, client, ~0u, view);
    if (found > h.hearings_max) {
        if (lane() == 0) atomicAdd(&t.counters->hearings_dropped, (u64)(found - h.hearings_max));
        u32 last = last_heard(w, t, h, client, view + h.hearing_places);
        found = collect_heard(w, t, h, client, last, view);
    }
    if (found > 1) {
        u32 places = 64;
        while (places < found) places <<= 1;
        sort_words(view, found, places);
    }
    u32* out = h.heard + (u64)client * h.hearings_max;
    for (u32 i = lane(); i < found; i += 32) out[i] = view[i];
    if (lane() == 0) h.heard_counts[client] = found;
}

// Hearings in client order: offsets from counts, then each client's list.
KERNEL hearings_partial(World w, Tick t, const __grid_constant__ Regions h) {
    u32 client = t.own_first + thread_index();
    u64 n = client < t.own_end ? h.heard_counts[client] : 0;
    add_once(&t.counters->hearings, put_partial(w, t, SCAN_HEARINGS, n));
}
KERNEL hearings_offsets(World w, Tick t, const __grid_constant__ Regions h) {
    u32 client = t.own_first + thread_index();
    bool is_client = client < t.own_end;
    u64 start = offset_of(w, t, SCAN_HEARINGS, is_client ? h.heard_counts[client] : 0);
    if (is_client) t.hearing_offsets[client] = (u32)start;
}
KERNEL hearings_store(World w, Tick t, const __grid_constant__ Regions h) {
    u32 client = t.own_first + (thread_index() >> 5);
    if (client >= t.own_end) return;
    u32 n = h.heard_counts[client], start = t.hearing_offsets[client];
    for (u32 i = lane(); i < n; i += 32) t.hearings[start + i] = h.heard[(u64)client * h.hearings_max + i];
}
