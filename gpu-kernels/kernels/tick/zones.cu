// Who crosses the borders of zones: entities are compared with the zones around them, before the
// tick and after it. Few zones are around an entity, so a thread looks for them.
#include "tick/hooks.cuh"
#include "tick/regions.cuh"

// The n-th zone of the world, with its carrier; false: there is none now.
__device__ inline bool find_zone(const World& w, const Regions& h, u64 n, PlacedZone& placed) {
    if (n < h.zones_fixed) {
        placed = {(u32)n, 0};
        return true;
    }
    u64 item = n - h.zones_fixed;
    if (item >= (u64)h.zones_carried * w.capacity) return false;
    u32 slot = (u32)(item % w.capacity);
    placed = {h.zones_fixed + (u32)(item / w.capacity), slot + 1};
    return w.states[slot] == LIVE && w.slot_kinds[slot] == h.zone_table[placed.zone].carrier;
}

__device__ inline Point minus(const Point& a, const Point& b) { return {{a.p[0] - b.p[0], a.p[1] - b.p[1], a.p[2] - b.p[2]}}; }

// The box around a zone, within the world.
__device__ inline Box box_of(const World& w, const Zone& zone, const Point& origin) {
    Box box;
    for (int a = 0; a < 3; a++) {
        i64 reach = zone.form == 1 ? zone.radius : 0;
        i64 low = (i64)zone.low[a] - reach + origin.p[a], high = (i64)zone.high[a] + reach + origin.p[a];
        box.low[a] = (i32)max(low, (i64)0);
        box.high[a] = (i32)min(high, (i64)w.size[a] - 1) + 1;
    }
    return box;
}

// Whether a place is in a zone, as seen from its carrier.
__device__ inline bool is_in_zone(const Zone& zone, const Point& p) {
    if (zone.form != 1) {
        bool all = true;
        for (int a = 0; a < 3; a++) all = all & (zone.low[a] <= p.p[a]) & (p.p[a] <= zone.high[a]);
        return all;
    }
    u64 squares = 0, radius = (u64)zone.radius;
    for (int a = 0; a < 3; a++) {
        i64 along = (i64)p.p[a] - zone.low[a];
        u64 far = (u64)(along < 0 ? -along : along);
        if (far > radius) return false;
        squares += far * far;
    }
    return squares <= radius * radius;
}

KERNEL zones_count(World w, Tick t, Regions h) {
    PlacedZone placed;
    bool is_one = find_zone(w, h, (u64)blockIdx.x * BLOCK + threadIdx.x, placed);
    add_once(&t.counters->zones, put_partial(w, t, SCAN_ZONES, is_one));
}
KERNEL zones_collect(World w, Tick t, const __grid_constant__ Regions h) {
    PlacedZone placed;
    bool is_one = find_zone(w, h, (u64)blockIdx.x * BLOCK + threadIdx.x, placed);
    u64 place = offset_of(w, t, SCAN_ZONES, is_one);
    if (!is_one) return;
    Point origin = {{0, 0, 0}};
    if (placed.carrier) origin = position(w, placed.carrier - 1);
    h.placed_now[place] = placed;
    h.zones_now.given_keys[place] = key_of(w, h, box_of(w, h.zone_table[placed.zone], origin));
    h.zones_now.given_numbers[place] = (u32)place;
}
KERNEL zones_gather(World w, Tick t, const __grid_constant__ Regions h) {
    const BoxIndex& index = h.zones_now;
    u32 i = thread_index(), n = (u32)t.counters->zones;
    if (i < h.levels) index.starts[i] = lower_bound(index.keys, n, h.level[i].base);
    if (i == h.levels) index.starts[i] = n;
    if (i >= n) return;
    PlacedZone placed = h.placed_now[index.numbers[i]];
    Point origin = {{0, 0, 0}};
    if (placed.carrier) origin = position(w, placed.carrier - 1);
    box_of(w, h.zone_table[placed.zone], origin).store(index.boxes, i);
}

__device__ inline Point place_before(const Regions& h, u32 slot) {
    ZonePlace before = h.zone_places[slot];
    return {{before.place[0], before.place[1], before.place[2]}};
}

// An entity and where it is, before the tick and after it.
struct Walker {
    u32 slot, generation, kind;
    bool was_there;
    Point before, now;

    __device__ Walker(const World& w, const Regions& h, u32 slot)
        : slot(slot), generation(w.generations[slot]), kind(w.slot_kinds[slot]),
          was_there(h.zone_places[slot].generation == w.generations[slot]), before(place_before(h, slot)),
          now(position(w, slot)) {}
};

// Whether an entity that is in the box of a zone, before the tick or after it, came into the zone
// or left it. A zone of another carrier in the same slot is another zone.
__device__ inline bool crosses(const World& w, const Regions& h, const Walker& own, const PlacedZone& placed, bool enters) {
    const Zone& zone = h.zone_table[placed.zone];
    if (!placed.carrier) {
        bool was_in = own.was_there && is_in_zone(zone, own.before), is_in = is_in_zone(zone, own.now);
        return enters ? is_in && !was_in : was_in && !is_in;
    }
    u32 carrier = placed.carrier - 1;
    if (carrier == own.slot) return false;
    u32 generation = h.zone_places[carrier].generation;
    bool is_same = generation && w.states[carrier] == LIVE && w.generations[carrier] == generation;
    if (enters) {
        if (!is_in_zone(zone, minus(own.now, position(w, carrier)))) return false;
        return !is_same || !own.was_there || !is_in_zone(zone, minus(own.before, place_before(h, carrier)));
    }
    if (!own.was_there || !is_in_zone(zone, minus(own.before, place_before(h, carrier)))) return false;
    return !is_same || !is_in_zone(zone, minus(own.now, position(w, carrier)));
}

// Calls `visit(number)` for the indexed boxes in which a place is.
template <class Visit>
__device__ void each_around(const World& w, const Regions& h, const BoxIndex& index, const Point& p, Visit visit) {
    for (u32 n = 0; n < h.levels; n++) {
        u32 start = index.starts[n], end = index.starts[n + 1];
        if (start == end) continue;
        const Level& l = h.level[n];
        u32 low[3], high[3];
        for (int a = 0; a < 3; a++) {
            low[a] = cell_of(w, l, a, (i64)p.p[a] - l.edge + 1);
            high[a] = cell_of(w, l, a, p.p[a]);
        }
        for (u32 z = low[2]; z <= high[2]; z++) {
            for (u32 y = low[1]; y <= high[1]; y++) {
                u64 key = row_key(l, y, z);
                u32 i = start + lower_bound(index.keys + start, end - start, key + low[0]);
                for (; i < end && index.keys[i] <= key + high[0]; i++)
                    if (Box::load(index.boxes, i).contains(p)) visit(index.numbers[i]);
            }
        }
    }
}

// Calls `visit(occasion, reference)` for each border that an entity crossed: exits first, by zone
// and carrier, with a reference to the carrier. There are few of them.
template <class Visit>
__device__ void each_crossing(const World& w, const Regions& h, const Walker& own, Visit visit) {
    for (int enters = 0; enters < 2; enters++) {
        if (!enters && !own.was_there) continue;
        const BoxIndex& index = enters ? h.zones_now : h.zones_before;
        const PlacedZone* all = enters ? h.placed_now : h.placed_before;
        u64 last = 0;
        for (;;) {
            u64 next = ~0ull;
            each_around(w, h, index, enters ? own.now : own.before, [&](u32 number) {
                PlacedZone placed = all[number];
                u64 id = (u64)(h.zone_table[placed.zone].number + 1) << 32 | placed.carrier;
                if (id > last && id < next && crosses(w, h, own, placed, enters)) next = id;
            });
            if (next == ~0ull) break;
            last = next;
            u32 carrier = (u32)next;
            i32 reference = NOBODY_REFERENCE;
            if (carrier) {
                u32 generation = enters ? w.generations[carrier - 1] : h.zone_places[carrier - 1].generation;
                reference = reference_to(carrier - 1, generation);
            }
            visit(ON_BORDER + 2 * ((u32)(next >> 32) - 1) + (enters ? 0 : 1), reference);
        }
    }
}

// Whether an entity may have crossed a border: it moved, or zones may.
__device__ inline bool may_cross(const World& w, const Regions& h, u32 slot) {
    if (slot >= w.capacity || !is_somewhere(w, slot)) return false;
    if (h.zones_carried || h.zone_places[slot].generation != w.generations[slot]) return true;
    Point before = place_before(h, slot), now = position(w, slot);
    return before.p[0] != now.p[0] || before.p[1] != now.p[1] || before.p[2] != now.p[2];
}

KERNEL zones_cross_count(World w, Tick t, const __grid_constant__ Regions h) {
    u32 slot = thread_index();
    u32 acts = 0;
    if (may_cross(w, h, slot)) {
        Walker own(w, h, slot);
        each_crossing(w, h, own, [&](u32 occasion, i32) { acts += hooks_of(w, occasion, own.kind); });
    }
    if (slot < w.capacity) h.zone_acts[slot] = acts;
    add_once(&t.counters->zone_acts, put_partial(w, t, SCAN_CROSSINGS, acts));
}

KERNEL zones_cross_store(World w, Tick t, const __grid_constant__ Regions h) {
    if (!t.counters->zone_acts) return;
    u32 slot = thread_index();
    u32 acts = slot < w.capacity ? h.zone_acts[slot] : 0;
    u64 n = offset_of(w, t, SCAN_CROSSINGS, acts);
    n += scheduled_by_births(t) + t.counters->fall_acts + t.counters->reborn_acts;
    u64 element = 0;
    if (acts) {
        Walker own(w, h, slot);
        each_crossing(w, h, own, [&](u32 occasion, i32 carrier) {
            element += give_hooks(w, t, occasion, own.kind, own.slot, own.generation, carrier, n);
            n += hooks_of(w, occasion, own.kind);
        });
    }
    add_elements(w, element);
}

// Notes where all entities are, for the next tick.
KERNEL zones_keep(World w, Tick t, Regions h) {
    u32 slot = thread_index();
    if (slot >= w.capacity) return;
    ZonePlace place = {};
    if (w.states[slot] == LIVE) {
        Point p = position(w, slot);
        place = {w.generations[slot], {p.p[0], p.p[1], p.p[2]}};
    }
    h.zone_places[slot] = place;
}

KERNEL zones_end(World w, Tick t, Regions h) { end_scheduling(w, t, t.counters->zone_acts); }
