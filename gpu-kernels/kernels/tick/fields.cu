// Flow fields: for each cell of walls, the step to the next one on a shortest way to a goal.
// `gpu-kernels/src/space/field.rs` defines which these are.
//
// While a field is under way, the distances of its cells fall until they are right. Tiles of 32 by 32
// cells in which something may still change are marked, and listed for the next round, which works on
// all of them at once. Distances have one solution, so the order of the work does not matter.
#include "tick/world.cuh"

constexpr u32 TILE = 32;
// More than any distance, and so that a cost can be added.
constexpr u32 UNREACHED = 0x7fffffffu;
// Warps of a block, each with a tile of its own.
constexpr u32 TILES_AT_ONCE = 8;
// Of a field's sets of cells: goals and doors of what is in force, and of what is under way.
constexpr u32 GOALS_IN_FORCE = 0, CLOSED_IN_FORCE = 1, GOALS_UNDER_WAY = 2, CLOSED_UNDER_WAY = 3, SETS = 4;

__device__ inline u32 field_cells(const World& w) { return (u32)w.wall_cells[1] << w.wall_row_bits; }
__device__ inline u32 set_words(const World& w) { return field_cells(w) >> 5; }
__device__ inline u32 tiles_along(const World& w) { return 1u << (w.wall_row_bits - 5); }
__device__ inline u32 field_tiles(const World& w) { return (((u32)w.wall_cells[1] + TILE - 1) / TILE) * tiles_along(w); }

__device__ inline u32* cell_set(const World& w, u32 field, u32 which) {
    return w.field_sets + ((u64)field * SETS + which) * set_words(w);
}

__device__ inline bool is_in_set(const u32* set, u32 place) { return set[place >> 5] >> (place & 31) & 1; }

// The walls of a word, without doors.
__device__ inline u32 walls_of(const World& w, u32 word) { return (u32)(w.wall_words ? w.walls[word] : w.layers[word]); }

__device__ inline bool is_goal(const World& w, u32 field, u32 place) {
    return is_in_set(cell_set(w, field, GOALS_UNDER_WAY), place) ||
           is_in_set(w.field_goals + (u64)field * set_words(w), place);
}

// The list of a round has room for each tile twice.
__device__ inline u32 listed_max(const World& w) { return 2 * w.field_count * field_tiles(w); }
__device__ inline u32* list_of(const World& w, u32 round) { return w.field_list + (u64)(round % 2) * listed_max(w); }
__device__ inline u32* listed_of(const World& w, u32 round) { return w.field_listed + round % 3; }

// Marks a tile of all fields' for a round. Where the list has no more room, its field's last tick finds
// the mark.
__device__ inline void mark_tile(const World& w, u32 round, u32 tile) {
    if (atomicExch(w.field_dirty + tile, 1)) return;
    u32 at = atomicAdd(listed_of(w, round), 1);
    if (at < listed_max(w)) list_of(w, round)[at] = tile;
}

// A tile with the cells around it. The rows are of a length that lets lanes have a row or a column each
// without waiting for one another.
struct Tile {
    u32 cells[TILE + 2][TILE + 3];
    u8 costs[TILE][TILE + 4];
};

// Lowers a cell to what it is beyond the last one.
__device__ inline bool lower(u32& last, u32& cell, u32 cost) {
    bool falls = cost && last + cost < cell;
    if (falls) cell = last + cost;
    last = cell;
    return falls;
}

// Brings the distances in a tile as far down as those around it allow, and marks the tiles beside it
// that this may change for a round. The lanes of a warp take part.
__device__ void relax_tile(const World& w, u32 round, u32 field, u32 tile, Tile& own) {
    u32 lane = threadIdx.x % 32;
    u32 along = tiles_along(w), tiles = field_tiles(w), first = field * tiles;
    u32 tile_x = tile % along, tile_y = tile / along;
    u32* distances = w.field_distances + (u64)field * field_cells(w);
    // The mark goes before anything is read: what others change later marks the tile again.
    u32 is_marked = 0;
    if (lane == 0) {
        is_marked = atomicExch(w.field_dirty + first + tile, 0);
        __threadfence();
    }
    if (!__shfl_sync(~0u, is_marked, 0)) return;
    i32 left = (i32)(tile_x * TILE), top = (i32)(tile_y * TILE), x = left + (i32)lane;
    u32 row_bits = w.wall_row_bits, corner = ((u32)top << row_bits) + (u32)x;
    auto distance_at = [&](i32 x, i32 y) -> u32 {
        if (x < 0 || y < 0 || x >= w.wall_cells[0] || y >= w.wall_cells[1]) return UNREACHED;
        // Other blocks may write it meanwhile, so it comes from where they write.
        return __ldcg(distances + (((u32)y << row_bits) + (u32)x));
    };
    // Loads that do not wait for each other, first those of a row for each lane.
    u32 before = distance_at(left - 1, top + (i32)lane), after = distance_at(left + (i32)TILE, top + (i32)lane);
    u32 word = ((u32)top + lane << row_bits) + (u32)left >> 5, blocked = ~0u;
    if (top + (i32)lane < w.wall_cells[1])
        blocked = walls_of(w, word) | cell_set(w, field, CLOSED_UNDER_WAY)[word];
    const u8* costs = w.field_costs + (u64)field * 256;
    u32 plain = costs[0];
    constexpr u32 BATCH = 8;
    for (u32 first_row = 0; first_row < TILE; first_row += BATCH) {
        u32 cells[BATCH], tags[BATCH];
#pragma unroll
        for (u32 n = 0; n < BATCH; n++) {
            u32 y = first_row + n;
            cells[n] = distance_at(x, top + (i32)y);
            bool is_inside = x < w.wall_cells[0] && top + (i32)y < w.wall_cells[1];
            tags[n] = w.field_tagged && is_inside ? w.field_tags[corner + (y << row_bits)] : 0;
        }
#pragma unroll
        for (u32 n = 0; n < BATCH; n++) {
            u32 y = first_row + n;
            bool is_free = !(__shfl_sync(~0u, blocked, (int)y) >> lane & 1) && x < w.wall_cells[0];
            own.cells[y + 1][lane + 1] = cells[n];
            own.costs[y][lane] = !is_free ? 0 : tags[n] ? costs[tags[n]] : (u8)plain;
        }
    }
    own.cells[0][lane + 1] = distance_at(x, top - 1);
    own.cells[TILE + 1][lane + 1] = distance_at(x, top + (i32)TILE);
    own.cells[lane + 1][0] = before;
    own.cells[lane + 1][TILE + 1] = after;
    // Sweeps in the four directions, until nothing falls. Bit by bit, the cells of a lane's column and
    // of its row that fell.
    u32 of_column = 0, of_row = 0;
    bool falls;
    do {
        __syncwarp();
        falls = false;
        u32 last = own.cells[0][lane + 1];
        for (u32 y = 0; y < TILE; y++)
            if (lower(last, own.cells[y + 1][lane + 1], own.costs[y][lane])) of_column |= 1u << y, falls = true;
        last = own.cells[TILE + 1][lane + 1];
        for (u32 y = TILE; y-- > 0;)
            if (lower(last, own.cells[y + 1][lane + 1], own.costs[y][lane])) of_column |= 1u << y, falls = true;
        __syncwarp();
        last = own.cells[lane + 1][0];
        for (u32 n = 0; n < TILE; n++)
            if (lower(last, own.cells[lane + 1][n + 1], own.costs[lane][n])) of_row |= 1u << n, falls = true;
        last = own.cells[lane + 1][TILE + 1];
        for (u32 n = TILE; n-- > 0;)
            if (lower(last, own.cells[lane + 1][n + 1], own.costs[lane][n])) of_row |= 1u << n, falls = true;
    } while (__any_sync(~0u, falls));
    __syncwarp();
    // Of the lane's column.
    u32 fell = of_column;
    for (u32 y = 0; y < TILE; y++) fell |= (__shfl_sync(~0u, of_row, (int)y) >> lane & 1) << y;
    // Where a tile is listed twice, two warps may have it at once.
    for (u32 y = 0; y < TILE; y++)
        if (fell >> y & 1) atomicMin(distances + corner + (y << row_bits), own.cells[y + 1][lane + 1]);
    __threadfence();
    u32 columns = __ballot_sync(~0u, fell != 0);
    bool is_bottom = __any_sync(~0u, fell >> (TILE - 1)), is_top = __any_sync(~0u, fell & 1);
    if (lane == 0) {
        u32 place = first + tile;
        if (columns >> (TILE - 1) && tile_x + 1 < along) mark_tile(w, round, place + 1);
        if (is_bottom && tile + along < tiles) mark_tile(w, round, place + along);
        if (columns & 1 && tile_x > 0) mark_tile(w, round, place - 1);
        if (is_top && tile_y > 0) mark_tile(w, round, place - along);
    }
    __syncwarp();
}

// A round: warps share the tiles that are listed.
KERNEL __launch_bounds__(32 * TILES_AT_ONCE) fields_spread(World w, Tick t) {
    __shared__ Tile own[TILES_AT_ONCE];
    u32 tiles = field_tiles(w), round = t.field_round;
    u32 count = min(*listed_of(w, round), listed_max(w));
    // Of the round after next, which had the list of the one before.
    if (thread_index() == 0) *listed_of(w, round + 2) = 0;
    for (u32 i = (u32)thread_index() / 32; i < count; i += (u32)thread_count() / 32) {
        u32 tile = list_of(w, round)[i];
        relax_tile(w, round + 1, tile / tiles, tile % tiles, own[threadIdx.x / 32]);
    }
}

// Rounds for the field of the tick, until nothing changes: one block.
KERNEL __launch_bounds__(32 * TILES_AT_ONCE) fields_finish(World w, Tick t) {
    __shared__ Tile own[TILES_AT_ONCE];
    __shared__ bool is_marked[32 * TILES_AT_ONCE];
    u32 tiles = field_tiles(w);
    const u32* marks = w.field_dirty + (u64)t.field * tiles;
    bool is_any;
    do {
        is_any = false;
        for (u32 first = 0; first < tiles; first += blockDim.x) {
            u32 tile = first + threadIdx.x;
            bool is = tile < tiles && __ldcg(marks + tile);
            is_marked[threadIdx.x] = is;
            if (!__syncthreads_or(is)) continue;
            is_any = true;
            for (u32 i = threadIdx.x / 32; i < blockDim.x; i += TILES_AT_ONCE)
                if (is_marked[i]) relax_tile(w, t.field_round, t.field, first + i, own[threadIdx.x / 32]);
            __syncthreads();
        }
    } while (is_any);
}

// Brings the field of the tick into force: a thread for each word of steps.
KERNEL fields_force(World w, Tick t) {
    u32 word = thread_index(), words = field_cells(w) / 8;
    if (word >= words) return;
    const u32* distances = w.field_distances + (u64)t.field * field_cells(w);
    u32 row = 1u << w.wall_row_bits, steps = 0;
    for (u32 n = 0; n < 8; n++) {
        u32 place = word * 8 + n;
        i32 x = (i32)(place & (row - 1)), y = (i32)(place >> w.wall_row_bits);
        if (x >= w.wall_cells[0] || distances[place] == 0) continue;
        u32 step = 0, least = UNREACHED;
        auto look = [&](bool is_there, u32 there, u32 number) {
            u32 distance = is_there ? distances[there] : UNREACHED;
            if (distance < least) least = distance, step = number;
        };
        look(x + 1 < w.wall_cells[0], place + 1, 1);
        look(y + 1 < w.wall_cells[1], place + row, 2);
        look(x > 0, place - 1, 3);
        look(y > 0, place - row, 4);
        steps |= step << (4 * n);
    }
    const_cast<i32*>(w.fields)[(u64)t.field * words + word] = (i32)steps;
}

// Takes the field of the tick, but for goals of a kind: a thread for each word of a set.
KERNEL fields_take(World w, Tick t) {
    u32 word = thread_index();
    if (word >= set_words(w)) return;
    u32* goals = cell_set(w, t.field, GOALS_UNDER_WAY);
    u32* closed = cell_set(w, t.field, CLOSED_UNDER_WAY);
    cell_set(w, t.field, GOALS_IN_FORCE)[word] = goals[word];
    cell_set(w, t.field, CLOSED_IN_FORCE)[word] = closed[word];
    goals[word] = 0;
    closed[word] = w.wall_words ? (u32)w.layers[word] & ~(u32)w.walls[word] : 0;
}

// Notes where the goals are: a thread for each slot.
KERNEL fields_goals(World w, Tick t) {
    u32 slot = thread_index();
    if (slot >= w.capacity || !is_somewhere(w, slot) || w.slot_kinds[slot] != t.field_kind) return;
    const i32* row = w.rows + (u64)slot * w.columns;
    u32 place = ((u32)(row[1] >> w.wall_edge_bits) << w.wall_row_bits) + (u32)(row[0] >> w.wall_edge_bits);
    // The bits are the same in any order.
    atomicOr(cell_set(w, t.field, GOALS_UNDER_WAY) + (place >> 5), 1u << (place & 31));
}

// Begins with the distances of the field of the tick: a thread for each cell. No tile of it is marked.
KERNEL fields_begin(World w, Tick t) {
    u32 place = thread_index();
    if (place >= field_cells(w)) return;
    bool is = is_goal(w, t.field, place);
    w.field_distances[(u64)t.field * field_cells(w) + place] = is ? 0 : UNREACHED;
    if (!is) return;
    u32 x = place & ((1u << w.wall_row_bits) - 1), y = place >> w.wall_row_bits;
    u32 along = tiles_along(w), tiles = field_tiles(w);
    u32 tile_x = x / TILE, tile_y = y / TILE, tile = tile_y * along + tile_x;
    auto mark = [&](u32 tile) {
        u32 marked = t.field * tiles + tile;
        // Goals are often beside each other.
        if (!__ldcg(w.field_dirty + marked)) mark_tile(w, t.field_round, marked);
    };
    mark(tile);
    if (x % TILE == TILE - 1 && tile_x + 1 < along) mark(tile + 1);
    if (y % TILE == TILE - 1 && tile + along < tiles) mark(tile + along);
    if (x % TILE == 0 && tile_x > 0) mark(tile - 1);
    if (y % TILE == 0 && tile_y > 0) mark(tile - along);
}

// Adds the sets of all fields to the state hash, with the tracks.
KERNEL fields_hash(World w, Tick t) {
    u64 sum = 0, words = set_words(w), all = (u64)w.field_count * SETS * words;
    for (u64 i = thread_index(); i < all; i += thread_count()) {
        u64 set = i / words, field = set / SETS, which = set % SETS;
        for (u32 bits = w.field_sets[i]; bits; bits &= bits - 1) {
            u64 place = i % words * 32 + (u32)(__ffs((int)bits) - 1);
            sum += mix(16ull << 56 | field << 40 | which << 32, place);
        }
    }
    add_part(t, PART_TRACKS, sum);
}
