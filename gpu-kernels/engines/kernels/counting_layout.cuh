// What the kernel of matching by counting is given.
// Written from the declarations in Rust: `cargo test layout` says how to renew it.
#pragma once
#include "lib/types.cuh"
#include "content/layout.cuh"
namespace content {

// A constraint, and the filter that it is part of.
struct alignas(8) Counted {
    Condition condition;
    u32 filter;
    u32 padding;
};
static_assert(sizeof(Counted) == 32, "as in Rust");
static_assert(offsetof(Counted, condition) == 0 && offsetof(Counted, filter) == 24 && offsetof(Counted, padding) == 28, "as in Rust");

// A filter: how many constraints it has, and who subscribed by it.
struct alignas(4) CountedFilter {
    u32 size;
    u32 subscriber;
};
static_assert(sizeof(CountedFilter) == 8, "as in Rust");
static_assert(offsetof(CountedFilter, size) == 0 && offsetof(CountedFilter, subscriber) == 4, "as in Rust");

// A wave of notifications, the tables, and what becomes of them.
struct alignas(8) CountJob {
    const u32 *row_offsets;
    const Counted *constraints;
    const CountedFilter *filters;
    const u32 *offsets;
    const Attribute *attributes;
    const ResolvedString *strings;
    const u32 *patterns;
    // By notification and filter, 16 bits each; and those of the next wave.
    u32 *counters;
    u32 *next_counters;
    // By notification: a bit for each subscriber.
    u32 *bits;
    // Words of `next_counters` that are to become 0.
    u64 words_to_clear;
    // Words of one notification's counters, and of its bits.
    u32 counter_words;
    u32 bit_words;
    u32 names;
    u32 notifications;
    // Where the wave's attributes begin in the batch.
    u32 first;
    // Blocks for one attribute.
    u32 row_blocks;
};
static_assert(sizeof(CountJob) == 112, "as in Rust");
static_assert(offsetof(CountJob, row_offsets) == 0 && offsetof(CountJob, constraints) == 8 && offsetof(CountJob, filters) == 16, "as in Rust");
static_assert(offsetof(CountJob, offsets) == 24 && offsetof(CountJob, attributes) == 32 && offsetof(CountJob, strings) == 40, "as in Rust");
static_assert(offsetof(CountJob, patterns) == 48 && offsetof(CountJob, counters) == 56 && offsetof(CountJob, next_counters) == 64, "as in Rust");
static_assert(offsetof(CountJob, bits) == 72 && offsetof(CountJob, words_to_clear) == 80 && offsetof(CountJob, counter_words) == 88, "as in Rust");
static_assert(offsetof(CountJob, bit_words) == 92 && offsetof(CountJob, names) == 96 && offsetof(CountJob, notifications) == 100, "as in Rust");
static_assert(offsetof(CountJob, first) == 104 && offsetof(CountJob, row_blocks) == 108, "as in Rust");
}  // namespace content

constexpr u64 COUNTING_LAYOUT_HASH = 0xefa8142f2e6db07eull;
