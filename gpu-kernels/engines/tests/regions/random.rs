//! Random batches, thousands of steps: changes are those of all pairs.

use engines::regions::{Approach, Batch, CpuRegions, Region, RegionEngine, Side};

use crate::regions::engines::engines;
use crate::regions::field::Field;
use crate::regions::oracle::{Oracle, fill};
use testkit::dice::{Dice, Seed};

#[test]
fn every_step_changes_what_all_pairs_say() {
    let first = seed_from("REGIONS_SEED");
    let worlds = seed_from("REGIONS_SEEDS").unwrap_or(60);
    match first {
        Some(seed) => world(seed, 1 + seed as usize % 3, 24, 40),
        None => (0..worlds).for_each(|seed| world(seed, 1 + seed as usize % 3, 24, 40)),
    }
}

/// With so many regions that work is cut into parts. One thread with the simplest
/// approach gives the expected pairs: the test above compares it with all pairs.
#[test]
fn many_regions_change_the_same_pairs_however_they_are_cut() {
    let _seed = Seed(1);
    let mut dice = Dice::new(1);
    let field = Field::dust(12_000);
    let mut engines = engines(&field.config);
    let mut reference = CpuRegions::new(&field.config, 1).expect("the engine starts");
    reference.set_approach(Approach::Tiles);
    let mut batch = Batch::new(&field.config, 24_000);
    let mut oracle = Oracle::default();
    for share in [100, 60, 3] {
        let updates = field.updates(&mut dice, &oracle, share);
        fill(&mut batch, &updates);
        oracle.apply(&updates);
        let expected = reference.step(&batch).expect("a sound batch");
        assert!(expected.gained.len() > 100);
        for (label, engine) in &mut engines {
            let changes = engine.step(&batch).expect("a sound batch");
            assert_eq!(changes.gained, expected.gained, "{label}, {share} %");
            assert_eq!(changes.lost, expected.lost, "{label}, {share} %");
        }
    }
}

fn world(seed: u64, dimensions: usize, capacity: u32, steps: usize) {
    let _seed = Seed(seed);
    let mut dice = Dice::new(seed);
    let mut field = Field::random(&mut dice, dimensions, capacity);
    field.config.pairs_max = capacity * capacity;
    let mut engines = engines(&field.config);
    let mut batch = Batch::new(&field.config, 2 * capacity as usize);
    let mut oracle = Oracle::default();
    for step in 0..steps {
        let share = dice.pick(&[2, 10, 50, 100]);
        let updates = field.updates(&mut dice, &oracle, share.max(100 / (step + 1)));
        fill(&mut batch, &updates);
        let (gained, lost) = oracle.step(&updates);
        for (label, engine) in &mut engines {
            let changes = engine.step(&batch).expect("a sound batch");
            assert_eq!(changes.gained, gained, "{label}, step {step}");
            assert_eq!(changes.lost, lost, "{label}, step {step}");
            let metrics = changes.metrics;
            assert_eq!(metrics.updated.iter().sum::<u32>() as usize, updates.len());
            assert_eq!(
                metrics.regions.iter().sum::<u32>() as usize,
                oracle.regions.len()
            );
            assert_eq!(metrics.gained as usize, gained.len());
            assert_eq!(metrics.lost as usize, lost.len());
        }
        if step % 20 == 0 {
            for (label, engine) in &mut engines {
                for side in [Side::Publication, Side::Subscription] {
                    let overlaps = engine.overlaps(side).expect("room for all pairs");
                    assert_eq!(overlaps.pairs(), oracle.pairs.len(), "{label}");
                    for number in (0..capacity).step_by(1 + capacity as usize / 100) {
                        let region = Region { side, number };
                        assert_eq!(overlaps.of(number), oracle.of(region), "{label}, {region}");
                    }
                }
            }
        }
    }
}

fn seed_from(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
