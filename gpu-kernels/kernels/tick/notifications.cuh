// Notifications that game logic emits, for hearings or subscriptions; `output.rs` defines them.
#pragma once
#include "tick/world.cuh"

__device__ inline bool has_notification(const World& w, NotificationKind kind) { return w.notification_kinds >> kind & 1; }

// A notification about an entity, heard within a distance of a place along each axis. It
// has no words yet.
__device__ inline Notification notification(const World& w, NotificationKind kind, u32 slot, u32 generation,
                                            const Point& place, i32 distance) {
    Notification n = {slot, generation, (u16)kind, 0, 1, {0, 0, 0}, {1, 1, 1}, {}};
    for (u32 axis = 0; axis < 3; axis++) {
        if (axis >= w.dimensions) continue;
        n.low[axis] = place.p[axis] - distance;
        n.high[axis] = place.p[axis] + distance + 1;
    }
    return n;
}

// Stores the n-th notification of the tick, if there is room.
__device__ inline void tell(const World& w, const Tick& t, u64 n, const Notification& notification) {
    if (n < w.notifications_max) t.notifications[n] = notification;
}
