//! Comparing a backend's output with the oracle's, or with another backend's.

use std::fmt::{self, Debug, Display};

use gpu_kernels::{
    Birth, Counts, Delivery, Notification, RefusedCommand, Snapshot, StateHash, TickOutput,
};
use shared::world::edit::Edit;
use shared::{ClientRow, CommandKind, EntityId, Tick, WorldConfig};

use crate::oracle::OracleOutput;

/// The first part of two results that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The part by name, such as `deliveries of client 3`.
    pub part: String,
    /// The part's content, or the first entry of it that differs.
    pub expected: String,
    /// Like `expected`, in the other result.
    pub found: String,
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Difference {
            part,
            expected,
            found,
        } = self;
        write!(f, "{part}: expected {expected}, found {found}")
    }
}

impl std::error::Error for Difference {}

/// Compares everything in a backend's output with the oracle's.
pub fn compare_with_oracle(
    config: &WorldConfig,
    expected: &OracleOutput,
    output: &TickOutput,
) -> Result<(), Difference> {
    let changes: Vec<Change> = expected.changes.iter().map(|(&k, &v)| (k, v)).collect();
    let (causes, actors): (Vec<u16>, Vec<u32>) = expected.causes.values().copied().unzip();
    Parts {
        tick: output.tick,
        counts: &expected.counts,
        births: &expected.births,
        birth_rows: &expected.birth_rows,
        deaths: &expected.deaths,
        kept: &expected.kept,
        changes,
        courses: expected.courses.clone().into_iter().collect(),
        causes: &causes,
        actors: &actors,
        notifications: &expected.notifications,
        edits: &expected.edits,
        refused: &expected.refused,
        deliveries: (0..config.limits.clients)
            .map(|client| expected.deliveries.get(&client).map_or(&[][..], |all| all))
            .collect(),
        hearings: (0..config.limits.clients)
            .map(|client| expected.hearings.get(&client).map_or(&[][..], |all| all))
            .collect(),
        over_budget: expected.over_budget.clone().into_iter().collect(),
        out_of_range: expected.out_of_range.clone().into_iter().collect(),
        hash: &expected.hash,
    }
    .compare(&Parts::of(output, config.limits.clients))?;
    // Deliveries of clients that do not exist would only show here.
    equal(
        "number of all deliveries",
        &expected.counts.deliveries,
        &(output.deliveries.total() as u64),
    )
}

/// Compares everything in two outputs but the time that the stages took.
pub fn compare(expected: &TickOutput, found: &TickOutput) -> Result<(), Difference> {
    let clients = expected
        .deliveries
        .clients()
        .max(found.deliveries.clients()) as u32;
    Parts::of(expected, clients).compare(&Parts::of(found, clients))
}

/// Compares the hash that a backend kept over the ticks with the one of its whole state.
pub fn compare_hashes(kept: &StateHash, computed: &StateHash) -> Result<(), Difference> {
    let part = "parts of the hash of the whole state";
    same_list(part, &kept.parts, &computed.parts, debug)
}

/// Compares two snapshots.
pub fn compare_snapshots(expected: &Snapshot, found: &Snapshot) -> Result<(), Difference> {
    let (a, b) = (expected, found);
    equal("tick of the snapshot", &a.tick, &b.tick)?;
    same_list("slot states", &a.states, &b.states, debug)?;
    same_list("generations", &a.generations, &b.generations, debug)?;
    same_list("kinds", &a.kinds, &b.kinds, debug)?;
    same_list("rows", &a.rows, &b.rows, debug)?;
    same_list("tracks", &a.tracks, &b.tracks, debug)?;
    same_list("past positions", &a.past, &b.past, debug)?;
    same_list("ticks of rests", &a.ready, &b.ready, debug)?;
    same_list("observers", &a.observers, &b.observers, debug)?;
    same_list("regions", &a.regions, &b.regions, debug)?;
    same_list("publications", &a.publications, &b.publications, debug)?;
    same_list("subscriptions", &a.subscriptions, &b.subscriptions, debug)?;
    same_list("known entities", &a.known, &b.known, debug)?;
    same_list("clients behind", &a.behind, &b.behind, debug)?;
    same_list("timed commands", &a.timed, &b.timed, debug)?;
    equal("next sequence number", &a.next_sequence, &b.next_sequence)
}

/// Like [`compare_with_oracle`], but panics with the place and the difference.
pub fn assert_agrees(
    config: &WorldConfig,
    expected: &OracleOutput,
    output: &TickOutput,
    place: &str,
) {
    if let Err(difference) = compare_with_oracle(config, expected, output) {
        panic!("{place}: {difference}");
    }
}

/// Like [`compare`], but panics with the place and the difference.
pub fn assert_same(expected: &TickOutput, found: &TickOutput, place: &str) {
    if let Err(difference) = compare(expected, found) {
        panic!("{place}: {difference}");
    }
}

/// Compares two values whose `Debug` form names their fields, and names the first field
/// that differs.
fn equal<T: PartialEq + Debug>(part: &str, expected: &T, found: &T) -> Result<(), Difference> {
    if expected == found {
        return Ok(());
    }
    let (expected, found) = (format!("{expected:#?}"), format!("{found:#?}"));
    let pairs = expected.lines().zip(found.lines());
    let (a, b) = pairs
        .clone()
        .find(|(a, b)| a != b)
        .unwrap_or((&expected, &found));
    let tidy = |line: &str| line.trim().trim_end_matches(',').to_owned();
    Err(Difference {
        part: part.to_owned(),
        expected: tidy(a),
        found: tidy(b),
    })
}

/// ((slot, column), new value).
type Change = ((u32, u16), i32);

/// The parts of an output that are compared.
struct Parts<'a> {
    tick: Tick,
    counts: &'a Counts,
    births: &'a [Birth],
    birth_rows: &'a [i32],
    deaths: &'a [EntityId],
    kept: &'a [EntityId],
    changes: Vec<Change>,
    /// (slot, velocity).
    courses: Vec<(u32, Vec<i32>)>,
    causes: &'a [u16],
    actors: &'a [u32],
    notifications: &'a [Notification],
    edits: &'a [Edit],
    refused: &'a [RefusedCommand],
    /// By client.
    deliveries: Vec<&'a [Delivery]>,
    /// By client.
    hearings: Vec<&'a [u32]>,
    /// Numbers of commands, and their runs over the budget.
    over_budget: Vec<(u16, u64)>,
    /// Likewise, and those that met an index or a key that is not there.
    out_of_range: Vec<(u16, u64)>,
    hash: &'a StateHash,
}

fn by_number(runs: &[(CommandKind, u64)]) -> Vec<(u16, u64)> {
    runs.iter().map(|&(kind, n)| (kind.id(), n)).collect()
}

impl<'a> Parts<'a> {
    /// The parts of an output, with the deliveries and hearings of this many clients.
    fn of(output: &'a TickOutput, clients: u32) -> Parts<'a> {
        let rows = (0..clients).map(ClientRow);
        Parts {
            tick: output.tick,
            counts: &output.counts,
            births: &output.births,
            birth_rows: &output.birth_rows,
            deaths: &output.deaths,
            kept: &output.kept,
            changes: flat_changes(output),
            courses: output
                .courses
                .iter()
                .map(|(slot, velocity)| (slot.0, velocity.to_vec()))
                .collect(),
            causes: &output.changes.causes,
            actors: &output.changes.actors,
            notifications: &output.notifications,
            edits: &output.edits,
            refused: &output.refused,
            deliveries: rows.clone().map(|row| output.deliveries.of(row)).collect(),
            hearings: rows.map(|row| output.hearings.of(row)).collect(),
            over_budget: by_number(&output.over_budget),
            out_of_range: by_number(&output.out_of_range),
            hash: &output.hash,
        }
    }

    fn compare(&self, found: &Parts) -> Result<(), Difference> {
        equal("tick", &self.tick, &found.tick)?;
        equal("counts", self.counts, found.counts)?;
        same_list("births", self.births, found.births, debug)?;
        same_list("birth rows", self.birth_rows, found.birth_rows, debug)?;
        same_list("deaths", self.deaths, found.deaths, debug)?;
        same_list("kept things", self.kept, found.kept, debug)?;
        same_list("changes", &self.changes, &found.changes, describe_change)?;
        same_list("courses", &self.courses, &found.courses, debug)?;
        same_list("causes", self.causes, found.causes, debug)?;
        same_list("actors", self.actors, found.actors, debug)?;
        same_list(
            "notifications",
            self.notifications,
            found.notifications,
            debug,
        )?;
        same_list("edits", self.edits, found.edits, debug)?;
        same_list("refused commands", self.refused, found.refused, debug)?;
        for (client, (a, b)) in self.deliveries.iter().zip(&found.deliveries).enumerate() {
            same_list(
                &format!("deliveries of client {client}"),
                a,
                b,
                describe_delivery,
            )?;
        }
        for (client, (a, b)) in self.hearings.iter().zip(&found.hearings).enumerate() {
            same_list(&format!("hearings of client {client}"), a, b, debug)?;
        }
        let part = "runs over the budget";
        same_list(part, &self.over_budget, &found.over_budget, debug)?;
        let part = "runs with an index that is not there";
        same_list(part, &self.out_of_range, &found.out_of_range, debug)?;
        same_list(
            "parts of the state hash",
            &self.hash.parts,
            &found.hash.parts,
            debug,
        )
    }
}

/// Compares two lists, and names the first entry that differs.
fn same_list<T: PartialEq>(
    part: &str,
    expected: &[T],
    found: &[T],
    describe: impl Fn(&T) -> String,
) -> Result<(), Difference> {
    if expected == found {
        return Ok(());
    }
    let longest = expected.len().max(found.len());
    let place = (0..longest)
        .find(|&i| expected.get(i) != found.get(i))
        .unwrap_or(0);
    let entry = |list: &[T]| match list.get(place) {
        Some(entry) => describe(entry),
        None => format!("no more than {}", list.len()),
    };
    Err(Difference {
        part: format!("{part}, entry {place}"),
        expected: entry(expected),
        found: entry(found),
    })
}

fn debug<T: Debug>(entry: &T) -> String {
    format!("{entry:?}")
}

fn describe_change(((slot, column), value): &Change) -> String {
    format!("slot {slot}, column {column}, new value {value}")
}

fn describe_delivery(delivery: &Delivery) -> String {
    let kind = match delivery.kind() {
        Delivery::UPDATE => "update",
        Delivery::ENTER => "enter",
        Delivery::LEAVE => "leave",
        Delivery::RENEW => "renewal",
        _ => "unknown kind",
    };
    format!("{kind} of slot {}", delivery.slot().0)
}

fn flat_changes(output: &TickOutput) -> Vec<Change> {
    let mut flat = vec![];
    for (slot, columns, values) in output.changes.iter() {
        for (&column, &value) in columns.iter().zip(values) {
            flat.push(((slot.0, column), value));
        }
    }
    flat
}
