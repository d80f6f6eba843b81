// What every kernel is given, and the small things that all of them use.
//
// `World` is passed by value, so it lies in constant memory. Its layout is
// `cuda/layout.rs`'s; `world_bytes` lets the host check that both agree.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

enum SlotState : u32 { FREE = 0, LIVE = 1, RESTING = 2 };
enum MergeRule : u32 { SUM = 0, MIN = 1, MAX = 2, FIRST = 3, LAST = 4 };
enum DeliveryKind : u32 { UPDATE = 0, ENTER = 1, LEAVE = 2 };
enum CommandKind : u32 { SPAWN, DESPAWN, MOVE, STRIKE, HEAL, BLAST, PICK, ROAM, BURN, SHOUT, COMMAND_KINDS };
// What becomes of a command: a kind, or one of these.
enum Verdict : u32 { MALFORMED = 0x100, STALE = 0x101 };

struct Command {
    u32 slot, generation, sequence, word_start;
    u16 kind, word_count;
};
// A command for a later tick.
struct After {
    u32 ticks;
    Command command;
};
// Of the commands that wait: how many, how many there ever were, and the sum of
// their elements of the state hash.
struct TimedState {
    u64 len, next_sequence, hash;
};
// tag: 0 none, 1 entity (a: slot, b: generation), 2 point (a, b, c).
struct Observer {
    u32 tag;
    i32 radius, a, b, c;
};
struct ObserverSet {
    u32 place;
    Observer observer;
};
struct Rule {
    u32 kind, ticks, command, word_start, word_count;
};
struct Birth {
    u32 token, kind, slot, generation;
};
// Something that happened; `word_count` of its words are there.
struct Notification {
    u32 slot, generation;
    u16 kind;
    u8 word_count, has_area;
    i32 low[3], high[3];
    i32 words[4];
};
struct Range {
    u32 start, end;
};

constexpr u32 CHUNKS_MAX = 8;
constexpr u32 TIMED_WORDS_MAX = 5;

// Where the parts stand in the state hash; the columns' follow.
enum Part { PART_SLOTS = 1, PART_OBSERVERS = 2, PART_KNOWN = 3, PART_TIMED = 4, PART_COLUMNS = 5 };

// Counted on the device during one tick, from zero.
struct Counters {
    u64 due, commands, applied, stale, malformed;
    u64 updates_total, updates, intervals, changes, entities;
    u64 free_slots, births_asked, births, deaths;
    u64 live, changed_live;
    u64 deliveries_total, deliveries, served, behind, ignored;
    u64 chunk_starts[CHUNKS_MAX];  // where each chunk of clients' deliveries begin
    u64 timed_due;                 // of `due`, those that waited
    u64 afters, respawns;          // what commands and the fallen schedule
    u64 timed, timed_dropped;
    u64 published;                 // entities that carry a publication
    u64 areas;                     // notifications that can be heard
    u64 hearings, hearings_dropped;
    u64 notified, picked, falls;   // what is told by commands, of items, of the fallen
    u64 fallen;
    u64 hash[PART_COLUMNS + 64];
};

struct World {
    // The world's configuration.
    u64 seed;
    u64 buckets[3];
    u64 updates_max, deliveries_max;
    u32 capacity, columns, dimensions, kinds;
    u32 clients, observers_per_client, visible_max, exact;
    u32 commands_max, rules, view_places, key_bits;
    i32 aoi, hp, owner, move_speed_max;
    i32 size[4];
    i32 strike_reach, strike_damage, heal_reach, heal_amount;
    i32 blast_reach, blast_radius, blast_damage, pick_reach;
    i32 roam_step, ember_ticks, ember_damage;
    u32 timed_max, respawns, rule_words;
    i32 blast_sound, shout_radius_max;
    u32 notifications_max;
    u32 tells;  // a bit for each kind of notification that the world has
    i32 word_counts[COMMAND_KINDS];  // -1: not in this world
    u32 rows_max;  // of buckets that an observer can touch: 3 or 9
    u32 scan_groups, directory_len, directory_shift;

    // Tables.
    const int2* bounds;         // kind × column
    const i32* defaults;        // kind × column
    const u64* kind_columns;    // kind
    const u32* merge_rules;     // column
    const u32* told;            // column
    const Rule* rule_table;
    const u32* respawn_ticks;   // kind; 0: never

    // State.
    i32* rows;
    u32* states;
    u32* generations;
    u32* slot_kinds;
    Observer* observers;
    u32* known;
    u32* known_counts;
    u8* behind;
    u32* timed;                 // column × timed_max
    TimedState* timed_state;

    // The index of the state's positions; `index_len` is one number.
    u64* index_keys;
    u32* index_slots;
    i32* index_positions;       // axis × capacity
    u64* index_len;
    u32* directory;             // where the keys reach n << directory_shift

    // Scratch.
    u32* visible;
    u32* visible_counts;
    u32* changed;               // stamps
    u32* verdicts;
    u32* update_counts;         // command
    u64* partials;
    u32* keys;
    u32* values;
    u32* interval_keys;
    u32* interval_starts;
    i64* interval_values;
    u32* interval_changed;
    u64* bucket_keys;
    u32* bucket_slots;
    u32* free_list;
    u32* died;                  // stamps
    u64* client_counts;
    Range* ranges;              // observer × row of buckets
    u32* changed_before;        // in the index
    u32* timed_next;            // as timed
    u32* after_counts;          // command
    u64* after_partials;
    u32* fallen;                // slot: the kind, or NOBODY
    i32* due_words;             // those of rules, then those of timed commands
    u32* notification_counts;   // command
    u64* notification_partials;
    u64* first_updates;         // slot × column: ~stamp, then the command; none: not kept
};

// One tick's own.
struct Tick {
    u32 number, stamp;
    u32 frame_commands, clients_used;
    u32 observer_sets, forgets, releases;
    u32 chunk_clients;          // how many make a chunk
    u32 client_first, client_end;  // whom a launch serves
    u32 afters, afters_asked;   // of the frame's: those that can have room, and all
    const Command* frame;
    const i32* words;
    const ObserverSet* sets;
    const u32* forget;
    const u32* release;
    const After* after;
    Command* commands;          // the frame's and those due
    Counters* counters;
    u64* scan_sums;             // scan × group of blocks
    Birth* births;
    i32* birth_rows;
    uint2* deaths;
    Notification* notifications;
    u32* change_slots;
    u32* change_offsets;
    u16* change_columns;
    i32* change_values;
    u16* change_causes;
    u32* delivery_offsets;
    u32* deliveries;
    u32* bucket_order;
    Range* bucket_ranges;
};

#define KERNEL extern "C" __global__ void
constexpr u32 BLOCK = 256;

__device__ inline u32 thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline u32 thread_count() { return gridDim.x * blockDim.x; }
__device__ inline u32 lane() { return threadIdx.x & 31; }

// Calls `visit(is_one, place)` on all lanes of a warp for the places of the ranges
// that its lanes hold, 32 at a time and in the lanes' order.
template <class Visit>
__device__ void each_place(Range own, Visit visit) {
    u32 end = own.end - own.start;
    for (int d = 1; d < 32; d <<= 1) {
        u32 other = __shfl_up_sync(~0u, end, d);
        if ((int)lane() >= d) end += other;
    }
    u32 total = __shfl_sync(~0u, end, 31), offset = own.end - end;
    for (u32 base = 0; base < total; base += 32) {
        u32 i = base + lane(), owner = 0;
        for (u32 half = 16; half; half >>= 1)
            if (i >= __shfl_sync(~0u, end, owner + half - 1)) owner += half;
        u32 place = __shfl_sync(~0u, offset, owner) + i;
        visit(i < total, place);
    }
}

// The hash and random numbers of shared/src/mix.rs.
__device__ inline u64 mix(u64 a, u64 b) {
    a ^= 0xa0761d6478bd642full;
    b ^= 0xe7037ed1a0b428dbull;
    return (a * b) ^ __umul64hi(a, b);
}

struct Random {
    u64 s[4];
    __device__ Random(u64 world_seed, u32 tick, u64 entity) {
        u64 x = ~mix(mix(world_seed, tick), entity);
        for (int i = 0; i < 4; i++) {
            x += 0x9e3779b97f4a7c15ull;
            u64 z = x;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
            s[i] = z ^ (z >> 31);
        }
    }
    __device__ static u64 rotate(u64 x, int k) { return (x << k) | (x >> (64 - k)); }
    __device__ u64 next() {
        u64 result = rotate(s[0] + s[3], 23) + s[0];
        u64 t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = rotate(s[3], 45);
        return result;
    }
    __device__ u32 below(u32 bound) { return (u32)(((next() >> 32) * (u64)bound) >> 32); }
    __device__ i32 around_zero(i32 reach) {
        reach = min(max(reach, 0), 1 << 30);
        return (i32)below(2 * (u32)reach + 1) - reach;
    }
};

__device__ inline u64 entity_bits(u32 slot, u32 generation) { return (u64)generation << 32 | slot; }

// Sums over a block; every thread gets the sum.
__device__ inline u64 block_sum(u64 value) {
    __shared__ u64 sums[32];
    for (int d = 16; d; d >>= 1) value += __shfl_down_sync(~0u, value, d);
    __syncthreads();
    if (lane() == 0) sums[threadIdx.x >> 5] = value;
    __syncthreads();
    u64 sum = 0;
    for (u32 i = 0; i < blockDim.x >> 5; i++) sum += sums[i];
    return sum;
}

// The sum of the values of the threads before this one in the block.
__device__ inline u64 block_exclusive(u64 value) {
    __shared__ u64 sums[32];
    u64 inclusive = value;
    for (int d = 1; d < 32; d <<= 1) {
        u64 other = __shfl_up_sync(~0u, inclusive, d);
        if (lane() >= d) inclusive += other;
    }
    __syncthreads();
    if (lane() == 31) sums[threadIdx.x >> 5] = inclusive;
    __syncthreads();
    u64 before = 0;
    for (u32 i = 0; i < threadIdx.x >> 5; i++) before += sums[i];
    return before + inclusive - value;
}

// A scan in two launches: the first leaves each block's sum, the second adds up
// those before it. Both must cut the items alike: one block, BLOCK items. Sums of
// groups of blocks keep the second from reading all partial sums before it.
enum Scan : u32 {
    SCAN_DUE,
    SCAN_UPDATES,
    SCAN_INTERVALS,
    SCAN_CHANGES,
    SCAN_FREE,
    SCAN_BIRTHS,
    SCAN_DEATHS,
    SCAN_LIVE,
    SCAN_DELIVERIES,
    SCAN_ORDER,
    SCAN_TIMED,
    SCAN_AFTERS,
    SCAN_RESPAWNS,
    SCAN_PUBLISHED,
    SCAN_AREAS,
    SCAN_HEARINGS,
    SCAN_NOTIFICATIONS,
    SCAN_PICKS,
    SCANS
};
constexpr u32 SCAN_GROUP = 256;

// Scans that overlap need partial sums of their own.
__device__ inline u64* partials_of(const World& w, Scan scan) {
    return scan == SCAN_AFTERS ? w.after_partials : scan == SCAN_NOTIFICATIONS ? w.notification_partials : w.partials;
}
// Every thread gets the block's sum.
__device__ inline u64 put_partial(const World& w, const Tick& t, Scan scan, u64 value) {
    u64 sum = block_sum(value);
    if (threadIdx.x == 0) {
        partials_of(w, scan)[blockIdx.x] = sum;
        if (sum) atomicAdd(&t.scan_sums[scan * w.scan_groups + blockIdx.x / SCAN_GROUP], sum);
    }
    return sum;
}
__device__ inline u64 offset_of(const World& w, const Tick& t, Scan scan, u64 value) {
    u32 group = blockIdx.x / SCAN_GROUP;
    u64 before = 0;
    for (u32 i = threadIdx.x; i < group; i += blockDim.x) before += t.scan_sums[scan * w.scan_groups + i];
    for (u32 i = group * SCAN_GROUP + threadIdx.x; i < blockIdx.x; i += blockDim.x)
        before += partials_of(w, scan)[i];
    return block_sum(before) + block_exclusive(value);
}

// Words with the highest bit set are not the frame's.
constexpr u32 DUE_WORDS = 0x80000000u;
__device__ inline const i32* words_of(const World& w, const Tick& t, const Command& c) {
    return c.word_start & DUE_WORDS ? w.due_words + (c.word_start & ~DUE_WORDS) : t.words + c.word_start;
}

// Adds to a counter, once a block: atomics on one address come one after the
// other. All threads of the block must call them.
__device__ inline void count(u64* counter, bool flag) {
    u32 n = __syncthreads_count(flag);
    if (threadIdx.x == 0 && n) atomicAdd(counter, (u64)n);
}
__device__ inline void add_once(u64* counter, u64 block_total) {
    if (threadIdx.x == 0 && block_total) atomicAdd(counter, block_total);
}

// Where the sorted bucket numbers reach `key`.
__device__ inline u32 lower_bound(const u64* keys, u32 n, u64 key) {
    u32 low = 0, high = n;
    while (low < high) {
        u32 middle = (low + high) >> 1;
        if (keys[middle] < key) low = middle + 1;
        else high = middle;
    }
    return low;
}

struct Point {
    i32 p[3];
};

// The live entity that a reference means, or capacity.
__device__ inline u32 resolve(const World& w, i32 reference) {
    u32 slot = (u32)reference & 0xffffffu;
    bool meant = slot < w.capacity && w.states[slot] == LIVE && (w.generations[slot] & 0xff) == (u32)reference >> 24;
    return meant ? slot : w.capacity;
}

__device__ inline i64 squared_distance(const Point& a, const Point& b) {
    i64 x = (i64)a.p[0] - b.p[0], y = (i64)a.p[1] - b.p[1], z = (i64)a.p[2] - b.p[2];
    return x * x + y * y + z * z;
}
__device__ inline bool is_within(const Point& a, const Point& b, i32 distance) {
    return squared_distance(a, b) <= (i64)distance * distance;
}
__device__ inline Point position(const World& w, u32 slot) {
    Point p = {{0, 0, 0}};
    for (u32 axis = 0; axis < w.dimensions; axis++) p.p[axis] = w.rows[(u64)slot * w.columns + axis];
    return p;
}
__device__ inline Point indexed_position(const World& w, u32 i) {
    Point p = {{w.index_positions[i], w.index_positions[w.capacity + i], 0}};
    if (w.dimensions == 3) p.p[2] = w.index_positions[2 * w.capacity + i];
    return p;
}

// A block of buckets, both ends included.
struct Block {
    u32 low[3], high[3];
};
__device__ inline u32 bucket_of(const World& w, int axis, i64 position) {
    i64 inside = min(max(position, (i64)0), (i64)w.size[axis] - 1);
    return (u32)inside / (u32)w.aoi;
}
__device__ inline Block block_around(const World& w, const Point& center, i32 reach) {
    Block block;
    for (int axis = 0; axis < 3; axis++) {
        block.low[axis] = bucket_of(w, axis, (i64)center.p[axis] - reach);
        block.high[axis] = bucket_of(w, axis, (i64)center.p[axis] + reach);
    }
    return block;
}
__device__ inline Block block_of_neighbours(const World& w, const Point& center) {
    Block block;
    for (int axis = 0; axis < 3; axis++) {
        u32 own = bucket_of(w, axis, center.p[axis]);
        block.low[axis] = own ? own - 1 : 0;
        block.high[axis] = min(own + 1, (u32)w.buckets[axis] - 1);
    }
    return block;
}
// Where the index reaches a bucket: the directory says it to within a few.
__device__ inline u32 bucket_start(const World& w, u64 key) {
    u32 entry = (u32)(key >> w.directory_shift);
    u32 start = w.directory[entry];
    if (w.directory_shift == 0) return start;
    u32 end = w.directory[entry + 1];
    return start + lower_bound(w.index_keys + start, end - start, key);
}
__device__ inline Range row_range(const World& w, const Block& b, u32 y, u32 z) {
    u64 row = ((u64)z * w.buckets[1] + y) * w.buckets[0];
    return {bucket_start(w, row + b.low[0]), bucket_start(w, row + b.high[0] + 1)};
}
