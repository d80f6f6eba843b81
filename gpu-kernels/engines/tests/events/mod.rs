//! Timed events: every engine ends in the state of the slow and obvious one.

mod oracle;

use engines::events::parallel::Windows;
use engines::events::{ApproximateTorus, Event, Model, Parallel, Phold, Sequential, Torus};
use testkit::dice::{Dice, Seed};

/// A small random network; every second one has few ticks a service, so that there are
/// ties.
fn torus(dice: &mut Dice) -> Torus {
    let side = dice.within(1..=9) as u32;
    let (mean, lookahead) = match dice.once_in(2) {
        true => (dice.within(3..=12) as u32, 1 + dice.below(2) as u32),
        false => (dice.within(100..=50_000) as u32, dice.within(1..=99) as u32),
    };
    let torus = Torus::new(side, dice.any() as u64, mean, lookahead).unwrap();
    torus.with_tokens(dice.within(1..=3) as u32).unwrap()
}

fn phold(dice: &mut Dice) -> Phold {
    let processes = dice.within(1..=60) as u32;
    let mean = dice.pick(&[4, 10, 1000, 60_000]);
    let lookahead = 1 + dice.below(mean as usize - 1) as u32;
    let remote = dice.pick(&[0, 100_000, 500_000, 1_000_000]);
    let phold = Phold::new(processes, dice.any() as u64, mean, lookahead, remote).unwrap();
    phold.with_events(dice.within(1..=4) as u32).unwrap()
}

fn sequential_trace<M: Model>(model: &M, until: u32) -> Vec<Event> {
    let mut trace = vec![];
    Sequential::<M>::new(model).run(until, |&event| trace.push(event));
    trace
}

#[test]
fn tokens_go_as_in_a_network_of_explicit_queues() {
    for case in 0..200 {
        let seed = Seed(case);
        let mut dice = Dice::new(seed.0);
        let torus = torus(&mut dice);
        let until = torus.service_mean * dice.within(1..=40) as u32;
        let expected = oracle::Network::new(&torus).arrivals(until);
        assert_eq!(sequential_trace(&torus, until), expected, "{torus:?}");
    }
}

/// The same trace in windows as one by one, and the same state.
fn windows_agree<M: Model>(model: &M, until: u32) {
    let mut one = Sequential::<M>::new(model);
    let mut expected = vec![];
    one.run(until, |&event| expected.push(event));
    assert!(expected.is_sorted());
    let mut windows = Parallel::new(model, 1).unwrap();
    assert_eq!(windows.record(until), expected);
    assert_eq!(windows.snapshot(), one.snapshot());
    assert_eq!(windows.snapshot().hash::<M>(), one.snapshot().hash::<M>());
}

#[test]
fn windows_hold_the_same_events_as_a_heap() {
    for case in 0..150 {
        let seed = Seed(case);
        let mut dice = Dice::new(seed.0);
        let torus = torus(&mut dice);
        windows_agree(&torus, torus.service_mean * 20);
        let phold = phold(&mut dice);
        windows_agree(&phold, phold.delay_mean * 20);
    }
}

#[test]
fn any_number_of_threads_comes_to_the_same_state() {
    // Enough processes for several parts.
    let torus = Torus::new(300, 5, 2560, 256).unwrap();
    let phold = Phold::new(70_001, 6, 2560, 256, 500_000).unwrap();
    threads_agree(&torus, 7_000);
    threads_agree(&phold, 7_000);
}

fn threads_agree<M: Model>(model: &M, until: u32) {
    let mut one = Sequential::<M>::new(model);
    one.run(until, |_| ());
    let expected = one.snapshot();
    assert!(expected.events > 100_000, "{}", expected.events);
    for threads in [1, 2, 3, 8] {
        let mut run = Parallel::new(model, threads).unwrap();
        // In two steps: a stop leaves no trace.
        run.run(until / 3);
        run.run(until);
        let found = run.snapshot();
        assert!(found == expected, "{threads} threads");
        assert_eq!(found.hash::<M>(), expected.hash::<M>());
    }
}

#[test]
fn no_token_is_lost_or_doubled() {
    let torus = Torus::new(12, 3, 640, 64).unwrap().with_tokens(3).unwrap();
    let mut run = Parallel::new(&torus, 1).unwrap();
    for until in [1, 500, 5_000, 50_000] {
        run.run(until);
        let mut tokens: Vec<u32> = run.snapshot().pending.iter().map(|e| e.number).collect();
        tokens.sort_unstable();
        assert!(tokens.into_iter().eq(0..3 * 144));
    }
}

#[test]
fn servers_are_busy_as_queueing_theory_says() {
    // With a small lookahead services are exponential, and a closed network of n
    // servers and k tokens has the utilisation k / (k + n - 1) (Gordon and Newell
    // 1967). The standard error of this run is under a thousandth.
    for tokens in [1, 3] {
        let torus = Torus::new(16, 11, 10_000, 10)
            .unwrap()
            .with_tokens(tokens)
            .unwrap();
        let mut run = Parallel::new(&torus, 1).unwrap();
        let until = 20_000_000;
        run.run(until);
        let end = run.snapshot();
        let (n, k) = (256.0, 256.0 * f64::from(tokens));
        let expected = k / (k + n - 1.0);
        let busy = torus.busy(until, &end.processes, &end.tally);
        let found = busy as f64 / (f64::from(until) * n);
        assert!(
            (found / expected - 1.0).abs() < 0.01,
            "{found}, not {expected}"
        );
        // Little's law: the tokens are always in some facility.
        let stay = end.tally.stay as f64 / end.tally.arrivals as f64;
        let expected = k / n * 10_000.0 / expected;
        assert!(
            (stay / expected - 1.0).abs() < 0.01,
            "{stay}, not {expected}"
        );
    }
}

#[test]
fn slots_make_causality_errors_and_longer_slots_make_more() {
    let errors = |slot: u32| {
        let torus = ApproximateTorus(Torus::new(32, 9, 10_240, slot).unwrap());
        let mut run = Parallel::with_windows(&torus, 1, Windows::Slots).unwrap();
        run.run(10_240 * 200);
        let tally = run.snapshot().tally;
        assert!(tally.arrivals > 90_000);
        tally.errors
    };
    let (short, long) = (errors(256), errors(1024));
    // In theory the number of errors grows with the square of the slot.
    assert!(short > 0 && long > 8 * short, "{short}, {long}");
    // Slots of one tick keep the exact order, unless a service takes less than a tick.
    assert_eq!(errors(1), 0);
}

#[test]
fn time_ends_without_a_panic() {
    let torus = Torus::new(3, 1, u32::MAX / 2, 1 << 20).unwrap();
    windows_agree(&torus, u32::MAX);
    let phold = Phold::new(5, 1, u32::MAX / 2, 1 << 20, 500_000).unwrap();
    windows_agree(&phold, u32::MAX);
}
