//! Fixed scenarios end in the state that the oracle found once, on every backend,
//! after as many deliveries.

mod common;

use common::agree::assert_agrees;
use common::backends::{Starter, starters};
use common::oracle::Oracle;
use common::scenario::{self, Scenario};

/// A scenario, its state hash after the last tick, and the deliveries of all ticks.
fn goldens() -> [(Scenario, Golden); 6] {
    [
        (
            scenario::wander(1000, 50),
            golden(0xa01a_ff90_6966_367b, 94646),
        ),
        (
            scenario::crowd(400, 30),
            golden(0x32cd_2314_cf5b_a36f, 100932),
        ),
        (
            scenario::fight(400, 50),
            golden(0x8448_0477_48ee_633a, 45275),
        ),
        (
            scenario::space(600, 50),
            golden(0x8831_1eca_62b6_3398, 36893),
        ),
        (
            scenario::market(300, 50),
            golden(0x23d6_4816_b58e_4c3e, 22976),
        ),
        (
            scenario::generations(200, 40),
            golden(0x1dbc_e238_cc2b_c08d, 47343),
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
        // A backend along with it, so that this test says where they part.
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
