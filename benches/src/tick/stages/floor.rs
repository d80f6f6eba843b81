//! The least that a stage can cost: loops that read and write what it must, and nothing else.

use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

use device::cpu::lanes::{Ball, Words};
use gpu_kernels::Stage;
use shared::world::mix::mix;

/// The shortest time of a stage's loop over so many units.
pub fn of(stage: Stage, clients: u32, units: u64) -> Duration {
    let plain = Plain::new(clients);
    let mut once: Box<dyn FnMut()> = match stage {
        Stage::Logic => logic(&plain, units),
        Stage::Merge => merge(&plain, units),
        Stage::Index => index(&plain),
        _ => interest(&plain, units),
    };
    let time = |_| {
        let begin = Instant::now();
        once();
        begin.elapsed()
    };
    (0..RUNS).map(time).min().unwrap_or_default()
}

/// Entities as evenly spread as in the fight.
struct Plain {
    entities: usize,
    /// By bucket.
    positions: [Vec<i32>; 2],
    words: Vec<u32>,
    /// The bounds of each bucket, row by row.
    starts: Vec<usize>,
    buckets: usize,
}

impl Plain {
    fn new(clients: u32) -> Plain {
        let buckets = ((f64::from(clients) * BUCKET_SHARE).sqrt().ceil() as usize).max(1);
        let size = buckets as u64 * BUCKET as u64;
        let place = |entity: u32, axis: u64| (mix(axis, u64::from(entity)) % size) as i32;
        let bucket = |[x, y]: [i32; 2]| (y / BUCKET) as usize * buckets + (x / BUCKET) as usize;
        let mut all: Vec<([i32; 2], u32)> = (0..clients)
            .map(|entity| ([place(entity, 1), place(entity, 2)], entity))
            .collect();
        all.sort_by_key(|&(at, _)| bucket(at));
        let bound = |i: usize| all.partition_point(|&(at, _)| bucket(at) < i);
        Plain {
            entities: all.len(),
            positions: [0, 1].map(|axis| all.iter().map(|(at, _)| at[axis]).collect()),
            words: all.iter().map(|&(_, entity)| entity << 3).collect(),
            starts: (0..=buckets * buckets).map(bound).collect(),
            buckets,
        }
    }

    /// Entities in no order.
    fn any(&self, n: u64) -> Vec<usize> {
        let entity = |i| (mix(3, i) % self.entities as u64) as usize;
        (0..n).map(entity).collect()
    }

    /// The rows of buckets around an entity.
    fn rows(&self, at: [i32; 2]) -> impl Iterator<Item = Range<usize>> + '_ {
        let (x, y) = ((at[0] / BUCKET) as usize, (at[1] / BUCKET) as usize);
        let last = self.buckets - 1;
        let (low, high) = (x.saturating_sub(1), (x + 1).min(last));
        (y.saturating_sub(1)..=(y + 1).min(last)).map(move |row| {
            self.starts[row * self.buckets + low]..self.starts[row * self.buckets + high + 1]
        })
    }
}

/// Reads the row of a command's entity, and writes two updates.
fn logic(plain: &Plain, commands: u64) -> Box<dyn FnMut()> {
    let (entities, rows) = (plain.any(commands), vec![1i32; plain.entities * COLUMNS]);
    let mut pairs = vec![(0u32, 0u32); 2 * entities.len()];
    Box::new(move || {
        for (pair, &entity) in pairs.chunks_exact_mut(2).zip(&entities) {
            let row = &rows[entity * COLUMNS..][..COLUMNS];
            for (column, pair) in pair.iter_mut().enumerate() {
                *pair = ((entity * COLUMNS + column) as u32, row[column] as u32 + 1);
            }
        }
        black_box(&pairs);
    })
}

/// Adds each update to its attribute, unsorted, and writes it as a change.
fn merge(plain: &Plain, updates: u64) -> Box<dyn FnMut()> {
    let (entities, mut rows) = (plain.any(updates), vec![1i32; plain.entities * COLUMNS]);
    let mut changes = vec![(0u32, 0i32); entities.len()];
    Box::new(move || {
        for (change, &entity) in changes.iter_mut().zip(&entities) {
            let value = &mut rows[entity * COLUMNS];
            *value = value.wrapping_add(1);
            *change = (entity as u32, *value);
        }
        black_box(&changes);
    })
}

/// Puts each entity's slot and position in its place, which is known.
fn index(plain: &Plain) -> Box<dyn FnMut()> {
    let order: Vec<usize> = plain.words.iter().map(|&word| word as usize >> 3).collect();
    let rows = vec![1i32; plain.entities * COLUMNS];
    let mut sorted = vec![(0, 0, 0); plain.entities];
    Box::new(move || {
        for (to, &entity) in sorted.iter_mut().zip(&order) {
            let row = &rows[entity * COLUMNS..][..2];
            *to = (entity as u32, row[0], row[1]);
        }
        black_box(&sorted);
    })
}

/// Looks at each entity in the neighbouring buckets of each, and writes those in sight.
fn interest(plain: &Plain, deliveries: u64) -> Box<dyn FnMut() + '_> {
    let mut found = Words::new(256);
    let mut written = vec![0u32; deliveries as usize + 256];
    Box::new(move || {
        let mut next = 0;
        for entity in 0..plain.entities {
            let at = [plain.positions[0][entity], plain.positions[1][entity]];
            let radius = i64::from(BUCKET).pow(2);
            let ball = Ball {
                center: at,
                radius,
                shells: [radius / 64, radius / 16, radius / 4],
            };
            found.clear();
            for row in plain.rows(at) {
                let axes = [
                    &plain.positions[0][row.clone()],
                    &plain.positions[1][row.clone()],
                ];
                let words = &plain.words[row];
                found.add_near(device::cpu::lanes::Points { axes, words }, &ball);
            }
            let own = found.as_slice();
            if next + own.len() <= written.len() {
                written[next..next + own.len()].copy_from_slice(own);
                next += own.len();
            }
        }
        black_box(&written);
    })
}

const RUNS: usize = 5;
/// Two axes and the points of life.
const COLUMNS: usize = 3;
/// The edge of a bucket, in raw units.
const BUCKET: i32 = 10 * 4096;
/// Buckets for each client.
const BUCKET_SHARE: f64 = 2500.0 * 2500.0 / 524_288.0 / 100.0;
