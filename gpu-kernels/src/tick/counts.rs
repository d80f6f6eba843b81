//! What happens in a tick, in numbers, declared once: from one declaration follow the
//! counters on the device, the counts in the output, and the metrics that operators see.

use serde::{Deserialize, Serialize};
use shared::world::columns::ATTRIBUTES_MAX;
use shared::world::command::COMMANDS_MAX;
use shared::world::group::RELATIONS_MAX;
use shared::world::ranking::RANKINGS_MAX;

use crate::tick::state::part;

/// A count that operators see.
#[derive(Clone, Copy)]
pub struct Metric {
    pub name: &'static str,
    /// A label with its value, where several counts have one name.
    pub label: Option<(&'static str, &'static str)>,
    pub kind: MetricKind,
    pub help: &'static str,
    pub value: fn(&Counts) -> u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Added up over all ticks.
    Counter,
    /// As it was in the last tick.
    Gauge,
}

/// Figures of a frame and the limits that the host has before a device counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameTotals {
    /// All of the frame's commands, those beyond the limit included.
    pub commands: u64,
    pub ignored: u64,
    /// Timed commands in a world that has no room for any.
    pub timed_dropped: u64,
    pub notifications_max: u64,
}

/// Kernels alone count and use `device`; `both` goes from the device to the output as it
/// is; `host` follows from the others. The text before a name is its help.
macro_rules! counts {
    (
        device { $( $(#[doc = $device_doc:literal])* $device:ident : $type:ty; )* }
        both { $( #[doc = $both_doc:literal] $both:ident
            $(=> $both_kind:ident $both_name:literal $($both_label:literal = $both_value:literal)?)? ; )* }
        host($counters:ident, $frame:ident) { $( #[doc = $host_doc:literal] $host:ident
            $(=> $host_kind:ident $host_name:literal $($host_label:literal = $host_value:literal)?)? ; $expression:expr; )* }
    ) => {
        device::device_struct! {
            /// Counted on the device during one tick, from zero.
            pub struct Counters {
                $( $(#[doc = $device_doc])* $device: $type; )*
                $( #[doc = $both_doc] $both: u64; )*
            }
        }

        /// What happened in a tick, in numbers.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Counts {
            $( #[doc = $both_doc] pub $both: u64, )*
            $( #[doc = $host_doc] pub $host: u64, )*
        }

        impl Counts {
            /// The counts that operators see.
            pub const METRICS: &[Metric] = &[
                $( $( Metric {
                    name: $both_name,
                    label: counts!(@label $($both_label = $both_value)?),
                    kind: MetricKind::$both_kind,
                    help: $both_doc.trim_ascii(),
                    value: |counts| counts.$both,
                }, )? )*
                $( $( Metric {
                    name: $host_name,
                    label: counts!(@label $($host_label = $host_value)?),
                    kind: MetricKind::$host_kind,
                    help: $host_doc.trim_ascii(),
                    value: |counts| counts.$host,
                }, )? )*
            ];

            /// What a device counted of a frame.
            pub fn of($counters: &Counters, $frame: &FrameTotals) -> Counts {
                Counts {
                    $( $both: $counters.$both, )*
                    $( $host: $expression, )*
                }
            }
        }
    };
    (@label) => { None };
    (@label $label:literal = $value:literal) => { Some(($label, $value)) };
}

counts! {
    device {
        /// Commands that fell due or that rules gave; `timed_due` of them waited.
        due: u64;
        timed_due: u64;
        /// Slots of which the census is taken.
        census: u64;
        /// By relation: slots that are sorted by holder or group: all, or none where each has the one
        /// that it had.
        held: [u64; RELATIONS_MAX];
        /// By ranking: how many entities it has.
        ranked: [u64; RANKINGS_MAX];
        /// Buckets of the index that are crowded.
        crowds: u64;
        /// Commands that are run or refused: at most `limits.commands_per_tick`.
        commands: u64;
        /// Updates asked for, with those beyond the room.
        updates_total: u64;
        /// Intervals of updates of one attribute.
        intervals: u64;
        /// Entities with a change.
        changed_entities: u64;
        free_slots: u64;
        births_asked: u64;
        /// Commands of clients that had no effect.
        refused: u64;
        /// Living entities that changed in a way that clients may see.
        changed_live: u64;
        deliveries_total: u64;
        /// Clients whose deliveries fit.
        served: u64;
        /// Entries of the frame that named what isn't there.
        ignored_entries: u64;
        /// Where each chunk of clients' deliveries begin.
        chunk_starts: [u64; CHUNKS_MAX];
        /// Commands that commands and newborns schedule, and those that name newborns.
        afters: u64;
        born: u64;
        follow_ups: u64;
        /// Entities that are born again in their own slots, and the commands that they
        /// schedule.
        reborn: u64;
        reborn_acts: u64;
        /// Commands that those who fell schedule, and those who crossed the borders of zones.
        fall_acts: u64;
        zone_acts: u64;
        /// Zones, each with its carrier.
        zones: u64;
        timed_unscheduled: u64;
        /// Entities that carry a publication.
        published: u64;
        /// Notifications that can be heard.
        areas: u64;
        /// Notifications by commands, by items with a new owner, by the fallen.
        notified: u64;
        picked: u64;
        falls: u64;
        fallen: u64;
        /// Players that died, in worlds where accounts keep things.
        left: u64;
        /// Atomic commands that ask for a turn; pairs of turn and key; entities that are keys.
        atomic_asked: u64;
        atomic_pairs: u64;
        atomic_entities: u64;
        /// Turns in the queue; those that threads took by their number, and workers by waiting;
        /// those that have ended.
        atomic_tail: u64;
        atomic_first: u64;
        atomic_head: u64;
        atomic_done: u64;
        /// Not 0 if a worker timed out.
        atomic_stuck: u64;
        /// Attributes that they left with another value, and those of them without an interval.
        atomic_left: u64;
        atomic_fresh: u64;
        /// Turns whose commands come again; commands that find no room to wait.
        atomic_again: u64;
        atomic_dropped: u64;
        /// What they schedule, and their notifications.
        atomic_afters: u64;
        atomic_notified: u64;
        /// The part of the state hash of those that wait.
        deferred_hash: u64;
        /// By number of a command: runs that used up their budget.
        over_budget_of: [u32; COMMANDS_MAX];
        /// Likewise: runs with an index or a key that an array or a map lacks.
        out_of_range_of: [u32; COMMANDS_MAX];
        /// The parts of the state hash.
        hash: [u64; part::COLUMNS + ATTRIBUTES_MAX];
    }
    both {
        /// Commands that were run: births, deaths and commands of rules too.
        applied => Counter "myriad_commands_total" "fate" = "applied";
        /// Commands of entities that are dead.
        stale => Counter "myriad_commands_total" "fate" = "stale";
        /// Commands that this world doesn't have, or with too few or too many words.
        malformed => Counter "myriad_commands_total" "fate" = "malformed";
        /// Commands whose run used up its budget, so that it has no effect.
        over_budget => Counter "myriad_commands_total" "fate" = "over_budget";
        /// Commands beyond their `per_tick`.
        over_per_tick => Counter "myriad_commands_total" "fate" = "over_per_tick";
        /// Commands that rest after a use.
        resting => Counter "myriad_commands_total" "fate" = "resting";
        /// Atomic commands of which a condition did not hold, or a value did not fit.
        atomic_refused => Counter "myriad_commands_total" "fate" = "refused";
        /// Atomic commands whose references had changed by their turn, twice.
        atomic_moved => Counter "myriad_commands_total" "fate" = "moved";
        /// Atomic commands that wait for the next tick: beyond `limits.atomic_per_tick`, or since references had changed by their turn.
        atomic_deferred => Counter "myriad_atomic_deferred_total";
        /// Updates before merging.
        updates => Counter "myriad_updates_total";
        /// Merged changes: (entity, attribute) pairs with a new value.
        changes => Counter "myriad_changes_total";
        /// Courses: new velocities of entities, as sent to clients.
        courses => Counter "myriad_courses_total";
        /// Entities that were born.
        births;
        /// Entities that died.
        deaths;
        /// Deliveries to clients: enter, update and leave.
        deliveries => Counter "myriad_deliveries_total";
        /// Clients whose deliveries were deferred, for want of room in the tick.
        clients_behind => Gauge "myriad_clients_behind";
        /// Entities alive after the tick.
        entities => Gauge "myriad_entities";
        /// Timed commands pending after the tick.
        timed => Gauge "myriad_timed_commands";
        /// Fallen entities that are to be born again.
        respawns => Gauge "myriad_respawns";
        /// Hearings: (client, notification) pairs.
        hearings => Counter "myriad_hearings_total";
        /// Hearings beyond `limits.client_hearings_per_tick`: the last of each client.
        hearings_dropped => Counter "myriad_hearings_dropped_total";
    }
    host(counters, frame) {
        /// Commands of the frame, timed ones that fell due, and those of world rules.
        commands; frame.commands + counters.due;
        /// Commands beyond `limits.commands_per_tick`.
        commands_dropped => Counter "myriad_commands_total" "fate" = "dropped";
            frame.commands + counters.due - counters.commands + counters.atomic_dropped;
        /// Updates beyond `limits.updates_per_tick`: the last commands lose theirs.
        updates_dropped => Counter "myriad_updates_dropped_total";
            counters.updates_total - counters.updates;
        /// Births for which there was no free slot.
        births_refused => Counter "myriad_births_refused_total";
            counters.births_asked - counters.births;
        /// Deliveries beyond `limits.deliveries_per_tick`: the last clients get none in this tick, and all as soon as there is room.
        deliveries_dropped => Counter "myriad_deliveries_dropped_total";
            counters.deliveries_total - counters.deliveries;
        /// Entries of the frame that named what doesn't exist.
        ignored; frame.ignored + counters.ignored_entries;
        /// Timed commands beyond `limits.timed_commands`: the last scheduled.
        timed_dropped => Counter "myriad_timed_commands_dropped_total";
            frame.timed_dropped + counters.timed_unscheduled;
        /// Notifications.
        notifications => Counter "myriad_notifications_total";
            counters.notifications_total().min(frame.notifications_max);
        /// Cells of layers that scripts changed.
        edits => Counter "myriad_edits_total"; 0;
        /// Changes of cells beyond `limits.edits_per_tick` or `limits.edited_cells`, or to a tag that the world lacks.
        edits_dropped => Counter "myriad_edits_dropped_total"; 0;
        /// Notifications beyond `limits.notifications_per_tick`: the last.
        notifications_dropped => Counter "myriad_notifications_dropped_total";
            counters.notifications_total().saturating_sub(frame.notifications_max);
    }
}

impl Counters {
    /// Adds what another part of a backend counted of its own clients.
    pub fn add_part(&mut self, other: &Counters) {
        self.deliveries_total += other.deliveries_total;
        self.deliveries += other.deliveries;
        self.clients_behind += other.clients_behind;
        self.hearings += other.hearings;
        self.hearings_dropped += other.hearings_dropped;
        let known = &mut self.hash[part::KNOWN];
        *known = known.wrapping_add(other.hash[part::KNOWN]);
    }

    /// All notifications, with those that find no room.
    pub fn notifications_total(&self) -> u64 {
        self.notified + self.picked + self.falls
    }
}

/// Clients are served in at most so many chunks, each downloaded while the next is
/// served.
pub const CHUNKS_MAX: usize = 8;
