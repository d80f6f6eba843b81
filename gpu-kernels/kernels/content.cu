// Content matching: a warp descends the tree of tokens (src/content/index.rs) with
// one notification, or with a slice of its tokens. Structures are those of
// src/content; both sides assert their sizes.
#include "world.cuh"

namespace content {

struct Node {
    u64 key, child_bits;
    u32 start, len, capacity, children;
};
struct Entry {
    u64 names;
    u32 conditions, interface;
};
// The distinct names of a filter, ascending.
struct NameSet {
    u16 names[6];
    u32 len;
};
struct Condition {
    u64 low, high;
    u16 name;
    u8 kind, is_last;
    u32 padding;
};
struct Attribute {
    u64 value;
    u32 name, is_string;
};
struct ResolvedString {
    u32 exact, patterns_start, patterns_len, padding;
};
// The paper's constraints and filters.
struct Counted {
    Condition condition;
    u32 filter, padding;
};
struct CountedFilter {
    u32 size, interface;
};

// One batch, and where its matches go: a bit for each interface, or a list of pairs
// in any order.
struct Search {
    const Node* nodes;
    const Entry* entries;
    const Condition* conditions;
    const NameSet* sets;
    const u32* offsets;
    const Attribute* attributes;
    const ResolvedString* strings;
    const u32* patterns;
    u32* bits;
    u64* pairs;
    u64* pair_count;
    u64 pairs_max;
    Node root;
    u32 node_mask, notifications, slices, attributes_max;
    u32 words;           // of bits for one notification; 0: pairs
    u32 interface_bits;  // of a pair
    u32 set_sizes;       // a bit for each size that a set has
    u32 set_count;
    u32 entry_count;  // places of entries, free ones too
    u32 padding;
};
static_assert(sizeof(Node) == 32 && sizeof(Entry) == 16 && sizeof(Condition) == 24, "as src/content has them");
static_assert(sizeof(Attribute) == 16 && sizeof(ResolvedString) == 16 && sizeof(Search) == 168, "likewise");
static_assert(sizeof(NameSet) == 16, "likewise");
static_assert(sizeof(Counted) == 32 && sizeof(CountedFilter) == 8, "likewise");

constexpr u32 NO_CONDITIONS = ~0u;
constexpr u32 NO_FILTER = ~0u - 1;
constexpr u32 SET_NAMES_MAX = 6;
constexpr u64 NO_NAMES = 0x73657473;
// With more attributes, a notification goes through the list of sets.
constexpr u32 SUBSET_NAMES_MAX = 12;
constexpr u32 DEPTH_MAX = 12;
constexpr u32 NONE = ~0u;

__device__ inline u64 name_token(u32 name) { return mix(name, 0x6e616d65); }
__device__ inline u64 point_token(u32 name, u64 key) { return mix(name_token(name), key); }
__device__ inline u64 child_key(u64 parent, u64 token) { return max(mix(parent, token), 1ull); }

__device__ inline u32 find_node(const Search& s, u64 key) {
    u32 at = (u32)key & s.node_mask;
    while (true) {
        u64 found = __ldg(&s.nodes[at].key);
        if (found == key) return at;
        if (found == 0) return NONE;
        at = (at + 1) & s.node_mask;
    }
}

__device__ inline bool has_pattern(const u32* patterns, u32 n, u32 pattern) {
    u32 low = 0, high = n;
    while (low < high) {
        u32 middle = (low + high) >> 1;
        if (patterns[middle] < pattern) low = middle + 1;
        else high = middle;
    }
    return low < n && patterns[low] == pattern;
}

__device__ inline bool holds(const Condition& c, u64 key, const u32* patterns, u32 patterns_len) {
    if (c.kind == 0) return c.low <= key && key <= c.high;
    if (c.kind == 1) return key != c.low;
    return has_pattern(patterns, patterns_len, (u32)c.low);
}

// What is known of a notification, in shared memory: a descent needs its tokens, too.
struct Own {
    u64* keys;
    uint2* patterns;
    u32* names;
    u64* tokens;  // points, then names
    u32 n;
    u64 name_bits;

    __device__ Own(u64* words, u32 attributes_max)
        : keys(words), patterns((uint2*)(words + attributes_max)), names((u32*)(words + 2 * attributes_max)),
          tokens(words + 3 * attributes_max), n(0), name_bits(0) {}

    __device__ void put(const Search& s, u32 i, Attribute a) {
        uint2 range = {0, 0};
        if (a.is_string) {
            ResolvedString string = s.strings[a.value];
            a.value = string.exact;
            range = {string.patterns_start, string.patterns_len};
        }
        keys[i] = a.value;
        names[i] = a.name;
        patterns[i] = range;
    }

    __device__ void put_tokens(u32 i) {
        tokens[i] = point_token(names[i], keys[i]);
        tokens[n + i] = name_token(names[i]);
    }

    __device__ u32 place_of(u32 name) const {
        u32 low = 0, high = n;
        while (low < high) {
            u32 middle = (low + high) >> 1;
            if (names[middle] < name) low = middle + 1;
            else high = middle;
        }
        return low < n && names[low] == name ? low : NONE;
    }
};

// The node of the names whose bits are set, or 0 where no filter has as many.
__device__ inline u64 subset_key(const Search& s, const Own& own, u32 subset) {
    if (!(s.set_sizes >> __popc(subset) & 1)) return 0;
    u64 token = NO_NAMES;
    for (u32 rest = subset; rest; rest &= rest - 1) token ^= own.tokens[own.n + __ffs(rest) - 1];
    return child_key(0, token);
}

// The node of a set, or 0 where not all of its names are there.
__device__ inline u64 set_key(const Own& own, const NameSet& set) {
    u64 token = NO_NAMES;
    for (u32 i = 0; i < set.len; i++) {
        u32 at = own.place_of(set.names[i]);
        if (at == NONE) return 0;
        token ^= own.tokens[own.n + at];
    }
    return child_key(0, token);
}

__device__ inline void reach(const Search& s, u32 notification, u32 interface) {
    if (s.words) {
        atomicOr(s.bits + (u64)notification * s.words + (interface >> 5), 1u << (interface & 31));
        return;
    }
    u64 place = atomicAdd(s.pair_count, 1ull);
    if (place < s.pairs_max) s.pairs[place] = (u64)notification << s.interface_bits | interface;
}

// Whether all of a filter's conditions hold; its names seem to be there.
__device__ inline bool holds_all(const Search& s, const Own& own, u32 notification, u32 start, u32 interface) {
    // Once is enough; another warp may not see it yet, which does no harm.
    if (s.words && s.bits[(u64)notification * s.words + (interface >> 5)] >> (interface & 31) & 1) return false;
    if (start == NO_CONDITIONS) return true;
    for (u32 i = start;; i++) {
        Condition c = s.conditions[i];
        u32 at = own.place_of(c.name);
        if (at == NONE) return false;
        uint2 patterns = own.patterns[at];
        if (!holds(c, own.keys[at], s.patterns + patterns.x, patterns.y)) return false;
        if (c.is_last) return true;
    }
}

__device__ inline void compare(const Search& s, const Own& own, u32 notification, u32 place) {
    uint4 raw = __ldg((const uint4*)(s.entries + place));
    u64 names = (u64)raw.y << 32 | raw.x;
    u32 start = raw.z, interface = raw.w;
    if ((names & ~own.name_bits) || start == NO_FILTER) return;
    if (holds_all(s, own, notification, start, interface)) reach(s, notification, interface);
}

// Compares the buckets that the lanes hold, each lane an entry at a time.
__device__ inline void compare_all(const Search& s, const Own& own, u32 notification, u32 start, u32 len) {
    u32 end = len;
    for (int d = 1; d < 32; d <<= 1) {
        u32 other = __shfl_up_sync(~0u, end, d);
        if (lane() >= d) end += other;
    }
    u32 total = __shfl_sync(~0u, end, 31);
    for (u32 base = 0; base < total; base += 32) {
        u32 i = base + lane();
        // The first lane whose buckets end behind i.
        u32 owner = 0;
        for (int d = 16; d; d >>= 1) {
            u32 end_there = __shfl_sync(~0u, end, owner + d - 1);
            if (end_there <= i) owner += d;
        }
        owner = min(owner, 31u);
        u32 before = __shfl_sync(~0u, end - len, owner);
        u32 from = __shfl_sync(~0u, start, owner);
        if (i < total) compare(s, own, notification, from + i - before);
    }
}

// Where the descent stands at one depth.
struct Level {
    u64 key, child_bits;
    u32 next, end;  // tokens still to be looked up
    u32 base;       // of the last 32
    u32 open;       // which of them have children to descend to
    u32 child[32];
};

}  // namespace content

KERNEL __launch_bounds__(128) content_match(content::Search s) {
    using namespace content;
    extern __shared__ u64 content_words[];
    __shared__ Level levels[4][DEPTH_MAX + 1];
    u32 warp_in_block = threadIdx.x >> 5;
    u32 warp = thread_index() >> 5;
    u32 notification = warp / s.slices, slice = warp % s.slices;
    if (notification >= s.notifications) return;
    Own own(content_words + (u64)warp_in_block * s.attributes_max * 5, s.attributes_max);
    u32 first = s.offsets[notification];
    own.n = s.offsets[notification + 1] - first;
    for (u32 i = lane(); i < own.n; i += 32) {
        Attribute a = s.attributes[first + i];
        own.put(s, i, a);
        own.put_tokens(i);
        own.name_bits |= 1ull << (a.name & 63);
    }
    for (int d = 16; d; d >>= 1) own.name_bits |= __shfl_xor_sync(~0u, own.name_bits, d);
    __syncwarp();
    if (slice == 0)
        for (u32 i = lane(); i < s.root.len; i += 32) compare(s, own, notification, s.root.start + i);
    // At the root: sets of names, then tokens of those filters whose names are more.
    bool is_narrow = own.n <= SUBSET_NAMES_MAX && 1u << own.n <= s.set_count;
    u32 sets = is_narrow ? 1u << own.n : s.set_count;
    u32 items = sets + (own.n > SET_NAMES_MAX ? 2 * own.n : 0);
    Level* level = levels[warp_in_block];
    if (lane() == 0) {
        level->key = 0;
        level->child_bits = s.root.child_bits;
        level->next = (u32)((u64)items * slice / s.slices);
        level->end = (u32)((u64)items * (slice + 1) / s.slices);
        level->open = 0;
    }
    __syncwarp();
    int depth = 0;
    while (depth >= 0) {
        level = &levels[warp_in_block][depth];
        if (level->open) {
            u32 l = __ffs(level->open) - 1;
            const Node& node = s.nodes[level->child[l]];
            u64 key = node.key, child_bits = node.child_bits;
            u32 next = level->base + l + 1, end = level->end;
            if (depth == 0) {
                bool is_set = next <= sets;
                next = is_set ? 0 : next - sets;
                end = is_set ? own.n : 2 * own.n;
            }
            __syncwarp();
            if (lane() == 0) {
                level->open &= level->open - 1;
                level[1].key = key;
                level[1].child_bits = child_bits;
                level[1].next = next;
                level[1].end = end;
                level[1].open = 0;
            }
            __syncwarp();
            depth++;
            continue;
        }
        if (level->next >= level->end) {
            depth--;
            continue;
        }
        u32 base = level->next;
        u32 i = base + lane();
        u32 at = NONE;
        if (i < level->end) {
            u64 key = 0;
            if (depth == 0 && i < sets) {
                key = is_narrow ? subset_key(s, own, i) : set_key(own, s.sets[i]);
            } else {
                u64 token = own.tokens[depth ? i : i - sets];
                if (level->child_bits >> (token >> 58) & 1) key = child_key(level->key, token);
            }
            if (key) at = find_node(s, key);
        }
        uint4 bucket = {0, 0, 0, 0};
        if (at != NONE) bucket = __ldg((const uint4*)(s.nodes + at) + 1);
        compare_all(s, own, notification, bucket.x, bucket.y);
        u32 open = __ballot_sync(~0u, bucket.w != 0);
        __syncwarp();
        level->child[lane()] = at;
        if (lane() == 0) {
            level->base = base;
            level->next = base + 32;
            level->open = depth < (int)DEPTH_MAX ? open : 0;
        }
        __syncwarp();
    }
}

namespace content {

// Notifications that a block compares with each entry that it reads.
constexpr u32 SCAN_TILE = 8;
constexpr u32 SCAN_WARPS = 8;

// One pair of entry and notification a lane, where there is one. All lanes call it.
__device__ inline void settle(const Search& s, u64* words, const u32* lens, u32 first, bool is_one, u64 pair) {
    u32 place = (u32)(pair / SCAN_TILE), member = (u32)(pair % SCAN_TILE), notification = first + member;
    bool is_match = false;
    u32 interface = 0;
    if (is_one) {
        Own own(words + (u64)member * s.attributes_max * 5 / 2, s.attributes_max);
        own.n = lens[member];
        uint2 raw = __ldg((const uint2*)(s.entries + place) + 1);
        interface = raw.y;
        is_match = holds_all(s, own, notification, raw.x, interface);
    }
    if (s.words) {
        if (is_match) reach(s, notification, interface);
        return;
    }
    // One count for all of them: others wait for it.
    u32 matches = __ballot_sync(~0u, is_match);
    if (!matches) return;
    u64 at = 0;
    if (lane() == 0) at = atomicAdd(s.pair_count, (u64)__popc(matches));
    at = __shfl_sync(~0u, at, 0) + __popc(matches & ((1u << lane()) - 1));
    if (is_match && at < s.pairs_max) s.pairs[at] = (u64)notification << s.interface_bits | interface;
}

}  // namespace content

// Notifications of many attributes, whose ways through the tree are many, too: a
// block compares its part of all entries with some of them. Few pass the mask of
// names, so a warp gathers those until it has one a lane.
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

// Changed items to their places.
KERNEL content_patch(u64* to, const u32* places, const u64* items, u32 words, u32 n) {
    u32 i = thread_index();
    if (i >= n * words) return;
    to[(u64)places[i / words] * words + i % words] = items[i];
}

// The paper's algorithm 1 for a wave of notifications: a thread a constraint, some
// blocks an attribute. One set of counters, 16 bits each, is used while the other is
// cleared for the next wave.
struct CountJob {
    const u32* row_offsets;
    const content::Counted* constraints;
    const content::CountedFilter* filters;
    const u32* offsets;
    const content::Attribute* attributes;
    const content::ResolvedString* strings;
    const u32* patterns;
    u32* counters;
    u32* next_counters;
    u32* bits;
    u64 words_to_clear;
    u32 counter_words, bit_words;  // of a notification
    u32 names, notifications, first, row_blocks;
};
static_assert(sizeof(CountJob) == 112, "as src/content has it");

KERNEL content_count(CountJob job) {
    using namespace content;
    for (u64 i = thread_index(); i < job.words_to_clear; i += thread_count()) job.next_counters[i] = 0;
    __shared__ Attribute a;
    __shared__ uint2 range;
    __shared__ u32 notification;
    if (threadIdx.x == 0) {
        u32 place = job.first + blockIdx.x / job.row_blocks;
        // The last notification that begins at or before it.
        u32 low = 0, high = job.notifications;
        while (high - low > 1) {
            u32 middle = (low + high) >> 1;
            if (job.offsets[middle] <= place) low = middle;
            else high = middle;
        }
        notification = low;
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
        if (count + 1 == filter.size) atomicOr(bits + (filter.interface >> 5), 1u << (filter.interface & 31));
    }
}

// A scan in two launches over as few blocks as a batch makes: the second adds up
// the sums of all blocks before it.
__device__ inline void put_sum(u64* partials, u64 value) {
    u64 sum = block_sum(value);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
__device__ inline u64 offset_from(const u64* partials, u64 value) {
    u64 before = 0;
    for (u32 i = threadIdx.x; i < blockIdx.x; i += blockDim.x) before += partials[i];
    return block_sum(before) + block_exclusive(value);
}

// Bits to a list for each notification, in two launches around a scan.
__device__ inline u32 count_bits(const u32* bits, u32 words, u32 notification, u32 n) {
    u32 count = 0;
    if (notification < n)
        for (u32 w = 0; w < words; w++) count += __popc(bits[(u64)notification * words + w]);
    return count;
}
KERNEL content_bits_count(const u32* bits, u32 words, u32 n, u64* partials) {
    put_sum(partials, count_bits(bits, words, thread_index(), n));
}
KERNEL content_bits_list(const u32* bits, u32 words, u32 n, const u64* partials, u32* offsets, u32* interfaces,
                         u64 interfaces_max) {
    u32 notification = thread_index();
    u32 count = count_bits(bits, words, notification, n);
    u64 place = offset_from(partials, count);
    if (notification >= n) return;
    offsets[notification] = (u32)place;
    if (notification == n - 1) offsets[n] = (u32)place + count;
    for (u32 w = 0; w < words; w++)
        for (u32 rest = bits[(u64)notification * words + w]; rest; rest &= rest - 1, place++)
            if (place < interfaces_max) interfaces[place] = w * 32 + __ffs(rest) - 1;
}

// Sorted pairs to lists, each pair once, likewise.
__device__ inline bool is_first(const u64* pairs, u64 i, u64 n) {
    return i < n && (i == 0 || pairs[i - 1] != pairs[i]);
}
KERNEL content_pairs_count(const u64* pairs, const u64* count, u64* partials) {
    put_sum(partials, is_first(pairs, thread_index(), *count));
}
KERNEL content_pairs_list(const u64* pairs, const u64* count, u32 interface_bits, u32 notifications,
                          const u64* partials, u32* offsets, u32* interfaces) {
    u64 n = *count, i = thread_index();
    bool first = is_first(pairs, i, n);
    u32 place = (u32)offset_from(partials, first);
    if (n == 0) {
        for (u32 k = i; k <= notifications; k += thread_count()) offsets[k] = 0;
        return;
    }
    if (i >= n) return;
    u32 own = (u32)(pairs[i] >> interface_bits);
    if (first) {
        interfaces[place] = (u32)(pairs[i] & ((1ull << interface_bits) - 1));
        // Those between the last one that matched anything and this one begin here.
        u32 from = i ? (u32)(pairs[i - 1] >> interface_bits) + 1 : 0;
        for (u32 k = from; k <= own; k++) offsets[k] = place;
    }
    if (i == n - 1)
        for (u32 k = own + 1; k <= notifications; k++) offsets[k] = place + first;
}
