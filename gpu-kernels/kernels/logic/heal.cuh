// Gives hit points to one entity in reach.
#pragma once
#include "logic/invocation.cuh"

template <class Emit>
__device__ void heal(const World& w, const Invocation& in, Emit& emit) {
    u32 slot = target(w, in.slot, in.words[0], w.heal_reach, w.hp);
    if (slot < w.capacity) emit.update(slot, w.hp, w.heal_amount);
}
