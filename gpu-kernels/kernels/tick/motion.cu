// Entities that depart from their courses, as clients extrapolate them, get new ones. Every slot is
// checked: an entity that glides, and is not moved, also departs.
#include "tick/world.cuh"

__device__ inline bool is_near(const World& w, i32 a, i32 b) {
    i64 apart = (i64)a - b;
    return apart >= -(i64)w.tolerance && apart <= w.tolerance;
}

// Advances a living entity's track by one tick. True if it needs a new course.
__device__ inline bool advance(const World& w, u32 slot) {
    u32 glides = w.track_glides[slot];
    i32 steps[3], offsets[3];
    bool departs = false, steady = true, declared = w.velocity[0] >= 0, slow = true, moves = false;
#pragma unroll
    for (u32 axis = 0; axis < 3; axis++) {
        if (axis >= w.dimensions) break;
        u64 at = (u64)axis * w.capacity + slot;
        i32 here = w.rows[(u64)slot * w.columns + axis], last = w.last_positions[at], track = w.track_steps[at];
        i32 step = here - last;
        i64 expected = (i64)last + w.track_offsets[at] + (glides ? track : 0);
        i32 shown = (i32)min(max(expected, (i64)0), (i64)w.size[axis] - 1);
        departs |= !is_near(w, shown, here);
        steady &= is_near(w, step, track);
        declared &= w.velocity[axis] >= 0 && w.rows[(u64)slot * w.columns + w.velocity[axis]] == step;
        slow &= step >= -(i32)VELOCITY_MAX && step <= (i32)VELOCITY_MAX;
        moves |= step != 0;
        steps[axis] = step;
        offsets[axis] = shown - here;
        if (step) w.last_positions[at] = here;
    }
    if (departs) w.track_glides[slot] = (steady || declared) && slow && moves;
#pragma unroll
    for (u32 axis = 0; axis < 3; axis++) {
        if (axis >= w.dimensions) break;
        u64 at = (u64)axis * w.capacity + slot;
        if (departs || !glides) w.track_steps[at] = steps[axis];
        w.track_offsets[at] = departs ? 0 : offsets[axis];
    }
    return departs;
}

KERNEL motion_compare(World w, Tick t) {
    u32 slot = thread_index();
    bool departs = slot < w.capacity && w.states[slot] == LIVE && advance(w, slot);
    if (slot < w.capacity) w.departs[slot] = departs;
    if (departs) w.changed[slot] = t.stamp;
    add_once(&t.counters->courses, put_partial(w, t, SCAN_COURSES, departs));
}

KERNEL motion_store(World w, Tick t) {
    if (!t.counters->courses) return;
    u32 slot = thread_index();
    bool departs = slot < w.capacity && w.departs[slot];
    u64 place = offset_of(w, t, SCAN_COURSES, departs);
    if (!departs) return;
    t.course_slots[place] = slot;
    for (u32 axis = 0; axis < w.dimensions; axis++) {
        i32 step = w.track_steps[(u64)axis * w.capacity + slot];
        t.course_velocities[place * w.dimensions + axis] = w.track_glides[slot] ? step : 0;
    }
}
