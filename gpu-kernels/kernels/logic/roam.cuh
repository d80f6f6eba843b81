// A random step.
#pragma once
#include "logic/invocation.cuh"

template <class Emit>
__device__ void roam(const World& w, const Tick& t, const Invocation& in, Emit& emit) {
    Random random(w.seed, t.number, entity_bits(in.slot, in.generation));
    for (u32 axis = 0; axis < w.dimensions; axis++) emit.update(in.slot, axis, random.around_zero(w.roam_step));
}
