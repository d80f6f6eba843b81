// A step by an offset, each axis clamped.
#pragma once
#include "logic/invocation.cuh"

template <class Emit>
__device__ void move(const World& w, const Invocation& in, Emit& emit) {
    for (u32 axis = 0; axis < in.word_count; axis++)
        emit.update(in.slot, axis, min(max(in.words[axis], -w.move_speed_max), w.move_speed_max));
}
