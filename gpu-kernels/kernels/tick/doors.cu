// Doors: the cells that entities block, as they are at the start of a tick. `shared/src/world/door.rs`
// defines which these are.
#include "tick/walls.cuh"

// Frees the cells of all doors: one thread for each word of walls.
KERNEL doors_open(World w, Tick t) {
    u32 word = thread_index();
    if (word < w.wall_words) const_cast<i32*>(w.layers)[word] = w.walls[word];
}

// Blocks the cells of those that are closed: one thread for each slot.
KERNEL doors_close(World w, Tick t) {
    u32 slot = thread_index();
    if (slot >= w.capacity || !is_somewhere(w, slot)) return;
    Door door = w.doors[w.slot_kinds[slot]];
    const i32* row = w.rows + (u64)slot * w.columns;
    if (!door.cells[0] || (door.closed != NOWHERE && !row[door.closed])) return;
    i32 low[2], end[2];
    door_span(w, door, row, low, end);
    // The bits are the same in any order.
    u32* words = reinterpret_cast<u32*>(const_cast<i32*>(w.layers));
    for (i32 y = low[1]; y < end[1]; y++) {
        for (i32 x = low[0]; x < end[0]; x++) {
            u32 place = ((u32)y << w.wall_row_bits) + (u32)x;
            atomicOr(words + (place >> 5), 1u << (place & 31));
        }
    }
}
