//! The choice between two ways to match a batch, by their cost so far.

use std::time::Duration;

/// Why a way was chosen for a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// There is no other way.
    Only,
    /// This way was measured too few times for batches of this size.
    Untried,
    /// This way cost less for batches of this size. `each_ns`: nanoseconds per notification,
    /// by way.
    Cheaper { each_ns: [f64; 2] },
    /// This way cost more, but that may have changed.
    TriedAgain,
}

/// Chooses between two ways, 0 and 1, by the costs of batches of about the same size.
///
/// The dearer way is tried again when the expected loss is less than a fiftieth of the time
/// spent since its last trial. So trials cost little, however dear it is. Way 1 is assumed to
/// suit larger batches better than smaller ones, and way 0 the reverse: so measurements of
/// one size can save trials of other sizes.
#[derive(Debug, Default)]
pub struct Policy {
    /// By the binary logarithm of a batch's size.
    classes: [Class; 32],
}

/// Batches of about one size.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    costs: [Cost; 2],
    /// Seconds since the last trial of the dearer way.
    spent_s: f64,
    /// Batches since the last trial of the dearer way.
    batches: u32,
}

/// The cost of one way.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    /// Seconds per notification, if it was tried.
    each_s: f64,
    tries: u32,
}

impl Policy {
    /// The way for a batch of this many notifications, and the reason.
    pub fn choose(&mut self, notifications: usize) -> (usize, Reason) {
        let class = class(notifications);
        let costs = match self.costs(class) {
            Ok(costs) => costs,
            Err(untried) => return (untried, Reason::Untried),
        };
        let own = &mut self.classes[class];
        let better = usize::from(costs[1] < costs[0]);
        let loss = (costs[1] - costs[0]).abs() * notifications as f64;
        if loss < own.spent_s / SPENT_BEFORE_TRIAL && own.batches >= BATCHES_BEFORE_TRIAL {
            return (1 - better, Reason::TriedAgain);
        }
        let each_ns = costs.map(|each| each * 1e9);
        (better, Reason::Cheaper { each_ns })
    }

    /// Records the cost of a batch on the chosen way.
    pub fn note(&mut self, (way, reason): (usize, Reason), notifications: usize, cost: Duration) {
        let cost = cost.as_secs_f64();
        let own = &mut self.classes[class(notifications)];
        let each = cost / notifications.max(1) as f64;
        let known = &mut own.costs[way];
        // A first batch costs more than later ones, so it is replaced. Newer costs count
        // more, since subscriptions change.
        known.each_s = match reason {
            Reason::Cheaper { .. } if known.tries > 0 => {
                let weight = if cost < NOISY_S { 32.0 } else { 4.0 };
                known.each_s + (each - known.each_s) / weight
            }
            _ => each,
        };
        known.tries = known.tries.saturating_add(1);
        match reason {
            Reason::TriedAgain => (own.spent_s, own.batches) = (0.0, 0),
            Reason::Cheaper { .. } => own.spend(cost),
            _ => {}
        }
    }

    /// Records a batch at its expected cost, if it is so short that reading the clock would
    /// count, and not due to be measured. Returns whether it did; otherwise the batch must be
    /// measured.
    pub fn note_unmeasured(
        &mut self,
        (way, reason): (usize, Reason),
        notifications: usize,
    ) -> bool {
        let Reason::Cheaper { each_ns } = reason else {
            return false;
        };
        let cost = each_ns[way] * 1e-9 * notifications as f64;
        let own = &mut self.classes[class(notifications)];
        if cost > SHORT_S || own.batches.is_multiple_of(MEASURED_EVERY) {
            return false;
        }
        own.spend(cost);
        true
    }

    /// The costs of both ways in a class, from measurements in this class or others. The
    /// error is the way to try.
    fn costs(&self, class: usize) -> Result<[f64; 2], usize> {
        let own = self.classes[class].costs;
        let mut costs = own.map(|cost| cost.each_s);
        // The ways are tried in turn, since the other may prove so much cheaper that this
        // one needs no further trial.
        let order = if own[1].tries < own[0].tries {
            [1, 0]
        } else {
            [0, 1]
        };
        for way in order {
            if own[way].tries >= TRIES {
                continue;
            }
            let better = self.neighbours(class, way).find_map(|other| {
                let [a, b] = other.costs;
                let both = a.tries >= TRIES && b.tries >= TRIES;
                both.then_some([a.each_s, b.each_s])
            });
            match better.filter(|known| known[way] > known[1 - way] * HOPELESS_RATIO) {
                Some(known) if own[1 - way].tries >= TRIES => {
                    costs[way] = known[way].max(costs[1 - way]);
                }
                Some(_) => return Err(1 - way),
                None => return Err(way),
            }
        }
        Ok(costs)
    }

    /// The classes that suit a way at least as well as this class, the nearest first.
    fn neighbours(&self, class: usize, way: usize) -> impl Iterator<Item = &Class> {
        let (smaller, larger) = self.classes.split_at(class);
        let larger = larger[1..].iter();
        let (smaller, larger) = match way {
            0 => (Some(smaller.iter().rev()), None),
            _ => (None, Some(larger)),
        };
        smaller
            .into_iter()
            .flatten()
            .chain(larger.into_iter().flatten())
    }
}

impl Class {
    fn spend(&mut self, cost: f64) {
        self.spent_s += cost;
        self.batches = self.batches.saturating_add(1);
    }
}

fn class(notifications: usize) -> usize {
    (notifications.max(1).ilog2() as usize).min(31)
}

/// Batches that a way needs before its cost is used.
const TRIES: u32 = 2;
/// How many times the expected loss must be spent before the dearer way is tried again.
const SPENT_BEFORE_TRIAL: f64 = 50.0;
/// The fewest batches between trials. If both ways cost the same, frequent switches would
/// cost more, since caches and threads grow cold.
const BATCHES_BEFORE_TRIAL: u32 = 32;
/// A way that costs this many times as much is not tried for sizes that suit it less.
const HOPELESS_RATIO: f64 = 2.0;
/// For batches of at most this many seconds, the time to read the clock counts.
const SHORT_S: f64 = 20e-6;
/// The costs of batches of fewer seconds vary a lot.
const NOISY_S: f64 = 1e-3;
/// One short batch of this many is measured.
const MEASURED_EVERY: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs batches of given costs. Returns the number of batches on each way, and the
    /// seconds in all.
    fn run(policy: &mut Policy, batches: u32, size: usize, seconds: [f64; 2]) -> ([u32; 2], f64) {
        let (mut counts, mut total) = ([0; 2], 0.0);
        for _ in 0..batches {
            let choice = policy.choose(size);
            policy.note(choice, size, Duration::from_secs_f64(seconds[choice.0]));
            counts[choice.0] += 1;
            total += seconds[choice.0];
        }
        (counts, total)
    }

    #[test]
    fn the_cheaper_way_is_chosen_by_size() {
        let mut policy = Policy::default();
        run(&mut policy, 10, 1, [0.001, 0.002]);
        run(&mut policy, 10, 10_000, [0.040, 0.003]);
        assert_eq!(policy.choose(1).0, 0);
        assert_eq!(policy.choose(10_000).0, 1);
        run(&mut policy, 100, 10_000, [0.040, 0.100]);
        assert_eq!(policy.choose(10_000).0, 0, "costs change");
    }

    #[test]
    fn the_cost_of_a_first_batch_is_replaced() {
        let mut policy = Policy::default();
        for (way, ms) in [(0, 5), (1, 500), (0, 5), (1, 2)] {
            let choice = policy.choose(100);
            assert_eq!(choice, (way, Reason::Untried));
            policy.note(choice, 100, Duration::from_millis(ms));
        }
        assert_eq!(policy.choose(100).0, 1);
    }

    #[test]
    fn trials_of_the_dearer_way_cost_at_most_2_percent() {
        for times in [1.01, 2.0, 40.0, 1000.0] {
            for costs in [[0.001, 0.001 * times], [0.001 * times, 0.001]] {
                let mut policy = Policy::default();
                run(&mut policy, 4, 64, costs);
                let (counts, total) = run(&mut policy, 200_000, 64, costs);
                assert!(total < 200.0 * 1.021, "{times}: {total}");
                let dearer = usize::from(costs[1] > costs[0]);
                assert!(counts[dearer] >= 3, "{times}: {counts:?}");
            }
        }
    }

    #[test]
    fn a_way_that_becomes_cheaper_is_found() {
        let mut policy = Policy::default();
        run(&mut policy, 1000, 64, [0.001, 0.010]);
        let (counts, _) = run(&mut policy, 2000, 64, [0.001, 0.0005]);
        assert!(counts[1] > 1000, "{counts:?}");
    }

    #[test]
    fn a_hopeless_way_is_not_tried_at_sizes_that_suit_it_less() {
        let mut policy = Policy::default();
        run(&mut policy, 10, 64, [0.100, 0.001]);
        let (counts, _) = run(&mut policy, 10, 8192, [10.0, 0.030]);
        assert_eq!(counts, [0, 10]);
        let mut policy = Policy::default();
        run(&mut policy, 10, 64, [0.001, 0.100]);
        let (counts, _) = run(&mut policy, 10, 1, [0.001, 0.100]);
        assert_eq!(counts, [10, 0]);
        let (counts, _) = run(&mut policy, 10, 1024, [0.016, 0.100]);
        assert_eq!(counts[1], 2, "it may be better there");
    }

    #[test]
    fn a_few_dear_batches_among_cheap_ones_do_not_change_the_choice() {
        let mut policy = Policy::default();
        let mut total = 0.0;
        for i in 0..100_000 {
            let cpu = if i % 49 == 48 { 500e-6 } else { 5e-6 };
            let choice = policy.choose(1);
            let cost = [cpu, 20e-6][choice.0];
            if !policy.note_unmeasured(choice, 1) {
                policy.note(choice, 1, Duration::from_secs_f64(cost));
            }
            total += cost;
        }
        // Way 0 alone would take 1.51 seconds, way 1 alone 2.
        assert!(total < 1.51 * 1.05, "{total}");
    }

    #[test]
    fn one_short_batch_of_16_is_measured() {
        let mut policy = Policy::default();
        run(&mut policy, 4, 1, [1e-6, 1e-4]);
        let mut measured = 0;
        for _ in 0..1600 {
            let choice = policy.choose(1);
            if !policy.note_unmeasured(choice, 1) {
                policy.note(choice, 1, Duration::from_micros([1, 100][choice.0]));
                measured += 1;
            }
        }
        assert!((100..=120).contains(&measured), "{measured}");
    }
}
