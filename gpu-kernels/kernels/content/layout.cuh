// What the kernels of content matching are given.
// Written from the declarations in Rust: `cargo test layout` says how to renew it.
#pragma once
#include "lib/types.cuh"
namespace content {
constexpr u32 NO_CONDITIONS = 4294967295;
constexpr u32 NO_FILTER = 4294967294;
constexpr u32 SET_NAMES_MAX = 6;
constexpr u32 DEPTH_MAX = 12;
enum ConditionKind : u32 {
    WITHIN = 0,
    NOT = 1,
    PATTERN = 2,
};

// A node of the tree of tokens.
struct alignas(8) Node {
    u64 key;
    u64 child_bits;
    u32 start;
    u32 len;
    u32 capacity;
    u32 children;
};
static_assert(sizeof(Node) == 32, "as in Rust");
static_assert(offsetof(Node, key) == 0 && offsetof(Node, child_bits) == 8 && offsetof(Node, start) == 16, "as in Rust");
static_assert(offsetof(Node, len) == 20 && offsetof(Node, capacity) == 24 && offsetof(Node, children) == 28, "as in Rust");

// A filter in a node's bucket.
struct alignas(8) Entry {
    u64 names;
    u32 conditions;
    u32 subscriber;
};
static_assert(sizeof(Entry) == 16, "as in Rust");
static_assert(offsetof(Entry, names) == 0 && offsetof(Entry, conditions) == 8 && offsetof(Entry, subscriber) == 12, "as in Rust");

// The distinct names of a filter, ascending.
struct alignas(4) NameSet {
    u16 names[6];
    u32 len;
};
static_assert(sizeof(NameSet) == 16, "as in Rust");
static_assert(offsetof(NameSet, names) == 0 && offsetof(NameSet, len) == 12, "as in Rust");

// What the key of one name must be like.
struct alignas(8) Condition {
    u64 low;
    u64 high;
    u16 name;
    u8 kind;
    u8 is_last;
    u32 padding;
};
static_assert(sizeof(Condition) == 24, "as in Rust");
static_assert(offsetof(Condition, low) == 0 && offsetof(Condition, high) == 8 && offsetof(Condition, name) == 16, "as in Rust");
static_assert(offsetof(Condition, kind) == 18 && offsetof(Condition, is_last) == 19 && offsetof(Condition, padding) == 20, "as in Rust");

// A named value of a notification.
struct alignas(8) Attribute {
    u64 value;
    u32 name;
    u32 is_string;
};
static_assert(sizeof(Attribute) == 16, "as in Rust");
static_assert(offsetof(Attribute, value) == 0 && offsetof(Attribute, name) == 8 && offsetof(Attribute, is_string) == 12, "as in Rust");

// A string of a batch.
struct alignas(4) ResolvedString {
    u32 exact;
    u32 patterns_start;
    u32 patterns_len;
    u32 padding;
};
static_assert(sizeof(ResolvedString) == 16, "as in Rust");
static_assert(offsetof(ResolvedString, exact) == 0 && offsetof(ResolvedString, patterns_start) == 4 && offsetof(ResolvedString, patterns_len) == 8, "as in Rust");
static_assert(offsetof(ResolvedString, padding) == 12, "as in Rust");

// One batch, and where its matches go: a bit for each subscriber, or a list of pairs
// in any order.
struct alignas(8) Search {
    const Node *nodes;
    const Entry *entries;
    const Condition *conditions;
    const NameSet *sets;
    const u32 *offsets;
    const Attribute *attributes;
    const ResolvedString *strings;
    const u32 *patterns;
    u32 *bits;
    u64 *pairs;
    u64 *pair_count;
    u64 pairs_max;
    Node root;
    u32 node_mask;
    u32 notifications;
    u32 slices;
    u32 attributes_max;
    // Words of bits for one notification; 0: pairs.
    u32 words;
    // Bits of a pair's subscriber.
    u32 subscriber_bits;
    // A bit for each size that a set of names has.
    u32 set_sizes;
    u32 set_count;
    // Places of entries, free ones too.
    u32 entry_count;
    u32 padding;
};
static_assert(sizeof(Search) == 168, "as in Rust");
static_assert(offsetof(Search, nodes) == 0 && offsetof(Search, entries) == 8 && offsetof(Search, conditions) == 16, "as in Rust");
static_assert(offsetof(Search, sets) == 24 && offsetof(Search, offsets) == 32 && offsetof(Search, attributes) == 40, "as in Rust");
static_assert(offsetof(Search, strings) == 48 && offsetof(Search, patterns) == 56 && offsetof(Search, bits) == 64, "as in Rust");
static_assert(offsetof(Search, pairs) == 72 && offsetof(Search, pair_count) == 80 && offsetof(Search, pairs_max) == 88, "as in Rust");
static_assert(offsetof(Search, root) == 96 && offsetof(Search, node_mask) == 128 && offsetof(Search, notifications) == 132, "as in Rust");
static_assert(offsetof(Search, slices) == 136 && offsetof(Search, attributes_max) == 140 && offsetof(Search, words) == 144, "as in Rust");
static_assert(offsetof(Search, subscriber_bits) == 148 && offsetof(Search, set_sizes) == 152 && offsetof(Search, set_count) == 156, "as in Rust");
static_assert(offsetof(Search, entry_count) == 160 && offsetof(Search, padding) == 164, "as in Rust");
}  // namespace content

constexpr u64 CONTENT_LAYOUT_HASH = 0xc5c90035d3b3630aull;
