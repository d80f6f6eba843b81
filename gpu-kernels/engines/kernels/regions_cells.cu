// Region matching on the device: the paper's grid-based approach (III.C). Each region is
// recorded in the lists of all grid cells that it touches; each updated region is compared
// with the regions in the lists of its cells. Lists are made by count, scan and store, and
// sorted by cell; the paper appends to them with atomics.
//
// Two regions may share several cells. They are compared only in the first one.
#include "lib/search.cuh"
#include "regions.cuh"

// One lane per candidate edge: the given edge times 2^0 to 2^30, and one that covers everything.
constexpr u32 EDGES = 32;
// The cost of a record, in comparisons.
constexpr u64 COST_RECORD = 16;

// An edge as a shift; the last one covers the whole space.
__device__ inline u32 edge_shift(u32 edge) { return edge == EDGES - 1 ? 32 : edge; }

// Cells that a box touches, both ends included.
template <int D>
struct Touched {
    u32 low[D], high[D];

    // The cells of the given edge that a box touches.
    __device__ static Touched of(const RegionsWorld& w, u32 edge, const Aabb<D>& box) {
        Touched t;
        for (int a = 0; a < D; a++) {
            t.low[a] = ((u32)box.low[a] - (u32)w.low[a]) / edge;
            t.high[a] = ((u32)box.high[a] - 1 - (u32)w.low[a]) / edge;
        }
        return t;
    }
    __device__ Touched larger(u32 shift) const {
        Touched t;
        for (int a = 0; a < D; a++) t.low[a] = (u32)((u64)low[a] >> shift), t.high[a] = (u32)((u64)high[a] >> shift);
        return t;
    }
    // The number of cells, at most 2^40.
    __device__ u64 cells() const {
        u64 n = 1;
        for (int a = 0; a < D; a++) n = min(n, 1ull << 31) * ((u64)high[a] - low[a] + 1);
        return min(n, 1ull << 40);
    }
};

// Calls `visit` with a region's entries and their boxes.
template <int D, class F>
__device__ void each_entry(u32 side, u32 number, const Motion<D>& m, F&& visit) {
    u32 entry = side << SIDE_SHIFT | number;
    if (m.is_apart()) {
        visit(entry | BEFORE_ONLY, m.before);
        visit(entry | NOW_ONLY, m.now);
    } else {
        Aabb<D> hull = m.before.hull(m.now);
        if (!hull.is_nowhere()) visit(entry, hull);
    }
}

// The thread's region; blocks alternate between the sides.
template <int D>
__device__ Motion<D> own_region(const RegionsWorld& w, u32& side, u32& number) {
    side = blockIdx.x & 1;
    number = blockIdx.x / 2 * blockDim.x + threadIdx.x;
    return number < w.capacity ? Motion<D>::of(w, side, number) : Motion<D>::nowhere();
}

// Chooses the grid's edge. If an edge is configured: its smallest multiple for which there
// is room. Otherwise: the edge for which recording and comparing the regions costs least,
// if they are spread evenly (the paper's reference [7]). A warp calls it.
template <int D>
__device__ void choose_edge(const RegionsWorld& w) {
    const volatile RegionsCounters& c = *w.counters;
    u32 edge = max(w.cell_edge, 1u), own = lane();
    u32 cells[3] = {1, 1, 1};
    u64 all = 1;
    for (int a = 0; a < D; a++) {
        u32 last = ((u32)w.high[a] - 1 - (u32)w.low[a]) / edge;
        cells[a] = (u32)((u64)last >> edge_shift(own)) + 1;
        // 2^32 cells wrap to 0: too many.
        all = min(all, 1ull << 31) * (cells[a] ? cells[a] : 1ull << 32);
    }
    u64 mapped = c.mapped[0][own] + c.mapped[1][own], updated = c.mapped_updated[own];
    bool fits = all <= w.cells_max && mapped <= w.records_max;
    u64 cost = ~0ull >> 5;
    if (fits && w.cell_edge) cost = own;
    else if (fits) cost = min(mapped * COST_RECORD + all + updated * (mapped * 8 / all) / 16, cost / 2);
    u64 least = cost << 5 | own;
    for (int d = 16; d; d >>= 1) least = min(least, __shfl_xor_sync(~0u, least, d));
    if ((least & 31) != own) return;
    RegionsGrid& g = *w.grid;
    g.edge = edge, g.shift = edge_shift(own), g.all = (u32)all;
    for (int a = 0; a < 3; a++) g.cells[a] = cells[a];
}

// How many records each edge would make.
template <int D>
__device__ void cells_measure(const RegionsWorld& w) {
    __shared__ u64 mapped[EDGES], mapped_updated[EDGES];
    if (threadIdx.x < EDGES) mapped[threadIdx.x] = mapped_updated[threadIdx.x] = 0;
    __syncthreads();
    u32 side, number, n = 0;
    Motion<D> m = own_region<D>(w, side, number);
    Touched<D> touched[2];
    each_entry(side, number, m, [&](u32, const Aabb<D>& box) {
        touched[n++] = Touched<D>::of(w, max(w.cell_edge, 1u), box);
    });
    bool updated = n && is_updated(w, side, number);
    for (u32 edge = 0; edge < EDGES; edge++) {
        u64 sum = 0;
        for (u32 i = 0; i < n; i++) sum += touched[i].larger(edge_shift(edge)).cells();
        u64 of_updated = updated ? sum : 0;
        for (int d = 16; d; d >>= 1) {
            sum += __shfl_xor_sync(~0u, sum, d);
            of_updated += __shfl_xor_sync(~0u, of_updated, d);
        }
        if (lane() == 0 && sum) atomicAdd(&mapped[edge], sum);
        if (lane() == 0 && of_updated) atomicAdd(&mapped_updated[edge], of_updated);
    }
    __syncthreads();
    if (threadIdx.x < EDGES) {
        if (mapped[threadIdx.x]) atomicAdd(&w.counters->mapped[side][threadIdx.x], mapped[threadIdx.x]);
        if (mapped_updated[threadIdx.x])
            atomicAdd(&w.counters->mapped_updated[threadIdx.x], mapped_updated[threadIdx.x]);
    }
    if (is_last_block(&w.counters->done[2]) && threadIdx.x < 32) choose_edge<D>(w);
}

template <int D>
__device__ u32 records_of(const RegionsWorld& w, u32 side, u32 number, const Motion<D>& m) {
    u64 n = 0;
    each_entry(side, number, m, [&](u32, const Aabb<D>& box) {
        n += Touched<D>::of(w, w.grid->edge, box).larger(w.grid->shift).cells();
    });
    return (u32)n;
}

template <int D>
__device__ void cells_count(const RegionsWorld& w) {
    u32 side, number;
    Motion<D> m = own_region<D>(w, side, number);
    u64 sum = block_sum(w.counters->error ? 0 : records_of(w, side, number, m));
    if (threadIdx.x == 0) w.partials[blockIdx.x] = (u32)sum;
    if (!is_last_block(&w.counters->done[3])) return;
    // Sums become offsets.
    volatile u32* partials = w.partials;
    u32 each = (gridDim.x + blockDim.x - 1) / blockDim.x;
    u32 from = min(threadIdx.x * each, gridDim.x), to = min(from + each, gridDim.x);
    u64 own = 0;
    for (u32 i = from; i < to; i++) own += partials[i];
    u64 next = block_exclusive(own);
    if (threadIdx.x == blockDim.x - 1) w.counters->records = next + own;
    for (u32 i = from; i < to; i++) {
        u32 n = partials[i];
        partials[i] = (u32)next;
        next += n;
    }
}

__device__ inline u32 list_of(const RegionsGrid& g, const u32* cell, int dimensions, u32 side) {
    u32 number = 0;
    for (int a = dimensions - 1; a >= 0; a--) number = number * g.cells[a] + cell[a];
    return number << 1 | side;
}

template <int D>
__device__ void cells_store(const RegionsWorld& w) {
    u32 side, number;
    Motion<D> m = own_region<D>(w, side, number);
    if (w.counters->error) return;
    const RegionsGrid& g = *w.grid;
    u64 place = block_exclusive(records_of(w, side, number, m)) + w.partials[blockIdx.x];
    each_entry(side, number, m, [&](u32 entry, const Aabb<D>& box) {
        Touched<D> t = Touched<D>::of(w, g.edge, box).larger(g.shift);
        u32 cell[D];
        for (int a = 0; a < D; a++) cell[a] = t.low[a];
        while (true) {
            w.raw_keys[place] = list_of(g, cell, D, side);
            w.raw_entries[place++] = entry;
            int a = 0;
            while (a < D && cell[a] == t.high[a]) cell[a] = t.low[a], a++;
            if (a == D) break;
            cell[a]++;
        }
    });
}

// Stores where each list begins.
KERNEL regions_cells_lists(RegionsWorld w) {
    if (w.counters->error) return;
    for (u32 i = thread_index(); i <= 2 * w.grid->all; i += thread_count())
        w.directory[i] = lower_bound(w.keys, (u32)w.counters->records, i);
}

// One thread for each record of an updated region.
template <int D>
__device__ void cells_find(const RegionsWorld& w) {
    __shared__ Hits hits;
    hits.begin();
    const RegionsGrid g = *w.grid;
    u64 records = w.counters->error ? 0 : w.counters->records;
    for (u64 i = thread_index(); i < records; i += thread_count()) {
        u32 entry = w.entries[i], list = w.keys[i] ^ 1, side = entry >> SIDE_SHIFT & 1;
        if (!is_updated(w, side, entry & NUMBER_MASK)) continue;
        u32 start = w.directory[list], end = w.directory[list + 1];
        if (start == end) continue;
        Motion<D> m = Motion<D>::of_entry(w, entry);
        Aabb<D> box = m.box_of(entry);
        Touched<D> touched = Touched<D>::of(w, g.edge, box).larger(g.shift);
        for (u32 k = start; k < end; k++) {
            u32 other = w.entries[k];
            Motion<D> o = Motion<D>::of_entry(w, other);
            Aabb<D> other_box = o.box_of(other);
            if (!box.overlaps(other_box)) continue;
            // Updated publications are compared with all subscriptions already.
            if (side == 1 && is_updated(w, 0, other & NUMBER_MASK)) continue;
            Touched<D> others = Touched<D>::of(w, g.edge, other_box).larger(g.shift);
            u32 first[D];
            for (int a = 0; a < D; a++) first[a] = max(touched.low[a], others.low[a]);
            if (list_of(g, first, D, 1 - side) == list) hits.compare(w, side == 0, entry, m, other, o);
        }
    }
    hits.end(w);
    if (is_last_block(&w.counters->done[1])) keep(w);
}

#define IN_DIMENSIONS(D)                                                                              \
    KERNEL __launch_bounds__(BLOCK) regions_cells_measure_##D(RegionsWorld w) { cells_measure<D>(w); } \
    KERNEL __launch_bounds__(BLOCK) regions_cells_count_##D(RegionsWorld w) { cells_count<D>(w); }     \
    KERNEL __launch_bounds__(BLOCK) regions_cells_store_##D(RegionsWorld w) { cells_store<D>(w); }     \
    KERNEL __launch_bounds__(BLOCK) regions_cells_find_##D(RegionsWorld w) { cells_find<D>(w); }
IN_DIMENSIONS(1)
IN_DIMENSIONS(2)
IN_DIMENSIONS(3)
#undef IN_DIMENSIONS
