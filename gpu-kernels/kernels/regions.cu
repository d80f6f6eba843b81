// Region matching on the device: a step's launches are in `regions/cuda/step.rs`.
#include "regions.cuh"

__device__ inline u32 ordered(i32 n) { return (u32)n ^ 0x80000000u; }
__device__ inline i32 unordered(u32 n) { return (i32)(n ^ 0x80000000u); }
// Most threads have nothing to add, so they look before they lock.
__device__ inline void raise(u32* to, u32 value) {
    if (*(volatile u32*)to < value) atomicMax(to, value);
}
__device__ inline void refuse(const RegionsWorld& w, u32 update, u32 reason) {
    atomicMax(&w.counters->error, ~((u64)update << 2 | reason));
}

// Each update claims its region; the first in the batch has it.
template <int D>
__device__ void check(const RegionsWorld& w) {
    u32 i = thread_index();
    if (i >= w.updates) return;
    u32 header = (u32)w.words[(u64)i * (1 + 2 * D)];
    u32 side = header >> 31, kind = header >> 29 & 3, number = header & NUMBER_MASK;
    // Later steps have smaller claims, so nothing need be cleared.
    atomicMin(&w.claims[side][number], (u64)~w.step << 32 | i);
    bool is_there = !Aabb<D>::load(w.now[side], number).is_nowhere();
    if (is_there == (kind == ADD)) refuse(w, i, is_there ? ALREADY_THERE : UNKNOWN);
}

// What entries of a block come to.
struct BlockStatistics {
    u32 low[2][3], high[2][3], count[2][SIZE_CLASSES], reach[2][SIZE_CLASSES][3];
};

template <int D>
__device__ void put_entry(const RegionsWorld& w, BlockStatistics& all, u32 side, u32 entry, const Aabb<D>& box) {
    u64 place = reserve(&w.counters->entries[side]);
    w.raw_entries[side][place] = entry;
    int size_class = box.size_class();
    atomicAdd(&all.count[side][size_class], 1u);
    for (int a = 0; a < D; a++) {
        raise(&all.low[side][a], ~ordered(box.low[a]));
        raise(&all.high[side][a], ordered(box.low[a]));
        raise(&all.reach[side][size_class][a], box.extent(a));
    }
}

// The entries of an updated region.
template <int D>
__device__ void put_entries(const RegionsWorld& w, BlockStatistics& all, u32 side, u32 number, const Motion<D>& m) {
    u64 place = reserve(&w.counters->updated[side]);
    w.updated[side][place] = number;
    if (m.is_apart()) {
        put_entry(w, all, side, number | BEFORE_ONLY, m.before);
        put_entry(w, all, side, number | NOW_ONLY, m.now);
    } else if (!(m.before.is_nowhere() && m.now.is_nowhere())) {
        put_entry(w, all, side, number, m.before.hull(m.now));
    }
}

__device__ inline void begin(BlockStatistics& all) {
    for (u32 i = threadIdx.x; i < sizeof(all) / 4; i += blockDim.x) ((u32*)&all)[i] = 0;
    __syncthreads();
}
__device__ inline void end(const RegionsWorld& w, BlockStatistics& all) {
    __syncthreads();
    RegionsCounters* c = w.counters;
    for (u32 i = threadIdx.x; i < 6; i += blockDim.x) {
        raise((u32*)c->low + i, ((u32*)all.low)[i]);
        raise((u32*)c->high + i, ((u32*)all.high)[i]);
    }
    for (u32 i = threadIdx.x; i < 2 * SIZE_CLASSES; i += blockDim.x)
        if (((u32*)all.count)[i]) atomicAdd((u32*)c->count + i, ((u32*)all.count)[i]);
    for (u32 i = threadIdx.x; i < 2 * SIZE_CLASSES * 3; i += blockDim.x)
        if (((u32*)all.reach)[i]) raise((u32*)c->reach + i, ((u32*)all.reach)[i]);
}

template <int D>
__device__ void apply(const RegionsWorld& w) {
    __shared__ BlockStatistics all;
    begin(all);
    u32 i = thread_index();
    if (i < w.updates) {
        const i32* update = w.words + (u64)i * (1 + 2 * D);
        u32 header = (u32)update[0];
        u32 side = header >> 31, kind = header >> 29 & 3, number = header & NUMBER_MASK;
        if ((u32)w.claims[side][number] != i) {
            refuse(w, i, NAMED_TWICE);
        } else {
            Motion<D> m;
            m.before = Aabb<D>::load(w.before[side], number);
            for (int a = 0; a < D; a++) {
                m.now.low[a] = update[1 + a];
                m.now.high[a] = update[1 + D + a];
            }
            m.now.store(w.now[side], number);
            w.stamps[side][number] = w.step;
            if (kind == ADD) reserve(&w.counters->added[side]);
            if (kind == REMOVE) reserve(&w.counters->removed[side]);
            put_entries(w, all, side, number, m);
        }
    }
    end(w, all);
}

// All regions become entries, as if they had just been added.
template <int D>
__device__ void enlist(const RegionsWorld& w) {
    __shared__ BlockStatistics all;
    begin(all);
    u32 i = thread_index();
    if (i < 2 * w.capacity) {
        u32 side = i >= w.capacity, number = side ? i - w.capacity : i;
        Motion<D> m = Motion<D>::of(w, side, number);
        if (!m.now.is_nowhere()) put_entries(w, all, side, number, m);
    }
    end(w, all);
}

__device__ inline u64 warp_sum(u64 n) {
    for (int d = 16; d; d >>= 1) n += __shfl_xor_sync(~0u, n, d);
    return n;
}
__device__ inline u64 warp_max(u64 n) {
    for (int d = 16; d; d >>= 1) n = max(n, __shfl_xor_sync(~0u, n, d));
    return n;
}

template <int D>
struct ClassShape {
    RegionsClass c;
    __device__ void cut(const u32* span) {
        for (int a = 0; a < 3; a++) c.cells[a] = a < D ? (span[a] >> c.shift[a]) + 1 : 1;
    }
    __device__ u64 keys() const {
        if (!c.count) return 0;
        u64 n = 1;
        for (int a = 0; a < D; a++) n = min(n, 1ull << 31) * c.cells[a];
        return n;
    }
    __device__ void coarsen(const u32* span) {
        int axis = 0;
        for (int a = 1; a < D; a++)
            if (c.cells[a] >= c.cells[axis]) axis = a;
        c.shift[axis]++;
        cut(span);
    }
};

// How entries are keyed; `regions/cpu/layout.rs` says why. A warp for each side, a
// lane for each size class.
template <int D>
__device__ void layout(const RegionsWorld& w) {
    u32 side = blockIdx.x, own = threadIdx.x;
    const RegionsCounters& c = *w.counters;
    RegionsLayout& l = w.layouts[side];
    u64 entries = c.entries[side];
    u32 span[3] = {0, 0, 0};
    for (int a = 0; a < D; a++) {
        i32 low = unordered(~c.low[side][a]), high = unordered(c.high[side][a]);
        span[a] = entries ? (u32)high - (u32)low : 0;
        if (own == 0) l.origin[a] = low, l.span[a] = span[a];
    }
    ClassShape<D> shape = {};
    if (own < SIZE_CLASSES) {
        shape.c.count = c.count[side][own];
        for (int a = 0; a < D; a++) {
            u32 reach = c.reach[side][own][a];
            int cell = reach > 1 ? 32 - __clz(reach - 1) : 0;
            shape.c.reach[a] = reach;
            shape.c.shift[a] = a ? min(cell, 31) : max(cell - 3, 0);
        }
        shape.cut(span);
        while (shape.keys() > ((u64)shape.c.count + 1) * 64) shape.coarsen(span);
    }
    u64 keys_max = 1ull << min(w.key_bits, 31u);
    while (warp_sum(shape.keys()) > keys_max) {
        u64 largest = warp_max(shape.keys());
        if (shape.keys() == largest) shape.coarsen(span);
    }
    u64 inclusive = shape.keys();
    for (int d = 1; d < 32; d <<= 1) {
        u64 other = __shfl_up_sync(~0u, inclusive, d);
        if ((int)own >= d) inclusive += other;
    }
    shape.c.base = (u32)(inclusive - shape.keys());
    if (own < SIZE_CLASSES) l.classes[own] = shape.c;
    if (own == 31) {
        u64 runs_max = max(entries * 2, (u64)64);
        u32 shift = 0;
        while (inclusive >> shift > runs_max) shift++;
        l.keys = (u32)inclusive;
        l.directory_shift = shift;
    }
}

template <int D>
__device__ void keys(const RegionsWorld& w, u32 side) {
    u32 i = thread_index();
    if (w.counters->error || i >= w.counters->entries[side]) return;
    u32 entry = w.raw_entries[side][i];
    Aabb<D> box = Motion<D>::of(w, side, entry & ENTRY_MASK).of_entry(entry);
    const RegionsLayout& l = w.layouts[side];
    const RegionsClass& c = l.classes[box.size_class()];
    u32 key = 0;
    for (int a = D - 1; a >= 0; a--) key = key * c.cells[a] + (((u32)box.low[a] - (u32)l.origin[a]) >> c.shift[a]);
    w.raw_keys[side][i] = c.base + key;
}

// After the sort: the boxes in order, and where runs of keys begin.
template <int D>
__device__ void gather(const RegionsWorld& w, u32 side) {
    u32 i = thread_index();
    if (w.counters->error) return;
    u32 n = (u32)w.counters->entries[side];
    if (i < n) Motion<D>::of(w, side, w.entries[side][i] & ENTRY_MASK).store(w.motions[side], i);
    const RegionsLayout& l = w.layouts[side];
    if (i >= (l.keys >> l.directory_shift) + 2) return;
    u64 first = (u64)i << l.directory_shift;
    u32 low = 0, high = n;
    while (low < high) {
        u32 middle = (low + high) >> 1;
        if (w.keys[side][middle] < first) low = middle + 1;
        else high = middle;
    }
    w.directory[side][i] = low;
}

// Where one side's sorted keys reach `key`.
__device__ inline u32 reach_key(const RegionsWorld& w, const RegionsLayout& l, u32 side, u32 key) {
    u32 run = key >> l.directory_shift;
    u32 low = w.directory[side][run], high = w.directory[side][run + 1];
    while (low < high) {
        u32 middle = (low + high) >> 1;
        if (w.keys[side][middle] < key) low = middle + 1;
        else high = middle;
    }
    return low;
}

// The block of cells in one class in which low corners of boxes can lie that
// overlap this one.
struct CellBlock {
    u32 low[3], high[3];
    __device__ u64 rows() const { return (u64)(high[1] - low[1] + 1) * (high[2] - low[2] + 1); }
};
template <int D>
__device__ bool cells_around(const RegionsLayout& l, const RegionsClass& c, const Aabb<D>& box, CellBlock& b) {
    b = {};
    for (int a = 0; a < D; a++) {
        i64 from = (i64)box.low[a] - c.reach[a] + 1 - l.origin[a], to = (i64)box.high[a] - 1 - l.origin[a];
        if (to < 0 || from > (i64)l.span[a]) return false;
        b.low[a] = (u32)((u64)max(from, (i64)0) >> c.shift[a]);
        b.high[a] = (u32)((u64)min(to, (i64)l.span[a]) >> c.shift[a]);
    }
    return true;
}

// A region that looks up the index of the other side.
template <int D>
struct Query {
    u32 code;   // as in a task
    u32 entry;
    u32 index;  // of which side
    Motion<D> motion;

    __device__ static Query of(const RegionsWorld& w, u32 code) {
        u32 mode = code >> 30, i = code & ENTRY_MASK;
        Query q;
        q.code = code;
        q.index = mode != QUERY_SUBSCRIPTION;
        if (mode == QUERY_SORTED) {
            q.entry = w.entries[0][i];
            q.motion = Motion<D>::load(w.motions[0], i);
        } else {
            q.entry = i;
            q.motion = Motion<D>::of(w, 1 - q.index, i);
        }
        return q;
    }
};

// Compares a query with a row's entries, or leaves that to others.
template <int D>
__device__ void row(const RegionsWorld& w, const RegionsLayout& l, const Query<D>& q, u32 first, u32 last, Hits& hits) {
    u32 start = reach_key(w, l, q.index, first), end = reach_key(w, l, q.index, last + 1);
    if (end - start > TASK_WORTH) {
        while (start < end) {
            u64 place = reserve(&w.counters->tasks);
            if (place >= w.tasks_max) break;
            u32 stop = min(end, start + TASK_ENTRIES);
            w.tasks[place] = {q.code, start, stop};
            start = stop;
        }
    }
    for (u32 i = start; i < end; i++)
        hits.compare(w, q.index == 1, q.entry, q.motion, w.entries[q.index][i], Motion<D>::load(w.motions[q.index], i));
}

__device__ inline const RegionsLayout& load_layout(const RegionsWorld& w, u32 side) {
    __shared__ RegionsLayout l;
    for (u32 i = threadIdx.x; i < sizeof(l) / 4; i += blockDim.x) ((u32*)&l)[i] = ((const u32*)&w.layouts[side])[i];
    __syncthreads();
    return l;
}

__device__ inline u32 row_key(const RegionsClass& c, u32 y, u32 z) { return c.base + (z * c.cells[1] + y) * c.cells[0]; }

template <int D>
__device__ void find(const RegionsWorld& w, u32 mode) {
    __shared__ Hits hits;
    u32 i = thread_index(), side = mode == QUERY_SUBSCRIPTION;
    if (w.counters->error || !w.counters->entries[1 - side]) return;
    const RegionsLayout& l = load_layout(w, 1 - side);
    hits.begin();
    bool asks = mode == QUERY_SORTED ? i < w.counters->entries[0] : i < w.capacity && w.stamps[side][i] != w.step;
    if (asks) {
        Query<D> q = Query<D>::of(w, mode << 30 | i);
        Aabb<D> box = q.motion.of_entry(q.entry);
        if (!box.is_nowhere()) {
            u64 rows = 0;
            CellBlock b;
            for (int k = 0; k < SIZE_CLASSES; k++)
                if (l.classes[k].count && cells_around(l, l.classes[k], box, b)) rows += b.rows();
            u64 place = ~0ull;
            if (rows > ROWS_WIDE) {
                place = reserve(&w.counters->wide);
                if (place < w.wide_max) w.wide[place] = q.code;
            }
            if (place >= w.wide_max)
                for (int k = 0; k < SIZE_CLASSES; k++) {
                    const RegionsClass& c = l.classes[k];
                    if (!c.count || !cells_around(l, c, box, b)) continue;
                    for (u32 z = b.low[2]; z <= b.high[2]; z++)
                        for (u32 y = b.low[1]; y <= b.high[1]; y++) {
                            u32 first = row_key(c, y, z);
                            row(w, l, q, first + b.low[0], first + b.high[0], hits);
                        }
                }
        }
    }
    hits.end(w);
}

// Queries of many rows: a thread takes a row.
template <int D>
__device__ void find_wide(const RegionsWorld& w) {
    __shared__ Hits hits;
    if (w.counters->error) return;
    hits.begin();
    u64 n = min(w.counters->wide, (u64)w.wide_max) * WIDE_SLICES;
    for (u64 item = blockIdx.x; item < n; item += gridDim.x) {
        Query<D> q = Query<D>::of(w, w.wide[item / WIDE_SLICES]);
        Aabb<D> box = q.motion.of_entry(q.entry);
        const RegionsLayout& l = w.layouts[q.index];
        for (int k = 0; k < SIZE_CLASSES; k++) {
            const RegionsClass& c = l.classes[k];
            CellBlock b;
            if (!c.count || !cells_around(l, c, box, b)) continue;
            u64 rows = b.rows();
            u32 height = b.high[1] - b.low[1] + 1;
            for (u64 r = item % WIDE_SLICES * blockDim.x + threadIdx.x; r < rows; r += WIDE_SLICES * blockDim.x) {
                u32 first = row_key(c, b.low[1] + (u32)(r % height), b.low[2] + (u32)(r / height));
                row(w, l, q, first + b.low[0], first + b.high[0], hits);
            }
        }
    }
    hits.end(w);
}

// Long rows: a warp takes a part of one.
template <int D>
__device__ void find_long(const RegionsWorld& w) {
    __shared__ Hits hits;
    if (w.counters->error) return;
    hits.begin();
    u64 n = min(w.counters->tasks, (u64)w.tasks_max);
    u32 warps = blockDim.x / 32;
    for (u64 item = (u64)blockIdx.x * warps + threadIdx.x / 32; item < n; item += (u64)gridDim.x * warps) {
        RegionsTask t = w.tasks[item];
        Query<D> q = Query<D>::of(w, t.query);
        for (u32 i = t.start + lane(); i < t.end; i += 32)
            hits.compare(w, q.index == 1, q.entry, q.motion, w.entries[q.index][i],
                         Motion<D>::load(w.motions[q.index], i));
    }
    hits.end(w);
}

// The paper's region-based approach (III.B, figure 2): a thread for each updated
// region of a side, and the other side tile by tile through shared memory. Blocks
// share the tiles out, so that few updated regions use the whole GPU too.
template <int D>
__device__ void tiles(const RegionsWorld& w, u32 side, u32 slices) {
    __shared__ Hits hits;
    __shared__ Motion<D> tile[BLOCK];
    if (w.counters->error) return;
    u32 slice = blockIdx.x % slices, i = blockIdx.x / slices * BLOCK + threadIdx.x;
    u32 n = (u32)w.counters->updated[side];
    if (blockIdx.x / slices * BLOCK >= n) return;
    hits.begin();
    u32 number = i < n ? w.updated[side][i] : 0;
    Motion<D> own;
    own.before = own.now = Aabb<D>::nowhere();
    if (i < n) own = Motion<D>::of(w, side, number);
    for (u32 start = slice * BLOCK; start < w.capacity; start += slices * BLOCK) {
        u32 other = start + threadIdx.x;
        Motion<D> m;
        m.before = m.now = Aabb<D>::nowhere();
        // What publications have found, subscriptions need not find again.
        if (other < w.capacity && !(side == 1 && w.stamps[0][other] == w.step)) m = Motion<D>::of(w, 1 - side, other);
        __syncthreads();
        tile[threadIdx.x] = m;
        __syncthreads();
        u32 end = min(BLOCK, w.capacity - start);
        for (u32 k = 0; k < end; k++) hits.compare(w, side == 0, number, own, start + k, tile[k]);
    }
    hits.end(w);
}

KERNEL regions_keep(RegionsWorld w) {
    RegionsCounters* c = w.counters;
    c->kept = c->error || c->found > w.found_max ? 0 : c->found;
}

// Sorted finds become pairs: those gained, then those lost.
KERNEL regions_give(RegionsWorld w) {
    u64 n = w.counters->kept;
    u64 mask = (1ull << w.number_bits) - 1;
    u64 gained = 0, lost = 0;
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        u64 key = w.sorted[i];
        bool is_lost = key >> (2 * w.number_bits);
        gained += !is_lost;
        lost += is_lost;
        w.output[i] = (key >> w.number_bits & mask) << 32 | (key & mask);
    }
    add_once(&w.counters->gained, block_sum(gained));
    add_once(&w.counters->lost, block_sum(lost));
}

// What is now was before; or the other way round, if the step did not happen.
template <int D>
__device__ void settle(const RegionsWorld& w) {
    u32 i = thread_index();
    if (i >= w.updates) return;
    const RegionsCounters& c = *w.counters;
    bool failed = c.error || c.found > w.found_max;
    u32 header = (u32)w.words[(u64)i * (1 + 2 * D)];
    u32 side = header >> 31, number = header & NUMBER_MASK;
    if (failed) Aabb<D>::load(w.before[side], number).store(w.now[side], number);
    else Aabb<D>::load(w.now[side], number).store(w.before[side], number);
}

template <int D>
__device__ void empty(const RegionsWorld& w) {
    u32 i = thread_index();
    if (i >= w.capacity) return;
    for (int side = 0; side < 2; side++) {
        Aabb<D>::nowhere().store(w.before[side], i);
        Aabb<D>::nowhere().store(w.now[side], i);
        w.claims[side][i] = ~0ull;
        w.stamps[side][i] = 0;
    }
}

#define IN_DIMENSIONS(D)                                                                                     \
    KERNEL regions_empty_##D(RegionsWorld w) { empty<D>(w); }                                                \
    KERNEL regions_check_##D(RegionsWorld w) { check<D>(w); }                                                \
    KERNEL regions_apply_##D(RegionsWorld w) { apply<D>(w); }                                                \
    KERNEL regions_enlist_##D(RegionsWorld w) { enlist<D>(w); }                                              \
    KERNEL regions_layout_##D(RegionsWorld w) { layout<D>(w); }                                              \
    KERNEL regions_keys_##D(RegionsWorld w, u32 side) { keys<D>(w, side); }                                  \
    KERNEL regions_gather_##D(RegionsWorld w, u32 side) { gather<D>(w, side); }                              \
    KERNEL __launch_bounds__(BLOCK) regions_find_##D(RegionsWorld w, u32 mode) { find<D>(w, mode); }         \
    KERNEL __launch_bounds__(BLOCK) regions_find_wide_##D(RegionsWorld w) { find_wide<D>(w); }               \
    KERNEL __launch_bounds__(BLOCK) regions_find_long_##D(RegionsWorld w) { find_long<D>(w); }               \
    KERNEL __launch_bounds__(BLOCK) regions_tiles_##D(RegionsWorld w, u32 side, u32 slices) {                \
        tiles<D>(w, side, slices);                                                                           \
    }                                                                                                        \
    KERNEL regions_settle_##D(RegionsWorld w) { settle<D>(w); }
IN_DIMENSIONS(1)
IN_DIMENSIONS(2)
IN_DIMENSIONS(3)
#undef IN_DIMENSIONS

extern "C" __device__ const u32 regions_layout_bytes[] = {sizeof(RegionsWorld), sizeof(RegionsCounters),
                                                          sizeof(RegionsLayout), sizeof(RegionsTask)};
