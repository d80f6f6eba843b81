// Cells of layers that scripts change, as the tick's notifications ask, in their order.
// `gpu-kernels/src/tick/edits.rs` defines which edits apply.
#include "tick/world.cuh"

__device__ constexpr u16 EDIT_KIND = 0xffff;

// A value as edits have it, among words, by its place in the grid of a layer.
__device__ inline i32 edit_value(const i32* words, u32 layer, u32 first, u32 at) {
    if (layer == 0) return words[first + (at >> 5)] >> (at & 31) & 1;
    if (layer == 1) return (i32)(short)(words[first + (at >> 1)] >> ((at & 1) * 16));
    return words[first + (at >> 2)] >> ((at & 3) * 8) & 0xff;
}

__device__ inline void edit_set(i32* words, u32 layer, u32 first, u32 at, i32 value) {
    u32 shift_bits = layer == 0 ? 5 : layer == 1 ? 1 : 2, bits = 32 >> shift_bits;
    u32 shift = (at & ((1u << shift_bits) - 1)) * bits, mask = (1u << bits) - 1;
    i32* word = words + first + (at >> shift_bits);
    *word = (i32)(((u32)*word & ~(mask << shift)) | ((u32)value & mask) << shift);
}

// Applies one. Returns whether it counts as one of the tick's.
__device__ inline bool edit_apply(const World& w, const Notification& n) {
    if (n.word_count != 3) return false;
    u32 layer = (u32)n.words[0], cell = (u32)n.words[1];
    if (layer > 2 || !w.edit_height[layer]) return false;
    u32 x = cell % w.edit_width[layer], y = cell / w.edit_width[layer];
    if (y >= w.edit_height[layer]) return false;
    i32 value = n.words[2];
    if (layer == 0) {
        value = value != 0;
    } else if (layer == 1) {
        value = min(max(value, -32768), 32767);
    } else {
        u32 number = 0;
        while (number < w.edit_tags && w.layers[w.edit_symbols + number] != value) number++;
        if (number == w.edit_tags) return false;
        value = (i32)number;
    }
    u32 first = w.edit_first[layer], at = y * w.edit_row[layer] + x;
    i32* words = const_cast<i32*>(w.layers);
    // With doors, the walls without them; those with them follow from them in the next tick.
    i32* own = layer == 0 && w.wall_words ? const_cast<i32*>(w.walls) : words;
    i32 before = edit_value(own, layer, first, at), base = edit_value(w.layers_base, layer, first, at);
    if (before == base && value != base && *w.edited >= w.edited_max) return false;
    *w.edited += (u32)(value != base) - (u32)(before != base);
    edit_set(own, layer, first, at, value);
    return true;
}

// One block: the threads look for edits, and the first applies them one after another.
KERNEL edits_apply(World w, Tick t) {
    __shared__ u32 is_edit[BLOCK];
    u64 count = t.counters->notified + t.counters->picked + t.counters->falls;
    u32 n = (u32)min(count, (u64)w.notifications_max), taken = 0;
    for (u32 first = 0; first < n; first += BLOCK) {
        u32 i = first + threadIdx.x;
        u32 is = i < n && t.notifications[i].kind == EDIT_KIND;
        // The flags of the round before are not read any more.
        if (!__syncthreads_or((int)is)) continue;
        is_edit[threadIdx.x] = is;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (u32 at = 0; at < BLOCK && taken < w.edits_max; at++) {
                if (is_edit[at]) taken += edit_apply(w, t.notifications[first + at]);
            }
        }
        __syncthreads();
    }
}
