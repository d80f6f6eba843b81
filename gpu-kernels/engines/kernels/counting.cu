// The paper's algorithm 1 for a wave of notifications: one thread per constraint, some
// blocks per attribute. One set of 16-bit counters is used while the other is cleared for
// the next wave.
#include "counting_layout.cuh"
#include "content/search.cuh"

KERNEL counting_count(content::CountJob job) {
    using namespace content;
    for (u64 i = thread_index(); i < job.words_to_clear; i += thread_count()) job.next_counters[i] = 0;
    __shared__ Attribute a;
    __shared__ uint2 range;
    __shared__ u32 notification;
    if (threadIdx.x == 0) {
        u32 place = job.first + blockIdx.x / job.row_blocks;
        // The last notification whose attributes begin at or before this one.
        notification = lower_bound(job.offsets, job.notifications, place + 1) - 1;
        a.name = ~0u;
        range = {0, 0};
        if (place < job.offsets[job.notifications]) a = job.attributes[place - job.first];
        if (a.name < job.names && a.is_string) {
            ResolvedString string = job.strings[a.value];
            a.value = string.exact;
            range = {string.patterns_start, string.patterns_len};
        }
    }
    __syncthreads();
    if (a.name >= job.names) return;
    u32* counters = job.counters + (u64)notification * job.counter_words;
    u32* bits = job.bits + (u64)notification * job.bit_words;
    u32 end = job.row_offsets[a.name + 1];
    u32 i = job.row_offsets[a.name] + blockIdx.x % job.row_blocks * blockDim.x + threadIdx.x;
    for (; i < end; i += job.row_blocks * blockDim.x) {
        Counted counted = job.constraints[i];
        if (!holds(counted.condition, a.value, job.patterns + range.x, range.y)) continue;
        CountedFilter filter = job.filters[counted.filter];
        u32 shift = counted.filter % 2 * 16;
        u32 count = atomicAdd(counters + counted.filter / 2, 1u << shift) >> shift & 0xffff;
        if (count + 1 == filter.size) atomicOr(bits + (filter.subscriber >> 5), 1u << (filter.subscriber & 31));
    }
}
