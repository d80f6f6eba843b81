//! Fixed scenarios end in the state that the oracle once found, after as many deliveries, on
//! every backend.

use testkit::agree::assert_agrees;
use testkit::backends::{Starter, starters};
use testkit::oracle::Oracle;
use testkit::scenario::{self, Scenario};

/// A scenario, its state hash after the last tick, and the deliveries of all ticks.
fn goldens() -> [(Scenario, Golden); 7] {
    [
        (
            scenario::wander(1000, 50),
            golden(0xa75f_2587_0724_4e58, 94646),
        ),
        (
            scenario::crowd(400, 30),
            golden(0x7e82_d8c7_1a02_d2b8, 100932),
        ),
        (
            scenario::fight(400, 50),
            golden(0xc50e_d91e_d35f_e690, 45275),
        ),
        (
            scenario::space(600, 50),
            golden(0x573a_4bf7_cf10_31fe, 36893),
        ),
        (
            scenario::market(300, 50),
            golden(0x5c01_072f_c647_c2b9, 22976),
        ),
        (
            scenario::generations(200, 40),
            golden(0xc161_ac07_f732_9b00, 47343),
        ),
        (
            scenario::embers(300, 50),
            golden(0xfa91_3662_856a_701b, 53426),
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
    for (mut scenario, golden) in goldens() {
        let mut oracle = Oracle::new(&scenario.config);
        // With a backend beside it, so that this test names the tick in which they differ.
        let mut backend = starters()[0].start(&scenario.config);
        let mut deliveries = 0;
        for _ in 0..scenario.ticks {
            let frame = scenario.frame();
            let output = oracle.tick(&frame);
            let found = backend.tick(&frame).expect("the frame is accepted");
            let place = format!("{}, tick {}", scenario.name, frame.tick);
            assert_agrees(&scenario.config, &output, &found, &place);
            scenario.observe(&output.births, &output.deaths);
            deliveries += output.counts.deliveries;
        }
        let hash = oracle.hash().combined();
        assert_eq!(Golden { hash, deliveries }, golden, "{}", scenario.name);
    }
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
