// Walls: the first bits of the layers. `shared/src/world/layer.rs` defines what is done here.
#pragma once
#include "tick/world.cuh"

__device__ inline bool is_wall(const World& w, i32 x, i32 y) {
    u32 place = ((u32)y << w.wall_row_bits) + (u32)x;
    return (u32)w.layers[place >> 5] >> (place & 31) & 1;
}
__device__ inline bool is_blocked(const World& w, const i32* place) {
    return is_wall(w, place[0] >> w.wall_edge_bits, place[1] >> w.wall_edge_bits);
}

// The cells that a door at a place blocks, as far as the world has them: from `low` to before `end`.
__device__ inline void door_span(const World& w, const Door& door, const i32* place, i32* low, i32* end) {
    i32 half = 1 << (w.wall_edge_bits - 1);
    for (u32 axis = 0; axis < 2; axis++) {
        i32 count = (i32)door.cells[axis], first = (place[axis] - (count - 1) * half) >> w.wall_edge_bits;
        low[axis] = max(first, 0);
        end[axis] = min(first + count, w.wall_cells[axis]);
    }
}

// Goes from a place of the world to another, as far as walls leave it.
__device__ inline void slide(const World& w, i32* at, const i32* to) {
    i32 way[2] = {to[0] - at[0], to[1] - at[1]}, owed[2] = {0, 0};
    i32 bits = (i32)w.wall_edge_bits, edge = 1 << bits;
    i32 parts = ((max(abs(way[0]), abs(way[1])) - 1) >> bits) + 1;
    for (i32 n = 0; n < parts; n++) {
        for (u32 axis = 0; axis < 2; axis++) {
            i32 part = way[axis] / parts;
            owed[axis] += abs(way[axis] % parts);
            if (owed[axis] >= parts) {
                owed[axis] -= parts;
                part += way[axis] < 0 ? -1 : 1;
            }
            i32 next[2] = {at[0], at[1]};
            next[axis] += part;
            if (is_blocked(w, next)) next[axis] = min(max(next[axis], at[axis] & -edge), at[axis] | (edge - 1));
            at[axis] = next[axis];
        }
    }
}

// Moves a place of the world out of a wall, to the nearest of a free cell.
__device__ inline void free_place(const World& w, i32* place) {
    if (!is_blocked(w, place)) return;
    i32 bits = (i32)w.wall_edge_bits, cell[2] = {place[0] >> bits, place[1] >> bits};
    i32 along = 1, across = 0, leg = 1, left = 1, turns = 0;
    i32 found[2] = {w.wall_refuge[0], w.wall_refuge[1]};
    for (u32 n = 1; n < WALL_SEARCH_CELLS; n++) {
        cell[0] += along;
        cell[1] += across;
        if (--left == 0) {
            i32 turned = -across;
            across = along;
            along = turned;
            turns ^= 1;
            leg += 1 - turns;
            left = leg;
        }
        bool inside = (u32)cell[0] < (u32)w.wall_cells[0] && (u32)cell[1] < (u32)w.wall_cells[1];
        if (!inside || is_wall(w, cell[0], cell[1])) continue;
        found[0] = cell[0];
        found[1] = cell[1];
        break;
    }
    for (u32 axis = 0; axis < 2; axis++) {
        i32 low = found[axis] << bits, high = min(low + (1 << bits) - 1, w.size[axis] - 1);
        place[axis] = min(max(place[axis], low), high);
    }
}

// Whether no wall is on the line from the middle of a place's cell to the middle of an entity's, both
// included, both places of the world. A line through a corner passes unless both cells beside it are
// walls. Cells that entities of its kind block around it hide it from nobody.
__device__ __noinline__ bool shows(const World& w, const Point& from, const Point& to, u32 slot) {
    i32 bits = (i32)w.wall_edge_bits, x = from.p[0] >> bits, y = from.p[1] >> bits;
    i32 way_x = (to.p[0] >> bits) - x, way_y = (to.p[1] >> bits) - y;
    i32 sign_x = way_x < 0 ? -1 : 1, sign_y = way_y < 0 ? -1 : 1, long_x = abs(way_x), long_y = abs(way_y);
    i32 low[2] = {0, 0}, end[2] = {0, 0};
    if (w.wall_words) {
        Door door = w.doors[w.slot_kinds[slot]];
        if (door.cells[0]) door_span(w, door, to.p, low, end);
    }
    auto hides = [&](i32 x, i32 y) {
        bool is_own = x >= low[0] && x < end[0] && y >= low[1] && y < end[1];
        return !is_own && is_wall(w, x, y);
    };
    if (hides(x, y)) return false;
    // Which border of the cell comes first: below 0 that to the next row, at 0 both at once.
    i32 lead = long_x - long_y;
    for (i32 left = long_x + long_y; left > 0;) {
        if (lead == 0) {
            if (hides(x + sign_x, y) && hides(x, y + sign_y)) return false;
            x += sign_x;
            y += sign_y;
            lead += 2 * (long_x - long_y);
            left -= 2;
        } else if (lead < 0) {
            y += sign_y;
            lead += 2 * long_x;
            left--;
        } else {
            x += sign_x;
            lead -= 2 * long_y;
            left--;
        }
        if (hides(x, y)) return false;
    }
    return true;
}
