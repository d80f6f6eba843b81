//! What the tick's kernels are given, declared once: `kernels/tick/layout.cuh` is
//! written from here.

mod header;
mod scripts;

use device::{ConstPointer, Int2, Pointer, UInt2};
use shared::EntityId;
use shared::world::command::{COMMAND_WORDS_MAX, COMMANDS_MAX};
use shared::world::hook::HOOKS_MAX;

use super::sizes::Sizes;
use crate::notification::Notification;
use crate::tick::counts::Counters;
use crate::tick::frame::{After, Command};
use crate::tick::parts::PARTS_MAX;
use crate::tick::timed::TIMED_WORDS_MAX;
pub use header::{hash, header};
use script::ir::EFFECTS_MAX;
pub use scripts::script_layout;

/// In the merge rules of columns: the bits of the rule, and those of a half.
pub const RULE_MASK: u32 = 7;
pub const HALF_LOW: u32 = 8;
pub const HALF_HIGH: u32 = 16;

/// The bits of a tier in what views and known sets hold, below those of the slot.
pub const TIER_BITS: u32 = 2;

device::device_struct! {
    /// The world's configuration, tables, state and scratch.
    pub struct World(s: Sizes) {
        seed: u64;
        /// Of the places of births.
        spawn_seed: u64;
        /// On each axis.
        buckets: [u64; 3];
        updates_max: u64;
        deliveries_max: u64;
        /// Squared distances at which tiers end, but the last.
        tiers: [u64; 3];
        /// A bit for each number of a notification that the world has.
        notification_kinds: u64;
        capacity: u32;
        columns: u32;
        dimensions: u32;
        kinds: u32;
        clients: u32;
        observers_per_client: u32;
        visible_max: u32;
        exact: u32;
        commands_max: u32;
        rules: u32;
        /// Places in which what a client sees is sorted: a power of two.
        view_places: u32;
        /// Bits of an update's key.
        key_bits: u32;
        aoi: i32;
        /// By how much known entities count as nearer.
        margin: i32;
        /// Bits of the largest rank.
        rank_bits: i32;
        size: [i32; 4];
        timed_max: u32;
        /// 1 where any kind respawns, else 0.
        respawns: u32;
        /// Words of all rules, for all entities.
        rule_words: u32;
        notifications_max: u32;
        /// The column whose new owners get a notification, or -1.
        tells_owner: i32;
        /// Rows of buckets that an observer can touch: at most 25.
        rows_max: u32;
        scan_groups: u32;
        directory_len: u32;
        /// Buckets of an entry of the directory, as a power of two.
        directory_shift: u32;
        /// 1 where movement is sent as courses, else 0.
        motion: u32;
        /// How far entities may be from their courses.
        tolerance: i32;
        /// By axis: the column that says how far an entity goes in a tick, or -1.
        velocity: [i32; 4];
        /// How many commands rest after a use.
        resting: u32;
        /// Where crowded buckets are sorted by cell: the windows of the index, else 0.
        crowds: u32;
        /// Cells of a bucket on an axis, as a power of two, and the edge of a cell.
        cell_bits: u32;
        cell_edge: u32;
        /// By number of a command: how many words it has, and bits, as `IS_COMMAND`.
        forms: [u8; COMMANDS_MAX];
        /// By number of a command: how often an entity may be made to give it in a tick, or 0.
        per_tick: [u8; COMMANDS_MAX];
        /// By number of a command: its place among those that rest after a use, or `NO_REST`.
        rest_places: [u8; COMMANDS_MAX];
        /// A bit for each number of a command that is atomic.
        atomic_kinds: [u64; COMMANDS_MAX / 64];
        /// Likewise of one that can say why it has no effect.
        reasoned_kinds: [u64; COMMANDS_MAX / 64];
        /// The most atomic commands of a tick, and the most that wait for the next one.
        atomic_max: u32;
        deferred_max: u32;
        /// Where the words of those that waited begin in `due_words`.
        deferred_base: u32;
        /// The hooks in force: so many entries of `hooks`, from the first one on.
        hook_first: u32;
        hook_count: u32;
        /// The slot of what the whole world shares, which is nowhere, or NOWHERE.
        shared_slot: u32;
        /// Its kind, or NOWHERE.
        shared_kind: u32;
        /// 0 in worlds without zones, 2 where hooks watch their borders, else 1.
        zoned: u32;
        /// Of the cells of walls: the edge and a row of the list, as powers of two, how many there
        /// are along `x` and `y`, and where entities go if none near is free. 0 without walls.
        wall_edge_bits: u32;
        wall_row_bits: u32;
        wall_cells: [i32; 2];
        wall_refuge: [i32; 2];
        /// The words with the bits of walls, in worlds whose entities block cells, else 0.
        wall_words: u32;
        /// How many fields there are, and 1 where leaving a cell costs what its tag says.
        field_count: u32;
        field_tagged: u32;
        /// The column with the holders of things, or -1 in worlds without things.
        holder_column: i32;
        /// The players' kind, with whom what accounts keep ends; NOWHERE where they keep no things.
        keeping_kind: u32;
        padding: u32;
        /// The columns whose bits hide entities and reveal them, or -1.
        hides: i32;
        reveals: i32;
        /// 1 where walls hide what is behind them, else 0.
        line_of_sight: u32;
        /// 1 where any of these hides entities within reach, else 0.
        conceals: u32;

        /// How many cells of layers scripts can change in a tick, and how many can differ from the
        /// file's. By layer, as edits name them: its first word, the cells of its rows in the list and
        /// in the world, and its rows, which are 0 if scripts can't change it.
        edits_max: u32;
        edited_max: u32;
        edit_first: [u32; 3];
        edit_row: [u32; 3];
        edit_width: [u32; 3];
        edit_height: [u32; 3];
        /// Where the symbols of tags begin in the list, and how many there are, with that of none.
        edit_symbols: u32;
        edit_tags: u32;

        /// Tables: by kind and column.
        bounds: ConstPointer<Int2> = s.kinds * s.columns;
        initials: ConstPointer<Initial> = s.kinds * s.columns;
        /// The values of which births choose.
        choices: ConstPointer<i32> = s.choices;
        /// By kind: the columns that it has, 64 of them as bits in each number.
        kind_columns: ConstPointer<u64> = s.kinds * s.columns.div_ceil(64);
        /// By column; beside the rule, which half of a number of 64 bits it has.
        merge_rules: ConstPointer<u32> = s.columns;
        /// By column of a low half: the least and the greatest number.
        wide_bounds: ConstPointer<i64> = 2 * s.columns;
        /// By column: 1 where its changes are sent to clients.
        visible_columns: ConstPointer<u32> = s.columns;
        rule_table: ConstPointer<Rule> = s.rules;
        /// The words of layers: first the bits of walls.
        layers: ConstPointer<i32> = s.layer_words;
        /// The same bits of walls without the cells of doors, and by kind, the cells that its
        /// entities block; both in worlds with doors.
        walls: ConstPointer<i32> = s.wall_words;
        doors: ConstPointer<Door> = s.kinds * u64::from(s.wall_words > 0);
        /// The words of layers as the file has them, in worlds whose scripts change cells.
        layers_base: ConstPointer<i32> = s.edited_words();
        /// The words of fields: the steps that are in force, field by field.
        fields: ConstPointer<i32> = s.field_words;
        /// By field and tag: what it costs to leave a cell. By cell: its tag. By field: the goals that
        /// stay the same, as bits of cells.
        field_costs: ConstPointer<u8> = s.fields * 256;
        field_tags: ConstPointer<u8> = s.field_cells * s.field_tagged;
        field_goals: ConstPointer<u32> = s.fields * s.set_words;
        /// By kind.
        falls: ConstPointer<Fall> = s.kinds;
        /// By kind: 1 where accounts keep its things.
        kept_kinds: ConstPointer<u32> = s.kinds * s.kept;
        /// By kind: where its entities are born again.
        spawn_areas: ConstPointer<SpawnArea> = s.kinds;
        /// The commands that the world gives by itself, twice: ticks in flight keep theirs.
        hooks: ConstPointer<Hook> = 2 * (HOOKS_MAX as u64 + s.kinds);
        /// By command that rests: for how many ticks.
        rests: ConstPointer<u32> = s.resting;

        /// State: by slot and column.
        rows: Pointer<i32> = s.capacity * s.columns, zeroed;
        states: Pointer<u32> = s.capacity, zeroed;
        generations: Pointer<u32> = s.capacity, zeroed;
        slot_kinds: Pointer<u32> = s.capacity, zeroed;
        /// By slot: whether clients take its entity to go on, by how much each tick, and how
        /// far from its place they take it to be; the latter two by axis, then slot.
        track_glides: Pointer<u32> = s.capacity * s.motion, zeroed;
        track_steps: Pointer<i32> = 3 * s.capacity * s.motion, zeroed;
        track_offsets: Pointer<i32> = 3 * s.capacity * s.motion, zeroed;
        /// By place in the ring of the ticks that are kept, slot and axis: a coordinate plus 1,
        /// or 0.
        past: Pointer<i32> = s.past(), zeroed;
        /// By slot of an entity that is to be born again: the first tick in which it may be. Of a
        /// living one that fell, and has hooks for it: the tick in which it dies; else 0.
        rebirth_due: Pointer<u64> = s.capacity * s.respawns, zeroed;
        /// By slot, then by command that rests: the first tick in which it may be used again.
        ready: Pointer<u64> = s.capacity * s.resting, zeroed;
        /// By field, as bits of cells: goals and doors of what is in force, and of what is under way.
        field_sets: Pointer<u32> = s.field_sets(), zeroed;
        /// How many cells of layers differ from the file's.
        edited: Pointer<u32> = u64::from(s.edits > 0), zeroed;
        observers: Pointer<Observer> = s.observers, zeroed;
        /// By client: the slots that it knows, ascending, each with a tier in the lowest bits.
        known: Pointer<u32> = s.clients * s.visible_max;
        known_counts: Pointer<u32> = s.clients, zeroed;
        /// By client: whether its deliveries were deferred.
        behind: Pointer<u8> = s.clients, zeroed;
        /// The commands that wait, column by column, `timed_max` each.
        timed: Pointer<u32> = s.timed * TIMED_COLUMNS as u64;
        timed_state: Pointer<TimedState> = 1, zeroed;
        /// Atomic commands that wait for the next tick, in order, their words, and whether a
        /// frame gave them (1) and references had changed (2).
        deferred: Pointer<Command> = s.deferred;
        deferred_words: Pointer<i32> = s.deferred * TIMED_WORDS_MAX as u64;
        deferred_flags: Pointer<u32> = s.deferred;
        deferred_state: Pointer<DeferredState> = 1, zeroed;

        /// The index of the state's positions, by bucket.
        index_keys: Pointer<u64> = s.capacity;
        index_keys_spare: Pointer<u64> = s.capacity;
        index_slots: Pointer<u32> = s.capacity;
        index_slots_spare: Pointer<u32> = s.capacity;
        /// By axis, then place.
        index_positions: Pointer<i32> = 3 * s.capacity;
        index_len: Pointer<u64> = 1, zeroed;
        /// Where the keys reach n << directory_shift.
        directory: Pointer<u32> = s.directory.len, zeroed;
        /// Crowded buckets by cell: slots and positions at their bucket's places in the index.
        crowd_slots: Pointer<u32> = s.crowds.entities;
        /// By axis, then place.
        crowd_positions: Pointer<i32> = 3 * s.crowds.entities;
        /// By window of the index, then cell of the bucket that begins there: where it starts.
        crowd_starts: Pointer<u32> = s.crowds.windows * (s.crowds.cells + 1);

        /// By kind, and at last: where its living entities begin in `census_slots`, as they are at
        /// the start of a tick whose scripts ask for them. The kinds of all slots, with one more for
        /// the dead, are sorted in what the index and the list of free slots don't need before.
        census_starts: Pointer<u32> = s.kinds + 1;
        census_keys: Pointer<u32>;
        census_given_keys: Pointer<u32>;
        census_slots: Pointer<u32>;
        census_given_slots: Pointer<u32>;
        /// By ranking and place: the slot. By ranking and slot: the place, from 1 on, of entities of
        /// the ranking's kind. Of those of which scripts ask, likewise of the start of the tick.
        standing_slots: Pointer<u32> = s.capacity * s.rankings;
        standing_ranks: Pointer<u32> = s.capacity * s.rankings;

        /// By relation, then by slot, and at last: where the things of a holder, or the members of a
        /// group, begin among those of the relation in `held_slots`, as they are at the start of a tick
        /// whose scripts ask for them. By relation and slot of a thing or member: its holder or group
        /// when they were sorted last; those of all slots are sorted where kinds are for the census.
        held_starts: Pointer<u32> = (s.capacity + 1) * s.relations;
        held_slots: Pointer<u32> = s.capacity * s.relations;
        held_by: Pointer<u32> = s.capacity * s.relations, ones;

        /// By field and cell: the distance of what is under way. By field and tile: not 0 if distances
        /// there may still fall. By round, modulo 2, the tiles to look at; modulo 3, how many.
        field_distances: Pointer<u32> = s.fields * s.field_cells;
        field_dirty: Pointer<u32> = s.fields * s.field_tiles;
        field_list: Pointer<u32> = 2 * 2 * s.fields * s.field_tiles;
        field_listed: Pointer<u32> = 3 * u64::from(s.fields > 0), zeroed;

        /// Scratch: what clients see in this tick; it is what they know in the next.
        visible: Pointer<u32> = s.clients * s.visible_max;
        visible_counts: Pointer<u32> = s.clients, zeroed;
        /// By client: room for finding and comparing large views.
        views: Pointer<u32> = 2 * s.large_views * s.visible_max;
        /// By slot: the stamp of the tick that changed it last.
        changed: Pointer<u32> = s.capacity, zeroed;
        /// By axis, then slot: where its entity was before the tick.
        last_positions: Pointer<i32> = 3 * s.capacity * s.motion, zeroed;
        /// By axis, then slot: where its entity was before the tick, in worlds with walls.
        wall_places: Pointer<i32> = 2 * s.capacity * s.walled, zeroed;
        /// By slot: the stamp of the last tick in which several updates moved it along an axis.
        several: Pointer<u32> = s.capacity * s.walled, zeroed;
        /// By slot: whether its entity departs from its course.
        departs: Pointer<u32> = s.capacity * s.motion;
        /// The frame's commands, and those due; behind them atomic ones that waited.
        commands: Pointer<Command> = s.commands + s.deferred;
        /// By command: its kind, or a `Verdict`.
        verdicts: Pointer<u32> = s.commands;
        /// By command that can say why it has no effect, those that waited too: the number of the
        /// reason, plus 1, or 0.
        reasons: Pointer<u32> = s.commands + s.deferred;
        /// By command: its place among those of its kind; then, of a birth, its slot, or NOWHERE.
        group_places: Pointer<u32> = s.commands;
        /// By number of a command: where its commands begin in `group_order`; at last, where
        /// all end.
        group_starts: Pointer<u32> = COMMANDS_MAX as u64 + 1;
        /// The commands to run, by kind.
        group_order: Pointer<u32> = s.commands;
        /// By command: its updates, and where they begin; or NOWHERE.
        update_counts: Pointer<u32> = s.commands;
        update_offsets: Pointer<u32> = s.commands;
        partials: Pointer<u64> = s.scan_blocks();
        /// Where updates are stored, and what is sorted.
        keys: Pointer<u32>;
        values: Pointer<u32>;
        update_keys: Pointer<u32> = s.updates;
        update_keys_spare: Pointer<u32> = s.updates;
        update_values: Pointer<u32> = s.updates;
        update_values_spare: Pointer<u32> = s.updates;
        /// By interval of updates of one attribute.
        interval_keys: Pointer<u32> = s.updates;
        interval_starts: Pointer<u32> = s.updates;
        interval_values: Pointer<i64> = s.updates;
        interval_changed: Pointer<u32> = s.updates;
        /// The index before it is sorted.
        bucket_keys: Pointer<u64>;
        bucket_slots: Pointer<u32>;
        free_list: Pointer<u32> = s.capacity;
        /// By slot: the stamp of the tick in which it died last.
        died: Pointer<u32> = s.capacity, zeroed;
        /// By slot: likewise of a player that died last, and of a thing that died with one; in worlds
        /// where accounts keep things.
        left: Pointer<u32> = s.capacity * s.kept, zeroed;
        kept: Pointer<u32> = s.capacity * s.kept, zeroed;
        client_counts: Pointer<u64> = s.clients;
        /// By observer and row of buckets: where they stand in the index.
        ranges: Pointer<Range> = s.observers * s.rows;
        /// By place in the index: how many changed before it.
        changed_before: Pointer<u32> = (s.capacity + 1) * s.by_buckets;
        /// As `timed`, in the next tick.
        timed_next: Pointer<u32> = s.timed * TIMED_COLUMNS as u64;
        /// By command: those that it schedules, likewise; as they are before they wait.
        after_counts: Pointer<u32> = s.commands * u64::from(s.timed > 0);
        after_offsets: Pointer<u32> = s.commands * u64::from(s.timed > 0);
        after_records: Pointer<AfterRecord> = s.timed;
        after_partials: Pointer<u64> = s.command_blocks() * u64::from(s.timed > 0);
        /// By slot: the kind of who dies of a fall, with BEGINS of who begins to fall, or NOBODY.
        fallen: Pointer<u32> = s.capacity * s.respawns;
        /// Words of rules, those of rules at entities' own places, then those of timed
        /// commands.
        due_words: Pointer<i32> = s.deferred_base() + s.deferred * TIMED_WORDS_MAX as u64;
        /// By command: its notifications, likewise.
        notification_counts: Pointer<u32> = s.commands * u64::from(s.notifications > 0);
        notification_offsets: Pointer<u32> = s.commands * u64::from(s.notifications > 0);
        notification_partials: Pointer<u64> = s.command_blocks() * u64::from(s.notifications > 0);
        /// By slot and column: ~stamp, then the first command that updated it; null
        /// where causes are not kept.
        first_updates: Pointer<u64> = s.capacity * s.columns * s.causes, ones;

        /// As `deferred`, in the next tick.
        deferred_next: Pointer<Command> = s.deferred;
        deferred_words_next: Pointer<i32> = s.deferred * TIMED_WORDS_MAX as u64;
        deferred_flags_next: Pointer<u32> = s.deferred;
        /// By place, those that waited first: the number of its turn, or NOWHERE.
        atomic_ranks: Pointer<u32> = 2 * s.deferred;
        /// By turn: the command's place, and its kind or a `Verdict`.
        atomic_places: Pointer<u32> = s.atomics;
        atomic_verdicts: Pointer<u32> = s.atomics;
        /// By turn and key: the slot, or NOBODY; and the turn after it that has the same entity.
        atomic_slots: Pointer<u32> = s.pairs();
        atomic_next: Pointer<u32> = s.pairs();
        /// By turn: how many of its keys are not at the head of their queues.
        atomic_waits: Pointer<u32> = s.atomics;
        /// Turns that can run.
        atomic_queue: Pointer<u32> = s.atomics;
        /// Slots with turns, as they are before they are sorted, and then.
        pair_keys: Pointer<u32>;
        pair_values: Pointer<u32>;
        atomic_pair_keys: Pointer<u32> = s.pairs();
        atomic_pair_keys_spare: Pointer<u32> = s.pairs();
        atomic_pair_values: Pointer<u32> = s.pairs();
        atomic_pair_values_spare: Pointer<u32> = s.pairs();
        /// The entities that are keys, ascending, and what the merge left in their rows.
        atomic_entities: Pointer<u32> = s.atomic_entities();
        atomic_rows: Pointer<i32> = s.atomic_entities() * s.columns;
        /// By turn: what it schedules, and its notifications.
        atomic_after_counts: Pointer<u32> = s.atomics * u64::from(s.timed > 0);
        atomic_afters: Pointer<AfterRecord> = s.atomics * EFFECTS_MAX as u64 * u64::from(s.timed > 0);
        atomic_notification_counts: Pointer<u32> = s.atomics * u64::from(s.notifications > 0);
        atomic_notifications: Pointer<Notification> = s.atomics * EFFECTS_MAX as u64 * u64::from(s.notifications > 0);
        /// By slot and column: the place of the last atomic command that wrote it.
        atomic_writers: Pointer<u32> = s.capacity * s.columns * s.causes * u64::from(s.atomics > 0);
        /// Attributes that atomic commands left with another value than the merge; then those
        /// without an interval; then with all intervals.
        left_keys: Pointer<u32> = s.left();
        left_values: Pointer<i32> = s.left();
        fresh_keys: Pointer<u32> = s.left();
        fresh_values: Pointer<i32> = s.left();
        joined_keys: Pointer<u32> = s.joined();
        joined_values: Pointer<i64> = s.joined();
        joined_changed: Pointer<u32> = s.joined();
    }
}

device::device_struct! {
    /// One tick's own.
    pub struct Tick(s: Sizes) {
        number: u64;
        stamp: u32;
        frame_commands: u32;
        /// Which part of the backend this is, and the clients that it serves.
        part: u32;
        own_first: u32;
        own_end: u32;
        observer_sets: u32;
        forgets: u32;
        releases: u32;
        /// How many clients make a chunk.
        chunk_clients: u32;
        /// The clients that a launch serves.
        client_first: u32;
        client_end: u32;
        /// Timed commands of the frame: those that can have room, and all.
        afters: u32;
        afters_asked: u32;
        region_sets: u32;
        /// The ranking that a launch orders, its kind, its column, and what values are combined with,
        /// so that they ascend.
        ranking: u32;
        ranking_kind: u32;
        ranking_column: u32;
        ranking_flip: u32;
        /// The field that a launch is about, and the kind of its goals.
        field: u32;
        field_kind: u32;
        /// The round of all fields that it is about, modulo 6.
        field_round: u32;
        /// The relation that a launch sorts, its column, and the kind that has it, or `NOWHERE` if that
        /// is all things.
        relation: u32;
        relation_column: u32;
        relation_kind: u32;
        /// For how many ticks positions are kept, and the place in their ring for this tick's.
        rewind_ticks: u32;
        past_next: u32;

        /// The frame.
        frame: Pointer<Command> = s.commands;
        words: Pointer<i32> = s.words;
        sets: Pointer<ObserverSet> = s.observers;
        forget: Pointer<u32> = s.clients;
        release: Pointer<u32> = s.capacity;
        after: Pointer<After> = s.timed;
        region_set: Pointer<RegionSet> = s.region_changes();

        counters: Pointer<Counters> = 1;
        /// By scan and group of blocks; behind the counters, and cleared with them.
        scan_sums: Pointer<u64> = SCANS.len() as u64 * s.scan_groups();
        /// By number of a command: how many there are to run; cleared likewise.
        group_counts: Pointer<u32> = COMMANDS_MAX as u64;
        /// By part: its deliveries, with those beyond the limit. Those of the parts before
        /// this one are needed.
        part_deliveries: Pointer<u64> = PARTS_MAX as u64;
        /// What the tick gives back.
        births: Pointer<Birth> = s.births;
        birth_rows: Pointer<i32> = s.capacity * s.columns;
        /// Slot and generation; with the slot, `KEPT` of what an account keeps.
        deaths: Pointer<UInt2> = s.capacity;
        notifications: Pointer<Notification> = s.notifications;
        refused: Pointer<Refused> = s.commands + s.deferred;
        change_slots: Pointer<u32> = s.changes();
        change_offsets: Pointer<u32> = s.changes() + 1;
        change_columns: Pointer<u16> = s.changes();
        change_values: Pointer<i32> = s.changes();
        change_causes: Pointer<u16> = s.changes() * s.causes;
        /// By change: the slot of the entity that gave the command, or NOBODY.
        change_actors: Pointer<u32> = s.changes() * s.causes;
        course_slots: Pointer<u32> = s.capacity * s.motion;
        /// By course and axis.
        course_velocities: Pointer<i32> = 3 * s.capacity * s.motion;
        delivery_offsets: Pointer<u32> = s.clients;
        deliveries: Pointer<u32> = s.deliveries;
        bucket_order: Pointer<u32> = s.capacity * s.by_buckets;
        bucket_ranges: Pointer<Range> = s.clients * s.rows * s.by_buckets;
        /// By client, into `hearings`: numbers of notifications.
        hearing_offsets: Pointer<u32> = s.clients * u64::from(s.notifications > 0);
        hearings: Pointer<u32> = s.hearings;
    }
}

device::device_struct! {
    /// Regions, and how the world's boxes are sorted; all 0 in worlds that have none.
    pub struct Regions(s: Sizes) {
        per_client: u32;
        /// 1 where entities may carry regions, else 0.
        of_entities: u32;
        levels: u32;
        /// Notifications that one client may hear; as many as a sort of them needs.
        hearings_max: u32;
        hearing_places: u32;
        padding: u32;
        /// By kind: six edges, those of the publication first; or 0.
        newborn: ConstPointer<i32> = 6 * s.kinds * u64::from(s.carriers > 0);
        clients: Pointer<Region> = s.client_regions, zeroed;
        /// By slot.
        publications: Pointer<Region> = s.carriers, zeroed;
        subscriptions: Pointer<Region> = s.carriers, zeroed;
        published: BoxIndex;
        areas: BoxIndex;
        /// By client: numbers of notifications, `hearings_max` each.
        heard: Pointer<u32> = s.hearings;
        heard_counts: Pointer<u32> = s.clients * u64::from(s.notifications > 0);
        /// Zones that stay where they are come first.
        zones_fixed: u32;
        zones_carried: u32;
        zone_table: ConstPointer<Zone> = s.zones;
        /// By slot: where its entity was after the tick before.
        zone_places: Pointer<ZonePlace> = s.capacity * u64::from(s.zones > 0), zeroed;
        /// By slot: how many commands its crossings give.
        zone_acts: Pointer<u32> = s.capacity * u64::from(s.zones > 0);
        /// Zones and their carriers, and where they are: before the tick, and after it.
        zones_before: BoxIndex;
        zones_now: BoxIndex;
        placed_before: Pointer<PlacedZone>;
        placed_now: Pointer<PlacedZone>;
        placed_zones: Pointer<PlacedZone> = s.placed_zones();
        placed_zones_spare: Pointer<PlacedZone> = s.placed_zones();
        level: [Level; LEVELS_MAX];
    }
}

device::device_struct! {
    /// Boxes by level and cell.
    pub struct BoxIndex(n: u64) {
        keys: Pointer<u64> = *n;
        keys_spare: Pointer<u64> = *n;
        numbers: Pointer<u32> = *n;
        numbers_spare: Pointer<u32> = *n;
        /// Six edges an entry, sorted.
        boxes: Pointer<i32> = 6 * *n;
        /// By level: its first entry; and how many entries there are.
        starts: Pointer<u32> = (LEVELS_MAX as u64 + 1) * u64::from(*n > 0), zeroed;
        /// As they are before the sort.
        given_keys: Pointer<u64>;
        given_numbers: Pointer<u32>;
    }
}

device::device_struct! {
    /// The cells along `x` and `y` that entities of a kind block while the column is not 0: NOWHERE:
    /// always. 0 cells: none.
    pub struct Door {
        cells: [u32; 2];
        closed: u32;
    }
}

device::device_struct! {
    /// A zone: a disc within `radius` of `low` if `form` is 1, else a box with both corners;
    /// as seen from its carrier, if it has one. `number` is that of the world file.
    pub struct Zone {
        form: u32;
        radius: i32;
        low: [i32; 3];
        high: [i32; 3];
        /// The kind of its carriers, or NOWHERE.
        carrier: u32;
        number: u32;
    }
}

device::device_struct! {
    /// Where an entity was; generation 0: there was none.
    pub struct ZonePlace {
        generation: u32;
        place: [i32; 3];
    }
}

device::device_struct! {
    /// A place of the table of zones, and the slot of who carries it, plus 1; or 0.
    pub struct PlacedZone {
        zone: u32;
        carrier: u32;
    }
}

device::device_struct! {
    /// A command that entities of a kind, or of all where it is NOWHERE, give on an occasion.
    /// `has_other` is 1 if it names another entity in a word.
    pub struct Hook {
        occasion: u32;
        kind: u32;
        command: u32;
        has_other: u32;
    }
}

device::device_struct! {
    /// Cells for boxes of about one size.
    pub struct Level {
        base: u64;
        edge: u32;
        cells: [u32; 3];
    }
}

device::device_struct! {
    /// A region: tag 0 none, 1 fixed, 2 follows an entity.
    pub struct Region {
        tag: u32;
        slot: u32;
        generation: u32;
        low: [i32; 3];
        high: [i32; 3];
    }
}

device::device_struct! {
    /// A change of a region. `repeats` more of its holder's went before it in the frame.
    pub struct RegionSet {
        holder: u32;
        place: u32;
        generation: u32;
        repeats: u32;
        region: Region;
    }
}

device::device_struct! {
    /// An observer: tag 0 none, 1 an entity (a: slot, b: generation), 2 a point (a, b, c).
    pub struct Observer {
        tag: u32;
        radius: i32;
        a: i32;
        b: i32;
        c: i32;
    }
}

device::device_struct! {
    /// Sets the observer at a place of the table.
    pub struct ObserverSet {
        place: u32;
        observer: Observer;
    }
}

device::device_struct! {
    /// When the entities of a kind fall: at this value of this column or below; never if
    /// `respawn_ticks` is 0.
    pub struct Fall {
        respawn_ticks: u32;
        column: u32;
        at: i32;
    }
}

device::device_struct! {
    /// Where entities of a kind are born: form 0 anywhere, 1 within `radius` of `low`, 2 from
    /// `low` to `high`.
    pub struct SpawnArea {
        form: u32;
        radius: i32;
        low: [i32; 3];
        high: [i32; 3];
    }
}

device::device_struct! {
    /// A column of a kind at birth: `value`, plus a random number below `drawn` unless that
    /// is 0. Where `listed` is above 0, one of so many `choices` from `value` on: a random
    /// one, or that whose turn it is where `drawn` is 0.
    pub struct Initial {
        value: i32;
        drawn: u32;
        listed: u32;
    }
}

device::device_struct! {
    /// A command that the entities of a kind give themselves. From `own_place` on, unless it
    /// is NOWHERE, its words are the position of the entity; such words begin at
    /// `own_words`, those of each slot whose turn it is one after the other.
    pub struct Rule {
        kind: u32;
        ticks: u32;
        command: u32;
        word_start: u32;
        word_count: u32;
        own_place: u32;
        own_words: u32;
        /// If only entities give it whose holder, or group, has ended: the column that refers to it;
        /// else -1.
        ended_column: i32;
    }
}

device::device_struct! {
    /// A birth that was asked for; generation 0: there was no slot.
    pub struct Birth {
        token: u32;
        kind: u32;
        slot: u32;
        generation: u32;
    }
}

device::device_struct! {
    /// A command that had no effect; `reason` is the number of a refusal, and from bit 8 on that
    /// of a reason of the world, plus 1.
    pub struct Refused {
        slot: u32;
        generation: u32;
        sequence: u32;
        reason: u32;
    }
}

device::device_struct! {
    /// Timed commands: how many wait, how many there ever were, and the sum of their
    /// elements of the state hash.
    pub struct TimedState {
        len: u64;
        next_sequence: u64;
        hash: u64;
    }
}

device::device_struct! {
    /// How many atomic commands wait for the next tick.
    pub struct DeferredState {
        len: u64;
    }
}

device::device_struct! {
    /// A command that a command schedules; `kind` has the number of its words from bit 16 on.
    pub struct AfterRecord {
        ticks: u32;
        slot: u32;
        generation: u32;
        kind: u32;
        words: [i32; TIMED_WORDS_MAX];
    }
}

/// From `start` to just before `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Range {
    pub start: u32,
    pub end: u32,
}

device::plain!(Range {
    start: u32,
    end: u32
});

/// `Range` is one of the kernels' own types.
impl device::Field for Range {
    fn declare(name: &str) -> String {
        format!("Range {name}")
    }
}

device::plain!(Command {
    entity: EntityId,
    sequence: u32,
    word_start: u32,
    kind: u16,
    word_count: u16,
});

device::describe_struct! {
    /// A command of a frame.
    Command {
        slot: u32 = entity.slot;
        generation: u32 = entity.generation;
        sequence: u32 = sequence;
        word_start: u32 = word_start;
        kind: u16 = kind;
        word_count: u16 = word_count;
    }
}

device::plain!(After {
    ticks: u32,
    command: Command
});

device::describe_struct! {
    /// A command for a later tick.
    After {
        ticks: u32 = ticks;
        command: Command = command;
    }
}

/// Scans of a tick, each with sums of its own.
pub const SCANS: [&str; 32] = [
    "due",
    "updates",
    "intervals",
    "changes",
    "free",
    "births",
    "follow_ups",
    "deaths",
    "live",
    "deliveries",
    "order",
    "timed",
    "afters",
    "falls",
    "reborn",
    "zones",
    "crossings",
    "published",
    "areas",
    "hearings",
    "notifications",
    "picks",
    "courses",
    "refused",
    "atomic_order",
    "atomic_pairs",
    "atomic_heads",
    "atomic_left",
    "atomic_fresh",
    "atomic_again",
    "atomic_afters",
    "atomic_notifications",
];

/// Instead of a kind: the verdict on a command that is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Verdict {
    Malformed = COMMANDS_MAX as u32,
    Stale,
    OverBudget,
    OverPerTick,
    Rests,
    /// Of an atomic command: it did nothing, a condition does not hold, or its references had
    /// changed.
    Idle,
    Refused,
    Moved,
    /// It has values for the birth after it.
    Values,
    /// It schedules a command that names the newborn of a birth before it.
    FollowUp,
}

/// If so many atomic commands can run at first, each thread takes one: with fewer, the other threads
/// of a warp slow down the one that goes on.
pub const ATOMIC_THREADS_MIN: u32 = 20_000;
/// Set in the form of every command of the world.
pub const IS_COMMAND: u8 = 0x80;
/// Set in the form of commands that a living entity must give.
pub const HAS_ACTOR: u8 = 0x40;
/// Set in the form of commands that clients give.
pub const IS_CLIENTS: u8 = 0x20;
const _: () = assert!(COMMAND_WORDS_MAX < IS_CLIENTS as usize);
/// Occasions of hooks; those of a zone's border follow, enter and exit by its number.
pub const ON_BIRTH: u32 = 0;
pub const ON_JOIN: u32 = 1;
pub const ON_FALL: u32 = 2;
pub const ON_BORDER: u32 = 3;
/// With the slot of a thing that died with the player who held it.
pub const KEPT: u32 = 1 << 31;
/// With the kind of an entity that begins to fall.
pub const BEGINS: u32 = 1 << 16;
/// In place of a command's place among those that rest.
pub const NO_REST: u8 = 0xff;
/// Numbers of a timed command, each in a column of its own.
pub const TIMED_COLUMNS: usize = 7 + TIMED_WORDS_MAX;
/// Levels of a world's boxes, at most: buckets are one unit wide at least, and a
/// world less than 2^18.
pub const LEVELS_MAX: usize = 20;
/// In place of respawn ticks: those of this kind fall, and are born again by the
/// server's command.
pub const BY_THE_SERVER: u32 = u32::MAX;
