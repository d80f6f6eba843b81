//! The stages one by one, in the thesis's densest scenario, and the sort that two of
//! them use.
//!
//! Stages only run as parts of a tick, so a group runs whole ticks and counts its own
//! stage's time. The baseline of the stages is the grid of linked lists: moving clients,
//! for logic, merge and index, and walking the lists, for interest. The baseline of the
//! sort is the standard library.

#[path = "stages/feed.rs"]
mod feed;

use std::time::{Duration, Instant};

use benches::tick::Moves;
use benches::tick::thesis::{BackendName, Baseline, Engine, OutputName, Scenario, Subject};
use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use device::cpu::{RadixSorter, Workers};
use shared::world::layer::{Layers, Sheet, Sheets};
use shared::world::mix::mix;

criterion_main!(benches);
criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = stages, sort, sight, feed
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

/// Lines of sight over 30 cells, of which each passes, in 4096 x 4096 cells; the baseline looks at as many
/// cells in a row.
fn sight(criterion: &mut Criterion) {
    let cells = 4096;
    let sheet = Sheet {
        edge_bits: 12,
        cells: (0..cells * cells).map(|at| at == 0).collect(),
    };
    let sheets = Sheets {
        blocked: Some(sheet),
        ..Sheets::default()
    };
    let layers = Layers::new([cells << 12, cells << 12, 1], &sheets);
    let lines: Vec<([i32; 3], [i32; 3])> = (0..4096u64)
        .map(|line| {
            let bits = mix(7, line);
            let [x, y] = [bits, bits >> 32].map(|bits| 64 + (bits % 3968) as i32);
            let along = (line % 31) as i32;
            let place = |x: i32, y: i32| [x << 12, y << 12, 0];
            (place(x, y), place(x + along, y + 30 - along))
        })
        .collect();
    let mut group = criterion.benchmark_group("sight");
    let time = |of: &dyn Fn([i32; 3], [i32; 3]) -> bool, lines_seen: u64| {
        let begin = Instant::now();
        for (from, to) in lines.iter().cycle().take(lines_seen as usize) {
            assert!(std::hint::black_box(of(*from, *to)));
        }
        begin.elapsed()
    };
    group.bench_function("sees", |bencher| {
        bencher.iter_custom(|n| time(&|from, to| layers.sees(from, to), n));
    });
    group.bench_function("baseline", |bencher| {
        let row = |[x, y, z]: [i32; 3], _| {
            (0..=30).all(|cell| !layers.is_blocked([x + (cell << 12), y, z]))
        };
        bencher.iter_custom(|n| time(&row, n));
    });
}

/// A tick of 32,768 wandering clients for a gateway: written at the tick host, read at the gateway.
/// The baseline copies the deliveries that it stands for.
fn feed(criterion: &mut Criterion) {
    let mut link = feed::Link::new(threads());
    let mut group = criterion.benchmark_group("feed");
    group.sampling_mode(SamplingMode::Flat);
    for name in ["write", "read", "baseline"] {
        group.bench_function(name, |bencher| {
            let mut one = |_| {
                let times = link.tick();
                match name {
                    "write" => times.write,
                    "read" => times.read,
                    _ => times.copy,
                }
            };
            bencher.iter_custom(|ticks| (0..ticks).map(&mut one).sum());
        });
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}
