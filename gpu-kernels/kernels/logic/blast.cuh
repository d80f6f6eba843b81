// Takes hit points from everyone around a point in reach, and leaves embers.
#pragma once
#include "logic/burn.cuh"

template <class Emit>
__device__ void blast(const World& w, const Invocation& in, Emit& emit) {
    Point center = point_of(w, in);
    if (!is_within(position(w, in.slot), center, w.blast_reach)) return;
    kindle(w, center, w.ember_ticks, emit);
    if (tells(w, NOTIFY_BLAST)) {
        Notification n = notification(w, NOTIFY_BLAST, in.slot, in.generation, center, w.blast_sound);
        n.word_count = (u8)w.dimensions;
        for (u32 axis = 0; axis < 3; axis++)
            if (axis < w.dimensions) n.words[axis] = center.p[axis];
        emit.notify(n);
    }
    hurt(w, center, in.slot, w.blast_damage, emit);
}
