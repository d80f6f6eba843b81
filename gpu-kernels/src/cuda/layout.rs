//! What kernels are given, as `kernels/world.cuh` lays it out. The module's own
//! sizes are compared with these when it is loaded.

use shared::CommandKind;
use shared::schema::ATTRIBUTES_MAX;

use crate::state::part;
use crate::timed::TIMED_WORDS_MAX;

/// A device address.
pub type Pointer = u64;

/// The world's configuration, tables, state and scratch.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct World {
    pub seed: u64,
    pub buckets: [u64; 3],
    pub updates_max: u64,
    pub deliveries_max: u64,
    pub capacity: u32,
    pub columns: u32,
    pub dimensions: u32,
    pub kinds: u32,
    pub clients: u32,
    pub observers_per_client: u32,
    pub visible_max: u32,
    pub exact: u32,
    pub commands_max: u32,
    pub rules: u32,
    pub view_places: u32,
    pub key_bits: u32,
    pub aoi: i32,
    pub hp: i32,
    pub owner: i32,
    pub move_speed_max: i32,
    pub size: [i32; 4],
    pub strike_reach: i32,
    pub strike_damage: i32,
    pub heal_reach: i32,
    pub heal_amount: i32,
    pub blast_reach: i32,
    pub blast_radius: i32,
    pub blast_damage: i32,
    pub pick_reach: i32,
    pub roam_step: i32,
    pub ember_ticks: i32,
    pub ember_damage: i32,
    pub timed_max: u32,
    /// 1 where any kind respawns, else 0.
    pub respawns: u32,
    pub rule_words: u32,
    pub blast_sound: i32,
    pub shout_radius_max: i32,
    pub notifications_max: u32,
    /// A bit for each kind of notification that the world has.
    pub tells: u32,
    pub word_counts: [i32; CommandKind::ALL.len()],
    /// Rows of buckets that an observer can touch.
    pub rows_max: u32,
    pub scan_groups: u32,
    pub directory_len: u32,
    pub directory_shift: u32,

    pub bounds: Pointer,
    pub defaults: Pointer,
    pub kind_columns: Pointer,
    pub merge_rules: Pointer,
    pub told: Pointer,
    pub rule_table: Pointer,
    pub respawn_ticks: Pointer,

    pub rows: Pointer,
    pub states: Pointer,
    pub generations: Pointer,
    pub slot_kinds: Pointer,
    pub observers: Pointer,
    pub known: Pointer,
    pub known_counts: Pointer,
    pub behind: Pointer,
    pub timed: Pointer,
    pub timed_state: Pointer,

    pub index_keys: Pointer,
    pub index_slots: Pointer,
    pub index_positions: Pointer,
    pub index_len: Pointer,
    pub directory: Pointer,

    pub visible: Pointer,
    pub visible_counts: Pointer,
    pub changed: Pointer,
    pub verdicts: Pointer,
    pub update_counts: Pointer,
    pub partials: Pointer,
    pub keys: Pointer,
    pub values: Pointer,
    pub interval_keys: Pointer,
    pub interval_starts: Pointer,
    pub interval_values: Pointer,
    pub interval_changed: Pointer,
    pub bucket_keys: Pointer,
    pub bucket_slots: Pointer,
    pub free_list: Pointer,
    pub died: Pointer,
    pub client_counts: Pointer,
    pub ranges: Pointer,
    pub changed_before: Pointer,
    pub timed_next: Pointer,
    pub after_counts: Pointer,
    pub after_partials: Pointer,
    pub fallen: Pointer,
    pub due_words: Pointer,
    pub notification_counts: Pointer,
    pub notification_partials: Pointer,
    /// 0 where causes are not kept.
    pub first_updates: Pointer,
}

/// One tick's own.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Tick {
    pub number: u32,
    pub stamp: u32,
    pub frame_commands: u32,
    pub clients_used: u32,
    pub observer_sets: u32,
    pub forgets: u32,
    pub releases: u32,
    pub chunk_clients: u32,
    pub client_first: u32,
    pub client_end: u32,
    pub afters: u32,
    pub afters_asked: u32,
    pub frame: Pointer,
    pub words: Pointer,
    pub sets: Pointer,
    pub forget: Pointer,
    pub release: Pointer,
    pub after: Pointer,
    pub commands: Pointer,
    pub counters: Pointer,
    pub scan_sums: Pointer,
    pub births: Pointer,
    pub birth_rows: Pointer,
    pub deaths: Pointer,
    pub notifications: Pointer,
    pub change_slots: Pointer,
    pub change_offsets: Pointer,
    pub change_columns: Pointer,
    pub change_values: Pointer,
    pub change_causes: Pointer,
    pub delivery_offsets: Pointer,
    pub deliveries: Pointer,
    pub bucket_order: Pointer,
    pub bucket_ranges: Pointer,
}

/// Counted on the device during one tick.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Counters {
    pub due: u64,
    pub commands: u64,
    pub applied: u64,
    pub stale: u64,
    pub malformed: u64,
    pub updates_total: u64,
    pub updates: u64,
    pub intervals: u64,
    pub changes: u64,
    pub entities: u64,
    pub free_slots: u64,
    pub births_asked: u64,
    pub births: u64,
    pub deaths: u64,
    pub live: u64,
    pub changed_live: u64,
    pub deliveries_total: u64,
    pub deliveries: u64,
    pub served: u64,
    pub behind: u64,
    pub ignored: u64,
    /// Where each chunk of clients' deliveries begin.
    pub chunk_starts: [u64; CHUNKS_MAX],
    pub timed_due: u64,
    pub afters: u64,
    pub respawns: u64,
    pub timed: u64,
    pub timed_dropped: u64,
    /// Entities that carry a publication.
    pub published: u64,
    /// Notifications that can be heard.
    pub areas: u64,
    pub hearings: u64,
    pub hearings_dropped: u64,
    /// What is told by commands, of items, and of the fallen.
    pub notified: u64,
    pub picked: u64,
    pub falls: u64,
    pub fallen: u64,
    pub hash: [u64; part::COLUMNS + ATTRIBUTES_MAX],
}

/// An observer: tag 0 none, 1 an entity (slot, generation), 2 a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Observer {
    pub tag: u32,
    pub radius: i32,
    pub place: [i32; 3],
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct ObserverSet {
    pub place: u32,
    pub observer: Observer,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Rule {
    pub kind: u32,
    pub ticks: u32,
    pub command: u32,
    pub word_start: u32,
    pub word_count: u32,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Birth {
    pub token: u32,
    pub kind: u32,
    pub slot: u32,
    pub generation: u32,
}

/// Of the commands that wait: how many, how many there ever were, and the sum of
/// their elements of the state hash.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct TimedState {
    pub len: u64,
    pub next_sequence: u64,
    pub hash: u64,
}

/// The columns of the commands that wait, one number each.
pub const TIMED_COLUMNS: usize = 6 + TIMED_WORDS_MAX;

/// Clients are served in at most so many chunks, each downloaded while the next is
/// served.
pub const CHUNKS_MAX: usize = 8;
/// Scans in a tick, and the partial sums that have a sum of their own.
pub const SCANS: u64 = 18;
pub const SCAN_GROUP: u64 = 256;

/// Sizes in the order of the module's `layout_bytes`.
pub const SIZES: [u32; 11] = [
    size_of::<World>() as u32,
    size_of::<Tick>() as u32,
    size_of::<Counters>() as u32,
    size_of::<crate::frame::Command>() as u32,
    size_of::<Observer>() as u32,
    size_of::<ObserverSet>() as u32,
    size_of::<Rule>() as u32,
    size_of::<Birth>() as u32,
    size_of::<crate::frame::After>() as u32,
    size_of::<TimedState>() as u32,
    size_of::<crate::output::Notification>() as u32,
];

impl Counters {
    /// All that was told, what finds no room included.
    pub fn told(&self) -> u64 {
        self.notified + self.picked + self.falls
    }
}

impl Default for Counters {
    fn default() -> Counters {
        Counters {
            due: 0,
            commands: 0,
            applied: 0,
            stale: 0,
            malformed: 0,
            updates_total: 0,
            updates: 0,
            intervals: 0,
            changes: 0,
            entities: 0,
            free_slots: 0,
            births_asked: 0,
            births: 0,
            deaths: 0,
            live: 0,
            changed_live: 0,
            deliveries_total: 0,
            deliveries: 0,
            served: 0,
            behind: 0,
            ignored: 0,
            chunk_starts: [0; CHUNKS_MAX],
            timed_due: 0,
            afters: 0,
            respawns: 0,
            timed: 0,
            timed_dropped: 0,
            published: 0,
            areas: 0,
            hearings: 0,
            hearings_dropped: 0,
            notified: 0,
            picked: 0,
            falls: 0,
            fallen: 0,
            hash: [0; part::COLUMNS + ATTRIBUTES_MAX],
        }
    }
}
