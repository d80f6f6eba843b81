// Sorting by a warp.
#pragma once
#include "lib/types.cuh"

// Sorts up to `places` (a power of two) words in shared memory, by a warp.
__device__ inline void sort_words(u32* words, u32 n, u32 places) {
    for (u32 i = n + lane(); i < places; i += 32) words[i] = ~0u;
    __syncwarp();
    for (u32 size = 2; size <= places; size <<= 1)
        for (u32 stride = size >> 1; stride; stride >>= 1) {
            for (u32 pair = lane(); pair < places / 2; pair += 32) {
                u32 i = 2 * pair - (pair & (stride - 1)), j = i + stride;
                u32 a = words[i], b = words[j];
                bool ascending = (i & size) == 0;
                if ((a > b) == ascending) {
                    words[i] = b;
                    words[j] = a;
                }
            }
            __syncwarp();
        }
}
// Sorts a word of each lane.
__device__ inline u32 sort_word(u32 word) {
    for (u32 size = 2; size <= 32; size <<= 1)
        for (u32 stride = size >> 1; stride; stride >>= 1) {
            u32 other = __shfl_xor_sync(~0u, word, stride);
            bool ascending = (lane() & size) == 0, lower = (lane() & stride) == 0;
            word = (ascending == lower) ? min(word, other) : max(word, other);
        }
    return word;
}
