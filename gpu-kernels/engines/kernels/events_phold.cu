// One window of PHOLD in a few launches: select, sort by (target, time), handle.
// `events/phold.rs` defines the model. A window without events changes nothing, so launches
// may be queued before the number of windows is known.
#include "events.cuh"

__device__ inline u32 phold_end(const PholdRun& p, u32 begin) { return min(later(begin, p.lookahead), p.until); }

KERNEL __launch_bounds__(256) events_phold_select(PholdRun p, u32 turn) {
    EventControl* c = p.control;
    u32 begin = c->least[turn], end = phold_end(p, begin), least = NEVER;
    u32 next = (turn + 1) % 3;
    u32 warps = thread_count() >> 5;
    for (u32 base = (thread_index() >> 5) * 32; base < p.events; base += warps * 32) {
        u32 i = base + lane();
        u32 time = i < p.events ? p.times[i] : NEVER;
        bool is_selected = time < end;
        u32 total, before = warp_prefix(is_selected, total);
        if (total) {
            u64 place = 0;
            if (lane() == 0) place = atomicAdd(&p.counts[turn], (u64)total);
            place = __shfl_sync(~0u, place, 0) + before;
            if (is_selected) {
                p.keys[place] = (u64)p.bodies[i].z << p.time_bits | (time - begin);
                p.values[place] = i;
            }
        }
        least = min(least, is_selected ? NEVER : time);
    }
    least = block_least(least);
    if (threadIdx.x == 0) atomicMin(&c->least[next], least);
}

// Handles an event and returns the time of the one that it causes.
__device__ inline u32 phold_event(const PholdRun& p, u32 i, u32 time, uint2& state, u64& remote, u64& delay) {
    u32 own = p.bodies[i].z, number = state.x, target = own;
    Draw draw(p.seed, own, number);
    u64 first = draw.first(), second = draw.second();
    u64 ticks = exponential(p.mean, (u32)(first >> 32)) + p.lookahead;
    bool is_remote = __umulhi((u32)first, 1000000u) < p.remote_per_million && p.processes > 1;
    if (is_remote) {
        // A step of 1 or more round the ring of processes.
        u64 place = (u64)own + 1 + __umulhi((u32)second, p.processes - 1);
        target = (u32)(place >= p.processes ? place - p.processes : place);
    }
    state = make_uint2(number + 1, time);
    remote += is_remote;
    delay += ticks;
    u32 then = later(time, ticks);
    p.times[i] = then;
    p.bodies[i] = make_uint4(own, number, target, 0);
    return then;
}

__device__ inline bool phold_precedes(const PholdRun& p, u32 a, u32 b) {
    uint4 x = p.bodies[a], y = p.bodies[b];
    return x.x != y.x ? x.x < y.x : x.y < y.y;
}

KERNEL __launch_bounds__(256) events_phold_handle(PholdRun p, u32 turn) {
    EventControl* c = p.control;
    u32 n = (u32)p.counts[turn], begin = c->least[turn], least = NEVER;
    u32 next = (turn + 1) % 3, spare = (turn + 2) % 3;
    u64 remote = 0, delay = 0;
    for (u32 i = thread_index(); i < n; i += thread_count()) {
        u64 target = p.sorted_keys[i] >> p.time_bits;
        // The first of a process's events handles all of them.
        if (i > 0 && p.sorted_keys[i - 1] >> p.time_bits == target) continue;
        uint2 state = p.states[target];
        for (u32 j = i; j < n && p.sorted_keys[j] >> p.time_bits == target;) {
            // Events of the same time are sorted by source.
            u64 key = p.sorted_keys[j];
            u32 after = j + 1;
            for (; after < n && p.sorted_keys[after] == key; after++) {
                u32 value = p.sorted_values[after], at = after;
                for (; at > j && phold_precedes(p, value, p.sorted_values[at - 1]); at--)
                    p.sorted_values[at] = p.sorted_values[at - 1];
                p.sorted_values[at] = value;
            }
            u32 time = begin + (u32)(key & ((1ull << p.time_bits) - 1));
            for (; j < after; j++)
                least = min(least, phold_event(p, p.sorted_values[j], time, state, remote, delay));
        }
        p.states[target] = state;
    }
    add_block(&c->sums[0], remote);
    add_block(&c->sums[1], delay);
    least = block_least(least);
    if (threadIdx.x == 0) {
        atomicMin(&c->least[next], least);
        if (blockIdx.x == 0) {
            c->events += n;
            c->windows += n > 0;
            c->turn = next;
            // Resets the accumulators of the next window.
            c->least[spare] = NEVER;
            p.counts[next] = 0;
        }
    }
}
