// Takes hit points from one other entity in reach.
#pragma once
#include "logic/invocation.cuh"

template <class Emit>
__device__ void strike(const World& w, const Invocation& in, Emit& emit) {
    u32 slot = target(w, in.slot, in.words[0], w.strike_reach, w.hp);
    if (slot < w.capacity && slot != in.slot) emit.update(slot, w.hp, -w.strike_damage);
}
