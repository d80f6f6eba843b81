//! Fixed scenarios end in the state that the oracle once found, after as many deliveries, on
//! every backend.

use testkit::agree::assert_agrees;
use testkit::backends::{Starter, starters};
use testkit::oracle::Oracle;
use testkit::scenario::{self, Scenario};

/// A scenario, its state hash after the last tick, and the deliveries of all ticks.
fn goldens() -> [(Scenario, Golden); 8] {
    [
        (
            scenario::wander(1000, 50),
            golden(0x7f8a_3701_cde9_43ef, 94646),
        ),
        (
            scenario::crowd(400, 30),
            golden(0xcb23_e795_fa49_5ada, 100932),
        ),
        (
            scenario::fight(400, 50),
            golden(0x8680_4688_497d_263e, 45275),
        ),
        (
            scenario::space(600, 50),
            golden(0x90f5_7774_f2c2_3334, 36950),
        ),
        (
            scenario::market(300, 50),
            golden(0x757b_1009_ac2f_388c, 22976),
        ),
        (
            scenario::generations(200, 40),
            golden(0xeef6_f9af_ac47_14c6, 47454),
        ),
        (
            scenario::stroll(600, 40),
            golden(0x40ba_527c_5f12_4442, 5168),
        ),
        (
            scenario::embers(300, 50),
            golden(0xffc5_7ae3_e2bd_dad9, 53325),
        ),
    ]
}

#[derive(Debug, PartialEq, Eq)]
struct Golden {
    hash: u64,
    deliveries: u64,
}

fn golden(hash: u64, deliveries: u64) -> Golden {
    Golden { hash, deliveries }
}

#[test]
fn every_backend_ends_in_the_golden_state() {
    for starter in starters() {
        for (scenario, golden) in goldens() {
            let place = format!("{} on {}", scenario.name, starter.label);
            assert_eq!(run(&starter, scenario), golden, "{place}");
        }
    }
}

#[test]
fn the_oracle_ends_in_the_golden_state() {
    let mut found = vec![];
    let mut expected = vec![];
    for (mut scenario, golden) in goldens() {
        let mut oracle = Oracle::new(&scenario.config);
        // With a backend beside it, so that this test names the tick in which they differ.
        let mut backend = starters()[0].start(&scenario.config);
        let mut deliveries = 0;
        for _ in 0..scenario.ticks {
            let frame = scenario.frame();
            let output = oracle.tick(&frame);
            let beside = backend.tick(&frame).expect("the frame is accepted");
            let place = format!("{}, tick {}", scenario.name, frame.tick);
            assert_agrees(&scenario.config, &output, &beside, &place);
            scenario.observe(&output.births, &output.deaths);
            deliveries += output.counts.deliveries;
        }
        let hash = oracle.hash().combined();
        found.push(format!("{} {hash:#018x}, {deliveries}", scenario.name));
        expected.push(format!(
            "{} {:#018x}, {}",
            scenario.name, golden.hash, golden.deliveries
        ));
    }
    assert_eq!(found, expected);
}

fn run(starter: &Starter, mut scenario: Scenario) -> Golden {
    let mut backend = starter.start(&scenario.config);
    let mut deliveries = 0;
    for _ in 0..scenario.ticks {
        let frame = scenario.frame();
        let output = backend.tick(&frame).expect("the frame is accepted");
        scenario.observe(&output.births, &output.deaths);
        deliveries += output.counts.deliveries;
    }
    let hash = backend.state_hash().expect("the state is hashed");
    Golden {
        hash: hash.combined(),
        deliveries,
    }
}
