// The scan alone, for benchmarks.
#include "lib/scan.cuh"

KERNEL scan_sums(const u32* items, u32 n, u64* partials, u64* groups) {
    u32 i = thread_index();
    scan_put(partials, groups, i < n ? items[i] : 0);
}
KERNEL scan_offsets(const u32* items, u32 n, const u64* partials, const u64* groups, u32* offsets) {
    u32 i = thread_index();
    u64 offset = scan_offset(partials, groups, i < n ? items[i] : 0);
    if (i < n) offsets[i] = (u32)offset;
}
