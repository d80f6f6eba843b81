//! The stages one by one, in the thesis's densest scenario, and the sort that two of
//! them use.
//!
//! Stages only run as parts of a tick, so a group runs whole ticks and counts its own
//! stage's time. The baseline of the stages is the grid of linked lists: moving clients,
//! for logic, merge and index, and walking the lists, for interest. The baseline of the
//! sort is the standard library.

use std::time::{Duration, Instant};

use benches::tick::Moves;
use benches::tick::thesis::{BackendName, Baseline, Engine, OutputName, Scenario, Subject};
use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use device::cpu::{RadixSorter, Workers};
use shared::world::mix::mix;

criterion_main!(benches);
criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = stages, sort
}

const ENTITIES: [u32; 2] = [4096, 65_536];

fn stages(criterion: &mut Criterion) {
    let groups = [
        ("logic", "move"),
        ("merge", "move"),
        ("index", "move"),
        ("interest", "interest"),
    ];
    for (stage, baseline_stage) in groups {
        let mut group = criterion.benchmark_group(stage);
        group.sampling_mode(SamplingMode::Flat);
        for clients in ENTITIES {
            let scenario = Scenario {
                map: 2500,
                aoi: 10,
                clients,
                seed: 1,
            };
            let (mut engine, mut moves) =
                Engine::populated(&scenario, BackendName::Cpu, OutputName::Pairs, threads(), 1)
                    .unwrap();
            let mut baseline = Baseline::new(&scenario, moves.positions()).unwrap();
            group.bench_function(BenchmarkId::new("cpu", clients), |bencher| {
                bencher.iter_custom(|ticks| time(&mut engine, &mut moves, stage, ticks));
            });
            // It starts with the engine's positions and continues with similar moves.
            group.bench_function(BenchmarkId::new("baseline", clients), |bencher| {
                bencher.iter_custom(|ticks| time(&mut baseline, &mut moves, baseline_stage, ticks));
            });
        }
    }
}

/// The time of one stage in all these ticks.
fn time(subject: &mut dyn Subject, moves: &mut Moves, stage: &str, ticks: u64) -> Duration {
    let one = |_| {
        let sample = subject.tick(moves.next_frame()).unwrap();
        let mut stages = sample.stages.into_iter();
        stages.find(|&(name, _)| name == stage).unwrap().1
    };
    (0..ticks).map(one).sum()
}

fn sort(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sort");
    let workers = Workers::new(threads()).unwrap();
    for n in ENTITIES {
        let key = |i| mix(1, u64::from(i)) as u32 % (2 * n);
        let pairs: Vec<(u32, u32)> = (0..n).map(|i| (key(i), i)).collect();
        let bits = (2 * n).ilog2();
        let mut sorter = RadixSorter::new(n as usize);
        group.bench_function(BenchmarkId::new("cpu", n), |bencher| {
            bencher.iter_custom(|sorts| {
                let one = |_| {
                    let mut pairs = pairs.clone();
                    let begin = Instant::now();
                    sorter.sort(&workers, &mut pairs, n as usize, 0..bits);
                    begin.elapsed()
                };
                (0..sorts).map(one).sum()
            });
        });
        group.bench_function(BenchmarkId::new("baseline", n), |bencher| {
            bencher.iter_custom(|sorts| {
                let one = |_| {
                    let mut pairs = pairs.clone();
                    let begin = Instant::now();
                    pairs.sort_by_key(|&(key, _)| key);
                    std::hint::black_box(&pairs);
                    begin.elapsed()
                };
                (0..sorts).map(one).sum()
            });
        });
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}
