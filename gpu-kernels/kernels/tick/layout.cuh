// What the tick's kernels are given.
// Written from the declarations in Rust: `cargo test layout` says how to renew it.
#pragma once
#include "lib/types.cuh"
constexpr u32 CHUNKS_MAX = 8;
constexpr u32 LEVELS_MAX = 20;
constexpr u32 TIMED_WORDS_MAX = 5;
constexpr u32 TIMED_COLUMNS = 12;
constexpr u32 BY_THE_SERVER = 4294967295;
constexpr u32 COMMANDS_MAX = 256;
constexpr u32 IS_COMMAND = 128;
constexpr u32 HAS_ACTOR = 64;
constexpr u32 IS_CLIENTS = 32;
constexpr u32 NO_REST = 255;
constexpr u32 VELOCITY_MAX = 524287;
constexpr u32 NOWHERE = 4294967295;
constexpr u32 TIER_BITS = 2;
constexpr u32 POPULATION_TOKEN = 4294967295;
constexpr u32 JOIN_TOKEN = 2147483648;
constexpr u32 ON_BIRTH = 0;
constexpr u32 ON_JOIN = 1;
constexpr u32 ON_FALL = 2;
constexpr u32 ON_BORDER = 3;
constexpr u32 BEGINS = 65536;
constexpr u32 KEPT = 2147483648;
constexpr u32 SPAWN_TRIES = 64;
constexpr u32 GIVEN_COMMANDS_MAX = 2;
constexpr u32 GIVEN_PER_COMMAND = 4;
constexpr u32 COLUMN_BITS = 7;
constexpr u32 FAR = 127;
constexpr u32 FAR_SHIFT = 28;
constexpr u32 NAMES_BITS = 1610612736;
constexpr u32 AGO_BITS = 24;
constexpr u32 FOLLOW_UP_BITS = 1879048192;
constexpr u32 FOLLOW_UP_NUMBER_BITS = 8;
constexpr u32 FOLLOW_UP_COUNT_BITS = 3;
constexpr u32 FOLLOW_UP_TICK_BITS = 20;
constexpr u32 FOLLOW_UP_SINCE_MAX = 4095;
constexpr u32 DELAY_TICKS_MAX = 1000000;
constexpr u32 WALL_SEARCH_CELLS = 2401;
constexpr u32 ATOMIC_KEYS = 8;
constexpr u32 ATOMIC_EFFECTS = 8;
constexpr u32 ATOMIC_THREADS_MIN = 20000;
enum SlotState : u32 {
    FREE = 0,
    LIVE = 1,
    RESTING = 2,
    FALLEN = 3,
    RESERVED = 4,
};
enum MergeRule : u32 {
    SUM = 0,
    MIN = 1,
    MAX = 2,
    FIRST = 3,
    LAST = 4,
    RULE_MASK = 7,
    HALF_LOW = 8,
    HALF_HIGH = 16,
};
enum DeliveryKind : u32 {
    UPDATE = 0,
    ENTER = 1,
    RENEW = 3,
    LEAVE = 2,
};
enum Verdict : u32 {
    MALFORMED = 256,
    STALE = 257,
    OVER_BUDGET = 258,
    OVER_PER_TICK = 259,
    RESTS = 260,
    IDLE = 261,
    REFUSED = 262,
    MOVED = 263,
    VALUES = 264,
    FOLLOW_UP = 265,
};
enum Refusal : u32 {
    REFUSED_IDLE = 0,
    REFUSED_DEAD = 1,
    REFUSED_OVER_PER_TICK = 2,
    REFUSED_RESTING = 3,
    REFUSED_BEYOND_LIMITS = 4,
    REFUSED_UNMET = 8,
    REFUSED_MOVED = 9,
};
enum CommandKind : u32 {
    SPAWN = 0,
    DESPAWN = 1,
};
enum NotificationKind : u32 {
    NOTIFY_FALL = 0,
    NOTIFY_PICKED = 1,
};
enum Part : u32 {
    PART_SLOTS = 1,
    PART_OBSERVERS = 2,
    PART_KNOWN = 3,
    PART_TIMED = 4,
    PART_TRACKS = 5,
    PART_COLUMNS = 6,
};
enum RegionHolder : u32 {
    CLIENT_REGION = 0,
    PUBLICATION = 1,
    SUBSCRIPTION = 2,
};
enum Scan : u32 {
    SCAN_DUE = 0,
    SCAN_UPDATES = 1,
    SCAN_INTERVALS = 2,
    SCAN_CHANGES = 3,
    SCAN_FREE = 4,
    SCAN_BIRTHS = 5,
    SCAN_FOLLOW_UPS = 6,
    SCAN_DEATHS = 7,
    SCAN_LIVE = 8,
    SCAN_DELIVERIES = 9,
    SCAN_ORDER = 10,
    SCAN_TIMED = 11,
    SCAN_AFTERS = 12,
    SCAN_FALLS = 13,
    SCAN_REBORN = 14,
    SCAN_ZONES = 15,
    SCAN_CROSSINGS = 16,
    SCAN_PUBLISHED = 17,
    SCAN_AREAS = 18,
    SCAN_HEARINGS = 19,
    SCAN_NOTIFICATIONS = 20,
    SCAN_PICKS = 21,
    SCAN_COURSES = 22,
    SCAN_REFUSED = 23,
    SCAN_ATOMIC_ORDER = 24,
    SCAN_ATOMIC_PAIRS = 25,
    SCAN_ATOMIC_HEADS = 26,
    SCAN_ATOMIC_LEFT = 27,
    SCAN_ATOMIC_FRESH = 28,
    SCAN_ATOMIC_AGAIN = 29,
    SCAN_ATOMIC_AFTERS = 30,
    SCAN_ATOMIC_NOTIFICATIONS = 31,
};

// A command of a frame.
struct alignas(4) Command {
    u32 slot;
    u32 generation;
    u32 sequence;
    u32 word_start;
    u16 kind;
    u16 word_count;
};
static_assert(sizeof(Command) == 20, "as in Rust");
static_assert(offsetof(Command, slot) == 0 && offsetof(Command, generation) == 4 && offsetof(Command, sequence) == 8, "as in Rust");
static_assert(offsetof(Command, word_start) == 12 && offsetof(Command, kind) == 16 && offsetof(Command, word_count) == 18, "as in Rust");

// A command for a later tick.
struct alignas(4) After {
    u32 ticks;
    Command command;
};
static_assert(sizeof(After) == 24, "as in Rust");
static_assert(offsetof(After, ticks) == 0 && offsetof(After, command) == 4, "as in Rust");

// A command that a command schedules; `kind` has the number of its words from bit 16 on.
struct alignas(4) AfterRecord {
    u32 ticks;
    u32 slot;
    u32 generation;
    u32 kind;
    i32 words[5];
};
static_assert(sizeof(AfterRecord) == 36, "as in Rust");
static_assert(offsetof(AfterRecord, ticks) == 0 && offsetof(AfterRecord, slot) == 4 && offsetof(AfterRecord, generation) == 8, "as in Rust");
static_assert(offsetof(AfterRecord, kind) == 12 && offsetof(AfterRecord, words) == 16, "as in Rust");

// Timed commands: how many wait, how many there ever were, and the sum of their
// elements of the state hash.
struct alignas(8) TimedState {
    u64 len;
    u64 next_sequence;
    u64 hash;
};
static_assert(sizeof(TimedState) == 24, "as in Rust");
static_assert(offsetof(TimedState, len) == 0 && offsetof(TimedState, next_sequence) == 8 && offsetof(TimedState, hash) == 16, "as in Rust");

// How many atomic commands wait for the next tick.
struct alignas(8) DeferredState {
    u64 len;
};
static_assert(sizeof(DeferredState) == 8, "as in Rust");
static_assert(offsetof(DeferredState, len) == 0, "as in Rust");

// An observer: tag 0 none, 1 an entity (a: slot, b: generation), 2 a point (a, b, c).
struct alignas(4) Observer {
    u32 tag;
    i32 radius;
    i32 a;
    i32 b;
    i32 c;
};
static_assert(sizeof(Observer) == 20, "as in Rust");
static_assert(offsetof(Observer, tag) == 0 && offsetof(Observer, radius) == 4 && offsetof(Observer, a) == 8, "as in Rust");
static_assert(offsetof(Observer, b) == 12 && offsetof(Observer, c) == 16, "as in Rust");

// Sets the observer at a place of the table.
struct alignas(4) ObserverSet {
    u32 place;
    Observer observer;
};
static_assert(sizeof(ObserverSet) == 24, "as in Rust");
static_assert(offsetof(ObserverSet, place) == 0 && offsetof(ObserverSet, observer) == 4, "as in Rust");

// When the entities of a kind fall: at this value of this column or below; never if
// `respawn_ticks` is 0.
struct alignas(4) Fall {
    u32 respawn_ticks;
    u32 column;
    i32 at;
};
static_assert(sizeof(Fall) == 12, "as in Rust");
static_assert(offsetof(Fall, respawn_ticks) == 0 && offsetof(Fall, column) == 4 && offsetof(Fall, at) == 8, "as in Rust");

// Where entities of a kind are born: form 0 anywhere, 1 within `radius` of `low`, 2 from
// `low` to `high`.
struct alignas(4) SpawnArea {
    u32 form;
    i32 radius;
    i32 low[3];
    i32 high[3];
};
static_assert(sizeof(SpawnArea) == 32, "as in Rust");
static_assert(offsetof(SpawnArea, form) == 0 && offsetof(SpawnArea, radius) == 4 && offsetof(SpawnArea, low) == 8, "as in Rust");
static_assert(offsetof(SpawnArea, high) == 20, "as in Rust");

// A column of a kind at birth: `value`, plus a random number below `drawn` unless that
// is 0. Where `listed` is above 0, one of so many `choices` from `value` on: a random
// one, or that whose turn it is where `drawn` is 0.
struct alignas(4) Initial {
    i32 value;
    u32 drawn;
    u32 listed;
};
static_assert(sizeof(Initial) == 12, "as in Rust");
static_assert(offsetof(Initial, value) == 0 && offsetof(Initial, drawn) == 4 && offsetof(Initial, listed) == 8, "as in Rust");

// A command that the entities of a kind give themselves. From `own_place` on, unless it
// is NOWHERE, its words are the position of the entity; such words begin at
// `own_words`, those of each slot whose turn it is one after the other.
struct alignas(4) Rule {
    u32 kind;
    u32 ticks;
    u32 command;
    u32 word_start;
    u32 word_count;
    u32 own_place;
    u32 own_words;
    // If only entities give it whose holder, or group, has ended: the column that refers to it;
    // else -1.
    i32 ended_column;
};
static_assert(sizeof(Rule) == 32, "as in Rust");
static_assert(offsetof(Rule, kind) == 0 && offsetof(Rule, ticks) == 4 && offsetof(Rule, command) == 8, "as in Rust");
static_assert(offsetof(Rule, word_start) == 12 && offsetof(Rule, word_count) == 16 && offsetof(Rule, own_place) == 20, "as in Rust");
static_assert(offsetof(Rule, own_words) == 24 && offsetof(Rule, ended_column) == 28, "as in Rust");

// A birth that was asked for; generation 0: there was no slot.
struct alignas(4) Birth {
    u32 token;
    u32 kind;
    u32 slot;
    u32 generation;
};
static_assert(sizeof(Birth) == 16, "as in Rust");
static_assert(offsetof(Birth, token) == 0 && offsetof(Birth, kind) == 4 && offsetof(Birth, slot) == 8, "as in Rust");
static_assert(offsetof(Birth, generation) == 12, "as in Rust");

// A command that had no effect; `reason` is the number of a refusal, and from bit 8 on that
// of a reason of the world, plus 1.
struct alignas(4) Refused {
    u32 slot;
    u32 generation;
    u32 sequence;
    u32 reason;
};
static_assert(sizeof(Refused) == 16, "as in Rust");
static_assert(offsetof(Refused, slot) == 0 && offsetof(Refused, generation) == 4 && offsetof(Refused, sequence) == 8, "as in Rust");
static_assert(offsetof(Refused, reason) == 12, "as in Rust");

// Something that happened; `word_count` of its words are there.
struct alignas(4) Notification {
    u32 slot;
    u32 generation;
    u16 kind;
    u8 word_count;
    u8 has_area;
    i32 low[3];
    i32 high[3];
    i32 words[8];
};
static_assert(sizeof(Notification) == 68, "as in Rust");
static_assert(offsetof(Notification, slot) == 0 && offsetof(Notification, generation) == 4 && offsetof(Notification, kind) == 8, "as in Rust");
static_assert(offsetof(Notification, word_count) == 10 && offsetof(Notification, has_area) == 11 && offsetof(Notification, low) == 12, "as in Rust");
static_assert(offsetof(Notification, high) == 24 && offsetof(Notification, words) == 36, "as in Rust");

// Counted on the device during one tick, from zero.
struct alignas(8) Counters {
    // Commands that fell due or that rules gave; `timed_due` of them waited.
    u64 due;
    u64 timed_due;
    // Slots of which the census is taken.
    u64 census;
    // By relation: slots that are sorted by holder or group: all, or none where each has the one
    // that it had.
    u64 held[5];
    // By ranking: how many entities it has.
    u64 ranked[8];
    // Buckets of the index that are crowded.
    u64 crowds;
    // Commands that are run or refused: at most `limits.commands_per_tick`.
    u64 commands;
    // Updates asked for, with those beyond the room.
    u64 updates_total;
    // Intervals of updates of one attribute.
    u64 intervals;
    // Entities with a change.
    u64 changed_entities;
    u64 free_slots;
    u64 births_asked;
    // Commands of clients that had no effect.
    u64 refused;
    // Living entities that changed in a way that clients may see.
    u64 changed_live;
    u64 deliveries_total;
    // Clients whose deliveries fit.
    u64 served;
    // Entries of the frame that named what isn't there.
    u64 ignored_entries;
    // Where each chunk of clients' deliveries begin.
    u64 chunk_starts[8];
    // Commands that commands and newborns schedule, and those that name newborns.
    u64 afters;
    u64 born;
    u64 follow_ups;
    // Entities that are born again in their own slots, and the commands that they
    // schedule.
    u64 reborn;
    u64 reborn_acts;
    // Commands that those who fell schedule, and those who crossed the borders of zones.
    u64 fall_acts;
    u64 zone_acts;
    // Zones, each with its carrier.
    u64 zones;
    u64 timed_unscheduled;
    // Entities that carry a publication.
    u64 published;
    // Notifications that can be heard.
    u64 areas;
    // Notifications by commands, by items with a new owner, by the fallen.
    u64 notified;
    u64 picked;
    u64 falls;
    u64 fallen;
    // Players that died, in worlds where accounts keep things.
    u64 left;
    // Atomic commands that ask for a turn; pairs of turn and key; entities that are keys.
    u64 atomic_asked;
    u64 atomic_pairs;
    u64 atomic_entities;
    // Turns in the queue; those that threads took by their number, and workers by waiting;
    // those that have ended.
    u64 atomic_tail;
    u64 atomic_first;
    u64 atomic_head;
    u64 atomic_done;
    // Not 0 if a worker timed out.
    u64 atomic_stuck;
    // Attributes that they left with another value, and those of them without an interval.
    u64 atomic_left;
    u64 atomic_fresh;
    // Turns whose commands come again; commands that find no room to wait.
    u64 atomic_again;
    u64 atomic_dropped;
    // What they schedule, and their notifications.
    u64 atomic_afters;
    u64 atomic_notified;
    // The part of the state hash of those that wait.
    u64 deferred_hash;
    // By number of a command: runs that used up their budget.
    u32 over_budget_of[256];
    // Likewise: runs with an index or a key that an array or a map lacks.
    u32 out_of_range_of[256];
    // The parts of the state hash.
    u64 hash[262];
    // Commands that were run: births, deaths and commands of rules too.
    u64 applied;
    // Commands of entities that are dead.
    u64 stale;
    // Commands that this world doesn't have, or with too few or too many words.
    u64 malformed;
    // Commands whose run used up its budget, so that it has no effect.
    u64 over_budget;
    // Commands beyond their `per_tick`.
    u64 over_per_tick;
    // Commands that rest after a use.
    u64 resting;
    // Atomic commands of which a condition did not hold, or a value did not fit.
    u64 atomic_refused;
    // Atomic commands whose references had changed by their turn, twice.
    u64 atomic_moved;
    // Atomic commands that wait for the next tick: beyond `limits.atomic_per_tick`, or since references had changed by their turn.
    u64 atomic_deferred;
    // Updates before merging.
    u64 updates;
    // Merged changes: (entity, attribute) pairs with a new value.
    u64 changes;
    // Courses: new velocities of entities, as sent to clients.
    u64 courses;
    // Entities that were born.
    u64 births;
    // Entities that died.
    u64 deaths;
    // Deliveries to clients: enter, update and leave.
    u64 deliveries;
    // Clients whose deliveries were deferred, for want of room in the tick.
    u64 clients_behind;
    // Entities alive after the tick.
    u64 entities;
    // Timed commands pending after the tick.
    u64 timed;
    // Fallen entities that are to be born again.
    u64 respawns;
    // Hearings: (client, notification) pairs.
    u64 hearings;
    // Hearings beyond `limits.client_hearings_per_tick`: the last of each client.
    u64 hearings_dropped;
};
static_assert(sizeof(Counters) == 4848, "as in Rust");
static_assert(offsetof(Counters, due) == 0 && offsetof(Counters, timed_due) == 8 && offsetof(Counters, census) == 16, "as in Rust");
static_assert(offsetof(Counters, held) == 24 && offsetof(Counters, ranked) == 64 && offsetof(Counters, crowds) == 128, "as in Rust");
static_assert(offsetof(Counters, commands) == 136 && offsetof(Counters, updates_total) == 144 && offsetof(Counters, intervals) == 152, "as in Rust");
static_assert(offsetof(Counters, changed_entities) == 160 && offsetof(Counters, free_slots) == 168 && offsetof(Counters, births_asked) == 176, "as in Rust");
static_assert(offsetof(Counters, refused) == 184 && offsetof(Counters, changed_live) == 192 && offsetof(Counters, deliveries_total) == 200, "as in Rust");
static_assert(offsetof(Counters, served) == 208 && offsetof(Counters, ignored_entries) == 216 && offsetof(Counters, chunk_starts) == 224, "as in Rust");
static_assert(offsetof(Counters, afters) == 288 && offsetof(Counters, born) == 296 && offsetof(Counters, follow_ups) == 304, "as in Rust");
static_assert(offsetof(Counters, reborn) == 312 && offsetof(Counters, reborn_acts) == 320 && offsetof(Counters, fall_acts) == 328, "as in Rust");
static_assert(offsetof(Counters, zone_acts) == 336 && offsetof(Counters, zones) == 344 && offsetof(Counters, timed_unscheduled) == 352, "as in Rust");
static_assert(offsetof(Counters, published) == 360 && offsetof(Counters, areas) == 368 && offsetof(Counters, notified) == 376, "as in Rust");
static_assert(offsetof(Counters, picked) == 384 && offsetof(Counters, falls) == 392 && offsetof(Counters, fallen) == 400, "as in Rust");
static_assert(offsetof(Counters, left) == 408 && offsetof(Counters, atomic_asked) == 416 && offsetof(Counters, atomic_pairs) == 424, "as in Rust");
static_assert(offsetof(Counters, atomic_entities) == 432 && offsetof(Counters, atomic_tail) == 440 && offsetof(Counters, atomic_first) == 448, "as in Rust");
static_assert(offsetof(Counters, atomic_head) == 456 && offsetof(Counters, atomic_done) == 464 && offsetof(Counters, atomic_stuck) == 472, "as in Rust");
static_assert(offsetof(Counters, atomic_left) == 480 && offsetof(Counters, atomic_fresh) == 488 && offsetof(Counters, atomic_again) == 496, "as in Rust");
static_assert(offsetof(Counters, atomic_dropped) == 504 && offsetof(Counters, atomic_afters) == 512 && offsetof(Counters, atomic_notified) == 520, "as in Rust");
static_assert(offsetof(Counters, deferred_hash) == 528 && offsetof(Counters, over_budget_of) == 536 && offsetof(Counters, out_of_range_of) == 1560, "as in Rust");
static_assert(offsetof(Counters, hash) == 2584 && offsetof(Counters, applied) == 4680 && offsetof(Counters, stale) == 4688, "as in Rust");
static_assert(offsetof(Counters, malformed) == 4696 && offsetof(Counters, over_budget) == 4704 && offsetof(Counters, over_per_tick) == 4712, "as in Rust");
static_assert(offsetof(Counters, resting) == 4720 && offsetof(Counters, atomic_refused) == 4728 && offsetof(Counters, atomic_moved) == 4736, "as in Rust");
static_assert(offsetof(Counters, atomic_deferred) == 4744 && offsetof(Counters, updates) == 4752 && offsetof(Counters, changes) == 4760, "as in Rust");
static_assert(offsetof(Counters, courses) == 4768 && offsetof(Counters, births) == 4776 && offsetof(Counters, deaths) == 4784, "as in Rust");
static_assert(offsetof(Counters, deliveries) == 4792 && offsetof(Counters, clients_behind) == 4800 && offsetof(Counters, entities) == 4808, "as in Rust");
static_assert(offsetof(Counters, timed) == 4816 && offsetof(Counters, respawns) == 4824 && offsetof(Counters, hearings) == 4832, "as in Rust");
static_assert(offsetof(Counters, hearings_dropped) == 4840, "as in Rust");

// A region: tag 0 none, 1 fixed, 2 follows an entity.
struct alignas(4) Region {
    u32 tag;
    u32 slot;
    u32 generation;
    i32 low[3];
    i32 high[3];
};
static_assert(sizeof(Region) == 36, "as in Rust");
static_assert(offsetof(Region, tag) == 0 && offsetof(Region, slot) == 4 && offsetof(Region, generation) == 8, "as in Rust");
static_assert(offsetof(Region, low) == 12 && offsetof(Region, high) == 24, "as in Rust");

// A change of a region. `repeats` more of its holder's went before it in the frame.
struct alignas(4) RegionSet {
    u32 holder;
    u32 place;
    u32 generation;
    u32 repeats;
    Region region;
};
static_assert(sizeof(RegionSet) == 52, "as in Rust");
static_assert(offsetof(RegionSet, holder) == 0 && offsetof(RegionSet, place) == 4 && offsetof(RegionSet, generation) == 8, "as in Rust");
static_assert(offsetof(RegionSet, repeats) == 12 && offsetof(RegionSet, region) == 16, "as in Rust");

// Cells for boxes of about one size.
struct alignas(8) Level {
    u64 base;
    u32 edge;
    u32 cells[3];
};
static_assert(sizeof(Level) == 24, "as in Rust");
static_assert(offsetof(Level, base) == 0 && offsetof(Level, edge) == 8 && offsetof(Level, cells) == 12, "as in Rust");

// Boxes by level and cell.
struct alignas(8) BoxIndex {
    u64 *keys;
    u64 *keys_spare;
    u32 *numbers;
    u32 *numbers_spare;
    // Six edges an entry, sorted.
    i32 *boxes;
    // By level: its first entry; and how many entries there are.
    u32 *starts;
    // As they are before the sort.
    u64 *given_keys;
    u32 *given_numbers;
};
static_assert(sizeof(BoxIndex) == 64, "as in Rust");
static_assert(offsetof(BoxIndex, keys) == 0 && offsetof(BoxIndex, keys_spare) == 8 && offsetof(BoxIndex, numbers) == 16, "as in Rust");
static_assert(offsetof(BoxIndex, numbers_spare) == 24 && offsetof(BoxIndex, boxes) == 32 && offsetof(BoxIndex, starts) == 40, "as in Rust");
static_assert(offsetof(BoxIndex, given_keys) == 48 && offsetof(BoxIndex, given_numbers) == 56, "as in Rust");

// The cells along `x` and `y` that entities of a kind block while the column is not 0: NOWHERE:
// always. 0 cells: none.
struct alignas(4) Door {
    u32 cells[2];
    u32 closed;
};
static_assert(sizeof(Door) == 12, "as in Rust");
static_assert(offsetof(Door, cells) == 0 && offsetof(Door, closed) == 8, "as in Rust");

// A zone: a disc within `radius` of `low` if `form` is 1, else a box with both corners;
// as seen from its carrier, if it has one. `number` is that of the world file.
struct alignas(4) Zone {
    u32 form;
    i32 radius;
    i32 low[3];
    i32 high[3];
    // The kind of its carriers, or NOWHERE.
    u32 carrier;
    u32 number;
};
static_assert(sizeof(Zone) == 40, "as in Rust");
static_assert(offsetof(Zone, form) == 0 && offsetof(Zone, radius) == 4 && offsetof(Zone, low) == 8, "as in Rust");
static_assert(offsetof(Zone, high) == 20 && offsetof(Zone, carrier) == 32 && offsetof(Zone, number) == 36, "as in Rust");

// Where an entity was; generation 0: there was none.
struct alignas(4) ZonePlace {
    u32 generation;
    i32 place[3];
};
static_assert(sizeof(ZonePlace) == 16, "as in Rust");
static_assert(offsetof(ZonePlace, generation) == 0 && offsetof(ZonePlace, place) == 4, "as in Rust");

// A place of the table of zones, and the slot of who carries it, plus 1; or 0.
struct alignas(4) PlacedZone {
    u32 zone;
    u32 carrier;
};
static_assert(sizeof(PlacedZone) == 8, "as in Rust");
static_assert(offsetof(PlacedZone, zone) == 0 && offsetof(PlacedZone, carrier) == 4, "as in Rust");

// A command that entities of a kind, or of all where it is NOWHERE, give on an occasion.
// `has_other` is 1 if it names another entity in a word.
struct alignas(4) Hook {
    u32 occasion;
    u32 kind;
    u32 command;
    u32 has_other;
};
static_assert(sizeof(Hook) == 16, "as in Rust");
static_assert(offsetof(Hook, occasion) == 0 && offsetof(Hook, kind) == 4 && offsetof(Hook, command) == 8, "as in Rust");
static_assert(offsetof(Hook, has_other) == 12, "as in Rust");

// Regions, and how the world's boxes are sorted; all 0 in worlds that have none.
struct alignas(8) Regions {
    u32 per_client;
    // 1 where entities may carry regions, else 0.
    u32 of_entities;
    u32 levels;
    // Notifications that one client may hear; as many as a sort of them needs.
    u32 hearings_max;
    u32 hearing_places;
    u32 padding;
    // By kind: six edges, those of the publication first; or 0.
    const i32 *newborn;
    Region *clients;
    // By slot.
    Region *publications;
    Region *subscriptions;
    BoxIndex published;
    BoxIndex areas;
    // By client: numbers of notifications, `hearings_max` each.
    u32 *heard;
    u32 *heard_counts;
    // Zones that stay where they are come first.
    u32 zones_fixed;
    u32 zones_carried;
    const Zone *zone_table;
    // By slot: where its entity was after the tick before.
    ZonePlace *zone_places;
    // By slot: how many commands its crossings give.
    u32 *zone_acts;
    // Zones and their carriers, and where they are: before the tick, and after it.
    BoxIndex zones_before;
    BoxIndex zones_now;
    PlacedZone *placed_before;
    PlacedZone *placed_now;
    PlacedZone *placed_zones;
    PlacedZone *placed_zones_spare;
    Level level[20];
};
static_assert(sizeof(Regions) == 872, "as in Rust");
static_assert(offsetof(Regions, per_client) == 0 && offsetof(Regions, of_entities) == 4 && offsetof(Regions, levels) == 8, "as in Rust");
static_assert(offsetof(Regions, hearings_max) == 12 && offsetof(Regions, hearing_places) == 16 && offsetof(Regions, padding) == 20, "as in Rust");
static_assert(offsetof(Regions, newborn) == 24 && offsetof(Regions, clients) == 32 && offsetof(Regions, publications) == 40, "as in Rust");
static_assert(offsetof(Regions, subscriptions) == 48 && offsetof(Regions, published) == 56 && offsetof(Regions, areas) == 120, "as in Rust");
static_assert(offsetof(Regions, heard) == 184 && offsetof(Regions, heard_counts) == 192 && offsetof(Regions, zones_fixed) == 200, "as in Rust");
static_assert(offsetof(Regions, zones_carried) == 204 && offsetof(Regions, zone_table) == 208 && offsetof(Regions, zone_places) == 216, "as in Rust");
static_assert(offsetof(Regions, zone_acts) == 224 && offsetof(Regions, zones_before) == 232 && offsetof(Regions, zones_now) == 296, "as in Rust");
static_assert(offsetof(Regions, placed_before) == 360 && offsetof(Regions, placed_now) == 368 && offsetof(Regions, placed_zones) == 376, "as in Rust");
static_assert(offsetof(Regions, placed_zones_spare) == 384 && offsetof(Regions, level) == 392, "as in Rust");

// The world's configuration, tables, state and scratch.
struct alignas(8) World {
    u64 seed;
    // Of the places of births.
    u64 spawn_seed;
    // On each axis.
    u64 buckets[3];
    u64 updates_max;
    u64 deliveries_max;
    // Squared distances at which tiers end, but the last.
    u64 tiers[3];
    // A bit for each number of a notification that the world has.
    u64 notification_kinds;
    u32 capacity;
    u32 columns;
    u32 dimensions;
    u32 kinds;
    u32 clients;
    u32 observers_per_client;
    u32 visible_max;
    u32 exact;
    u32 commands_max;
    u32 rules;
    // Places in which what a client sees is sorted: a power of two.
    u32 view_places;
    // Bits of an update's key.
    u32 key_bits;
    i32 aoi;
    // By how much known entities count as nearer.
    i32 margin;
    // Bits of the largest rank.
    i32 rank_bits;
    i32 size[4];
    u32 timed_max;
    // 1 where any kind respawns, else 0.
    u32 respawns;
    // Words of all rules, for all entities.
    u32 rule_words;
    u32 notifications_max;
    // The column whose new owners get a notification, or -1.
    i32 tells_owner;
    // Rows of buckets that an observer can touch: at most 25.
    u32 rows_max;
    u32 scan_groups;
    u32 directory_len;
    // Buckets of an entry of the directory, as a power of two.
    u32 directory_shift;
    // 1 where movement is sent as courses, else 0.
    u32 motion;
    // How far entities may be from their courses.
    i32 tolerance;
    // By axis: the column that says how far an entity goes in a tick, or -1.
    i32 velocity[4];
    // How many commands rest after a use.
    u32 resting;
    // Where crowded buckets are sorted by cell: the windows of the index, else 0.
    u32 crowds;
    // Cells of a bucket on an axis, as a power of two, and the edge of a cell.
    u32 cell_bits;
    u32 cell_edge;
    // By number of a command: how many words it has, and bits, as `IS_COMMAND`.
    u8 forms[256];
    // By number of a command: how often an entity may be made to give it in a tick, or 0.
    u8 per_tick[256];
    // By number of a command: its place among those that rest after a use, or `NO_REST`.
    u8 rest_places[256];
    // A bit for each number of a command that is atomic.
    u64 atomic_kinds[4];
    // Likewise of one that can say why it has no effect.
    u64 reasoned_kinds[4];
    // The most atomic commands of a tick, and the most that wait for the next one.
    u32 atomic_max;
    u32 deferred_max;
    // Where the words of those that waited begin in `due_words`.
    u32 deferred_base;
    // The hooks in force: so many entries of `hooks`, from the first one on.
    u32 hook_first;
    u32 hook_count;
    // The slot of what the whole world shares, which is nowhere, or NOWHERE.
    u32 shared_slot;
    // Its kind, or NOWHERE.
    u32 shared_kind;
    // 0 in worlds without zones, 2 where hooks watch their borders, else 1.
    u32 zoned;
    // Of the cells of walls: the edge and a row of the list, as powers of two, how many there
    // are along `x` and `y`, and where entities go if none near is free. 0 without walls.
    u32 wall_edge_bits;
    u32 wall_row_bits;
    i32 wall_cells[2];
    i32 wall_refuge[2];
    // The words with the bits of walls, in worlds whose entities block cells, else 0.
    u32 wall_words;
    // How many fields there are, and 1 where leaving a cell costs what its tag says.
    u32 field_count;
    u32 field_tagged;
    // The column with the holders of things, or -1 in worlds without things.
    i32 holder_column;
    // The players' kind, with whom what accounts keep ends; NOWHERE where they keep no things.
    u32 keeping_kind;
    u32 padding;
    // The columns whose bits hide entities and reveal them, or -1.
    i32 hides;
    i32 reveals;
    // 1 where walls hide what is behind them, else 0.
    u32 line_of_sight;
    // 1 where any of these hides entities within reach, else 0.
    u32 conceals;
    // How many cells of layers scripts can change in a tick, and how many can differ from the
    // file's. By layer, as edits name them: its first word, the cells of its rows in the list and
    // in the world, and its rows, which are 0 if scripts can't change it.
    u32 edits_max;
    u32 edited_max;
    u32 edit_first[3];
    u32 edit_row[3];
    u32 edit_width[3];
    u32 edit_height[3];
    // Where the symbols of tags begin in the list, and how many there are, with that of none.
    u32 edit_symbols;
    u32 edit_tags;
    // Tables: by kind and column.
    const int2 *bounds;
    const Initial *initials;
    // The values of which births choose.
    const i32 *choices;
    // By kind: the columns that it has, 64 of them as bits in each number.
    const u64 *kind_columns;
    // By column; beside the rule, which half of a number of 64 bits it has.
    const u32 *merge_rules;
    // By column of a low half: the least and the greatest number.
    const i64 *wide_bounds;
    // By column: 1 where its changes are sent to clients.
    const u32 *visible_columns;
    const Rule *rule_table;
    // The words of layers: first the bits of walls.
    const i32 *layers;
    // The same bits of walls without the cells of doors, and by kind, the cells that its
    // entities block; both in worlds with doors.
    const i32 *walls;
    const Door *doors;
    // The words of layers as the file has them, in worlds whose scripts change cells.
    const i32 *layers_base;
    // The words of fields: the steps that are in force, field by field.
    const i32 *fields;
    // By field and tag: what it costs to leave a cell. By cell: its tag. By field: the goals that
    // stay the same, as bits of cells.
    const u8 *field_costs;
    const u8 *field_tags;
    const u32 *field_goals;
    // By kind.
    const Fall *falls;
    // By kind: 1 where accounts keep its things.
    const u32 *kept_kinds;
    // By kind: where its entities are born again.
    const SpawnArea *spawn_areas;
    // The commands that the world gives by itself, twice: ticks in flight keep theirs.
    const Hook *hooks;
    // By command that rests: for how many ticks.
    const u32 *rests;
    // State: by slot and column.
    i32 *rows;
    u32 *states;
    u32 *generations;
    u32 *slot_kinds;
    // By slot: whether clients take its entity to go on, by how much each tick, and how
    // far from its place they take it to be; the latter two by axis, then slot.
    u32 *track_glides;
    i32 *track_steps;
    i32 *track_offsets;
    // By place in the ring of the ticks that are kept, slot and axis: a coordinate plus 1,
    // or 0.
    i32 *past;
    // By slot of an entity that is to be born again: the first tick in which it may be. Of a
    // living one that fell, and has hooks for it: the tick in which it dies; else 0.
    u64 *rebirth_due;
    // By slot, then by command that rests: the first tick in which it may be used again.
    u64 *ready;
    // By field, as bits of cells: goals and doors of what is in force, and of what is under way.
    u32 *field_sets;
    // How many cells of layers differ from the file's.
    u32 *edited;
    Observer *observers;
    // By client: the slots that it knows, ascending, each with a tier in the lowest bits.
    u32 *known;
    u32 *known_counts;
    // By client: whether its deliveries were deferred.
    u8 *behind;
    // The commands that wait, column by column, `timed_max` each.
    u32 *timed;
    TimedState *timed_state;
    // Atomic commands that wait for the next tick, in order, their words, and whether a
    // frame gave them (1) and references had changed (2).
    Command *deferred;
    i32 *deferred_words;
    u32 *deferred_flags;
    DeferredState *deferred_state;
    // The index of the state's positions, by bucket.
    u64 *index_keys;
    u64 *index_keys_spare;
    u32 *index_slots;
    u32 *index_slots_spare;
    // By axis, then place.
    i32 *index_positions;
    u64 *index_len;
    // Where the keys reach n << directory_shift.
    u32 *directory;
    // Crowded buckets by cell: slots and positions at their bucket's places in the index.
    u32 *crowd_slots;
    // By axis, then place.
    i32 *crowd_positions;
    // By window of the index, then cell of the bucket that begins there: where it starts.
    u32 *crowd_starts;
    // By kind, and at last: where its living entities begin in `census_slots`, as they are at
    // the start of a tick whose scripts ask for them. The kinds of all slots, with one more for
    // the dead, are sorted in what the index and the list of free slots don't need before.
    u32 *census_starts;
    u32 *census_keys;
    u32 *census_given_keys;
    u32 *census_slots;
    u32 *census_given_slots;
    // By ranking and place: the slot. By ranking and slot: the place, from 1 on, of entities of
    // the ranking's kind. Of those of which scripts ask, likewise of the start of the tick.
    u32 *standing_slots;
    u32 *standing_ranks;
    // By relation, then by slot, and at last: where the things of a holder, or the members of a
    // group, begin among those of the relation in `held_slots`, as they are at the start of a tick
    // whose scripts ask for them. By relation and slot of a thing or member: its holder or group
    // when they were sorted last; those of all slots are sorted where kinds are for the census.
    u32 *held_starts;
    u32 *held_slots;
    u32 *held_by;
    // By field and cell: the distance of what is under way. By field and tile: not 0 if distances
    // there may still fall. By round, modulo 2, the tiles to look at; modulo 3, how many.
    u32 *field_distances;
    u32 *field_dirty;
    u32 *field_list;
    u32 *field_listed;
    // Scratch: what clients see in this tick; it is what they know in the next.
    u32 *visible;
    u32 *visible_counts;
    // By client: room for finding and comparing large views.
    u32 *views;
    // By slot: the stamp of the tick that changed it last.
    u32 *changed;
    // By axis, then slot: where its entity was before the tick.
    i32 *last_positions;
    // By axis, then slot: where its entity was before the tick, in worlds with walls.
    i32 *wall_places;
    // By slot: the stamp of the last tick in which several updates moved it along an axis.
    u32 *several;
    // By slot: whether its entity departs from its course.
    u32 *departs;
    // The frame's commands, and those due; behind them atomic ones that waited.
    Command *commands;
    // By command: its kind, or a `Verdict`.
    u32 *verdicts;
    // By command that can say why it has no effect, those that waited too: the number of the
    // reason, plus 1, or 0.
    u32 *reasons;
    // By command: its place among those of its kind; then, of a birth, its slot, or NOWHERE.
    u32 *group_places;
    // By number of a command: where its commands begin in `group_order`; at last, where
    // all end.
    u32 *group_starts;
    // The commands to run, by kind.
    u32 *group_order;
    // By command: its updates, and where they begin; or NOWHERE.
    u32 *update_counts;
    u32 *update_offsets;
    u64 *partials;
    // Where updates are stored, and what is sorted.
    u32 *keys;
    u32 *values;
    u32 *update_keys;
    u32 *update_keys_spare;
    u32 *update_values;
    u32 *update_values_spare;
    // By interval of updates of one attribute.
    u32 *interval_keys;
    u32 *interval_starts;
    i64 *interval_values;
    u32 *interval_changed;
    // The index before it is sorted.
    u64 *bucket_keys;
    u32 *bucket_slots;
    u32 *free_list;
    // By slot: the stamp of the tick in which it died last.
    u32 *died;
    // By slot: likewise of a player that died last, and of a thing that died with one; in worlds
    // where accounts keep things.
    u32 *left;
    u32 *kept;
    u64 *client_counts;
    // By observer and row of buckets: where they stand in the index.
    Range *ranges;
    // By place in the index: how many changed before it.
    u32 *changed_before;
    // As `timed`, in the next tick.
    u32 *timed_next;
    // By command: those that it schedules, likewise; as they are before they wait.
    u32 *after_counts;
    u32 *after_offsets;
    AfterRecord *after_records;
    u64 *after_partials;
    // By slot: the kind of who dies of a fall, with BEGINS of who begins to fall, or NOBODY.
    u32 *fallen;
    // Words of rules, those of rules at entities' own places, then those of timed
    // commands.
    i32 *due_words;
    // By command: its notifications, likewise.
    u32 *notification_counts;
    u32 *notification_offsets;
    u64 *notification_partials;
    // By slot and column: ~stamp, then the first command that updated it; null
    // where causes are not kept.
    u64 *first_updates;
    // As `deferred`, in the next tick.
    Command *deferred_next;
    i32 *deferred_words_next;
    u32 *deferred_flags_next;
    // By place, those that waited first: the number of its turn, or NOWHERE.
    u32 *atomic_ranks;
    // By turn: the command's place, and its kind or a `Verdict`.
    u32 *atomic_places;
    u32 *atomic_verdicts;
    // By turn and key: the slot, or NOBODY; and the turn after it that has the same entity.
    u32 *atomic_slots;
    u32 *atomic_next;
    // By turn: how many of its keys are not at the head of their queues.
    u32 *atomic_waits;
    // Turns that can run.
    u32 *atomic_queue;
    // Slots with turns, as they are before they are sorted, and then.
    u32 *pair_keys;
    u32 *pair_values;
    u32 *atomic_pair_keys;
    u32 *atomic_pair_keys_spare;
    u32 *atomic_pair_values;
    u32 *atomic_pair_values_spare;
    // The entities that are keys, ascending, and what the merge left in their rows.
    u32 *atomic_entities;
    i32 *atomic_rows;
    // By turn: what it schedules, and its notifications.
    u32 *atomic_after_counts;
    AfterRecord *atomic_afters;
    u32 *atomic_notification_counts;
    Notification *atomic_notifications;
    // By slot and column: the place of the last atomic command that wrote it.
    u32 *atomic_writers;
    // Attributes that atomic commands left with another value than the merge; then those
    // without an interval; then with all intervals.
    u32 *left_keys;
    i32 *left_values;
    u32 *fresh_keys;
    i32 *fresh_values;
    u32 *joined_keys;
    i64 *joined_values;
    u32 *joined_changed;
};
static_assert(sizeof(World) == 2384, "as in Rust");
static_assert(offsetof(World, seed) == 0 && offsetof(World, spawn_seed) == 8 && offsetof(World, buckets) == 16, "as in Rust");
static_assert(offsetof(World, updates_max) == 40 && offsetof(World, deliveries_max) == 48 && offsetof(World, tiers) == 56, "as in Rust");
static_assert(offsetof(World, notification_kinds) == 80 && offsetof(World, capacity) == 88 && offsetof(World, columns) == 92, "as in Rust");
static_assert(offsetof(World, dimensions) == 96 && offsetof(World, kinds) == 100 && offsetof(World, clients) == 104, "as in Rust");
static_assert(offsetof(World, observers_per_client) == 108 && offsetof(World, visible_max) == 112 && offsetof(World, exact) == 116, "as in Rust");
static_assert(offsetof(World, commands_max) == 120 && offsetof(World, rules) == 124 && offsetof(World, view_places) == 128, "as in Rust");
static_assert(offsetof(World, key_bits) == 132 && offsetof(World, aoi) == 136 && offsetof(World, margin) == 140, "as in Rust");
static_assert(offsetof(World, rank_bits) == 144 && offsetof(World, size) == 148 && offsetof(World, timed_max) == 164, "as in Rust");
static_assert(offsetof(World, respawns) == 168 && offsetof(World, rule_words) == 172 && offsetof(World, notifications_max) == 176, "as in Rust");
static_assert(offsetof(World, tells_owner) == 180 && offsetof(World, rows_max) == 184 && offsetof(World, scan_groups) == 188, "as in Rust");
static_assert(offsetof(World, directory_len) == 192 && offsetof(World, directory_shift) == 196 && offsetof(World, motion) == 200, "as in Rust");
static_assert(offsetof(World, tolerance) == 204 && offsetof(World, velocity) == 208 && offsetof(World, resting) == 224, "as in Rust");
static_assert(offsetof(World, crowds) == 228 && offsetof(World, cell_bits) == 232 && offsetof(World, cell_edge) == 236, "as in Rust");
static_assert(offsetof(World, forms) == 240 && offsetof(World, per_tick) == 496 && offsetof(World, rest_places) == 752, "as in Rust");
static_assert(offsetof(World, atomic_kinds) == 1008 && offsetof(World, reasoned_kinds) == 1040 && offsetof(World, atomic_max) == 1072, "as in Rust");
static_assert(offsetof(World, deferred_max) == 1076 && offsetof(World, deferred_base) == 1080 && offsetof(World, hook_first) == 1084, "as in Rust");
static_assert(offsetof(World, hook_count) == 1088 && offsetof(World, shared_slot) == 1092 && offsetof(World, shared_kind) == 1096, "as in Rust");
static_assert(offsetof(World, zoned) == 1100 && offsetof(World, wall_edge_bits) == 1104 && offsetof(World, wall_row_bits) == 1108, "as in Rust");
static_assert(offsetof(World, wall_cells) == 1112 && offsetof(World, wall_refuge) == 1120 && offsetof(World, wall_words) == 1128, "as in Rust");
static_assert(offsetof(World, field_count) == 1132 && offsetof(World, field_tagged) == 1136 && offsetof(World, holder_column) == 1140, "as in Rust");
static_assert(offsetof(World, keeping_kind) == 1144 && offsetof(World, padding) == 1148 && offsetof(World, hides) == 1152, "as in Rust");
static_assert(offsetof(World, reveals) == 1156 && offsetof(World, line_of_sight) == 1160 && offsetof(World, conceals) == 1164, "as in Rust");
static_assert(offsetof(World, edits_max) == 1168 && offsetof(World, edited_max) == 1172 && offsetof(World, edit_first) == 1176, "as in Rust");
static_assert(offsetof(World, edit_row) == 1188 && offsetof(World, edit_width) == 1200 && offsetof(World, edit_height) == 1212, "as in Rust");
static_assert(offsetof(World, edit_symbols) == 1224 && offsetof(World, edit_tags) == 1228 && offsetof(World, bounds) == 1232, "as in Rust");
static_assert(offsetof(World, initials) == 1240 && offsetof(World, choices) == 1248 && offsetof(World, kind_columns) == 1256, "as in Rust");
static_assert(offsetof(World, merge_rules) == 1264 && offsetof(World, wide_bounds) == 1272 && offsetof(World, visible_columns) == 1280, "as in Rust");
static_assert(offsetof(World, rule_table) == 1288 && offsetof(World, layers) == 1296 && offsetof(World, walls) == 1304, "as in Rust");
static_assert(offsetof(World, doors) == 1312 && offsetof(World, layers_base) == 1320 && offsetof(World, fields) == 1328, "as in Rust");
static_assert(offsetof(World, field_costs) == 1336 && offsetof(World, field_tags) == 1344 && offsetof(World, field_goals) == 1352, "as in Rust");
static_assert(offsetof(World, falls) == 1360 && offsetof(World, kept_kinds) == 1368 && offsetof(World, spawn_areas) == 1376, "as in Rust");
static_assert(offsetof(World, hooks) == 1384 && offsetof(World, rests) == 1392 && offsetof(World, rows) == 1400, "as in Rust");
static_assert(offsetof(World, states) == 1408 && offsetof(World, generations) == 1416 && offsetof(World, slot_kinds) == 1424, "as in Rust");
static_assert(offsetof(World, track_glides) == 1432 && offsetof(World, track_steps) == 1440 && offsetof(World, track_offsets) == 1448, "as in Rust");
static_assert(offsetof(World, past) == 1456 && offsetof(World, rebirth_due) == 1464 && offsetof(World, ready) == 1472, "as in Rust");
static_assert(offsetof(World, field_sets) == 1480 && offsetof(World, edited) == 1488 && offsetof(World, observers) == 1496, "as in Rust");
static_assert(offsetof(World, known) == 1504 && offsetof(World, known_counts) == 1512 && offsetof(World, behind) == 1520, "as in Rust");
static_assert(offsetof(World, timed) == 1528 && offsetof(World, timed_state) == 1536 && offsetof(World, deferred) == 1544, "as in Rust");
static_assert(offsetof(World, deferred_words) == 1552 && offsetof(World, deferred_flags) == 1560 && offsetof(World, deferred_state) == 1568, "as in Rust");
static_assert(offsetof(World, index_keys) == 1576 && offsetof(World, index_keys_spare) == 1584 && offsetof(World, index_slots) == 1592, "as in Rust");
static_assert(offsetof(World, index_slots_spare) == 1600 && offsetof(World, index_positions) == 1608 && offsetof(World, index_len) == 1616, "as in Rust");
static_assert(offsetof(World, directory) == 1624 && offsetof(World, crowd_slots) == 1632 && offsetof(World, crowd_positions) == 1640, "as in Rust");
static_assert(offsetof(World, crowd_starts) == 1648 && offsetof(World, census_starts) == 1656 && offsetof(World, census_keys) == 1664, "as in Rust");
static_assert(offsetof(World, census_given_keys) == 1672 && offsetof(World, census_slots) == 1680 && offsetof(World, census_given_slots) == 1688, "as in Rust");
static_assert(offsetof(World, standing_slots) == 1696 && offsetof(World, standing_ranks) == 1704 && offsetof(World, held_starts) == 1712, "as in Rust");
static_assert(offsetof(World, held_slots) == 1720 && offsetof(World, held_by) == 1728 && offsetof(World, field_distances) == 1736, "as in Rust");
static_assert(offsetof(World, field_dirty) == 1744 && offsetof(World, field_list) == 1752 && offsetof(World, field_listed) == 1760, "as in Rust");
static_assert(offsetof(World, visible) == 1768 && offsetof(World, visible_counts) == 1776 && offsetof(World, views) == 1784, "as in Rust");
static_assert(offsetof(World, changed) == 1792 && offsetof(World, last_positions) == 1800 && offsetof(World, wall_places) == 1808, "as in Rust");
static_assert(offsetof(World, several) == 1816 && offsetof(World, departs) == 1824 && offsetof(World, commands) == 1832, "as in Rust");
static_assert(offsetof(World, verdicts) == 1840 && offsetof(World, reasons) == 1848 && offsetof(World, group_places) == 1856, "as in Rust");
static_assert(offsetof(World, group_starts) == 1864 && offsetof(World, group_order) == 1872 && offsetof(World, update_counts) == 1880, "as in Rust");
static_assert(offsetof(World, update_offsets) == 1888 && offsetof(World, partials) == 1896 && offsetof(World, keys) == 1904, "as in Rust");
static_assert(offsetof(World, values) == 1912 && offsetof(World, update_keys) == 1920 && offsetof(World, update_keys_spare) == 1928, "as in Rust");
static_assert(offsetof(World, update_values) == 1936 && offsetof(World, update_values_spare) == 1944 && offsetof(World, interval_keys) == 1952, "as in Rust");
static_assert(offsetof(World, interval_starts) == 1960 && offsetof(World, interval_values) == 1968 && offsetof(World, interval_changed) == 1976, "as in Rust");
static_assert(offsetof(World, bucket_keys) == 1984 && offsetof(World, bucket_slots) == 1992 && offsetof(World, free_list) == 2000, "as in Rust");
static_assert(offsetof(World, died) == 2008 && offsetof(World, left) == 2016 && offsetof(World, kept) == 2024, "as in Rust");
static_assert(offsetof(World, client_counts) == 2032 && offsetof(World, ranges) == 2040 && offsetof(World, changed_before) == 2048, "as in Rust");
static_assert(offsetof(World, timed_next) == 2056 && offsetof(World, after_counts) == 2064 && offsetof(World, after_offsets) == 2072, "as in Rust");
static_assert(offsetof(World, after_records) == 2080 && offsetof(World, after_partials) == 2088 && offsetof(World, fallen) == 2096, "as in Rust");
static_assert(offsetof(World, due_words) == 2104 && offsetof(World, notification_counts) == 2112 && offsetof(World, notification_offsets) == 2120, "as in Rust");
static_assert(offsetof(World, notification_partials) == 2128 && offsetof(World, first_updates) == 2136 && offsetof(World, deferred_next) == 2144, "as in Rust");
static_assert(offsetof(World, deferred_words_next) == 2152 && offsetof(World, deferred_flags_next) == 2160 && offsetof(World, atomic_ranks) == 2168, "as in Rust");
static_assert(offsetof(World, atomic_places) == 2176 && offsetof(World, atomic_verdicts) == 2184 && offsetof(World, atomic_slots) == 2192, "as in Rust");
static_assert(offsetof(World, atomic_next) == 2200 && offsetof(World, atomic_waits) == 2208 && offsetof(World, atomic_queue) == 2216, "as in Rust");
static_assert(offsetof(World, pair_keys) == 2224 && offsetof(World, pair_values) == 2232 && offsetof(World, atomic_pair_keys) == 2240, "as in Rust");
static_assert(offsetof(World, atomic_pair_keys_spare) == 2248 && offsetof(World, atomic_pair_values) == 2256 && offsetof(World, atomic_pair_values_spare) == 2264, "as in Rust");
static_assert(offsetof(World, atomic_entities) == 2272 && offsetof(World, atomic_rows) == 2280 && offsetof(World, atomic_after_counts) == 2288, "as in Rust");
static_assert(offsetof(World, atomic_afters) == 2296 && offsetof(World, atomic_notification_counts) == 2304 && offsetof(World, atomic_notifications) == 2312, "as in Rust");
static_assert(offsetof(World, atomic_writers) == 2320 && offsetof(World, left_keys) == 2328 && offsetof(World, left_values) == 2336, "as in Rust");
static_assert(offsetof(World, fresh_keys) == 2344 && offsetof(World, fresh_values) == 2352 && offsetof(World, joined_keys) == 2360, "as in Rust");
static_assert(offsetof(World, joined_values) == 2368 && offsetof(World, joined_changed) == 2376, "as in Rust");

// One tick's own.
struct alignas(8) Tick {
    u64 number;
    u32 stamp;
    u32 frame_commands;
    // Which part of the backend this is, and the clients that it serves.
    u32 part;
    u32 own_first;
    u32 own_end;
    u32 observer_sets;
    u32 forgets;
    u32 releases;
    // How many clients make a chunk.
    u32 chunk_clients;
    // The clients that a launch serves.
    u32 client_first;
    u32 client_end;
    // Timed commands of the frame: those that can have room, and all.
    u32 afters;
    u32 afters_asked;
    u32 region_sets;
    // The ranking that a launch orders, its kind, its column, and what values are combined with,
    // so that they ascend.
    u32 ranking;
    u32 ranking_kind;
    u32 ranking_column;
    u32 ranking_flip;
    // The field that a launch is about, and the kind of its goals.
    u32 field;
    u32 field_kind;
    // The round of all fields that it is about, modulo 6.
    u32 field_round;
    // The relation that a launch sorts, its column, and the kind that has it, or `NOWHERE` if that
    // is all things.
    u32 relation;
    u32 relation_column;
    u32 relation_kind;
    // For how many ticks positions are kept, and the place in their ring for this tick's.
    u32 rewind_ticks;
    u32 past_next;
    // The frame.
    Command *frame;
    i32 *words;
    ObserverSet *sets;
    u32 *forget;
    u32 *release;
    After *after;
    RegionSet *region_set;
    Counters *counters;
    // By scan and group of blocks; behind the counters, and cleared with them.
    u64 *scan_sums;
    // By number of a command: how many there are to run; cleared likewise.
    u32 *group_counts;
    // By part: its deliveries, with those beyond the limit. Those of the parts before
    // this one are needed.
    u64 *part_deliveries;
    // What the tick gives back.
    Birth *births;
    i32 *birth_rows;
    // Slot and generation; with the slot, `KEPT` of what an account keeps.
    uint2 *deaths;
    Notification *notifications;
    Refused *refused;
    u32 *change_slots;
    u32 *change_offsets;
    u16 *change_columns;
    i32 *change_values;
    u16 *change_causes;
    // By change: the slot of the entity that gave the command, or NOBODY.
    u32 *change_actors;
    u32 *course_slots;
    // By course and axis.
    i32 *course_velocities;
    u32 *delivery_offsets;
    u32 *deliveries;
    u32 *bucket_order;
    Range *bucket_ranges;
    // By client, into `hearings`: numbers of notifications.
    u32 *hearing_offsets;
    u32 *hearings;
};
static_assert(sizeof(Tick) == 352, "as in Rust");
static_assert(offsetof(Tick, number) == 0 && offsetof(Tick, stamp) == 8 && offsetof(Tick, frame_commands) == 12, "as in Rust");
static_assert(offsetof(Tick, part) == 16 && offsetof(Tick, own_first) == 20 && offsetof(Tick, own_end) == 24, "as in Rust");
static_assert(offsetof(Tick, observer_sets) == 28 && offsetof(Tick, forgets) == 32 && offsetof(Tick, releases) == 36, "as in Rust");
static_assert(offsetof(Tick, chunk_clients) == 40 && offsetof(Tick, client_first) == 44 && offsetof(Tick, client_end) == 48, "as in Rust");
static_assert(offsetof(Tick, afters) == 52 && offsetof(Tick, afters_asked) == 56 && offsetof(Tick, region_sets) == 60, "as in Rust");
static_assert(offsetof(Tick, ranking) == 64 && offsetof(Tick, ranking_kind) == 68 && offsetof(Tick, ranking_column) == 72, "as in Rust");
static_assert(offsetof(Tick, ranking_flip) == 76 && offsetof(Tick, field) == 80 && offsetof(Tick, field_kind) == 84, "as in Rust");
static_assert(offsetof(Tick, field_round) == 88 && offsetof(Tick, relation) == 92 && offsetof(Tick, relation_column) == 96, "as in Rust");
static_assert(offsetof(Tick, relation_kind) == 100 && offsetof(Tick, rewind_ticks) == 104 && offsetof(Tick, past_next) == 108, "as in Rust");
static_assert(offsetof(Tick, frame) == 112 && offsetof(Tick, words) == 120 && offsetof(Tick, sets) == 128, "as in Rust");
static_assert(offsetof(Tick, forget) == 136 && offsetof(Tick, release) == 144 && offsetof(Tick, after) == 152, "as in Rust");
static_assert(offsetof(Tick, region_set) == 160 && offsetof(Tick, counters) == 168 && offsetof(Tick, scan_sums) == 176, "as in Rust");
static_assert(offsetof(Tick, group_counts) == 184 && offsetof(Tick, part_deliveries) == 192 && offsetof(Tick, births) == 200, "as in Rust");
static_assert(offsetof(Tick, birth_rows) == 208 && offsetof(Tick, deaths) == 216 && offsetof(Tick, notifications) == 224, "as in Rust");
static_assert(offsetof(Tick, refused) == 232 && offsetof(Tick, change_slots) == 240 && offsetof(Tick, change_offsets) == 248, "as in Rust");
static_assert(offsetof(Tick, change_columns) == 256 && offsetof(Tick, change_values) == 264 && offsetof(Tick, change_causes) == 272, "as in Rust");
static_assert(offsetof(Tick, change_actors) == 280 && offsetof(Tick, course_slots) == 288 && offsetof(Tick, course_velocities) == 296, "as in Rust");
static_assert(offsetof(Tick, delivery_offsets) == 304 && offsetof(Tick, deliveries) == 312 && offsetof(Tick, bucket_order) == 320, "as in Rust");
static_assert(offsetof(Tick, bucket_ranges) == 328 && offsetof(Tick, hearing_offsets) == 336 && offsetof(Tick, hearings) == 344, "as in Rust");

constexpr u64 TICK_LAYOUT_HASH = 0x42db82a7b516f1e3ull;
