// Crowded buckets, which have CROWD entities or more, are sorted by cell: an observer that can
// know few of many entities looks at the cells around it only.
#pragma once
#include "tick/world.cuh"

// A crowd begins in each window of the index at most. `CROWD` of `sizes.rs`.
constexpr u32 CROWD = 1024;
constexpr u32 CELLS_MAX = 512;
// Set in places of the index of entities that are found by cell.
constexpr u32 BY_CELL = 0x80000000u;

// Cells of a bucket.
__device__ inline u32 cells_of(const World& w) { return 1u << (w.cell_bits * w.dimensions); }
// On an axis, of a position inside the world; cells are numbered across buckets.
__device__ inline u32 cell_of(const World& w, int axis, i64 position) {
    u32 inside = (u32)min(max(position, (i64)0), (i64)w.size[axis] - 1), bucket = inside / (u32)w.aoi;
    return bucket << w.cell_bits | (inside - bucket * (u32)w.aoi) / w.cell_edge;
}
// The number of a cell in its bucket; a row of cells is consecutive.
__device__ inline u32 number_of(const World& w, u32 x, u32 y, u32 z) {
    u32 low = (1u << w.cell_bits) - 1, number = (y & low) << w.cell_bits | (x & low);
    return w.dimensions == 3 ? (z & low) << 2 * w.cell_bits | number : number;
}
__device__ inline u32 cell_in_bucket(const World& w, const Point& p) {
    return number_of(w, cell_of(w, 0, p.p[0]), cell_of(w, 1, p.p[1]), w.dimensions == 3 ? cell_of(w, 2, p.p[2]) : 0);
}

// A block of cells, both ends included, across buckets.
struct Cells {
    u32 low[3], high[3];
};
__device__ inline Cells cells_around(const World& w, const Point& center, i64 reach) {
    Cells cells = {};
    for (int axis = 0; axis < (int)w.dimensions; axis++) {
        cells.low[axis] = cell_of(w, axis, center.p[axis] - reach);
        cells.high[axis] = cell_of(w, axis, center.p[axis] + reach);
    }
    return cells;
}

// Rows of cells, each in one bucket.
__device__ inline u32 rows_of(const World& w, const Cells& c) {
    u32 buckets_x = (c.high[0] >> w.cell_bits) - (c.low[0] >> w.cell_bits) + 1;
    return buckets_x * (c.high[1] - c.low[1] + 1) * (c.high[2] - c.low[2] + 1);
}
// Where a row's entities stand, with BY_CELL. A bucket that is not crowded stands in the index
// only: it belongs to the first of its rows, if `all` are asked for.
__device__ inline Range row_of_cells(const World& w, const Cells& c, u32 row, bool all) {
    u32 bits = w.cell_bits;
    u32 buckets_x = (c.high[0] >> bits) - (c.low[0] >> bits) + 1, rows_y = c.high[1] - c.low[1] + 1;
    u32 x = (c.low[0] >> bits) + row % buckets_x, rest = row / buckets_x;
    u32 y = c.low[1] + rest % rows_y, z = c.low[2] + rest / rows_y;
    if (z > c.high[2]) return {0, 0};
    Range bucket = bucket_range(w, ((u64)(z >> bits) * w.buckets[1] + (y >> bits)) * w.buckets[0] + x);
    if (bucket.end - bucket.start < CROWD) {
        bool is_first = y == max(c.low[1], y >> bits << bits) && z == max(c.low[2], z >> bits << bits);
        return all && is_first ? bucket : Range{0, 0};
    }
    u32 low = max(c.low[0], x << bits), high = min(c.high[0], (x + 1 << bits) - 1);
    const u32* starts = w.crowd_starts + (u64)(bucket.start / CROWD) * (cells_of(w) + 1);
    return {starts[number_of(w, low, y, z)] | BY_CELL, starts[number_of(w, high, y, z) + 1] | BY_CELL};
}

// The part of the world that has the nearest entities of a crowd.
struct Nearby {
    Cells cells;
    // Their squared distances have so many bits.
    int bits;
};

// Finds cells in which the `wanted` entities are that are nearest to a point. A square of
// cells around the point's own has as many, and all in it are within `farthest`. Entities that
// are known may be farther than others by the world's margin. False: there is no such square
// within `radius`.
__device__ inline bool find_nearby(const World& w, const Point& center, i64 radius, u32 wanted, Nearby& nearby) {
    for (u32 axis = 0; axis < w.dimensions; axis++)
        if (center.p[axis] < 0 || center.p[axis] >= w.size[axis]) return false;
    for (u32 half = 0;; half += 1 + half / 4) {
        u64 edge = (u64)(half + 1) * w.cell_edge, farthest = w.dimensions * edge * edge;
        if (farthest > (u64)(radius * radius)) return false;
        Cells square = cells_around(w, center, 0);
        for (int axis = 0; axis < (int)w.dimensions; axis++) {
            u32 last = (u32)(w.buckets[axis] << w.cell_bits) - 1;
            square.low[axis] -= min(half, square.low[axis]);
            square.high[axis] = min(square.high[axis] + half, last);
        }
        u32 found = 0, rows = rows_of(w, square);
        for (u32 row = lane(); row < rows; row += 32) {
            Range range = row_of_cells(w, square, row, false);
            found += range.end - range.start;
        }
        if (__reduce_add_sync(~0u, found) < wanted) continue;
        // The diagonal of a square is below 3/2 of its edge, that of a cube below 2.
        i64 reach = w.dimensions == 3 ? 2 * edge : edge + edge / 2;
        nearby = {cells_around(w, center, reach + w.margin + 1), 64 - __clzll(farthest + 1)};
        return true;
    }
}
