// Candidates: the entities that a client can see, each once, and how near they are.
// Observers perceive them, or subscriptions add them.
#pragma once
#include "tick/crowds.cuh"
#include "tick/observers.cuh"

// Whether one of a client's first `subscriptions` subscriptions shows an entity.
__device__ inline bool is_subscribed(const World& w, const Regions& h, u32 client, u32 subscriptions, u32 slot,
                                     const Point& p) {
    Box publication, box;
    bool is_published = find_publication(w, h, slot, publication);
    for (u32 i = 0; i < subscriptions; i++)
        if (find_subscription(w, h, client, i, box) && (box.contains(p) || (is_published && box.overlaps(publication))))
            return true;
    return false;
}
// Whether an observer or an earlier subscription shows the entity too.
__device__ __noinline__ bool is_repeated(const World& w, const Regions& h, u32 client, u32 index, u32 slot,
                                         const Point& p, bool is_known) {
    return is_repeated<true>(w, client, w.observers_per_client, slot, p, is_known) || is_subscribed(w, h, client, index, slot, p);
}

// The rank of an entity that a subscription adds is its distance to the nearest observer,
// however far; without an observer, it is the largest rank.
__device__ __noinline__ u64 rank_of(const World& w, const Regions& h, u32 client, u32 slot, const Point& p, bool is_known) {
    u64 best = rank_of<true>(w, client, slot, p, is_known);
    if (best == 0 || !is_subscribed(w, h, client, subscriptions_max(w, h), slot, p)) return best;
    Place place;
    for (u32 i = 0; i < w.observers_per_client; i++)
        if (find_place(w, client, i, place)) best = min(best, counted(w, squared_distance(p, place.center), is_known) + 1);
    return best;
}
template <bool REGIONS>
__device__ inline u64 rank_in(const World& w, const Regions* h, u32 client, u32 slot, const Point& p, bool is_known) {
    if constexpr (REGIONS) return rank_of(w, *h, client, slot, p, is_known);
    else return rank_of<false>(w, client, slot, p, is_known);
}

// Visits the entities that only a client's subscriptions show.
template <bool RANKED, class Visit>
__device__ void each_subscribed(const World& w, const Regions& h, u32 client, const Known& known, Visit visit) {
    u32 n = subscriptions_max(w, h);
    i32 revealed = revealed_to(w, client);
    for (u32 s = 0; s < n; s++) {
        Box box;
        if (!find_subscription(w, h, client, s, box)) continue;
        auto visit_new = [&](bool is_one, u32 slot, const Point& p) {
            bool is_known = is_one && w.margin && known.has(slot);
            is_one = is_one && !(w.hides >= 0 && is_hidden(w, client, slot, revealed));
            is_one = is_one && !is_repeated(w, h, client, s, slot, p, is_known);
            visit(is_one, slot, RANKED && is_one ? rank_of(w, h, client, slot, p, is_known) : 0);
        };
        each_in_box(w, box, visit_new);
        if (!h.of_entities) continue;
        each_overlapping(w, h, h.published, box, [&](bool is_one, u32 slot) {
            Point p = {{0, 0, 0}};
            if (is_one) p = position(w, slot);
            // An entity inside the box was already found by its position.
            visit_new(is_one && !box.contains(p), slot, p);
        });
    }
}

// Calls `visit(candidate, slot, rank)` on all lanes for 32 places of the index at a time;
// `slot` and `rank` are the lane's, and valid only where `candidate` is set. Ranks are found
// only if RANKED. Only with REGIONS it is asked who is hidden: worlds that hide entities have those
// kernels.
template <bool REGIONS, bool RANKED, class Visit>
__device__ void each_candidate(const World& w, const Regions* h, u32 client, const Known& known, Visit visit) {
    i32 revealed = REGIONS ? revealed_to(w, client) : 0;
    for (u32 o = 0; o < w.observers_per_client; o++) {
        Place place = {};
        bool needs_place = RANKED || w.exact || o > 0;
        if (needs_place && !find_place(w, client, o, place)) continue;
        i64 radius = (i64)place.radius * place.radius;
        Range own = {0, 0};
        if (lane() < w.rows_max) own = w.ranges[((u64)client * w.observers_per_client + o) * w.rows_max + lane()];
        for (u32 r = 0; r < w.rows_max; r++) {
            u32 start = __shfl_sync(~0u, own.start, r), end = __shfl_sync(~0u, own.end, r);
            for (u32 base = start; base < end; base += 32) {
                u32 i = base + lane();
                bool candidate = i < end;
                u32 slot = candidate ? w.index_slots[i] : w.capacity;
                u64 rank = 0;
                if (candidate && needs_place) {
                    Point p = indexed_position(w, i);
                    i64 distance = squared_distance(p, place.center);
                    bool is_known = w.margin && is_within(p, place.center, place.radius + w.margin) && known.has(slot);
                    if (w.exact) candidate = distance <= radius || is_known;
                    if (REGIONS && candidate && w.hides >= 0) candidate = !is_hidden(w, client, slot, revealed);
                    if (REGIONS && candidate) candidate = is_in_line(w, place, slot, p);
                    if (candidate && o > 0) candidate = !is_repeated<REGIONS>(w, client, o, slot, p, is_known);
                    if (RANKED && candidate) {
                        if (REGIONS || w.observers_per_client > 1) rank = rank_in<REGIONS>(w, h, client, slot, p, is_known);
                        else rank = place.followed == slot ? 0 : counted(w, distance, is_known) + 1;
                    }
                }
                visit(candidate, slot, rank);
            }
        }
    }
    if constexpr (REGIONS) each_subscribed<RANKED>(w, *h, client, known, visit);
}

// As `each_candidate`, for the first observer's candidates that are nearby.
template <class Visit>
__device__ void each_nearby(const World& w, const Place& place, const Nearby& nearby, const Known& known, Visit visit) {
    i64 radius = (i64)place.radius * place.radius;
    u32 rows = rows_of(w, nearby.cells);
    for (u32 base = 0; base < rows; base += 32) {
        Range own = row_of_cells(w, nearby.cells, base + lane(), true, nullptr);
        each_place(own, [&](bool candidate, u32 at) {
            u32 slot = w.capacity, i = at & ~BY_CELL;
            u64 rank = 0;
            if (candidate) {
                bool by_cell = at & BY_CELL;
                slot = (by_cell ? w.crowd_slots : w.index_slots)[i];
                Point p = position_at(w, by_cell ? w.crowd_positions : w.index_positions, i);
                i64 distance = squared_distance(p, place.center);
                bool is_known = w.margin && is_within(p, place.center, place.radius + w.margin) && known.has(slot);
                rank = place.followed == slot ? 0 : counted(w, distance, is_known) + 1;
                candidate = (distance <= radius || is_known) && rank >> nearby.bits == 0;
            }
            visit(candidate, slot, rank);
        });
    }
}

// Whether every entity changed and each client sees whole buckets: then the ranges alone
// give the number of deliveries.
__device__ inline bool is_by_ranges(const World& w, const Tick& t) {
    return w.visible_max == 0 && !w.exact && w.observers_per_client == 1 && t.counters->changed_live == t.counters->entities;
}
