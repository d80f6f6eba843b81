// A warp descends the tree of tokens with one notification, or with a slice of its
// tokens.
#include "content/search.cuh"

namespace content {

// Compares the entries of the buckets that the lanes hold, one entry per lane at a time.
__device__ inline void compare_all(const Search& s, const Own& own, u32 notification, u32 start, u32 len) {
    each_place({start, start + len}, [&](bool is_one, u32 place) {
        if (is_one) compare(s, own, notification, place);
    });
}

// The state of the descent at one depth.
struct Descent {
    u64 key, child_bits;
    u32 next, end;  // tokens still to be looked up
    u32 base;       // of the last 32 looked up
    u32 open;       // which of them have children to descend to
    u32 child[32];
};

// The sets of names among the root's items.
struct Root {
    u32 sets;
    bool is_narrow;  // all subsets of the notification's names, not all sets
};

// Begins the descent: sets of names come first, then tokens, for filters with more names.
__device__ inline Root begin(const Search& s, const Own& own, u32 slice, Descent* level) {
    Root root;
    root.is_narrow = own.n <= SUBSET_NAMES_MAX && 1u << own.n <= s.set_count;
    root.sets = root.is_narrow ? 1u << own.n : s.set_count;
    u32 items = root.sets + (own.n > SET_NAMES_MAX ? 2 * own.n : 0);
    if (lane() == 0) {
        level->key = 0;
        level->child_bits = s.root.child_bits;
        level->next = (u32)((u64)items * slice / s.slices);
        level->end = (u32)((u64)items * (slice + 1) / s.slices);
        level->open = 0;
    }
    __syncwarp();
    return root;
}

// Descends to the first of the open children.
__device__ inline void descend(const Search& s, const Own& own, u32 sets, int depth, Descent* level) {
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
}

// Looks up 32 items at a time, compares the filters in their buckets, and notes which
// have children.
__device__ inline void look_up(const Search& s, const Own& own, u32 notification, Root root, int depth,
                               Descent* level) {
    u32 base = level->next;
    u32 i = base + lane();
    u32 at = NONE;
    if (i < level->end) {
        u64 key = 0;
        if (depth == 0 && i < root.sets) {
            key = root.is_narrow ? subset_key(s, own, i) : set_key(own, s.sets[i]);
        } else {
            u64 token = own.tokens[depth ? i : i - root.sets];
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

}  // namespace content

KERNEL __launch_bounds__(128) content_match(content::Search s) {
    using namespace content;
    extern __shared__ u64 content_words[];
    __shared__ Descent levels[4][DEPTH_MAX + 1];
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
    Root root = begin(s, own, slice, levels[warp_in_block]);
    int depth = 0;
    while (depth >= 0) {
        Descent* level = &levels[warp_in_block][depth];
        if (level->open) descend(s, own, root.sets, depth++, level);
        else if (level->next >= level->end) depth--;
        else look_up(s, own, notification, root, depth, level);
    }
}
