//! Which approach a step takes, by what steps cost.

use std::time::Duration;

use crate::regions::output::Approach;

/// How many regions of each side are updated, and how many stay.
#[derive(Clone, Copy)]
pub struct Counts {
    pub updated: [u32; 2],
    pub still: [u32; 2],
}

/// The measured cost of our approach. It depends on how regions crowd and how their
/// sizes differ, so the last measurement is the best guess for the next step; it is
/// forgotten after some steps, since regions move. The cost of tiles doesn't depend on
/// where regions are.
#[derive(Default)]
pub struct Costs {
    sorted: Option<Measured>,
}

struct Measured {
    took: Duration,
    updates: u64,
    steps: u32,
}

impl Costs {
    pub fn choose(&self, counts: Counts) -> (Approach, &'static str) {
        let tiles = TILES_FIXED_NS + tests(counts) as f64 * TEST_NS;
        let updates = updates(counts);
        let sorted = match &self.sorted {
            Some(last) => {
                let growth = updates as f64 / last.updates.max(1) as f64;
                last.took.as_nanos() as f64 * growth.max(1.0)
            }
            None => {
                let still = counts.still.iter().map(|&n| f64::from(n)).sum::<f64>();
                SORTED_FIXED_NS + updates as f64 * UPDATE_NS + still * STILL_NS
            }
        };
        match (tiles <= sorted, &self.sorted) {
            (true, None) => (Approach::Tiles, "there are few regions to compare"),
            (true, Some(_)) => (Approach::Tiles, "looking regions up took longer lately"),
            (false, _) => (Approach::Sorted, "there are many regions to compare"),
        }
    }

    /// Notes how long a step took to find its pairs.
    pub fn note(&mut self, approach: Approach, counts: Counts, took: Duration) {
        if approach == Approach::Sorted {
            self.sorted = Some(Measured {
                took,
                updates: updates(counts),
                steps: 0,
            });
        } else if let Some(last) = &mut self.sorted {
            last.steps += 1;
            if last.steps == STEPS_KEPT {
                self.sorted = None;
            }
        }
    }
}

/// How many pairs tiles compare.
fn tests(counts: Counts) -> u64 {
    let [publications, subscriptions] = counts.updated.map(u64::from);
    let still = counts.still.map(u64::from);
    publications * (subscriptions + still[1]) + subscriptions * still[0]
}

fn updates(counts: Counts) -> u64 {
    counts.updated.iter().map(|&n| u64::from(n)).sum()
}

// Measured on an H200: `benches regions --suites paper,scale`, stage "match".
const TILES_FIXED_NS: f64 = 15_000.0;
const TEST_NS: f64 = 0.00058;
const SORTED_FIXED_NS: f64 = 45_000.0;
const UPDATE_NS: f64 = 0.15;
const STILL_NS: f64 = 0.04;
/// Steps after which our approach is tried again.
const STEPS_KEPT: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn all_updated(n: u32) -> Counts {
        Counts {
            updated: [n, n],
            still: [0, 0],
        }
    }

    #[test]
    fn few_regions_are_compared_in_tiles_and_many_are_sorted() {
        let costs = Costs::default();
        assert_eq!(costs.choose(all_updated(1000)).0, Approach::Tiles);
        assert_eq!(costs.choose(all_updated(500_000)).0, Approach::Sorted);
    }

    #[test]
    fn what_took_long_is_not_tried_again_for_a_while() {
        let mut costs = Costs::default();
        let counts = all_updated(10_000);
        assert_eq!(costs.choose(counts).0, Approach::Sorted);
        costs.note(Approach::Sorted, counts, Duration::from_micros(400));
        for _ in 0..STEPS_KEPT {
            assert_eq!(costs.choose(counts).0, Approach::Tiles);
            costs.note(Approach::Tiles, counts, Duration::from_micros(90));
        }
        assert_eq!(costs.choose(counts).0, Approach::Sorted);
    }
}
