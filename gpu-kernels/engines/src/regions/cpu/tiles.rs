use super::boxes::{Hits, Motion, SideView};
use super::matching::Finder;
use crate::regions::Pair;
use device::cpu::ranges;
use gpu_kernels::space::Aabb;

/// The paper's region-based approach (III.B): each updated region is compared with
/// all regions of the other side, tile by tile. A tile's coordinates lie
/// beside each other, so that one instruction compares several.
pub fn find<const D: usize>(finder: &mut Finder<'_, D>) {
    let [publications, subscriptions] = finder.sides;
    let tiles = tiles(&subscriptions);
    find_half(finder, &publications, &tiles, &subscriptions, false);
    if publications.still > 0 && !subscriptions.updated.is_empty() {
        let tiles = self::tiles(&publications);
        find_half(finder, &subscriptions, &tiles, &publications, true);
    }
}

/// How many boxes are compared with one another.
pub fn tests<const D: usize>(sides: &[SideView<'_, D>; 2]) -> u64 {
    let [publications, subscriptions] = sides;
    publications.updated.len() as u64 * subscriptions.regions() as u64
        + subscriptions.updated.len() as u64 * publications.still as u64
}

/// Coordinates of `LANES` regions.
struct Tile<const D: usize> {
    before: Lanes<D>,
    now: Lanes<D>,
}

struct Lanes<const D: usize> {
    low: [[i32; LANES]; D],
    high: [[i32; LANES]; D],
}

impl<const D: usize> Lanes<D> {
    fn nowhere() -> Lanes<D> {
        Lanes {
            low: [[i32::MAX; LANES]; D],
            high: [[i32::MIN; LANES]; D],
        }
    }

    fn put(&mut self, lane: usize, aabb: &Aabb<D>) {
        for axis in 0..D {
            self.low[axis][lane] = aabb.low[axis];
            self.high[axis][lane] = aabb.high[axis];
        }
    }

    fn overlaps(&self, aabb: &Aabb<D>) -> [bool; LANES] {
        let mut all = [true; LANES];
        for axis in 0..D {
            for (lane, all) in all.iter_mut().enumerate() {
                *all &= (self.low[axis][lane] < aabb.high[axis])
                    & (aabb.low[axis] < self.high[axis][lane]);
            }
        }
        all
    }
}

fn tiles<const D: usize>(side: &SideView<'_, D>) -> Vec<Tile<D>> {
    let numbers: Vec<u32> = (0..side.motions.len() as u32).collect();
    numbers
        .chunks(LANES)
        .map(|numbers| {
            let mut tile = Tile {
                before: Lanes::nowhere(),
                now: Lanes::nowhere(),
            };
            for (lane, &number) in numbers.iter().enumerate() {
                let Motion { before, now } = side.motion(number);
                tile.before.put(lane, &before);
                tile.now.put(lane, &now);
            }
            tile
        })
        .collect()
}

/// Compares the updated regions of `queries` with all `others`; if `flipped`, only with
/// those that are not updated, since the other pairs were compared before.
fn find_half<const D: usize>(
    finder: &mut Finder<'_, D>,
    queries: &SideView<'_, D>,
    tiles: &[Tile<D>],
    others: &SideView<'_, D>,
    flipped: bool,
) {
    let workers = finder.workers;
    let parts = workers.parts_of(queries.updated.len() * tiles.len(), GRAIN);
    let tasks = ranges(queries.updated.len(), parts).zip(finder.hits(parts));
    workers.run(tasks.collect(), |(range, hits)| {
        for &number in &queries.updated[range] {
            let motion = queries.motion(number);
            for (tile, boxes) in tiles.iter().enumerate() {
                let before = boxes.before.overlaps(&motion.before);
                let now = boxes.now.overlaps(&motion.now);
                if before == now {
                    continue;
                }
                for lane in 0..LANES {
                    if before[lane] == now[lane] {
                        continue;
                    }
                    let other = (tile * LANES + lane) as u32;
                    match flipped {
                        false => put(hits, now[lane], Pair::new(number, other)),
                        true if others.is_updated(other) => {}
                        true => put(hits, now[lane], Pair::new(other, number)),
                    }
                }
            }
        }
    });
}

fn put(hits: &mut Hits, gained: bool, pair: Pair) {
    match gained {
        true => hits.gained.push(pair),
        false => hits.lost.push(pair),
    }
}

const LANES: usize = 16;
/// Tiles below which a second thread isn't worth its wake-up.
const GRAIN: usize = 4096;
