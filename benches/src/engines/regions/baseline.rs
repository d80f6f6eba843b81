//! The baselines, each on one thread. They find all pairs from scratch in each step, and
//! do not say which are new.

use engines::regions::Bounds;

use super::scenario::Motion;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// The paper's: every publication with every subscription.
    AllPairs,
    /// The paper's reference [3]: sorts the edges on one dimension and sweeps over them;
    /// compares open regions on the other.
    SortBased,
    /// Subscriptions by strips as high as the highest subscription, sorted in each strip.
    StripGrid,
}

impl Baseline {
    pub const ALL: [Baseline; 3] = [Baseline::AllPairs, Baseline::SortBased, Baseline::StripGrid];

    pub fn name(self) -> &'static str {
        match self {
            Baseline::AllPairs => "all pairs",
            Baseline::SortBased => "sort-based",
            Baseline::StripGrid => "strip grid",
        }
    }

    /// Fills `pairs` with the pairs that overlap.
    pub fn find(self, motion: &Motion, pairs: &mut Vec<(u32, u32)>) {
        pairs.clear();
        let [publications, subscriptions] = &motion.sides;
        match self {
            Baseline::AllPairs => all_pairs(publications, subscriptions, pairs),
            Baseline::SortBased => sort_based(publications, subscriptions, pairs),
            Baseline::StripGrid => strip_grid(publications, subscriptions, pairs),
        }
    }
}

fn overlap(one: &Bounds, other: &Bounds, axis: usize) -> bool {
    one.low[axis] < other.high[axis] && other.low[axis] < one.high[axis]
}

fn all_pairs(publications: &[Bounds], subscriptions: &[Bounds], pairs: &mut Vec<(u32, u32)>) {
    for (p, one) in (0..).zip(publications) {
        for (s, other) in (0..).zip(subscriptions) {
            if overlap(one, other, 0) && overlap(one, other, 1) {
                pairs.push((p, s));
            }
        }
    }
}

fn sort_based(publications: &[Bounds], subscriptions: &[Bounds], pairs: &mut Vec<(u32, u32)>) {
    // Ends before beginnings at the same place: boxes are half-open.
    let mut edges: Vec<(i32, bool, usize, u32)> = vec![];
    let sides = [publications, subscriptions];
    for (side, regions) in sides.into_iter().enumerate() {
        for (number, bounds) in (0..).zip(regions) {
            edges.push((bounds.low[0], true, side, number));
            edges.push((bounds.high[0], false, side, number));
        }
    }
    edges.sort_unstable();
    let mut open: [Vec<u32>; 2] = [vec![], vec![]];
    let mut places: [Vec<u32>; 2] = sides.map(|regions| vec![0; regions.len()]);
    for (_, begins, side, number) in edges {
        if begins {
            let bounds = &sides[side][number as usize];
            for &other in &open[1 - side] {
                if overlap(bounds, &sides[1 - side][other as usize], 1) {
                    pairs.push(if side == 0 {
                        (number, other)
                    } else {
                        (other, number)
                    });
                }
            }
            places[side][number as usize] = open[side].len() as u32;
            open[side].push(number);
        } else {
            let place = places[side][number as usize];
            open[side].swap_remove(place as usize);
            if let Some(&moved) = open[side].get(place as usize) {
                places[side][moved as usize] = place;
            }
        }
    }
}

fn strip_grid(publications: &[Bounds], subscriptions: &[Bounds], pairs: &mut Vec<(u32, u32)>) {
    let longest = |axis: usize| {
        let lengths = subscriptions.iter().map(|s| s.high[axis] - s.low[axis]);
        lengths.max().unwrap_or(1)
    };
    let (width, height) = (longest(0), longest(1));
    // Publications are sorted too, so that consecutive ones read the same strips.
    let ones = Strips::new(publications, height);
    let others = Strips::new(subscriptions, height);
    for one in &ones.sorted {
        let first = ones.strip(one.low[1] - height + 1);
        let last = ones.strip(one.high[1] - 1).min(others.starts.len() - 2);
        for strip in first..=last {
            let strip = others.of(strip);
            let begin = strip.partition_point(|s| s.low[0] <= one.low[0] - width);
            for other in &strip[begin..] {
                if other.low[0] >= one.high[0] {
                    break;
                }
                let overlaps =
                    |axis| one.low[axis] < other.high[axis] && other.low[axis] < one.high[axis];
                if overlaps(0) && overlaps(1) {
                    pairs.push((one.number, other.number));
                }
            }
        }
    }
}

/// Regions by the strip of their low corner, and from left to right in a strip.
struct Strips {
    height: i32,
    starts: Vec<u32>,
    sorted: Vec<Placed>,
}

#[derive(Clone, Copy, Default)]
struct Placed {
    low: [i32; 2],
    high: [i32; 2],
    number: u32,
}

impl Strips {
    fn new(regions: &[Bounds], height: i32) -> Strips {
        let top = regions.iter().map(|region| region.low[1]).max();
        let mut strips = Strips {
            height,
            starts: vec![],
            sorted: vec![Placed::default(); regions.len()],
        };
        let n = strips.strip(top.unwrap_or(0)) + 1;
        strips.starts = vec![0; n + 1];
        for region in regions {
            let strip = strips.strip(region.low[1]);
            strips.starts[strip + 1] += 1;
        }
        for i in 0..n {
            strips.starts[i + 1] += strips.starts[i];
        }
        let mut next = strips.starts.clone();
        for (number, region) in (0..).zip(regions) {
            let place = &mut next[strips.strip(region.low[1])];
            strips.sorted[*place as usize] = Placed {
                low: [region.low[0], region.low[1]],
                high: [region.high[0], region.high[1]],
                number,
            };
            *place += 1;
        }
        for i in 0..n {
            let range = strips.starts[i] as usize..strips.starts[i + 1] as usize;
            strips.sorted[range].sort_unstable_by_key(|region| region.low[0]);
        }
        strips
    }

    fn strip(&self, y: i32) -> usize {
        (y.max(0) / self.height) as usize
    }

    fn of(&self, strip: usize) -> &[Placed] {
        &self.sorted[self.starts[strip] as usize..self.starts[strip + 1] as usize]
    }
}
