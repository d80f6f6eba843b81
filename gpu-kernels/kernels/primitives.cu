// The tick's scan by itself, for measuring it.
#include "world.cuh"

KERNEL scan_sums(World w, Tick t, u32 n) {
    u32 i = thread_index();
    put_partial(w, t, SCAN_DUE, i < n ? w.values[i] : 0);
}
KERNEL scan_offsets(World w, Tick t, u32 n) {
    u32 i = thread_index();
    u64 offset = offset_of(w, t, SCAN_DUE, i < n ? w.values[i] : 0);
    if (i < n) w.keys[i] = (u32)offset;
}
