// Region matching on the device: finds pairs by our approach and by the paper's region-based one.
#include "regions.cuh"

// Rows with more than TASK_WORTH entries become tasks of TASK_ENTRIES entries.
constexpr u32 TASK_WORTH = 32, TASK_ENTRIES = 512;
// Queries with more rows become tasks.
constexpr u32 ROWS_WIDE = 12;
// Kinds of queries: sorted publications, then publications and subscriptions without update.
constexpr u32 QUERY_SORTED = 0, QUERY_PUBLICATION = 1, QUERY_SUBSCRIPTION = 2;

// The cells of one size class that may hold the low corner of a box that overlaps this one.
struct CellBlock {
    u32 low[3], high[3];
    __device__ u64 rows() const { return (u64)(high[1] - low[1] + 1) * (high[2] - low[2] + 1); }
};
template <int D>
__device__ bool cells_around(const RegionsSide& l, const RegionsClass& c, const Aabb<D>& box, CellBlock& b) {
    b = {};
    for (int a = 0; a < D; a++) {
        i64 from = (i64)box.low[a] - c.reach[a] + 1 - l.origin[a], to = (i64)box.high[a] - 1 - l.origin[a];
        if (to < 0 || from > (i64)l.span[a]) return false;
        b.low[a] = (u32)((u64)max(from, (i64)0) >> c.shift[a]);
        b.high[a] = (u32)((u64)min(to, (i64)l.span[a]) >> c.shift[a]);
    }
    return true;
}

// Entries with the keys of one row of cells.
__device__ inline Range row_of(const RegionsWorld& w, const RegionsClass& c, const CellBlock& b, u32 y, u32 z) {
    u32 first = c.base + (z * c.cells[1] + y) * c.cells[0];
    return {w.directory[first + b.low[0]], w.directory[first + b.high[0] + 1]};
}

// Calls `visit` with the rows that a box has to look up, from number `from` on.
template <int D, class F>
__device__ void each_row(const RegionsWorld& w, const RegionsSide& l, const Aabb<D>& box, u64 from, F&& visit) {
    u64 at = 0;
    for (u32 used = l.used; used; used &= used - 1) {
        const RegionsClass& c = l.classes[__ffs(used) - 1];
        CellBlock b;
        if (!cells_around(l, c, box, b)) continue;
        for (u32 z = b.low[2]; z <= b.high[2]; z++)
            for (u32 y = b.low[1]; y <= b.high[1]; y++)
                if (at++ >= from) visit(row_of(w, c, b, y, z));
    }
}

template <int D>
__device__ u64 rows_around(const RegionsSide& l, const Aabb<D>& box) {
    u64 rows = 0;
    CellBlock b;
    for (u32 used = l.used; used; used &= used - 1)
        if (cells_around(l, l.classes[__ffs(used) - 1], box, b)) rows += b.rows();
    return rows;
}

// The n-th row that `each_row` visits; empty beyond the last.
template <int D>
__device__ Range nth_row(const RegionsWorld& w, const RegionsSide& l, const Aabb<D>& box, u64 n) {
    for (u32 used = l.used; used; used &= used - 1) {
        const RegionsClass& c = l.classes[__ffs(used) - 1];
        CellBlock b;
        if (!cells_around(l, c, box, b)) continue;
        if (n < b.rows()) {
            u32 height = b.high[1] - b.low[1] + 1;
            return row_of(w, c, b, b.low[1] + (u32)n % height, b.low[2] + (u32)n / height);
        }
        n -= b.rows();
    }
    return {0, 0};
}

// A region that looks up the other side.
template <int D>
struct Query {
    u32 code;  // in the format of a task
    u32 entry;
    u32 index;  // the side that it looks up
    Motion<D> motion;

    __device__ static Query of(const RegionsWorld& w, u32 code) {
        u32 mode = code >> 30, i = code & ((1u << 30) - 1);
        Query q;
        q.code = code;
        q.index = mode != QUERY_SUBSCRIPTION;
        if (mode == QUERY_SORTED) {
            q.entry = w.entries[i];
            q.motion = Motion<D>::load(w.motions, i);
        } else {
            q.entry = i;
            q.motion = Motion<D>::of(w, 1 - q.index, i);
        }
        return q;
    }
    __device__ Aabb<D> box() const { return motion.box_of(entry); }
    __device__ void compare(const RegionsWorld& w, u32 i, Hits& hits) const {
        hits.compare(w, index == 1, entry, motion, w.entries[i], Motion<D>::load(w.motions, i));
    }
};

// Queues the work from `from` to `to` as tasks of `each`; returns where the work begins for
// which there was no room.
__device__ inline u64 leave(const RegionsWorld& w, u32 query, u64 from, u64 to, u32 each, bool rows) {
    u64 parts = (to - from + each - 1) / each;
    u64 place = atomicAdd(&w.counters->tasks, parts);
    for (; from < to && place < w.tasks_max; from += each, place++)
        w.tasks[place] = {query, (u32)from, rows ? ROWS : (u32)min(to, from + each)};
    return min(from, to);
}

template <int D>
__device__ void look_up(const RegionsWorld& w, const RegionsSide& l, const Query<D>& q, Hits& hits) {
    Aabb<D> box = q.box();
    if (box.is_nowhere()) return;
    u64 from = 0, rows = rows_around(l, box);
    if (rows > ROWS_WIDE) from = leave(w, q.code, 0, rows, 32, true);
    if (from >= rows) return;
    each_row(w, l, box, from, [&](Range row) {
        if (row.end - row.start > TASK_WORTH)
            row.start = (u32)leave(w, q.code, row.start, row.end, TASK_ENTRIES, false);
        for (u32 i = row.start; i < row.end; i++) q.compare(w, i, hits);
    });
}

__device__ inline void load(RegionsSide& to, const RegionsSide& from) {
    for (u32 i = threadIdx.x; i < sizeof(to) / 4; i += blockDim.x) ((u32*)&to)[i] = ((const u32*)&from)[i];
}

// One thread per query: the first blocks take the sorted publications, the next the
// publications without update, the last the subscriptions without update.
template <int D>
__device__ void find(const RegionsWorld& w, u32 sorted_blocks, u32 publication_blocks) {
    __shared__ Hits hits;
    __shared__ RegionsSide index;
    if (w.counters->error) return;
    u32 mode = QUERY_SORTED, block = blockIdx.x;
    if (block >= sorted_blocks) mode = QUERY_PUBLICATION, block -= sorted_blocks;
    if (mode == QUERY_PUBLICATION && block >= publication_blocks) mode = QUERY_SUBSCRIPTION, block -= publication_blocks;
    u32 side = mode == QUERY_SUBSCRIPTION, i = block * blockDim.x + threadIdx.x;
    load(index, w.layout->sides[1 - side]);
    hits.begin();
    bool asks = mode == QUERY_SORTED ? i < w.layout->sides[0].entries : i < w.capacity && !is_updated(w, side, i);
    if (asks && index.used) look_up(w, index, Query<D>::of(w, mode << 30 | i), hits);
    hits.end(w);
}

// Runs the tasks that single threads have queued: a warp takes one at a time.
template <int D>
__device__ void find_rest(const RegionsWorld& w) {
    __shared__ Hits hits;
    __shared__ RegionsSide sides[2];
    u64 n = w.counters->error ? 0 : min(w.counters->tasks, (u64)w.tasks_max);
    if (blockIdx.x * (blockDim.x / 32) < n) {
        for (int side = 0; side < 2; side++) load(sides[side], w.layout->sides[side]);
        hits.begin();
        u32 warps = blockDim.x / 32;
        for (u64 item = (u64)blockIdx.x * warps + threadIdx.x / 32; item < n; item += (u64)gridDim.x * warps) {
            RegionsTask t = w.tasks[item];
            Query<D> q = Query<D>::of(w, t.query);
            if (t.end == ROWS)
                each_place(nth_row(w, sides[q.index], q.box(), t.start + lane()), [&](bool is_one, u32 place) {
                    if (is_one) q.compare(w, place, hits);
                });
            else
                for (u32 i = t.start + lane(); i < t.end; i += 32) q.compare(w, i, hits);
        }
        hits.end(w);
    }
    if (is_last_block(&w.counters->done[1])) keep(w);
}

// The paper's region-based approach (III.B, figure 2): one thread for each updated region,
// which reads the other side tile by tile through shared memory. The first blocks take the
// publications. Blocks split the tiles, so that even a few updated regions use the whole
// GPU.
template <int D>
__device__ void tiles(const RegionsWorld& w, u32 publication_blocks, u32 publication_slices, u32 subscription_slices) {
    __shared__ Hits hits;
    __shared__ Motion<D> tile[BLOCK];
    __shared__ Aabb<D> hulls[BLOCK];
    u32 side = blockIdx.x >= publication_blocks, block = side ? blockIdx.x - publication_blocks : blockIdx.x;
    u32 slices = side ? subscription_slices : publication_slices;
    u32 slice = block % slices, i = block / slices * BLOCK + threadIdx.x;
    u32 n = w.counters->error ? 0 : (u32)w.counters->updated[side];
    if (block / slices * BLOCK < n) {
        hits.begin();
        u32 number = i < n ? w.tables[side].updated[i] : 0;
        Motion<D> own = i < n ? Motion<D>::of(w, side, number) : Motion<D>::nowhere();
        Aabb<D> hull = own.before.hull(own.now);
        for (u32 start = slice * BLOCK; start < w.capacity; start += slices * BLOCK) {
            u32 other = start + threadIdx.x;
            Motion<D> m = Motion<D>::nowhere();
            // Updated publications have been compared with all subscriptions.
            if (other < w.capacity && !(side == 1 && is_updated(w, 0, other))) m = Motion<D>::of(w, 1 - side, other);
            __syncthreads();
            tile[threadIdx.x] = m;
            hulls[threadIdx.x] = m.before.hull(m.now);
            __syncthreads();
            u32 end = min(BLOCK, w.capacity - start);
            #pragma unroll 4
            for (u32 k = 0; k < end; k++)
                if (hull.overlaps(hulls[k])) hits.compare(w, side == 0, number, own, start + k, tile[k]);
        }
        hits.end(w);
    }
    if (is_last_block(&w.counters->done[1])) keep(w);
}

#define IN_DIMENSIONS(D)                                                                                          \
    KERNEL __launch_bounds__(BLOCK) regions_find_##D(RegionsWorld w, u32 sorted_blocks, u32 publication_blocks) { \
        find<D>(w, sorted_blocks, publication_blocks);                                                            \
    }                                                                                                             \
    KERNEL __launch_bounds__(BLOCK) regions_find_rest_##D(RegionsWorld w) { find_rest<D>(w); }                    \
    KERNEL __launch_bounds__(BLOCK) regions_tiles_##D(RegionsWorld w, u32 publication_blocks,                     \
                                                      u32 publication_slices, u32 subscription_slices) {          \
        tiles<D>(w, publication_blocks, publication_slices, subscription_slices);                                 \
    }
IN_DIMENSIONS(1)
IN_DIMENSIONS(2)
IN_DIMENSIONS(3)
#undef IN_DIMENSIONS
