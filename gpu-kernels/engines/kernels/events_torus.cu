// Windows of the torus queueing network, many in one launch; `events/torus.rs` defines the
// model. All blocks run at once and meet twice per window: every arrival must be in its
// slot before slots are read, and handled before times are read again.
#include "events.cuh"

// Window stamps go from 1 to this; 0 is none.
constexpr u32 STAMPS = 65535;

// Ways to give the selected tokens their places in the list.
enum Selection { LOCAL, ATOMIC, SCAN, HYBRID };

__device__ inline u32 torus_neighbour(const TorusRun& t, u32 facility, u32 way) {
    u32 x = facility % t.side, last = t.side - 1, row = t.side * last;
    switch (way) {
        case 0: return x == last ? facility - last : facility + 1;
        case 1: return x == 0 ? facility + last : facility - 1;
        case 2: return facility >= row ? facility - row : facility + t.side;
        default: return facility < t.side ? facility + row : facility - t.side;
    }
}

// Appends a warp's selected tokens to a list of `*count` tokens.
__device__ inline void warp_append(u32* list, u32* count, bool is_selected, u32 token) {
    u32 total, before = warp_prefix(is_selected, total), base = 0;
    if (total == 0) return;
    if (lane() == 0) base = atomicAdd(count, total);
    base = __shfl_sync(~0u, base, 0);
    if (is_selected) __stcg(list + base + before, token);
}

// Goes through a block's tokens, four per thread; all threads call `visit`.
template <class Visit>
__device__ inline void torus_scan(const TorusRun& t, Visit visit) {
    u32 begin = blockIdx.x * t.chunk, end = min(begin + t.chunk, (t.tokens + 3) & ~3u);
    for (u32 base = begin; base < end; base += blockDim.x * 4) {
        u32 i = base + threadIdx.x * 4;
        // Times after the last token are NEVER.
        uint4 four = make_uint4(NEVER, NEVER, NEVER, NEVER);
        if (i < end) four = __ldcg((const uint4*)(t.times + i));
        u32 times[4] = {four.x, four.y, four.z, four.w};
        visit(i, times);
    }
}

// The window's `count` tokens; this thread takes every `step`-th from `first`.
struct Selected {
    u32* list;
    u32 count, first, step;
};

// Count, scan and store; returns how many tokens all blocks select.
__device__ inline u32 torus_select_scan(const TorusRun& t, u32 end, u32* list, u64& passed, u32& least) {
    u32 own = 0;
    torus_scan(t, [&](u32, const u32* times) {
        for (u32 k = 0; k < 4; k++) own += times[k] < end;
    });
    u32 sum = (u32)block_sum(own);
    if (threadIdx.x == 0) __stcg(t.partials + blockIdx.x, sum);
    grid_barrier(t.control, passed);
    u32 before = 0, total = 0;
    for (u32 i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
        u32 partial = load(t.partials + i);
        total += partial;
        before += i < blockIdx.x ? partial : 0;
    }
    before = (u32)block_sum(before);
    total = (u32)block_sum(total);
    torus_scan(t, [&](u32 i, const u32* times) {
        u32 mine = 0;
        for (u32 k = 0; k < 4; k++) mine += times[k] < end;
        u32 at = before + (u32)block_exclusive(mine);
        before += (u32)block_sum(mine);
        for (u32 k = 0; k < 4; k++) {
            if (times[k] < end) __stcg(list + at++, i + k);
            else least = min(least, times[k]);
        }
    });
    return total;
}

// A warp votes over 1,024 tokens and adds to the counter once.
__device__ inline void torus_select_hybrid(const TorusRun& t, u32 end, u32* list, u32* count, u32& least) {
    u32 begin = blockIdx.x * t.chunk, stop = min(begin + t.chunk, t.tokens);
    for (u32 group = begin + (threadIdx.x >> 5) * 1024; group < stop; group += blockDim.x * 32) {
        u32 own = 0;  // the votes of subgroup number `lane()`
        for (u32 k = 0; k < 32; k++) {
            u32 i = group + k * 32 + lane();
            u32 time = i < stop ? load(t.times + i) : NEVER;
            u32 votes = __ballot_sync(~0u, time < end);
            if (k == lane()) own = votes;
            least = min(least, time < end ? NEVER : time);
        }
        u32 sum = warp_inclusive((u32)__popc(own)), base = 0;
        if (lane() == 31 && sum) base = atomicAdd(count, sum);
        base = __shfl_sync(~0u, base, 31) + sum - __popc(own);
        for (; own; own &= own - 1) __stcg(list + base++, group + lane() * 32 + __ffs(own) - 1);
    }
}

// Lists the tokens that arrive before `end`; `least` becomes the least time of the others.
// LOCAL keeps a list per block, which needs no barrier.
template <Selection S>
__device__ Selected torus_select(const TorusRun& t, u32 end, u32 turn, u64& passed, u32& least) {
    __shared__ u32 local_count;
    EventControl* c = t.control;
    u32* list = S == LOCAL ? t.list + blockIdx.x * t.chunk : t.list;
    u32* count = S == LOCAL ? &local_count : &c->selected[turn];
    u32 total = 0;
    if (S == LOCAL) {
        if (threadIdx.x == 0) local_count = 0;
        __syncthreads();
        torus_scan(t, [&](u32 i, const u32* times) {
            for (u32 k = 0; k < 4; k++) {
                warp_append(list, count, times[k] < end, i + k);
                least = min(least, times[k] < end ? NEVER : times[k]);
            }
        });
        __syncthreads();
        return {list, local_count, threadIdx.x, blockDim.x};
    }
    if (S == ATOMIC) {
        torus_scan(t, [&](u32 i, const u32* times) {
            for (u32 k = 0; k < 4; k++) {
                if (times[k] < end) __stcg(list + take_place(count), i + k);
                else least = min(least, times[k]);
            }
        });
    }
    if (S == SCAN) total = torus_select_scan(t, end, list, passed, least);
    if (S == HYBRID) torus_select_hybrid(t, end, list, count, least);
    grid_barrier(c, passed);
    if (S != SCAN) total = load(count);
    return {list, total, thread_index(), thread_count()};
}

// Puts the selected tokens into their slots; the list holds their places from then on.
__device__ inline void torus_post(const TorusRun& t, const Selected& selected, u16 stamp) {
    for (u32 i = selected.first; i < selected.count; i += selected.step) {
        u32 token = load(selected.list + i);
        u32 place = load(t.places + token);
        FacilityRecord* facility = t.records + (place >> 2);
        __stcg(facility->stamps + (place & 3), stamp);
        __stcg(facility->tokens + (place & 3), token);
        __stcg(selected.list + i, place);
    }
}

// Clears all stamps, so that they can be used again.
__device__ inline void torus_clear_stamps(const TorusRun& t) {
    for (u32 i = thread_index(); i < t.facilities; i += thread_count())
        __stcg((uint2*)t.records[i].stamps, make_uint2(0, 0));
}

struct TorusSums {
    u64 events = 0, service = 0, stay = 0;
};

// Handles the tokens that arrived at a facility, if this channel is the first that has one.
// Returns the least time of their next arrivals.
__device__ inline u32 torus_arrive(const TorusRun& t, u32 place, u32 stamp, TorusSums& sums) {
    u32 number = place >> 2;
    FacilityRecord* facility = t.records + number;
    uint4 a = __ldcg((const uint4*)facility), b = __ldcg((const uint4*)facility + 1);
    u32 stamps[4] = {a.z & 0xffff, a.z >> 16, a.w & 0xffff, a.w >> 16}, tokens[4] = {b.x, b.y, b.z, b.w};
    u32 came = 0;
#pragma unroll
    for (u32 k = 0; k < 4; k++) came |= (u32)(stamps[k] == stamp) << k;
    if ((u32)__ffs(came) - 1 != (place & 3)) return NEVER;
    u32 times[4], least = NEVER;
#pragma unroll
    for (u32 k = 0; k < 4; k++) times[k] = came >> k & 1 ? load(t.times + tokens[k]) : NEVER;
    uint2 state = make_uint2(a.x, a.y);
    while (came) {
        // The earliest by (time, source) of at most four.
        u32 time = NEVER, token = 0, source = 0, channel = 0;
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            if (!(came >> k & 1) || times[k] > time) continue;
            // The way back leads to where the token came from.
            u32 from = torus_neighbour(t, number, k ^ 1);
            if (times[k] == time && from > source) continue;
            time = times[k];
            token = tokens[k];
            source = from;
            channel = k;
        }
        came &= ~(1u << channel);
        u32 start = max(time, state.x);
        u64 bits = Draw(t.seed, number, state.y).first();
        u64 service = exponential(t.mean, (u32)(bits >> 32)) + t.lookahead;
        u32 end = later(start, service), way = (u32)bits & 3;
        state = make_uint2(end, state.y + 1);
        __stcg(t.times + token, end);
        __stcg(t.places + token, torus_neighbour(t, number, way) << 2 | way);
        least = min(least, end);
        sums.events++;
        sums.service += service;
        sums.stay += start - time + service;
    }
    __stcg((uint2*)facility, state);
    return least;
}

template <Selection S>
__device__ void torus_run(const TorusRun& t) {
    EventControl* c = t.control;
    u32 turn = load(&c->turn), windows = 0;
    u64 windows_before = __ldcg(&c->windows);
    u64 passed = 0;
    TorusSums sums;
    u64 cycles[3] = {0, 0, 0};
    for (; windows < t.windows_max; windows++) {
        u32 begin = load(&c->least[turn]);
        if (begin >= t.until) break;
        u32 end = min(later(begin, t.lookahead), t.until);
        u32 next = turn == 2 ? 0 : turn + 1, spare = next == 2 ? 0 : next + 1;
        u64 clock0 = clock64();
        u32 least = NEVER;
        Selected selected = torus_select<S>(t, end, turn, passed, least);
        u64 clock1 = clock64();
        u32 stamp = 1 + (u32)((windows_before + windows) % STAMPS);
        if (stamp == 1) {
            torus_clear_stamps(t);
            grid_barrier(c, passed);
        }
        torus_post(t, selected, stamp);
        grid_barrier(c, passed);
        u64 clock2 = clock64();
        for (u32 i = selected.first; i < selected.count; i += selected.step)
            least = min(least, torus_arrive(t, load(selected.list + i), stamp, sums));
        least = block_least(least);
        if (threadIdx.x == 0) {
            atomicMin(&c->least[next], least);
            if (blockIdx.x == 0) {
                // No block reads these before the second barrier from here.
                __stcg(&c->least[spare], NEVER);
                __stcg(&c->selected[next], 0u);
            }
        }
        grid_barrier(c, passed);
        u64 clock3 = clock64();
        cycles[0] += clock1 - clock0;
        cycles[1] += clock2 - clock1;
        cycles[2] += clock3 - clock2;
        turn = next;
    }
    add_block(&c->events, sums.events);
    add_block(&c->sums[0], sums.service);
    add_block(&c->sums[1], sums.stay);
    if (threadIdx.x == 0) {
        // The last block to leave prepares the next launch.
        __threadfence();
        if (atomicAdd(&c->arrived, 1u) == gridDim.x - 1) {
            c->arrived = 0;
            c->barrier = 0;
            c->turn = turn;
            c->windows += windows;
        }
        if (blockIdx.x == 0)
            for (int i = 0; i < 3; i++) c->cycles[i] += cycles[i];
    }
}

KERNEL __launch_bounds__(256, 6) events_torus_local(TorusRun t) { torus_run<LOCAL>(t); }
KERNEL __launch_bounds__(256, 6) events_torus_atomic(TorusRun t) { torus_run<ATOMIC>(t); }
KERNEL __launch_bounds__(256, 6) events_torus_scan(TorusRun t) { torus_run<SCAN>(t); }
KERNEL __launch_bounds__(256, 6) events_torus_hybrid(TorusRun t) { torus_run<HYBRID>(t); }
