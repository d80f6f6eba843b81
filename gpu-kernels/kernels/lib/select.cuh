// The n-th smallest of the numbers that a warp visits, digit by digit.
#pragma once
#include "lib/types.cuh"

// Where the n-th smallest number is: among the `same` numbers whose bits from `shift` on are
// `prefix`, as the `wanted`-th of them (from 1).
template <class N>
struct Prefix {
    N prefix;
    int shift;
    u32 wanted, same;
};

// `each(visit)` must call `visit(is_one, number)` on all lanes for the same numbers each
// time; they have `bits` bits. Finds the prefix of the `wanted`-th smallest (from 1), until
// at most `few` numbers have it or it is the whole number. `histogram` is the warp's: 256
// words of shared memory.
template <class N, class Each>
__device__ Prefix<N> narrow_down(u32* histogram, u32 wanted, int bits, u32 few, Each each) {
    Prefix<N> found = {0, bits, wanted, ~0u};
    while (found.shift > 0 && found.same > few) {
        int width = min(8, found.shift), next = found.shift - width;
        for (u32 i = lane(); i < 256; i += 32) histogram[i] = 0;
        __syncwarp();
        each([&](bool is_one, N number) {
            if (is_one && (found.shift == bits || number >> found.shift == found.prefix))
                atomicAdd(&histogram[(u32)(number >> next) & ((1u << width) - 1)], 1);
        });
        __syncwarp();
        u32 digit = 0;
        while (histogram[digit] < found.wanted) found.wanted -= histogram[digit++];
        found = {found.prefix << width | (N)digit, next, found.wanted, histogram[digit]};
        __syncwarp();
    }
    return found;
}

// The `wanted`-th smallest (from 1) of numbers of `BITS` bits; `wanted` becomes its rank among
// equal numbers.
template <class N, int BITS, class Each>
__device__ N nth_smallest(u32* histogram, u32& wanted, Each each) {
    Prefix<N> found = narrow_down<N>(histogram, wanted, BITS, 0, each);
    wanted = found.wanted;
    return found.prefix;
}

// The same for the numbers of a warp's lanes, `n` each, below 2^bits above `base`. Numbers
// that don't count are ~0.
template <class N, int PER_LANE>
__device__ N nth_of_lanes(const N (&numbers)[PER_LANE], u32 wanted, N base, int bits) {
    N nth = base;
    for (int bit = bits - 1; bit >= 0; bit--) {
        N half = nth | (N)1 << bit;
        u32 below = 0;
        for (int i = 0; i < PER_LANE; i++) below += __popc(__ballot_sync(~0u, numbers[i] < half));
        if (below < wanted) nth = half;
    }
    return nth;
}
