// Notifications of items with a new owner, after the merge and before deaths. They are
// ordered by slot, since an item has one change of its owner.
#include "tick/notifications.cuh"

__device__ inline u32 new_owner(const World& w, const Tick& t, u32 i) {
    if (i >= t.counters->intervals || !w.interval_changed[i]) return w.capacity;
    u32 key = w.interval_keys[i];
    return key % w.columns == (u32)w.tells_owner ? resolve(w, w.rows[key]) : w.capacity;
}

KERNEL notifications_picks_count(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->intervals) return;
    bool picked = new_owner(w, t, thread_index()) < w.capacity;
    add_once(&t.counters->picked, put_partial(w, t, SCAN_PICKS, picked));
}

KERNEL notifications_picks_store(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= t.counters->intervals || !t.counters->picked) return;
    u32 i = thread_index();
    u32 owner = new_owner(w, t, i);
    u64 place = t.counters->notified + offset_of(w, t, SCAN_PICKS, owner < w.capacity);
    if (owner == w.capacity) return;
    u32 item = w.interval_keys[i] / w.columns;
    Notification n = notification(w, NOTIFY_PICKED, owner, w.generations[owner], position(w, item), 0);
    n.word_count = 1;
    n.words[0] = (i32)((w.generations[item] & 0xff) << 24 | (item & 0xffffff));
    tell(w, t, place, n);
}
