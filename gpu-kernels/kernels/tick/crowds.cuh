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
// The places within a distance of a point.
struct Ball {
    Point center;
    i64 radius;
};
// The farthest that a cell's places are from a coordinate.
__device__ inline i64 farthest_in_cell(const World& w, u32 cell, i64 from) {
    i64 bucket = (i64)(cell >> w.cell_bits) * w.aoi, start = bucket + (i64)(cell & (1u << w.cell_bits) - 1) * w.cell_edge;
    return max(abs(from - start), abs(from - min(start + (i64)w.cell_edge, bucket + w.aoi)));
}
// Narrows a row of cells, from `low` to `high`, to cells of which every place is in the ball.
__device__ inline void clip(const World& w, const Ball& ball, u32& low, u32& high, u32 y, u32 z) {
    i64 off_y = farthest_in_cell(w, y, ball.center.p[1]);
    i64 off_z = w.dimensions == 3 ? farthest_in_cell(w, z, ball.center.p[2]) : 0;
    i64 rest = ball.radius * ball.radius - off_y * off_y - off_z * off_z;
    // Rounded down, whatever the root's last bit is.
    i64 half = rest > 0 ? (i64)sqrt((double)rest) - 1 : 0;
    low = max(low, cell_of(w, 0, ball.center.p[0] - half) + 1);
    high = min(high, max(cell_of(w, 0, ball.center.p[0] + half), 1u) - 1);
}

// Where a row's entities stand, with BY_CELL. A bucket that is not crowded stands in the index
// only: it belongs to the first of its rows, if `all` are asked for. With a ball, only cells
// that are wholly inside count.
__device__ inline Range row_of_cells(const World& w, const Cells& c, u32 row, bool all, const Ball* ball) {
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
    if (ball) clip(w, *ball, low, high, y, z);
    if (low > high) return {0, 0};
    const u32* starts = w.crowd_starts + (u64)(bucket.start / CROWD) * (cells_of(w) + 1);
    return {starts[number_of(w, low, y, z)] | BY_CELL, starts[number_of(w, high, y, z) + 1] | BY_CELL};
}

// The part of the world that has the nearest entities of a crowd.
struct Nearby {
    Cells cells;
    // Their squared distances have so many bits.
    int bits;
    // It has as many as are wanted.
    bool is_full;
};

// Finds cells in which the `wanted` entities are that are nearest to a point, or all within
// `radius`. A square of cells around the point's own has as many that are within `radius`, and
// all in it are within `farthest`. Entities that are known may be farther than others by the
// world's margin. False: the point is outside the world.
__device__ inline bool find_nearby(const World& w, const Point& center, i64 radius, u32 wanted, Nearby& nearby) {
    for (u32 axis = 0; axis < w.dimensions; axis++)
        if (center.p[axis] < 0 || center.p[axis] >= w.size[axis]) return false;
    Ball ball = {center, radius};
    u64 limit = (u64)(radius * radius);
    for (u32 half = 0;; half += 1 + half / 4) {
        u64 edge = (u64)(half + 1) * w.cell_edge, farthest = w.dimensions * edge * edge;
        bool is_inside = farthest <= limit;
        Cells square = cells_around(w, center, 0);
        for (int axis = 0; axis < (int)w.dimensions; axis++) {
            u32 last = (u32)(w.buckets[axis] << w.cell_bits) - 1;
            square.low[axis] -= min(half, square.low[axis]);
            square.high[axis] = min(square.high[axis] + half, last);
        }
        u32 found = 0, rows = rows_of(w, square);
        for (u32 row = lane(); row < rows; row += 32) {
            Range range = row_of_cells(w, square, row, false, is_inside ? nullptr : &ball);
            found += range.end - range.start;
        }
        bool is_full = __reduce_add_sync(~0u, found) >= wanted;
        if (!is_full && edge < (u64)radius) continue;
        // The diagonal of a square is below 3/2 of its edge, that of a cube below 2.
        i64 reach = w.dimensions == 3 ? 2 * edge : edge + edge / 2;
        if (!is_full || !is_inside) reach = min(reach, radius);
        nearby.cells = cells_around(w, center, reach + w.margin + 1);
        nearby.bits = is_full ? 64 - __clzll(min(farthest, limit) + 1) : w.rank_bits;
        nearby.is_full = is_full;
        return true;
    }
}
