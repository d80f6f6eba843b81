// The state hash, computed from the whole state; `state.rs` defines it. It is a sum, so the
// order doesn't matter.
#include "tick/observers.cuh"

KERNEL hash_slots(World w, Tick t) {
    u64 slots = 0;
    for (u32 slot = thread_index(); slot < w.capacity; slot += thread_count()) {
        u32 state = w.states[slot], generation = w.generations[slot];
        if (generation == 0 && state == FREE) continue;
        slots += mix(2ull << 56 | slot, (u64)generation | (u64)state << 32 | (u64)w.slot_kinds[slot] << 40);
        if (w.respawns && w.rebirth_due[slot]) slots += mix(13ull << 56 | slot, w.rebirth_due[slot]);
        for (u32 place = 0; place < w.resting; place++) {
            u64 ready = w.ready[(u64)slot * w.resting + place];
            if (ready) slots += mix(14ull << 56 | (u64)place << 32 | slot, ready);
        }
    }
    add_part(t, PART_SLOTS, slots);
    u64 tracks = 0;
    for (u32 slot = thread_index(); w.motion && slot < w.capacity; slot += thread_count()) {
        u32 glides = w.track_glides[slot];
        u64 words[3] = {0, 0, 0};
        for (u32 axis = 0; axis < w.dimensions; axis++) {
            u64 at = (u64)axis * w.capacity + slot;
            words[axis] = (u64)(u32)w.track_steps[at] << 32 | (u32)w.track_offsets[at];
        }
        if (!glides && !(words[0] | words[1] | words[2])) continue;
        u64 element = 12ull << 56 | (u64)glides << 32 | slot;
        for (u64 word : words) element = mix(element, word);
        tracks += element;
    }
    u64 kept = (u64)t.rewind_ticks * w.capacity * w.dimensions;
    for (u64 i = thread_index(); i < kept; i += thread_count())
        if (w.past[i]) tracks += mix(15ull << 56 | i, (u32)w.past[i]);
    add_part(t, PART_TRACKS, tracks);
    for (u32 column = 0; column < w.columns; column++) {
        u64 sum = 0;
        for (u32 slot = thread_index(); slot < w.capacity; slot += thread_count())
            if (w.states[slot] == LIVE) sum += mix(3ull << 56 | slot, (u32)w.rows[(u64)slot * w.columns + column]);
        add_part(t, PART_COLUMNS + column, sum);
    }
}

KERNEL hash_clients(World w, Tick t) {
    u64 observers = 0, known = 0;
    // The first part counts for all what every part has.
    u32 n = t.part == 0 ? w.clients * w.observers_per_client : 0;
    for (u32 i = thread_index(); i < n; i += thread_count()) {
        Observer o = w.observers[i];
        if (o.tag == 0) continue;
        u64 client = i / w.observers_per_client, index = i % w.observers_per_client;
        u64 place = mix(4ull << 56 | client << 8 | index, (u32)o.radius);
        if (o.tag == 1) observers += mix(place, entity_bits((u32)o.a, (u32)o.b));
        else observers += mix(mix(place, (u64)(u32)o.a << 32 | (u32)o.b), 1ull << 63 | (u32)o.c);
    }
    add_part(t, PART_OBSERVERS, observers);
    // One warp per client.
    for (u32 client = t.own_first + (thread_index() >> 5); client < t.own_end; client += thread_count() >> 5) {
        u32 count = w.visible_max ? w.known_counts[client] : 0;
        for (u32 i = lane(); i < count; i += 32)
            known += mix(5ull << 56 | client, slot_of(w.known[(u64)client * w.visible_max + i]));
        if (lane() == 0 && w.behind[client]) known += mix(6ull << 56, client);
    }
    add_part(t, PART_KNOWN, known);
}
