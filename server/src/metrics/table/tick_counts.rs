//! Which metrics the tick's own counts are.

use gpu_kernels::Counts;

use super::{
    BIRTHS_REFUSED, CHANGES, CLIENTS_BEHIND, COMMANDS, Counter, DELIVERIES, DELIVERIES_DROPPED,
    ENTITIES, Gauge, HEARINGS, HEARINGS_DROPPED, NOTIFICATIONS, NOTIFICATIONS_DROPPED,
    TIMED_COMMANDS, TIMED_COMMANDS_DROPPED, UPDATES, UPDATES_DROPPED,
};

/// Records the counts of one tick.
pub fn record_counts(counts: &Counts) {
    for (fate, number) in COMMAND_FATES {
        COMMANDS.add_to(fate, number(counts));
    }
    for (counter, number) in COUNTERS {
        counter.add(number(counts));
    }
    for (gauge, number) in GAUGES {
        gauge.set(number(counts));
    }
}

type Number = fn(&Counts) -> u64;

const COMMAND_FATES: [(&str, Number); 4] = [
    ("applied", |c| c.applied),
    ("stale", |c| c.stale),
    ("malformed", |c| c.malformed),
    ("dropped", |c| c.commands_dropped),
];

const COUNTERS: [(Counter, Number); 11] = [
    (UPDATES, |c| c.updates),
    (UPDATES_DROPPED, |c| c.updates_dropped),
    (CHANGES, |c| c.changes),
    (BIRTHS_REFUSED, |c| c.births_refused),
    (TIMED_COMMANDS_DROPPED, |c| c.timed_dropped),
    (NOTIFICATIONS, |c| c.notifications),
    (NOTIFICATIONS_DROPPED, |c| c.notifications_dropped),
    (DELIVERIES, |c| c.deliveries),
    (DELIVERIES_DROPPED, |c| c.deliveries_dropped),
    (HEARINGS, |c| c.hearings),
    (HEARINGS_DROPPED, |c| c.hearings_dropped),
];

const GAUGES: [(Gauge, Number); 3] = [
    (ENTITIES, |c| c.entities),
    (TIMED_COMMANDS, |c| c.timed),
    (CLIENTS_BEHIND, |c| c.clients_behind),
];
