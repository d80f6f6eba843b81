//! The last hour in memory: a sample each second.

use std::collections::VecDeque;
use std::time::Duration;

use platform::metrics::window::Window;
use serde::Serialize;

use super::series::{self, Series};

/// The samples of the last hour, oldest first.
pub struct History {
    samples: VecDeque<Sample>,
    /// The number of the next sample; the first of all has 0.
    next: u64,
    series: Vec<Series>,
}

/// The figures of a second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The end of the second, in milliseconds since 1970.
    at: u64,
    /// By series.
    values: Vec<f32>,
}

/// Samples that follow each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Samples {
    /// The number of the first.
    pub first: u64,
    /// The number that comes after the last that there is.
    pub next: u64,
    pub samples: Vec<Sample>,
}

impl History {
    pub fn new() -> History {
        History {
            samples: VecDeque::with_capacity(SAMPLES_MAX),
            next: 0,
            series: series::all(),
        }
    }

    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// Adds the ticks of a window, which took so long. `now` is the time since 1970.
    pub fn add(&mut self, window: &Window, took: Duration, now: Duration) {
        let mut values = series::sample(window, took);
        // Without a tick, the world is as it was.
        if window.ticks == 0
            && let Some(last) = self.samples.back()
        {
            let olds = self.series.iter().zip(&last.values);
            for (value, (series, old)) in values.iter_mut().zip(olds) {
                if series::keeps_its_value(series) {
                    *value = *old;
                }
            }
        }
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        let at = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        self.samples.push_back(Sample { at, values });
        self.next += 1;
    }

    /// The first samples from a number on that are still there, at most
    /// [`SAMPLES_AT_ONCE`].
    pub fn since(&self, number: u64) -> Samples {
        let oldest = self.next - self.samples.len() as u64;
        let first = number.clamp(oldest, self.next);
        // Below an hour of samples.
        let skipped = (first - oldest) as usize;
        let samples = self.samples.iter().skip(skipped);
        Samples {
            first,
            next: self.next,
            samples: samples.take(SAMPLES_AT_ONCE).cloned().collect(),
        }
    }
}

impl Default for History {
    fn default() -> History {
        History::new()
    }
}

/// An hour of seconds: about a megabyte.
pub const SAMPLES_MAX: usize = 3600;
/// Of one answer: about 250 KB.
pub const SAMPLES_AT_ONCE: usize = 600;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn with_clients(clients: u64, ticks: u64) -> Window {
        let mut window = Window::new();
        (window.clients, window.ticks) = (clients, ticks);
        window
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let mut history = History::new();
        for second in 0..2 * SAMPLES_MAX as u64 {
            history.add(&with_clients(second, 1), SECOND, SECOND * second as u32);
        }
        assert_eq!(history.samples.len(), SAMPLES_MAX);
        assert_eq!(history.samples.capacity(), SAMPLES_MAX);
        let all = history.since(0);
        assert_eq!((all.first, all.next), (3600, 7200));
        assert_eq!(all.samples.len(), SAMPLES_AT_ONCE);
        assert_eq!(all.samples[0].at, 3_600_000);
        // In parts, everything that there is.
        let (mut number, mut found) = (0, 0);
        while number < history.next {
            let part = history.since(number);
            found += part.samples.len();
            number = part.first + part.samples.len() as u64;
        }
        assert_eq!(found, SAMPLES_MAX);
        assert_eq!(history.since(u64::MAX).samples, []);
    }

    #[test]
    fn a_second_without_a_tick_keeps_the_number_of_clients() {
        let mut history = History::new();
        history.add(&with_clients(7, 1), SECOND, SECOND);
        history.add(&with_clients(0, 0), SECOND, SECOND * 2);
        let clients = |sample: &Sample| sample.values[0];
        let clients: Vec<f32> = history.since(0).samples.iter().map(clients).collect();
        assert_eq!(history.series()[0].name, "clients");
        assert_eq!(clients, [7.0, 7.0]);
    }
}
