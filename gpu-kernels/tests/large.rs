//! Backends against each other, in worlds that would take the oracle too long.

use gpu_kernels::{Backend, Frame};

use testkit::agree::assert_same;
use testkit::backends::backends;
use testkit::scenario::{self, Scenario};

/// Keeps two ticks in flight: what one leaves in buffers or on the device must not show in
/// the other.
fn play_overlapped(mut scenario: Scenario, mut backends: Vec<(String, Box<dyn Backend>)>) {
    let mut frames = [Frame::default(), Frame::default()];
    for _ in 0..2 {
        // Later frames depend only on the births.
        let frame = &mut frames[0];
        scenario.fill(frame);
        let mut outputs = vec![];
        for (_, backend) in &mut backends {
            outputs.push(backend.tick(frame).expect("the frame is accepted"));
        }
        scenario.observe(&outputs[0].births, &outputs[0].deaths);
    }
    for _ in 0..3 {
        for frame in &mut frames {
            scenario.fill(frame);
            scenario.observe(&[], &[]);
        }
        let mut expected = None;
        for (label, backend) in &mut backends {
            let mut submit = |frame| backend.submit(frame).expect("the frame is accepted");
            let tickets = [submit(&frames[0]), submit(&frames[1])];
            let outputs = tickets.map(|ticket| backend.collect(ticket).expect("the tick is run"));
            let expected = expected.get_or_insert_with(|| outputs.clone());
            for (output, expected) in outputs.iter().zip(expected) {
                assert_same(output, expected, label);
            }
        }
    }
}

#[test]
fn a_million_entities_and_clients_agree() {
    let n = 1 << 20;
    for scenario in [scenario::wander(n, n), scenario::crowd(n / 8, n / 1024)] {
        let both = backends_of_two_kinds(&scenario);
        if both.len() == 2 {
            play_overlapped(scenario, both);
        }
    }
}

/// The widest cpu backend, and the cuda backend where there is one.
fn backends_of_two_kinds(scenario: &Scenario) -> Vec<(String, Box<dyn Backend>)> {
    backends(&scenario.config).split_off(3)
}

#[test]
fn a_thousand_ticks_of_a_fight_in_a_crowd_agree() {
    let mut scenario = scenario::fight(400, 150);
    let mut backends = backends(&scenario.config);
    let mut frame = Frame::default();
    let mut hits = 0;
    for tick in 0..1000 {
        scenario.fill(&mut frame);
        let mut outputs = backends.iter_mut().map(|(label, backend)| {
            let output = backend.tick(&frame).expect("the frame is accepted");
            (label, output)
        });
        let (_, expected) = outputs.next().expect("a backend");
        for (label, output) in outputs {
            assert_same(&output, &expected, &format!("{label}, tick {tick}"));
        }
        hits += expected.counts.changes;
        scenario.observe(&expected.births, &expected.deaths);
    }
    assert!(hits > 100_000, "{hits}");
}
