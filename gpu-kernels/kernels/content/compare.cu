// Matching of notifications with many attributes: they have many paths through the tree, so
// they are compared with all entries.
#include "content/search.cuh"

namespace content {

// Notifications that a block compares with each entry that it reads.
constexpr u32 SCAN_TILE = 8;
constexpr u32 SCAN_WARPS = 8;

// Compares one pair of entry and notification per lane, where `is_one`. All lanes call it.
__device__ inline void settle(const Search& s, u64* words, const u32* lens, u32 first, bool is_one, u64 pair) {
    u32 place = (u32)(pair / SCAN_TILE), member = (u32)(pair % SCAN_TILE), notification = first + member;
    bool is_match = false;
    u32 subscriber = 0;
    if (is_one) {
        Own own(words + (u64)member * s.attributes_max * 5 / 2, s.attributes_max);
        own.n = lens[member];
        uint2 raw = __ldg((const uint2*)(s.entries + place) + 1);
        subscriber = raw.y;
        is_match = holds_all(s, own, notification, raw.x, subscriber);
    }
    if (s.words) {
        if (is_match) reach(s, notification, subscriber);
        return;
    }
    // One atomic for the whole warp: other warps wait for it.
    u32 matches = __ballot_sync(~0u, is_match);
    if (!matches) return;
    u64 at = 0;
    if (lane() == 0) at = atomicAdd(s.pair_count, (u64)__popc(matches));
    at = __shfl_sync(~0u, at, 0) + __popc(matches & ((1u << lane()) - 1));
    if (is_match && at < s.pairs_max) s.pairs[at] = (u64)notification << s.subscriber_bits | subscriber;
}

}  // namespace content

// A block compares its slice of the entries with some of the notifications. Few pairs pass
// the name mask, so a warp queues them until it has one per lane.
KERNEL __launch_bounds__(256) content_scan(content::Search s) {
    using namespace content;
    extern __shared__ u64 content_words[];
    __shared__ u64 name_bits[SCAN_TILE];
    __shared__ u32 lens[SCAN_TILE];
    __shared__ u64 queues[SCAN_WARPS][64];
    u32 tiles = (s.notifications + SCAN_TILE - 1) / SCAN_TILE;
    // Blocks that run together read the same entries.
    u32 slice = blockIdx.x / tiles, first = blockIdx.x % tiles * SCAN_TILE;
    u32 members = min(SCAN_TILE, s.notifications - first);
    if (threadIdx.x < SCAN_TILE) name_bits[threadIdx.x] = 0;
    __syncthreads();
    for (u32 member = 0; member < members; member++) {
        Own own(content_words + (u64)member * s.attributes_max * 5 / 2, s.attributes_max);
        u32 start = s.offsets[first + member], n = s.offsets[first + member + 1] - start;
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            Attribute a = s.attributes[start + i];
            own.put(s, i, a);
            atomicOr((unsigned long long*)&name_bits[member], 1ull << (a.name & 63));
        }
        if (threadIdx.x == 0) lens[member] = n;
    }
    __syncthreads();
    u64 missing[SCAN_TILE];
    for (u32 member = 0; member < SCAN_TILE; member++) missing[member] = ~name_bits[member];
    u64* queue = queues[threadIdx.x >> 5];
    u32 queued = 0;
    u32 from = (u32)((u64)s.entry_count * slice / s.slices);
    u32 to = (u32)((u64)s.entry_count * (slice + 1) / s.slices);
    for (u32 base = from + threadIdx.x / 32 * 32; base < to; base += blockDim.x) {
        u32 place = base + lane();
        u32 seem = 0;
        if (place < to) {
            uint4 raw = __ldg((const uint4*)(s.entries + place));
            u64 names = (u64)raw.y << 32 | raw.x;
            for (u32 member = 0; member < SCAN_TILE; member++) seem |= (u32)!(names & missing[member]) << member;
            seem &= raw.z == NO_FILTER ? 0 : (1u << members) - 1;
        }
        while (u32 lanes = __ballot_sync(~0u, seem != 0)) {
            if (seem) {
                u32 before = __popc(lanes & ((1u << lane()) - 1));
                queue[queued + before] = (u64)place * SCAN_TILE + __ffs(seem) - 1;
                seem &= seem - 1;
            }
            queued += __popc(lanes);
            __syncwarp();
            if (queued < 32) continue;
            queued -= 32;
            settle(s, content_words, lens, first, true, queue[queued + lane()]);
            __syncwarp();
        }
    }
    settle(s, content_words, lens, first, lane() < queued, queue[lane() < queued ? lane() : 0]);
}

// Writes changed items to their places.
KERNEL content_patch(u64* to, const u32* places, const u64* items, u32 words, u32 n) {
    u32 i = thread_index();
    if (i >= n * words) return;
    to[(u64)places[i / words] * words + i % words] = items[i];
}
