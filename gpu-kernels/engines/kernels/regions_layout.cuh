// What the kernels of region matching are given.
// Written from the declarations in Rust: `cargo test layout` says how to renew it.
#pragma once
#include "lib/types.cuh"
constexpr u32 SIZE_CLASSES = 16;
enum RegionsKind : u32 {
    ADD = 0,
    MODIFY = 1,
    REMOVE = 2,
};
enum RegionsReason : u32 {
    NAMED_TWICE = 0,
    ALREADY_THERE = 1,
    UNKNOWN = 2,
};

// Counted in one step, from zero. All extremes are maxima of numbers that were made
// non-negative: `~ordered(low)` for a lowest corner.
struct alignas(8) RegionsCounters {
    // The complement of (update << 2 | reason), or 0.
    u64 error;
    u64 updated[2];
    u64 added[2];
    u64 removed[2];
    u64 entries;
    u64 records;
    u64 found;
    u64 kept;
    u64 gained;
    u64 tasks;
    // Blocks that are done, in each kernel whose last one goes on alone.
    u64 done[4];
    // By side and edge.
    u64 mapped[2][32];
    u64 mapped_updated[32];
    u32 low[2][3];
    u32 high[2][3];
    u32 count[2][16];
    u32 reach[2][16][3];
};
static_assert(sizeof(RegionsCounters) == 1464, "as in Rust");
static_assert(offsetof(RegionsCounters, error) == 0 && offsetof(RegionsCounters, updated) == 8 && offsetof(RegionsCounters, added) == 24, "as in Rust");
static_assert(offsetof(RegionsCounters, removed) == 40 && offsetof(RegionsCounters, entries) == 56 && offsetof(RegionsCounters, records) == 64, "as in Rust");
static_assert(offsetof(RegionsCounters, found) == 72 && offsetof(RegionsCounters, kept) == 80 && offsetof(RegionsCounters, gained) == 88, "as in Rust");
static_assert(offsetof(RegionsCounters, tasks) == 96 && offsetof(RegionsCounters, done) == 104 && offsetof(RegionsCounters, mapped) == 136, "as in Rust");
static_assert(offsetof(RegionsCounters, mapped_updated) == 648 && offsetof(RegionsCounters, low) == 904 && offsetof(RegionsCounters, high) == 928, "as in Rust");
static_assert(offsetof(RegionsCounters, count) == 952 && offsetof(RegionsCounters, reach) == 1080, "as in Rust");

// Entries of one size, and the cells in which they are.
struct alignas(4) RegionsClass {
    u32 count;
    // The first of its keys.
    u32 base;
    // The longest edge on each axis.
    u32 reach[3];
    // A cell's edge as a power of two.
    u32 shift[3];
    u32 cells[3];
};
static_assert(sizeof(RegionsClass) == 44, "as in Rust");
static_assert(offsetof(RegionsClass, count) == 0 && offsetof(RegionsClass, base) == 4 && offsetof(RegionsClass, reach) == 8, "as in Rust");
static_assert(offsetof(RegionsClass, shift) == 20 && offsetof(RegionsClass, cells) == 32, "as in Rust");

// One side's part of the index.
struct alignas(4) RegionsSide {
    i32 origin[3];
    // The largest distance of a low corner from the origin.
    u32 span[3];
    u32 entries;
    // A bit for each class that has entries.
    u32 used;
    RegionsClass classes[16];
};
static_assert(sizeof(RegionsSide) == 736, "as in Rust");
static_assert(offsetof(RegionsSide, origin) == 0 && offsetof(RegionsSide, span) == 12 && offsetof(RegionsSide, entries) == 24, "as in Rust");
static_assert(offsetof(RegionsSide, used) == 28 && offsetof(RegionsSide, classes) == 32, "as in Rust");

// How entries are keyed.
struct alignas(4) RegionsLayout {
    RegionsSide sides[2];
    u32 keys;
};
static_assert(sizeof(RegionsLayout) == 1476, "as in Rust");
static_assert(offsetof(RegionsLayout, sides) == 0 && offsetof(RegionsLayout, keys) == 1472, "as in Rust");

// The grid of the paper's grid-based approach.
struct alignas(4) RegionsGrid {
    u32 edge;
    // A cell's edge is edge << shift.
    u32 shift;
    u32 cells[3];
    u32 all;
};
static_assert(sizeof(RegionsGrid) == 24, "as in Rust");
static_assert(offsetof(RegionsGrid, edge) == 0 && offsetof(RegionsGrid, shift) == 4 && offsetof(RegionsGrid, cells) == 8, "as in Rust");
static_assert(offsetof(RegionsGrid, all) == 20, "as in Rust");

// Entries that one query is to be compared with; or, if `end` is ROWS, rows of
// cells that it is to look up, from `start`.
struct alignas(4) RegionsTask {
    u32 query;
    u32 start;
    u32 end;
};
static_assert(sizeof(RegionsTask) == 12, "as in Rust");
static_assert(offsetof(RegionsTask, query) == 0 && offsetof(RegionsTask, start) == 4 && offsetof(RegionsTask, end) == 8, "as in Rust");

// The regions of one side, by number.
struct alignas(8) RegionsTable {
    // The box before the step and the one now.
    i32 *boxes;
    // The last step that updated a region.
    u32 *stamps;
    u64 *claims;
    // The numbers of the regions that the step updates.
    u32 *updated;
};
static_assert(sizeof(RegionsTable) == 32, "as in Rust");
static_assert(offsetof(RegionsTable, boxes) == 0 && offsetof(RegionsTable, stamps) == 8 && offsetof(RegionsTable, claims) == 16, "as in Rust");
static_assert(offsetof(RegionsTable, updated) == 24, "as in Rust");

// The space, what a step is to do, its scratch and its results.
struct alignas(8) RegionsWorld {
    u32 capacity;
    // Bits of a region's number.
    u32 number_bits;
    u32 updates;
    u32 step;
    u32 key_bits;
    u32 tasks_max;
    // Not 0: all regions are taken to be new.
    u32 overlaps;
    // Not 0: updated regions are listed by side, as tiles need them.
    u32 listed;
    // 0: chosen on the device.
    u32 cell_edge;
    u32 cells_max;
    u32 records_max;
    u32 padding;
    // The space.
    i32 low[3];
    i32 high[3];
    u64 found_max;
    // The batch.
    const i32 *words;
    // By side.
    RegionsTable tables[2];
    // Keys and entries, to be sorted: one half of the next four.
    u32 *raw_keys;
    u32 *raw_entries;
    u32 *keys;
    u32 *keys_spare;
    u32 *entries;
    u32 *entries_spare;
    // The entries' boxes before the step and now, in order of keys.
    i32 *motions;
    // Where each key begins among the sorted ones.
    u32 *directory;
    RegionsLayout *layout;
    RegionsGrid *grid;
    u32 *partials;
    RegionsTask *tasks;
    RegionsCounters *counters;
    // Pairs that were found, to be sorted: one half of the next two.
    u64 *found;
    u64 *sorted;
    u64 *sorted_spare;
    // In the host's memory.
    u64 *output;
};
static_assert(sizeof(RegionsWorld) == 288, "as in Rust");
static_assert(offsetof(RegionsWorld, capacity) == 0 && offsetof(RegionsWorld, number_bits) == 4 && offsetof(RegionsWorld, updates) == 8, "as in Rust");
static_assert(offsetof(RegionsWorld, step) == 12 && offsetof(RegionsWorld, key_bits) == 16 && offsetof(RegionsWorld, tasks_max) == 20, "as in Rust");
static_assert(offsetof(RegionsWorld, overlaps) == 24 && offsetof(RegionsWorld, listed) == 28 && offsetof(RegionsWorld, cell_edge) == 32, "as in Rust");
static_assert(offsetof(RegionsWorld, cells_max) == 36 && offsetof(RegionsWorld, records_max) == 40 && offsetof(RegionsWorld, padding) == 44, "as in Rust");
static_assert(offsetof(RegionsWorld, low) == 48 && offsetof(RegionsWorld, high) == 60 && offsetof(RegionsWorld, found_max) == 72, "as in Rust");
static_assert(offsetof(RegionsWorld, words) == 80 && offsetof(RegionsWorld, tables) == 88 && offsetof(RegionsWorld, raw_keys) == 152, "as in Rust");
static_assert(offsetof(RegionsWorld, raw_entries) == 160 && offsetof(RegionsWorld, keys) == 168 && offsetof(RegionsWorld, keys_spare) == 176, "as in Rust");
static_assert(offsetof(RegionsWorld, entries) == 184 && offsetof(RegionsWorld, entries_spare) == 192 && offsetof(RegionsWorld, motions) == 200, "as in Rust");
static_assert(offsetof(RegionsWorld, directory) == 208 && offsetof(RegionsWorld, layout) == 216 && offsetof(RegionsWorld, grid) == 224, "as in Rust");
static_assert(offsetof(RegionsWorld, partials) == 232 && offsetof(RegionsWorld, tasks) == 240 && offsetof(RegionsWorld, counters) == 248, "as in Rust");
static_assert(offsetof(RegionsWorld, found) == 256 && offsetof(RegionsWorld, sorted) == 264 && offsetof(RegionsWorld, sorted_spare) == 272, "as in Rust");
static_assert(offsetof(RegionsWorld, output) == 280, "as in Rust");

constexpr u64 REGIONS_LAYOUT_HASH = 0xa4241c7396becf80ull;
