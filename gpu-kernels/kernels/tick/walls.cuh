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
