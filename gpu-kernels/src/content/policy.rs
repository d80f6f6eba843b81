use std::time::Duration;

/// Why a batch is matched the way it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// There is no other way.
    Only,
    /// Too little is known of this way for batches of this size.
    Untried,
    /// Batches of this size took so long, in nanoseconds a notification, by way.
    Cheaper { each_ns: [f64; 2] },
    /// It was dearer, but that may have changed.
    TriedAgain,
}

/// Chooses between two ways by what batches of about the same size cost so far.
///
/// The dearer one is tried again whenever that costs less than a fiftieth of what was
/// spent since it was last tried: so little is lost by it, however much dearer it is.
/// The second way is taken to gain, not to lose, by larger batches: what is known of one
/// size saves trials of others.
#[derive(Debug, Default)]
pub struct Policy {
    /// By the size's logarithm.
    classes: [Class; 32],
}

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    costs: [Cost; 2],
    /// Seconds and batches, since the dearer way was tried.
    spent: f64,
    since: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    /// Seconds a notification, as far as it was tried.
    each: f64,
    tries: u32,
}

impl Policy {
    /// The way for a batch of so many notifications, 0 or 1, and why.
    pub fn choose(&mut self, notifications: usize) -> (usize, Reason) {
        let class = class(notifications);
        let costs = match self.costs(class) {
            Ok(costs) => costs,
            Err(untried) => return (untried, Reason::Untried),
        };
        let own = &mut self.classes[class];
        let better = usize::from(costs[1] < costs[0]);
        let lost = (costs[1] - costs[0]).abs() * notifications as f64;
        if lost < own.spent / SPENT_BEFORE_TRIAL && own.since >= BATCHES_BEFORE_TRIAL {
            return (1 - better, Reason::TriedAgain);
        }
        let each_ns = costs.map(|each| each * 1e9);
        (better, Reason::Cheaper { each_ns })
    }

    /// Notes what a batch cost, on the way that was chosen.
    pub fn note(&mut self, (way, reason): (usize, Reason), notifications: usize, cost: Duration) {
        let cost = cost.as_secs_f64();
        let own = &mut self.classes[class(notifications)];
        let each = cost / notifications.max(1) as f64;
        let known = &mut own.costs[way];
        // A first batch costs more than those after it. What is newer counts more:
        // subscriptions come and go.
        known.each = match reason {
            Reason::Cheaper { .. } if known.tries > 0 => known.each + (each - known.each) / 4.0,
            _ => each,
        };
        known.tries = known.tries.saturating_add(1);
        match reason {
            Reason::TriedAgain => (own.spent, own.since) = (0.0, 0),
            Reason::Cheaper { .. } => own.go_on(cost),
            _ => {}
        }
    }

    /// Whether a batch is so small that looking at the clock counts, and what it costs
    /// is known well enough: then it is noted by itself, as what it cost before.
    pub fn pass(&mut self, (way, reason): (usize, Reason), notifications: usize) -> bool {
        let Reason::Cheaper { each_ns } = reason else {
            return false;
        };
        let cost = each_ns[way] * 1e-9 * notifications as f64;
        let own = &mut self.classes[class(notifications)];
        if cost > SHORT || own.since.is_multiple_of(MEASURED_EVERY) {
            return false;
        }
        own.go_on(cost);
        true
    }

    /// What both ways cost in a class, measured there or known from others; or the
    /// way to try.
    fn costs(&self, class: usize) -> Result<[f64; 2], usize> {
        let own = self.classes[class].costs;
        let mut costs = own.map(|cost| cost.each);
        // Each in turn: the other may turn out to be so much better that this is all.
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
                both.then_some([a.each, b.each])
            });
            match better.filter(|known| known[way] > known[1 - way] * CLEARLY) {
                Some(known) if own[1 - way].tries >= TRIES => {
                    costs[way] = known[way].max(costs[1 - way]);
                }
                Some(_) => return Err(1 - way),
                None => return Err(way),
            }
        }
        Ok(costs)
    }

    /// Classes where this way has it no harder than in this one, the nearest first.
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
    fn go_on(&mut self, cost: f64) {
        self.spent += cost;
        self.since = self.since.saturating_add(1);
    }
}

fn class(notifications: usize) -> usize {
    (notifications.max(1).ilog2() as usize).min(31)
}

/// Batches by each way before its cost is believed.
const TRIES: u32 = 2;
const SPENT_BEFORE_TRIAL: f64 = 50.0;
/// Where both cost the same, going to and fro costs more: caches and threads grow cold.
const BATCHES_BEFORE_TRIAL: u32 = 32;
/// So many times as dear, a way is not even tried for sizes that suit it less.
const CLEARLY: f64 = 2.0;
/// Seconds that make a look at the clock seem short.
const SHORT: f64 = 20e-6;
const MEASURED_EVERY: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes on for so many batches of given costs; gives how many went each way, and
    /// the seconds.
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
    fn a_first_batch_does_not_count() {
        let mut policy = Policy::default();
        for (way, ms) in [(0, 5), (1, 500), (0, 5), (1, 2)] {
            let choice = policy.choose(100);
            assert_eq!(choice, (way, Reason::Untried));
            policy.note(choice, 100, Duration::from_millis(ms));
        }
        assert_eq!(policy.choose(100).0, 1);
    }

    #[test]
    fn trials_cost_little_however_dear_they_are() {
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
    fn a_way_that_became_cheaper_is_found() {
        let mut policy = Policy::default();
        run(&mut policy, 1000, 64, [0.001, 0.010]);
        let (counts, _) = run(&mut policy, 2000, 64, [0.001, 0.0005]);
        assert!(counts[1] > 1000, "{counts:?}");
    }

    #[test]
    fn what_is_hopeless_is_not_tried_at_sizes_that_suit_it_less() {
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
    fn short_batches_are_measured_now_and_then() {
        let mut policy = Policy::default();
        run(&mut policy, 4, 1, [1e-6, 1e-4]);
        let mut measured = 0;
        for _ in 0..1600 {
            let choice = policy.choose(1);
            if !policy.pass(choice, 1) {
                policy.note(choice, 1, Duration::from_micros([1, 100][choice.0]));
                measured += 1;
            }
        }
        assert!((100..=120).contains(&measured), "{measured}");
    }
}
