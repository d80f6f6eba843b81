// What the kernels of timed events are given.
// Written from the declarations in Rust: `cargo test layout` says how to renew it.
#pragma once
#include "lib/types.cuh"
constexpr u32 NEVER = 4294967295;

// How far a run is.
struct alignas(8) EventControl {
    // The least times of events, used by turns: this window's, the next one's, and
    // one that is made ready.
    u32 least[3];
    u32 turn;
    // Selected events, by turns.
    u32 selected[3];
    // Blocks that have left the launch.
    u32 arrived;
    u64 barrier;
    u64 events;
    u64 windows;
    u64 sums[2];
    // Clock cycles of block 0 in the steps of windows: selection, departures,
    // arrivals, each with the wait at its end.
    u64 cycles[3];
};
static_assert(sizeof(EventControl) == 96, "as in Rust");
static_assert(offsetof(EventControl, least) == 0 && offsetof(EventControl, turn) == 12 && offsetof(EventControl, selected) == 16, "as in Rust");
static_assert(offsetof(EventControl, arrived) == 28 && offsetof(EventControl, barrier) == 32 && offsetof(EventControl, events) == 40, "as in Rust");
static_assert(offsetof(EventControl, windows) == 48 && offsetof(EventControl, sums) == 56 && offsetof(EventControl, cycles) == 72, "as in Rust");

// A facility of a torus network: one sector of memory, since random accesses to
// sectors are what a window's time goes to.
struct alignas(32) FacilityRecord {
    u32 free_at;
    u32 services;
    // By channel, which brings at most one token a window: the stamp of the window
    // in which it did, so that slots need no clearing after it.
    u16 stamps[4];
    u32 tokens[4];
};
static_assert(sizeof(FacilityRecord) == 32, "as in Rust");
static_assert(offsetof(FacilityRecord, free_at) == 0 && offsetof(FacilityRecord, services) == 4 && offsetof(FacilityRecord, stamps) == 8, "as in Rust");
static_assert(offsetof(FacilityRecord, tokens) == 16, "as in Rust");

// A run of a torus network.
struct alignas(8) TorusRun {
    u64 seed;
    u32 side;
    u32 facilities;
    u32 tokens;
    u32 lookahead;
    // The mean of the part of a service that is drawn.
    u32 mean;
    u32 until;
    u32 windows_max;
    // Tokens of a block, a multiple of 4.
    u32 chunk;
    // By token: its next arrival.
    u32 *times;
    // By token: the facility × 4 + the channel of that arrival.
    u32 *places;
    FacilityRecord *records;
    // Places of the selected tokens; each block has its own range, or all have one.
    u32 *list;
    // By block: how many it has selected.
    u32 *partials;
    EventControl *control;
};
static_assert(sizeof(TorusRun) == 88, "as in Rust");
static_assert(offsetof(TorusRun, seed) == 0 && offsetof(TorusRun, side) == 8 && offsetof(TorusRun, facilities) == 12, "as in Rust");
static_assert(offsetof(TorusRun, tokens) == 16 && offsetof(TorusRun, lookahead) == 20 && offsetof(TorusRun, mean) == 24, "as in Rust");
static_assert(offsetof(TorusRun, until) == 28 && offsetof(TorusRun, windows_max) == 32 && offsetof(TorusRun, chunk) == 36, "as in Rust");
static_assert(offsetof(TorusRun, times) == 40 && offsetof(TorusRun, places) == 48 && offsetof(TorusRun, records) == 56, "as in Rust");
static_assert(offsetof(TorusRun, list) == 64 && offsetof(TorusRun, partials) == 72 && offsetof(TorusRun, control) == 80, "as in Rust");

// A run of PHOLD.
struct alignas(8) PholdRun {
    u64 seed;
    u32 processes;
    u32 events;
    u32 lookahead;
    // The mean of the part of a delay that is drawn.
    u32 mean;
    u32 remote_per_million;
    u32 until;
    // Bits of a sort key below the target.
    u32 time_bits;
    u32 padding;
    // By event.
    u32 *times;
    // By event: source, number, target.
    uint4 *bodies;
    // By process: events caused, clock.
    uint2 *states;
    // The window's events, to be sorted: one half of the next four.
    u64 *keys;
    u32 *values;
    u64 *sorted_keys;
    u64 *sorted_keys_spare;
    u32 *sorted_values;
    u32 *sorted_values_spare;
    // Events of the window, by turns.
    u64 *counts;
    EventControl *control;
};
static_assert(sizeof(PholdRun) == 128, "as in Rust");
static_assert(offsetof(PholdRun, seed) == 0 && offsetof(PholdRun, processes) == 8 && offsetof(PholdRun, events) == 12, "as in Rust");
static_assert(offsetof(PholdRun, lookahead) == 16 && offsetof(PholdRun, mean) == 20 && offsetof(PholdRun, remote_per_million) == 24, "as in Rust");
static_assert(offsetof(PholdRun, until) == 28 && offsetof(PholdRun, time_bits) == 32 && offsetof(PholdRun, padding) == 36, "as in Rust");
static_assert(offsetof(PholdRun, times) == 40 && offsetof(PholdRun, bodies) == 48 && offsetof(PholdRun, states) == 56, "as in Rust");
static_assert(offsetof(PholdRun, keys) == 64 && offsetof(PholdRun, values) == 72 && offsetof(PholdRun, sorted_keys) == 80, "as in Rust");
static_assert(offsetof(PholdRun, sorted_keys_spare) == 88 && offsetof(PholdRun, sorted_values) == 96 && offsetof(PholdRun, sorted_values_spare) == 104, "as in Rust");
static_assert(offsetof(PholdRun, counts) == 112 && offsetof(PholdRun, control) == 120, "as in Rust");

constexpr u64 EVENTS_LAYOUT_HASH = 0xfc9f05ebc7f2acbaull;
