//! Timed events on a GPU come to the same state as on a CPU.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use engines::events::cuda::{CudaPhold, CudaTorus, Selection, SelectionTrial};
use engines::events::{Parallel, Phold, Sequential, Torus};
use shared::world::mix::mix;
use testkit::backends;
use testkit::dice::{Dice, Seed};

#[test]
fn small_networks_have_the_heaps_state_at_every_stop() {
    if backends::gpu().is_none() {
        return;
    }
    for case in 0..40 {
        let seed = Seed(case);
        let mut dice = Dice::new(seed.0);
        let side = dice.within(1..=40) as u32;
        let (mean, lookahead) = dice.pick(&[(4, 1), (12, 3), (1000, 10), (655_360, 65_536)]);
        let torus = Torus::new(side, dice.any() as u64, mean, lookahead).unwrap();
        let torus = torus.with_tokens(dice.within(1..=3) as u32).unwrap();
        for selection in Selection::ALL {
            let mut one = Sequential::<Torus>::new(&torus);
            let mut gpu = CudaTorus::new(0, &torus, selection).unwrap();
            for stop in [1, 2, 5, 30] {
                one.run(mean * stop, |_| ());
                gpu.run(mean * stop).unwrap();
                let (found, expected) = (gpu.snapshot().unwrap(), one.snapshot());
                assert!(found == expected, "{selection:?} at {stop} of {torus:?}");
            }
            gpu.restart().unwrap();
            gpu.run(mean * 30).unwrap();
            assert!(gpu.snapshot().unwrap() == one.snapshot(), "after a restart");
        }
    }
}

#[test]
fn a_large_network_has_the_hash_of_the_cpus() {
    if backends::gpu().is_none() {
        return;
    }
    let torus = Torus::new(1000, 77, 655_360, 65_536).unwrap();
    let until = 60 * 65_536;
    let mut cpu = Parallel::new(&torus, 8).unwrap();
    let progress = cpu.run(until);
    let expected = cpu.snapshot();
    for selection in Selection::ALL {
        let mut gpu = CudaTorus::new(0, &torus, selection).unwrap();
        assert_eq!(gpu.run(until).unwrap(), progress);
        let found = gpu.snapshot().unwrap();
        assert_eq!(found.hash::<Torus>(), expected.hash::<Torus>());
        assert!(found == expected);
    }
}

#[test]
fn stamps_of_windows_are_used_again() {
    if backends::gpu().is_none() {
        return;
    }
    // Windows of one tick, and stamps for 65,535 windows.
    let torus = Torus::new(5, 8, 4, 1).unwrap();
    let mut one = Sequential::<Torus>::new(&torus);
    let mut gpu = CudaTorus::new(0, &torus, Selection::Local).unwrap();
    for stop in [65_000, 66_000, 140_000] {
        one.run(stop, |_| ());
        gpu.run(stop).unwrap();
        assert!(gpu.snapshot().unwrap() == one.snapshot(), "at {stop}");
    }
}

#[test]
fn phold_has_the_heaps_state_at_every_stop() {
    if backends::gpu().is_none() {
        return;
    }
    for case in 0..40 {
        let seed = Seed(case);
        let mut dice = Dice::new(seed.0);
        let processes = dice.pick(&[1, 2, 7, 100, 5000]);
        let (mean, lookahead) = dice.pick(&[(4, 1), (10, 7), (1000, 10), (655_360, 65_536)]);
        let remote = dice.pick(&[0, 100_000, 1_000_000]);
        let phold = Phold::new(processes, dice.any() as u64, mean, lookahead, remote).unwrap();
        let phold = phold.with_events(dice.within(1..=5) as u32).unwrap();
        let mut one = Sequential::<Phold>::new(&phold);
        let mut gpu = CudaPhold::new(0, &phold).unwrap();
        for stop in [1, 2, 5, 30] {
            one.run(mean * stop, |_| ());
            gpu.run(mean * stop).unwrap();
            let (found, expected) = (gpu.snapshot().unwrap(), one.snapshot());
            assert!(found == expected, "at {stop} of {phold:?}");
        }
    }
}

#[test]
fn a_million_processes_have_the_hash_of_the_cpus() {
    if backends::gpu().is_none() {
        return;
    }
    let phold = Phold::new(1_000_000, 5, 655_360, 65_536, 100_000).unwrap();
    let until = 40 * 65_536;
    let mut cpu = Parallel::new(&phold, 8).unwrap();
    let progress = cpu.run(until);
    let mut gpu = CudaPhold::new(0, &phold).unwrap();
    assert_eq!(gpu.run(until).unwrap(), progress);
    let (found, expected) = (gpu.snapshot().unwrap(), cpu.snapshot());
    assert_eq!(found.hash::<Phold>(), expected.hash::<Phold>());
    assert!(found == expected);
}

#[test]
fn all_ways_of_selection_find_the_same() {
    if backends::gpu().is_none() {
        return;
    }
    for n in [1, 31, 1025, 300_001] {
        let trial = SelectionTrial::new(0, n, 9).unwrap();
        for bound in [0, 1 << 25, 1 << 31, u32::MAX] {
            let is_selected = |&i: &u32| ((mix(9, u64::from(i)) >> 32) as u32) < bound;
            let expected: Vec<u32> = (0..n).filter(is_selected).collect();
            for selection in [Selection::Scan, Selection::Atomic, Selection::Hybrid] {
                trial.select(selection, bound).unwrap();
                let mut found = trial.selected().unwrap();
                if selection != Selection::Scan {
                    found.sort_unstable();
                }
                assert!(found == expected, "{selection:?} of {n} below {bound}");
            }
        }
    }
}
