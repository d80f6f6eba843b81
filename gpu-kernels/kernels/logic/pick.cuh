// Claims an item in reach that nobody owns, or puts down one's own.
#pragma once
#include "logic/invocation.cuh"

template <class Emit>
__device__ void pick(const World& w, const Invocation& in, Emit& emit) {
    u32 slot = target(w, in.slot, in.words[0], w.pick_reach, w.owner);
    if (slot == w.capacity) return;
    u32 present = resolve(w, w.rows[(u64)slot * w.columns + w.owner]);
    if (present == w.capacity) emit.update(slot, w.owner, (i32)((in.generation & 0xff) << 24 | (in.slot & 0xffffff)));
    else if (present == in.slot) emit.update(slot, w.owner, -1);
}
