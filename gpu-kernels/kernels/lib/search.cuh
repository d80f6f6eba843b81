// Binary search.
#pragma once
#include "lib/types.cuh"

// The number of ascending keys below `key`: its place, or where it would be inserted.
template <class K>
__device__ inline u32 lower_bound(const K* keys, u32 n, K key) {
    u32 low = 0, high = n;
    while (low < high) {
        u32 middle = (low + high) >> 1;
        if (keys[middle] < key) low = middle + 1;
        else high = middle;
    }
    return low;
}
