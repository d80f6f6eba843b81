use std::time::Duration;

/// Where a batch is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Cpu,
    Gpu,
}

impl Side {
    pub const ALL: [Side; 2] = [Side::Cpu, Side::Gpu];

    pub const fn name(self) -> &'static str {
        match self {
            Side::Cpu => "cpu",
            Side::Gpu => "cuda",
        }
    }
}

/// Why a batch is matched where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// There is no other side.
    Only,
    /// Nothing is known of this side for batches of this size.
    Untried,
    /// Batches of this size took so long, in nanoseconds a notification.
    Cheaper { cpu_ns: f64, gpu_ns: f64 },
    /// It was dearer, but that may have changed.
    TriedAgain,
}

/// The side for a batch, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    pub side: Side,
    pub reason: Reason,
}

/// Chooses by what batches of about the same size cost so far, on either side.
/// Each side is tried where nothing is known of it, and now and then again.
#[derive(Debug, Default)]
pub struct Policy {
    /// By the size's logarithm: what a notification costs on each side.
    costs: [[Option<f64>; 2]; 32],
    choices: [u32; 32],
}

impl Policy {
    /// The side for a batch of so many notifications.
    pub fn choose(&mut self, notifications: usize) -> Choice {
        let class = class(notifications);
        let choices = &mut self.choices[class];
        *choices = choices.wrapping_add(1);
        // Soon again, since a first batch costs more than those after it.
        let is_revisit = choices.is_power_of_two() || choices.is_multiple_of(REVISIT_EVERY);
        let (cpu, gpu) = match self.costs[class] {
            [None, _] => return Choice::of(Side::Cpu, Reason::Untried),
            [_, None] => return Choice::of(Side::Gpu, Reason::Untried),
            [Some(cpu), Some(gpu)] => (cpu, gpu),
        };
        let (better, other) = match cpu <= gpu {
            true => (Side::Cpu, Side::Gpu),
            false => (Side::Gpu, Side::Cpu),
        };
        match is_revisit {
            true => Choice::of(other, Reason::TriedAgain),
            false => {
                let [cpu_ns, gpu_ns] = [cpu, gpu].map(|seconds| seconds * 1e9);
                Choice::of(better, Reason::Cheaper { cpu_ns, gpu_ns })
            }
        }
    }

    /// Notes what a batch cost.
    pub fn note(&mut self, side: Side, notifications: usize, cost: Duration) {
        let each = cost.as_secs_f64() / notifications.max(1) as f64;
        let known = &mut self.costs[class(notifications)][side as usize];
        // What is newer counts more: subscriptions come and go.
        *known = Some(known.map_or(each, |old| old + (each - old) / 4.0));
    }
}

impl Choice {
    pub fn of(side: Side, reason: Reason) -> Choice {
        Choice { side, reason }
    }
}

fn class(notifications: usize) -> usize {
    (notifications.max(1).ilog2() as usize).min(31)
}

const REVISIT_EVERY: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheaper_side_is_chosen_by_size() {
        let mut policy = Policy::default();
        let ms = Duration::from_millis;
        // Past those where the other is tried.
        let side = |policy: &mut Policy, size| loop {
            let choice = policy.choose(size);
            if matches!(choice.reason, Reason::Cheaper { .. }) {
                return choice.side;
            }
        };
        for (size, cpu, gpu) in [(1, 1, 2), (10_000, 40, 3)] {
            let choice = policy.choose(size);
            assert_eq!(choice, Choice::of(Side::Cpu, Reason::Untried));
            policy.note(Side::Cpu, size, ms(cpu));
            let choice = policy.choose(size);
            assert_eq!(choice, Choice::of(Side::Gpu, Reason::Untried));
            policy.note(Side::Gpu, size, ms(gpu));
        }
        assert_eq!(side(&mut policy, 1), Side::Cpu);
        assert_eq!(side(&mut policy, 10_000), Side::Gpu);
        for _ in 0..8 {
            policy.note(Side::Gpu, 10_000, ms(100));
        }
        assert_eq!(side(&mut policy, 10_000), Side::Cpu, "costs change");
    }

    #[test]
    fn the_other_side_is_tried_again() {
        let mut policy = Policy::default();
        policy.note(Side::Cpu, 1, Duration::from_millis(1));
        policy.note(Side::Gpu, 1, Duration::from_millis(2));
        let choices: Vec<_> = (0..1024).map(|_| policy.choose(1)).collect();
        let tried = choices.iter().filter(|c| c.side == Side::Gpu);
        // 1, 2, 4, ..., 1024, and 768.
        assert_eq!(tried.count(), 12);
        let first = &choices[2];
        let costs = Reason::Cheaper {
            cpu_ns: 1e6,
            gpu_ns: 2e6,
        };
        assert_eq!(*first, Choice::of(Side::Cpu, costs));
    }
}
