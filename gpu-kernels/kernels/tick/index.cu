// The index: entities sorted by bucket (thesis 3.5). Buckets are numbered row by row;
// nothing is allocated per bucket.
#include "tick/crowds.cuh"

KERNEL index_count(World w, Tick t) {
    u32 slot = thread_index();
    bool live = slot < w.capacity && is_somewhere(w, slot);
    bool changed = live && w.changed[slot] == t.stamp;
    add_once(&t.counters->entities, put_partial(w, t, SCAN_LIVE, live));
    count(&t.counters->changed_live, changed);
}

KERNEL index_collect(World w, Tick t) {
    u32 slot = thread_index();
    bool live = slot < w.capacity && is_somewhere(w, slot);
    u64 place = offset_of(w, t, SCAN_LIVE, live);
    if (slot == 0) *w.index_len = t.counters->entities;
    if (!live) return;
    Point p = position(w, slot);
    u64 key = 0;
    for (int axis = 2; axis >= 0; axis--) key = key * w.buckets[axis] + bucket_of(w, axis, p.p[axis]);
    w.bucket_keys[place] = key;
    w.bucket_slots[place] = slot;
}

// Runs after the sort: fills the directory and the positions.
KERNEL index_gather(World w, Tick t) {
    u32 i = thread_index();
    if (i < w.directory_len)
        w.directory[i] = lower_bound(w.index_keys, (u32)t.counters->entities, (u64)i << w.directory_shift);
    if (i >= t.counters->entities) return;
    const i32* row = w.rows + (u64)w.index_slots[i] * w.columns;
    for (u32 axis = 0; axis < w.dimensions; axis++) w.index_positions[axis * w.capacity + i] = row[axis];
}

// Sorts crowded buckets by cell, in any order within a cell. A block serves a window of the
// index, in which at most one such bucket begins. Runs after the positions were gathered.
extern "C" __global__ void __launch_bounds__(1024) index_crowds(World w, Tick t) {
    __shared__ u32 first, place[CELLS_MAX];
    u32 n = (u32)t.counters->entities, begin = blockIdx.x * CROWD, cells = cells_of(w);
    if (threadIdx.x == 0) first = ~0u;
    for (u32 c = threadIdx.x; c < cells; c += blockDim.x) place[c] = 0;
    __syncthreads();
    u32 i = begin + threadIdx.x;
    if (threadIdx.x < CROWD && (u64)i + CROWD <= n) {
        u64 key = w.index_keys[i];
        if (w.index_keys[i + CROWD - 1] == key && (i == 0 || w.index_keys[i - 1] != key)) first = i;
    }
    __syncthreads();
    if (first == ~0u) return;
    if (threadIdx.x == 0) atomicAdd(&t.counters->crowds, 1);
    u32 end = first + lower_bound(w.index_keys + first, n - first, w.index_keys[first] + 1);
    for (u32 i = first + threadIdx.x; i < end; i += blockDim.x) atomicAdd(&place[cell_in_bucket(w, indexed_position(w, i))], 1);
    __syncthreads();
    if (threadIdx.x < 32) {
        u32 sum = first;
        for (u32 base = 0; base < cells; base += 32) {
            u32 own = base + lane() < cells ? place[base + lane()] : 0, total = warp_inclusive(own);
            __syncwarp();
            if (base + lane() < cells) place[base + lane()] = sum + total - own;
            sum += __shfl_sync(~0u, total, 31);
        }
    }
    __syncthreads();
    u32* starts = w.crowd_starts + (u64)blockIdx.x * (cells + 1);
    for (u32 c = threadIdx.x; c <= cells; c += blockDim.x) starts[c] = c < cells ? place[c] : end;
    __syncthreads();
    for (u32 i = first + threadIdx.x; i < end; i += blockDim.x) {
        Point p = indexed_position(w, i);
        u32 to = atomicAdd(&place[cell_in_bucket(w, p)], 1);
        w.crowd_slots[to] = w.index_slots[i];
        for (u32 axis = 0; axis < w.dimensions; axis++) w.crowd_positions[axis * w.capacity + to] = p.p[axis];
    }
}
