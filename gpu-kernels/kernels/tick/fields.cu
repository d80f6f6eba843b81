// Flow fields: for each cell of walls, the step to the next one on a shortest way to a goal.
// `gpu-kernels/src/space/field.rs` defines which these are.
//
// While a field is under way, the distances of its cells fall until they are right: tiles of 32 by 32
// cells in which something may still change are marked, and each round works on all of them at once.
// Distances have one solution, so the order of the work does not matter.
#include "tick/world.cuh"

constexpr u32 TILE = 32;
constexpr u32 UNREACHED = 0xffffffffu;
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

// What it costs to leave a cell; 0 where it is blocked.
__device__ inline u32 cost_of(const World& w, u32 field, u32 place) {
    if (walls_of(w, place >> 5) >> (place & 31) & 1) return 0;
    if (is_in_set(cell_set(w, field, CLOSED_UNDER_WAY), place)) return 0;
    return w.field_costs[(u64)field * 256 + (w.field_tagged ? w.field_tags[place] : 0)];
}

// Brings the distances in a tile as far down as those around it allow, and marks the tiles beside it
// that this may change. All 1024 threads of the block take part, one for each cell.
__device__ void relax_tile(const World& w, u32 field, u32 tile) {
    __shared__ u32 cells[TILE + 2][TILE + 2];
    __shared__ u32 marks[4];
    u32 x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    u32 along = tiles_along(w), tiles = field_tiles(w);
    u32 tile_x = tile % along, tile_y = tile / along;
    u32* dirty = w.field_dirty + (u64)field * tiles;
    u32* distances = w.field_distances + (u64)field * field_cells(w);
    // The mark goes before anything is read: what others change later marks the tile again.
    if (threadIdx.x == 0) {
        atomicExch(dirty + tile, 0);
        __threadfence();
    }
    if (threadIdx.x < 4) marks[threadIdx.x] = 0;
    __syncthreads();
    auto distance_at = [&](i32 cell_x, i32 cell_y) -> u32 {
        if (cell_x < 0 || cell_y < 0 || cell_x >= w.wall_cells[0] || cell_y >= w.wall_cells[1]) return UNREACHED;
        // Other blocks may write it meanwhile, so it comes from where they write.
        return __ldcg(distances + (((u32)cell_y << w.wall_row_bits) + (u32)cell_x));
    };
    i32 cell_x = (i32)(tile_x * TILE + x), cell_y = (i32)(tile_y * TILE + y);
    bool is_inside = cell_x < w.wall_cells[0] && cell_y < w.wall_cells[1];
    u32 place = ((u32)cell_y << w.wall_row_bits) + (u32)cell_x;
    u32 before = distance_at(cell_x, cell_y), own = before;
    u32 cost = is_inside ? cost_of(w, field, place) : 0;
    cells[y + 1][x + 1] = own;
    if (x == 0) cells[y + 1][0] = distance_at(cell_x - 1, cell_y);
    if (x == TILE - 1) cells[y + 1][TILE + 1] = distance_at(cell_x + 1, cell_y);
    if (y == 0) cells[0][x + 1] = distance_at(cell_x, cell_y - 1);
    if (y == TILE - 1) cells[TILE + 1][x + 1] = distance_at(cell_x, cell_y + 1);
    bool falls;
    do {
        __syncthreads();
        u32 least = min(min(cells[y + 1][x + 2], cells[y + 2][x + 1]), min(cells[y + 1][x], cells[y][x + 1]));
        __syncthreads();
        falls = cost && least != UNREACHED && least + cost < own;
        if (falls) cells[y + 1][x + 1] = own = least + cost;
    } while (__syncthreads_or(falls));
    if (own < before) {
        __stcg(distances + place, own);
        if (x == TILE - 1) marks[0] = 1;
        if (y == TILE - 1) marks[1] = 1;
        if (x == 0) marks[2] = 1;
        if (y == 0) marks[3] = 1;
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (marks[0] && tile_x + 1 < along) atomicExch(dirty + tile + 1, 1);
        if (marks[1] && tile + along < tiles) atomicExch(dirty + tile + along, 1);
        if (marks[2] && tile_x > 0) atomicExch(dirty + tile - 1, 1);
        if (marks[3] && tile_y > 0) atomicExch(dirty + tile - along, 1);
    }
    __syncthreads();
}

// A round: blocks share the tiles of all fields.
KERNEL __launch_bounds__(1024) fields_spread(World w, Tick t) {
    __shared__ u32 is_dirty;
    u32 tiles = field_tiles(w);
    for (u32 i = blockIdx.x; i < w.field_count * tiles; i += gridDim.x) {
        if (threadIdx.x == 0) is_dirty = __ldcg(w.field_dirty + i);
        __syncthreads();
        bool is = is_dirty;
        __syncthreads();
        if (is) relax_tile(w, i / tiles, i % tiles);
    }
}

// Rounds for the field of the tick, until nothing changes: one block.
KERNEL __launch_bounds__(1024) fields_finish(World w, Tick t) {
    __shared__ u32 dirty[1024];
    u32 tiles = field_tiles(w);
    const u32* marked = w.field_dirty + (u64)t.field * tiles;
    bool is_any;
    do {
        is_any = false;
        for (u32 first = 0; first < tiles; first += 1024) {
            u32 tile = first + threadIdx.x;
            u32 is = tile < tiles ? __ldcg(marked + tile) : 0;
            dirty[threadIdx.x] = is;
            if (!__syncthreads_or((int)is)) continue;
            is_any = true;
            for (u32 i = 0; i < 1024; i++)
                if (dirty[i]) relax_tile(w, t.field, first + i);
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

// Begins with the distances of the field of the tick: a thread for each cell.
KERNEL fields_begin(World w, Tick t) {
    u32 place = thread_index();
    if (place < field_tiles(w)) w.field_dirty[(u64)t.field * field_tiles(w) + place] = 1;
    if (place >= field_cells(w)) return;
    w.field_distances[(u64)t.field * field_cells(w) + place] = is_goal(w, t.field, place) ? 0 : UNREACHED;
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
