//! The matcher on the GPU against the one for CPUs.

use gpu_kernels::content::cuda::{BatchSizes, CudaMatcher};
use gpu_kernels::content::{Batch, CpuMatcher, Matches};
use shared::predicate::{Value, ValueType};
use testkit::backends;
use testkit::dice::{Dice, Seed};

use crate::content::world::World;

/// One matcher on the GPU follows by patches alone: with bits for few subscribers, with
/// pairs for many, and batches of all sizes.
#[test]
fn the_gpu_follows_subscriptions_that_come_and_go() {
    if backends::gpu().is_none() {
        return;
    }
    for (seed, subscribers) in [(1, 100), (2, 4096)] {
        let _seed = Seed(seed);
        let mut dice = Dice::new(seed);
        let mut world = World::with_subscribers(&mut dice, subscribers);
        let mut gpu = CudaMatcher::new(0, &mut world.subscriptions, BatchSizes::default()).unwrap();
        let mut cpu = CpuMatcher::new(2).unwrap();
        let (mut found, mut expected) = (Matches::new(), Matches::new());
        for round in 0..30 {
            let count = if round == 0 { 4000 } else { dice.below(60) };
            world.subscribe_some(&mut dice, count);
            let count = dice.below(60);
            world.unsubscribe_some(&mut dice, count);
            let size = dice.pick(&[1, 2, 64, 65, 300, 3000]);
            let mut batch = Batch::new();
            for notification in world.notifications(&mut dice, size) {
                batch.push(&notification).unwrap();
            }
            gpu.match_batch(&mut world.subscriptions, &batch, &mut found)
                .unwrap();
            cpu.match_batch(&mut world.subscriptions, &batch, &mut expected);
            assert!(found == expected, "round {round}, {size} notifications");
        }
    }
}

/// The GPU has two ways to search for notifications of many attributes: both find what
/// the CPUs find, and neither loses a pair where many match.
#[test]
fn the_gpus_two_searches_agree() {
    if backends::gpu().is_none() {
        return;
    }
    let names: Vec<String> = (0..192).map(|i| format!("n{i}")).collect();
    // Few subscribers are kept as bits, many as pairs.
    for (seed, subscribers) in [(1, 900), (2, 4000)] {
        let _seed = Seed(seed);
        let mut dice = Dice::new(seed);
        let declared: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(i, name)| match i % 5 {
                0 => (name.as_str(), ValueType::String),
                _ => (name.as_str(), ValueType::Integer),
            })
            .collect();
        let mut world = World::of_names_for(&declared, subscribers as usize);
        for subscriber in 0..subscribers {
            let size = dice.pick(&[0, 1, 3, 8, 12]);
            let constraints: Vec<String> = (0..size)
                .map(|_| match dice.below(names.len()) {
                    name if name % 5 == 0 => {
                        let operator = dice.pick(&["!=", "prefix", "contains"]);
                        format!("n{name} {operator} \"v{}\"", dice.below(9))
                    }
                    name => format!("n{name} >= {}", dice.below(3)),
                })
                .collect();
            let text = match constraints.is_empty() {
                true => "true".to_owned(),
                false => constraints.join(" && "),
            };
            world.subscribe_text(subscriber, &text);
        }
        let mut gpu = CudaMatcher::new(0, &mut world.subscriptions, BatchSizes::default()).unwrap();
        let mut cpu = CpuMatcher::new(2).unwrap();
        let (mut found, mut expected) = (Matches::new(), Matches::new());
        for size in [1, 7, 8, 9, 70, 1000] {
            let mut batch = Batch::new();
            for _ in 0..size {
                let width = dice.pick(&[0, 1, 40, 192]);
                let values: Vec<_> = declared[192 - width..]
                    .iter()
                    .map(|&(name, ty)| match ty {
                        ValueType::String => (name, format!("v{}", dice.below(20)).as_str().into()),
                        _ => (name, Value::Integer(dice.below(20) as i64)),
                    })
                    .collect();
                batch.push(&world.notification(&values)).unwrap();
            }
            cpu.match_batch(&mut world.subscriptions, &batch, &mut expected);
            // Each way is tried before one is chosen.
            for round in 0..5 {
                gpu.match_batch(&mut world.subscriptions, &batch, &mut found)
                    .unwrap();
                assert!(found == expected, "round {round}, {size} notifications");
            }
        }
    }
}
