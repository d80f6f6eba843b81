// Timed commands, which wait for their tick; `timed.rs` defines them. They are stored by
// column, in the order in which they were scheduled. A tick copies the commands that keep
// waiting into the other of two buffers and appends the new ones, so that neighbouring
// threads access neighbouring memory.
#pragma once
#include "tick/world.cuh"

enum TimedColumn : u32 {
    TIMED_DUE_LOW,
    TIMED_DUE_HIGH,
    TIMED_SEQUENCE_LOW,
    TIMED_SEQUENCE_HIGH,
    TIMED_SLOT,
    TIMED_GENERATION,
    TIMED_KIND,  // in the low 16 bits; the number of words above them
    TIMED_WORD,  // the first; the others follow
};
static_assert(TIMED_COLUMNS == TIMED_WORD + TIMED_WORDS_MAX, "as in Rust");

struct Timed {
    u32 column[TIMED_COLUMNS];

    __device__ Timed(u64 due, u32 slot, u32 generation, u32 kind, u32 word_count) : column{} {
        column[TIMED_DUE_LOW] = (u32)due;
        column[TIMED_DUE_HIGH] = (u32)(due >> 32);
        column[TIMED_SLOT] = slot;
        column[TIMED_GENERATION] = generation;
        column[TIMED_KIND] = kind | word_count << 16;
    }
    __device__ explicit Timed(const u32* columns, u64 stride, u64 place) {
        for (u32 c = 0; c < TIMED_COLUMNS; c++) column[c] = columns[c * stride + place];
    }
    __device__ void store(u32* columns, u64 stride, u64 place) const {
        for (u32 c = 0; c < TIMED_COLUMNS; c++) columns[c * stride + place] = column[c];
    }
    __device__ u32 kind() const { return column[TIMED_KIND] & 0xffffu; }
    __device__ u32 word_count() const { return column[TIMED_KIND] >> 16; }

    // The command's element of the state hash.
    __device__ u64 element() const {
        const u32* words = column + TIMED_WORD;
        u64 sequence = (u64)column[TIMED_SEQUENCE_HIGH] << 32 | column[TIMED_SEQUENCE_LOW];
        u64 due = (u64)column[TIMED_DUE_HIGH] << 32 | column[TIMED_DUE_LOW];
        u64 element = mix(7ull << 56 | due, sequence);
        element = mix(element, entity_bits(column[TIMED_SLOT], column[TIMED_GENERATION]));
        element = mix(element, (u64)words[0] << 32 | column[TIMED_KIND]);
        element = mix(element, (u64)words[2] << 32 | words[1]);
        return mix(element, (u64)words[4] << 32 | words[3]);
    }
};

// Schedules the n-th command of the tick, if there is room; returns what it adds to the hash.
__device__ inline u64 schedule(const World& w, const Tick& t, u64 n, Timed& timed) {
    u64 place = w.timed_state->len - t.counters->timed_due + n;
    if (place >= w.timed_max) return 0;
    u64 sequence = w.timed_state->next_sequence + n;
    timed.column[TIMED_SEQUENCE_LOW] = (u32)sequence;
    timed.column[TIMED_SEQUENCE_HIGH] = (u32)(sequence >> 32);
    timed.store(w.timed_next, w.timed_max, place);
    return timed.element();
}

// Adds elements to the hash, once per block. All threads of the block must call it.
__device__ inline void add_elements(const World& w, u64 element) {
    u64 sum = block_sum(element);
    if (threadIdx.x == 0 && sum) atomicAdd(&w.timed_state->hash, sum);
}
