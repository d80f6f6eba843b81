//! Whatever fails, nothing that was confirmed is lost, no command runs twice, views become right
//! again, and slots come free.
//!
//! `SIMULATOR_SEEDS=1000..2000` takes other seeds. A failure prints its seed, and the last events.

use simulator::run;

/// Seeds that have failed once.
const REMEMBERED: &[u64] = &[
    421, 444, 564, 648, 3352, 3495, 3584, 3660, 3789, 4698, 6873, 7175, 7850, 13_149, 71_671,
    82_642,
];

#[test]
fn what_was_confirmed_is_kept_and_views_become_right_whatever_fails() {
    let seeds = std::env::var("SIMULATOR_SEEDS").unwrap_or("0..100".to_owned());
    let (first, end) = seeds
        .split_once("..")
        .expect("seeds are a range as in 0..100");
    let seeds = first.parse().expect("a number")..end.parse::<u64>().expect("a number");
    for seed in REMEMBERED.iter().copied().chain(seeds) {
        if let Err(failure) = run(seed) {
            panic!("{failure}");
        }
    }
}

#[test]
fn a_seed_always_gives_the_same_run() {
    for seed in 0..10 {
        let outcome = run(seed).map_err(|failure| failure.reason);
        assert_eq!(
            run(seed).map_err(|failure| failure.reason),
            outcome,
            "seed {seed}"
        );
    }
}
