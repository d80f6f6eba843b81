//! What there is to beat, each on one thread. They find all pairs afresh in each
//! step, and don't even say which are new.

use gpu_kernels::regions::Bounds;

use super::scenario::Motion;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// The paper's: every publication with every subscription.
    AllPairs,
    /// The paper's reference [3]: edges on one dimension are sorted and swept over;
    /// what is open is compared on the other.
    SortBased,
    /// Subscriptions by strips as high as the highest of them, sorted within.
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
    let strip = |y: i32| (y.max(0) / height) as usize;
    let top = subscriptions.iter().map(|s| s.low[1]).max().unwrap_or(0);
    let strips = strip(top) + 1;
    let mut starts = vec![0u32; strips + 1];
    for bounds in subscriptions {
        starts[strip(bounds.low[1]) + 1] += 1;
    }
    for i in 0..strips {
        starts[i + 1] += starts[i];
    }
    let mut next = starts.clone();
    let none = Bounds {
        low: [0; 3],
        high: [0; 3],
    };
    let mut sorted = vec![(none, 0u32); subscriptions.len()];
    for (s, bounds) in (0..).zip(subscriptions) {
        let place = &mut next[strip(bounds.low[1])];
        sorted[*place as usize] = (*bounds, s);
        *place += 1;
    }
    for i in 0..strips {
        let strip = &mut sorted[starts[i] as usize..starts[i + 1] as usize];
        strip.sort_unstable_by_key(|(bounds, _)| bounds.low[0]);
    }
    for (p, one) in (0..).zip(publications) {
        let last = strip(one.high[1] - 1).min(strips - 1);
        for i in strip(one.low[1] - height + 1)..=last {
            let strip = &sorted[starts[i] as usize..starts[i + 1] as usize];
            let begin = strip.partition_point(|(s, _)| s.low[0] <= one.low[0] - width);
            for (other, s) in &strip[begin..] {
                if other.low[0] >= one.high[0] {
                    break;
                }
                if overlap(one, other, 0) && overlap(one, other, 1) {
                    pairs.push((p, *s));
                }
            }
        }
    }
}
