// Emits a notification around the entity.
#pragma once
#include "logic/invocation.cuh"

template <class Emit>
__device__ void shout(const World& w, const Invocation& in, Emit& emit) {
    if (!tells(w, NOTIFY_SHOUT)) return;
    i32 radius = min(max(in.words[0], 0), w.shout_radius_max);
    Notification n = notification(w, NOTIFY_SHOUT, in.slot, in.generation, position(w, in.slot), radius);
    n.word_count = 1;
    n.words[0] = in.words[1];
    emit.notify(n);
}
