// Hooks: commands that the world gives by itself in the next tick.
#pragma once
#include "tick/timed.cuh"

// A reference to no entity.
constexpr i32 NOBODY_REFERENCE = -1;
__device__ inline i32 reference_to(u32 slot, u32 generation) {
    return (i32)((generation & 0xff) << 24 | (slot & 0xffffff));
}

__device__ inline bool is_given(const Hook& hook, u32 occasion, u32 kind) {
    return hook.occasion == occasion && (hook.kind == NOWHERE || hook.kind == kind);
}

// How many commands an occasion makes an entity of a kind give.
__device__ inline u32 hooks_of(const World& w, u32 occasion, u32 kind) {
    u32 n = 0;
    for (u32 i = 0; i < w.hook_count; i++) n += is_given(w.hooks[w.hook_first + i], occasion, kind);
    return n;
}

// Schedules them, the n-th command of the tick and those behind it; returns what they add to the
// hash of timed commands. `other` is a reference to the other entity of the occasion.
__device__ inline u64 give_hooks(const World& w, const Tick& t, u32 occasion, u32 kind, u32 slot, u32 generation, i32 other,
                                 u64 n) {
    u64 element = 0;
    for (u32 i = 0; i < w.hook_count; i++) {
        Hook hook = w.hooks[w.hook_first + i];
        if (!is_given(hook, occasion, kind)) continue;
        Timed timed(t.number + 1, slot, generation, hook.command, hook.has_other);
        if (hook.has_other) timed.column[TIMED_WORD] = (u32)other;
        element += schedule(w, t, n++, timed);
    }
    return element;
}

// How many commands the tick has scheduled once newborns and those who name them have.
__device__ inline u64 scheduled_by_births(const Tick& t) {
    return t.afters_asked + t.counters->afters + t.counters->born + t.counters->follow_ups;
}

// Updates the totals of timed commands, once all were scheduled; `crossings` of them by those that
// crossed the borders of zones.
__device__ inline void end_scheduling(const World& w, const Tick& t, u64 crossings) {
    if (!w.timed_max) return;
    TimedState& state = *w.timed_state;
    u64 stayed = state.len - t.counters->timed_due;
    u64 asked = scheduled_by_births(t) + t.counters->fall_acts + t.counters->reborn_acts + crossings;
    u64 kept = min(asked, w.timed_max - stayed);
    state.len = stayed + kept;
    state.next_sequence += kept;
    t.counters->timed = state.len;
    t.counters->timed_unscheduled = asked - kept;
    t.counters->hash[PART_TIMED] += state.hash + (state.next_sequence ? mix(8ull << 56, state.next_sequence) : 0);
}
