//! Which backend matches a batch: the paper's last remark (section 5) is that small
//! problems aren't worth a launch, and that this can be known beforehand.

use std::time::{Duration, Instant};

/// Where a batch is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Cpu,
    Gpu,
}

/// Chooses by what batches of about the same size cost so far, on either side.
/// Each side is tried where nothing is known of it, and now and then again.
#[derive(Debug, Default)]
pub struct Auto {
    /// By the size's logarithm: what a notification costs on each side.
    costs: [[Option<f64>; 2]; 32],
    choices: [u32; 32],
}

impl Auto {
    /// The side for a batch of so many notifications.
    pub fn choose(&mut self, notifications: usize) -> Side {
        let class = class(notifications);
        self.choices[class] = self.choices[class].wrapping_add(1);
        let is_revisit = self.choices[class].is_multiple_of(REVISIT_EVERY);
        let better = match self.costs[class] {
            [None, _] => return Side::Cpu,
            [_, None] => return Side::Gpu,
            [Some(cpu), Some(gpu)] if cpu <= gpu => Side::Cpu,
            _ => Side::Gpu,
        };
        match (better, is_revisit) {
            (Side::Cpu, true) => Side::Gpu,
            (Side::Gpu, true) => Side::Cpu,
            (better, false) => better,
        }
    }

    /// Notes what a batch cost.
    pub fn note(&mut self, side: Side, notifications: usize, cost: Duration) {
        let each = cost.as_secs_f64() / notifications.max(1) as f64;
        let known = &mut self.costs[class(notifications)][side as usize];
        // What is newer counts more: subscriptions come and go.
        *known = Some(known.map_or(each, |old| old + (each - old) / 4.0));
    }

    /// Matches a batch on the better side, and notes its cost.
    pub fn run<T>(&mut self, notifications: usize, work: impl FnOnce(Side) -> T) -> T {
        let side = self.choose(notifications);
        let begin = Instant::now();
        let result = work(side);
        self.note(side, notifications, begin.elapsed());
        result
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
        let mut auto = Auto::default();
        let ms = Duration::from_millis;
        for (size, cpu, gpu) in [(1, 1, 2), (10_000, 40, 3)] {
            assert_eq!(auto.choose(size), Side::Cpu, "nothing is known of it");
            auto.note(Side::Cpu, size, ms(cpu));
            assert_eq!(auto.choose(size), Side::Gpu, "nothing is known of it");
            auto.note(Side::Gpu, size, ms(gpu));
        }
        assert_eq!(auto.choose(1), Side::Cpu);
        assert_eq!(auto.choose(10_000), Side::Gpu);
        for _ in 0..8 {
            auto.note(Side::Gpu, 10_000, ms(100));
        }
        assert_eq!(auto.choose(10_000), Side::Cpu, "costs change");
    }

    #[test]
    fn the_other_side_is_tried_again() {
        let mut auto = Auto::default();
        auto.note(Side::Cpu, 1, Duration::from_millis(1));
        auto.note(Side::Gpu, 1, Duration::from_millis(2));
        let choices = (0..1000).map(|_| auto.choose(1));
        let tried = choices.filter(|&side| side == Side::Gpu).count();
        assert_eq!(tried, 3);
    }
}
