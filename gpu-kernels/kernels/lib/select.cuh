// The n-th smallest of the numbers that a warp visits, digit by digit.
#pragma once
#include "lib/types.cuh"

// `each(visit)` must call `visit(is_one, number)` on all lanes for the same numbers each
// time. Returns the `wanted`-th smallest (from 1) of the numbers, which have `BITS` bits;
// `wanted` becomes its rank among equal numbers. `histogram` is the warp's: 256 words of
// shared memory.
template <class N, int BITS, class Each>
__device__ N nth_smallest(u32* histogram, u32& wanted, Each each) {
    N prefix = 0;
    for (int shift = BITS - 8; shift >= 0; shift -= 8) {
        for (u32 i = lane(); i < 256; i += 32) histogram[i] = 0;
        __syncwarp();
        each([&](bool is_one, N number) {
            if (is_one && (shift == BITS - 8 || number >> (shift + 8) == prefix))
                atomicAdd(&histogram[number >> shift & 255], 1);
        });
        __syncwarp();
        u32 digit = 0;
        while (histogram[digit] < wanted) wanted -= histogram[digit++];
        prefix = prefix << 8 | digit;
        __syncwarp();
    }
    return prefix;
}
