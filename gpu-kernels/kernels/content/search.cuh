// Content matching on the device: compares a notification with filters.
// `src/content/index.rs` describes the tree of tokens; `layout.cuh` has the structures.
#pragma once
#include "content/layout.cuh"
#include "lib/mix.cuh"
#include "lib/search.cuh"
#include "lib/warp.cuh"

namespace content {

constexpr u64 NO_NAMES = 0x73657473;
// With more attributes, a notification goes through the list of sets, not its own subsets.
constexpr u32 SUBSET_NAMES_MAX = 12;
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
    u32 at = lower_bound(patterns, n, pattern);
    return at < n && patterns[at] == pattern;
}

__device__ inline bool holds(const Condition& c, u64 key, const u32* patterns, u32 patterns_len) {
    if (c.kind == WITHIN) return c.low <= key && key <= c.high;
    if (c.kind == NOT) return key != c.low;
    return has_pattern(patterns, patterns_len, (u32)c.low);
}

// A notification's attributes in shared memory, and its tokens for a descent.
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
        u32 at = lower_bound(names, n, name);
        return at < n && names[at] == name ? at : NONE;
    }
};

// The node key of the names whose bits are set, or 0 if no filter has as many names.
__device__ inline u64 subset_key(const Search& s, const Own& own, u32 subset) {
    if (!(s.set_sizes >> __popc(subset) & 1)) return 0;
    u64 token = NO_NAMES;
    for (u32 rest = subset; rest; rest &= rest - 1) token ^= own.tokens[own.n + __ffs(rest) - 1];
    return child_key(0, token);
}

// The node key of a set, or 0 if the notification lacks one of its names.
__device__ inline u64 set_key(const Own& own, const NameSet& set) {
    u64 token = NO_NAMES;
    for (u32 i = 0; i < set.len; i++) {
        u32 at = own.place_of(set.names[i]);
        if (at == NONE) return 0;
        token ^= own.tokens[own.n + at];
    }
    return child_key(0, token);
}

__device__ inline void reach(const Search& s, u32 notification, u32 subscriber) {
    if (s.words) {
        atomicOr(s.bits + (u64)notification * s.words + (subscriber >> 5), 1u << (subscriber & 31));
        return;
    }
    u64 place = atomicAdd(s.pair_count, 1ull);
    if (place < s.pairs_max) s.pairs[place] = (u64)notification << s.subscriber_bits | subscriber;
}

// Whether all of a filter's conditions hold. The filter has already passed the name mask.
__device__ inline bool holds_all(const Search& s, const Own& own, u32 notification, u32 start, u32 subscriber) {
    // One match per subscriber is enough; another warp may not see it yet, which does no harm.
    if (s.words && s.bits[(u64)notification * s.words + (subscriber >> 5)] >> (subscriber & 31) & 1) return false;
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
    u32 start = raw.z, subscriber = raw.w;
    if ((names & ~own.name_bits) || start == NO_FILTER) return;
    if (holds_all(s, own, notification, start, subscriber)) reach(s, notification, subscriber);
}

}  // namespace content
