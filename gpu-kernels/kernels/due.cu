// The tick's beginning: what the frame says of observers, clients and slots, and
// the commands that fall due by themselves.
#include "world.cuh"

KERNEL take_in(World w, Tick t) {
    u32 i = thread_index();
    if (i < t.observer_sets) w.observers[t.sets[i].place] = t.sets[i].observer;
    if (i < t.forgets) {
        w.known_counts[t.forget[i]] = 0;
        w.behind[t.forget[i]] = 0;
    }
    if (i < t.releases) {
        u32 slot = t.release[i];
        if (slot < w.capacity && w.states[slot] == RESTING) w.states[slot] = FREE;
        else atomicAdd(&t.counters->ignored, 1ull);
    }
    // The frame's own commands; those due follow them.
    if (i < t.frame_commands) t.commands[i] = t.frame[i];
}

// Rule after rule, each for its kind's entities by ascending slot.
__device__ inline bool is_due(const World& w, const Tick& t, u64 item) {
    if (item >= (u64)w.rules * w.capacity) return false;
    const Rule& rule = w.rule_table[item / w.capacity];
    u32 slot = (u32)(item % w.capacity);
    return w.states[slot] == LIVE && w.slot_kinds[slot] == rule.kind && ((u64)t.number + slot) % rule.ticks == 0;
}

KERNEL due_count(World w, Tick t) {
    bool due = is_due(w, t, (u64)blockIdx.x * BLOCK + threadIdx.x);
    add_once(&t.counters->due, put_partial(w, t, SCAN_DUE, due));
}

KERNEL due_store(World w, Tick t) {
    u64 item = (u64)blockIdx.x * BLOCK + threadIdx.x;
    bool due = is_due(w, t, item);
    u64 place = t.frame_commands + offset_of(w, t, SCAN_DUE, due);
    if (!due || place >= w.commands_max) return;
    u32 number = (u32)(item / w.capacity), slot = (u32)(item % w.capacity);
    const Rule& rule = w.rule_table[number];
    Command command;
    command.slot = slot;
    command.generation = w.generations[slot];
    command.sequence = number;
    command.word_start = rule.word_start | 0x80000000u;  // among the rules' words
    command.kind = (u16)rule.command;
    command.word_count = (u16)rule.word_count;
    t.commands[place] = command;
}

KERNEL due_end(World w, Tick t) {
    u64 total = t.frame_commands + t.counters->due;
    t.counters->commands = min(total, (u64)w.commands_max);
}
