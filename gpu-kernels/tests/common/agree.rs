//! Holding a backend's output against the oracle's, or against another's.

use gpu_kernels::{Backend, Frame, TickOutput};
use shared::{ClientRow, WorldConfig};

use super::backends::{Starter, starters};
use super::oracle::{Oracle, OracleOutput};

/// A world on every backend and in the oracle, ticking in step.
pub struct Parity {
    pub oracle: Oracle,
    backends: Vec<(Starter, Box<dyn Backend>)>,
}

impl Parity {
    pub fn new(config: &WorldConfig) -> Parity {
        Parity {
            oracle: Oracle::new(config),
            backends: starters()
                .into_iter()
                .map(|starter| {
                    let backend = starter.start(config);
                    (starter, backend)
                })
                .collect(),
        }
    }

    /// Runs one tick everywhere; panics where a backend disagrees.
    pub fn tick(&mut self, frame: &Frame) -> OracleOutput {
        let expected = self.oracle.tick(frame);
        for (starter, backend) in &mut self.backends {
            let output = backend.tick(frame).expect("the frame is accepted");
            let place = format!("{}, tick {}", starter.label, frame.tick);
            assert_agrees(&self.oracle.config, &expected, &output, &place);
            let afresh = backend.state_hash().expect("the state is hashed");
            assert_eq!(
                afresh, output.hash,
                "{place}: hash kept and computed afresh"
            );
        }
        expected
    }

    /// Goes on everywhere from each backend's own snapshot, in another backend of
    /// the same make or in the same one.
    pub fn restart(&mut self, in_another: bool) {
        for (starter, backend) in &mut self.backends {
            let snapshot = backend.snapshot().expect("a snapshot is taken");
            assert_eq!(snapshot, self.oracle.snapshot(), "{}", starter.label);
            if in_another {
                *backend = starter.start(&self.oracle.config);
            }
            backend.restore(&snapshot).expect("it is restored");
        }
    }

    /// Brings every backend to the oracle's state, which the caller has changed.
    pub fn restore_from_oracle(&mut self) {
        let snapshot = self.oracle.snapshot();
        for (_, backend) in &mut self.backends {
            backend.restore(&snapshot).expect("it is restored");
        }
    }
}

pub fn assert_agrees(
    config: &WorldConfig,
    expected: &OracleOutput,
    output: &TickOutput,
    place: &str,
) {
    assert_eq!(output.counts, expected.counts, "{place}: counts");
    assert_eq!(output.births, expected.births, "{place}: births");
    assert_eq!(
        output.birth_rows, expected.birth_rows,
        "{place}: birth rows"
    );
    assert_eq!(output.deaths, expected.deaths, "{place}: deaths");
    let expected_changes: Vec<_> = expected.changes.iter().map(|(&k, &v)| (k, v)).collect();
    assert_eq!(flat_changes(output), expected_changes, "{place}: changes");
    let expected_causes: Vec<_> = expected.causes.values().copied().collect();
    assert_eq!(output.changes.causes, expected_causes, "{place}: causes");
    assert_eq!(
        output.notifications, expected.notifications,
        "{place}: notifications"
    );
    for client in 0..config.limits.clients {
        let empty = vec![];
        let expected = expected.deliveries.get(&client).unwrap_or(&empty);
        assert_eq!(
            output.deliveries.of(ClientRow(client)),
            expected,
            "{place}: deliveries of client {client}"
        );
    }
    for client in 0..config.limits.clients {
        let empty = vec![];
        let expected = expected.hearings.get(&client).unwrap_or(&empty);
        assert_eq!(
            output.hearings.of(ClientRow(client)),
            expected,
            "{place}: hearings of client {client}"
        );
    }
    assert_eq!(
        output.deliveries.all().len() as u64,
        expected.counts.deliveries,
        "{place}: all deliveries"
    );
    assert_eq!(output.hash, expected.hash, "{place}: hash");
}

/// Everything in two outputs but the time they took.
pub fn assert_same(a: &TickOutput, b: &TickOutput, place: &str) {
    assert_eq!(a.tick, b.tick, "{place}: tick");
    assert_eq!(a.counts, b.counts, "{place}: counts");
    assert_eq!(a.births, b.births, "{place}: births");
    assert_eq!(a.birth_rows, b.birth_rows, "{place}: birth rows");
    assert_eq!(a.deaths, b.deaths, "{place}: deaths");
    assert_eq!(flat_changes(a), flat_changes(b), "{place}: changes");
    assert_eq!(a.changes.causes, b.changes.causes, "{place}: causes");
    assert_eq!(a.notifications, b.notifications, "{place}: notifications");
    let clients = a.deliveries.clients().max(b.deliveries.clients());
    for client in (0..clients as u32).map(ClientRow) {
        assert_eq!(
            a.deliveries.of(client),
            b.deliveries.of(client),
            "{place}: deliveries of client {}",
            client.0
        );
        assert_eq!(
            a.hearings.of(client),
            b.hearings.of(client),
            "{place}: hearings of client {}",
            client.0
        );
    }
    assert_eq!(a.hash, b.hash, "{place}: hash");
}

/// Changes as ((slot, column), value).
fn flat_changes(output: &TickOutput) -> Vec<((u32, u16), i32)> {
    let changes = &output.changes;
    assert_eq!(changes.offsets.len(), changes.slots.len() + 1);
    changes
        .iter()
        .flat_map(|(slot, columns, values)| {
            columns
                .iter()
                .zip(values)
                .map(move |(&column, &value)| ((slot.0, column), value))
        })
        .collect()
}
