// The start of a tick: applies what the frame says about observers, clients and slots, and
// collects the commands that are due.
#include "tick/timed.cuh"

KERNEL apply_frame(World w, Tick t) {
    u32 i = thread_index();
    if (i < t.observer_sets) w.observers[t.sets[i].place] = t.sets[i].observer;
    if (i < t.forgets) {
        w.known_counts[t.forget[i]] = 0;
        w.behind[t.forget[i]] = 0;
    }
    if (i < t.releases) {
        u32 slot = t.release[i];
        u32 state = slot < w.capacity ? w.states[slot] : FREE;
        if (state == RESTING) w.states[slot] = FREE;
        else if (state == FALLEN) w.states[slot] = RESERVED;
        else atomicAdd(&t.counters->ignored_entries, 1ull);
    }
    // The frame's commands come first; due commands follow them.
    if (i < t.frame_commands) w.commands[i] = t.frame[i];
}

// Timed commands that are due follow the frame's; the others move up in the other buffer.
// The low bits tell ticks apart: no command waits for as long as they take to come again.
__device__ inline bool is_timed_due(const World& w, const Tick& t, u64 i) {
    return i < w.timed_state->len && w.timed[TIMED_DUE_LOW * (u64)w.timed_max + i] == (u32)t.number;
}

KERNEL due_timed_count(World w, Tick t) {
    if ((u64)blockIdx.x * BLOCK >= w.timed_state->len) return;
    bool due = is_timed_due(w, t, (u64)blockIdx.x * BLOCK + threadIdx.x);
    add_once(&t.counters->timed_due, put_partial(w, t, SCAN_TIMED, due));
}

KERNEL due_timed_store(World w, Tick t) {
    u64 len = w.timed_state->len;
    if ((u64)blockIdx.x * BLOCK >= len) return;
    u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
    bool due = is_timed_due(w, t, i);
    u64 before = offset_of(w, t, SCAN_TIMED, due);
    u64 element = 0;
    if (i < len) {
        Timed timed(w.timed, w.timed_max, i);
        if (!due) {
            timed.store(w.timed_next, w.timed_max, i - before);
        } else {
            element = timed.element();
            u64 place = t.frame_commands + before;
            if (place < w.commands_max) {
                u32 words = w.rule_words + (u32)before * TIMED_WORDS_MAX;
                for (u32 word = 0; word < TIMED_WORDS_MAX; word++)
                    w.due_words[words + word] = (i32)timed.column[TIMED_WORD + word];
                w.commands[place] = {timed.column[TIMED_SLOT],         timed.column[TIMED_GENERATION],
                                     timed.column[TIMED_SEQUENCE_LOW], words | DUE_WORDS,
                                     (u16)timed.kind(),                (u16)timed.word_count()};
            }
        }
    }
    add_elements(w, 0 - element);
}

// Schedules the commands that the server delays.
KERNEL due_delayed(World w, Tick t) {
    u32 i = thread_index();
    u64 element = 0;
    if (i < t.afters) {
        After after = t.after[i];
        const Command& c = after.command;
        Timed timed(t.number + after.ticks, c.slot, c.generation, c.kind, c.word_count);
        for (u32 word = 0; word < c.word_count; word++) timed.column[TIMED_WORD + word] = (u32)t.words[c.word_start + word];
        element = schedule(w, t, i, timed);
    }
    add_elements(w, element);
}

// Rule commands, ordered by rule, then by slot of the rule's kind of entity.
__device__ inline bool is_due(const World& w, const Tick& t, u64 item) {
    if (item >= (u64)w.rules * w.capacity) return false;
    const Rule& rule = w.rule_table[item / w.capacity];
    u32 slot = (u32)(item % w.capacity);
    bool has_turn = w.states[slot] == LIVE && w.slot_kinds[slot] == rule.kind && (t.number + slot) % rule.ticks == 0;
    return has_turn && (rule.ended_column < 0 || related(w, slot, rule.ended_column) == NOBODY);
}

KERNEL due_count(World w, Tick t) {
    bool due = is_due(w, t, (u64)blockIdx.x * BLOCK + threadIdx.x);
    add_once(&t.counters->due, put_partial(w, t, SCAN_DUE, due));
}

// Where the words of a rule's command begin. The slots of a rule that are due in a tick are
// `ticks` apart, so each finds room for words of its own.
__device__ inline u32 words_at_own_place(const World& w, const Rule& rule, u32 slot) {
    if (rule.own_place == NOWHERE) return rule.word_start;
    u32 start = rule.own_words + slot / rule.ticks * rule.word_count;
    for (u32 word = 0; word < rule.word_count; word++) {
        u32 axis = word - rule.own_place;  // wraps to a large number before the place
        bool is_own = axis < w.dimensions;
        w.due_words[start + word] = is_own ? w.rows[(u64)slot * w.columns + axis] : w.due_words[rule.word_start + word];
    }
    return start;
}

KERNEL due_store(World w, Tick t) {
    u64 item = (u64)blockIdx.x * BLOCK + threadIdx.x;
    bool due = is_due(w, t, item);
    u64 place = t.frame_commands + t.counters->timed_due + offset_of(w, t, SCAN_DUE, due);
    if (!due || place >= w.commands_max) return;
    u32 number = (u32)(item / w.capacity), slot = (u32)(item % w.capacity);
    const Rule& rule = w.rule_table[number];
    Command command;
    command.slot = slot;
    command.generation = w.generations[slot];
    command.sequence = number;
    command.word_start = words_at_own_place(w, rule, slot) | DUE_WORDS;
    command.kind = (u16)rule.command;
    command.word_count = (u16)rule.word_count;
    w.commands[place] = command;
}

KERNEL due_end(World w, Tick t) {
    t.counters->due += t.counters->timed_due;
    u64 total = t.frame_commands + t.counters->due;
    t.counters->commands = min(total, (u64)w.commands_max);
}
