//! The samples of the history: a number for each series.

use std::time::Duration;

use gpu_kernels::tick::counts::MetricKind;
use gpu_kernels::{Counts, Stage};
use platform::metrics::steps::Step;
use platform::metrics::table;
use platform::metrics::window::Window;
use serde::Serialize;
/// One of the lines that can be drawn over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Series {
    pub name: String,
    pub unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Milliseconds,
    PerSecond,
    Number,
}

/// All series, in the order of [`sample`].
pub fn all() -> Vec<Series> {
    let own = OWN.iter().map(|&(name, unit, _)| (name.to_owned(), unit));
    let steps = Step::ALL.map(|step| (format!("step_{}", step.name()), Unit::Milliseconds));
    let stages = Stage::ALL.map(|stage| (format!("stage_{}", stage.name()), Unit::Milliseconds));
    let gpus = table::GPUS.map(|gpu| (format!("gpu_{gpu}"), Unit::Milliseconds));
    let counts = Counts::METRICS.iter().map(|count| {
        let name = count.name.trim_start_matches("myriad_");
        let name = match count.label {
            Some((_, value)) => format!("{name}_{value}"),
            None => name.to_owned(),
        };
        let unit = match count.kind {
            MetricKind::Counter => Unit::PerSecond,
            MetricKind::Gauge => Unit::Number,
        };
        (name, unit)
    });
    let named = own.chain(steps).chain(stages).chain(gpus).chain(counts);
    named.map(|(name, unit)| Series { name, unit }).collect()
}

/// The numbers of a window that took so long.
pub fn sample(window: &Window, took: Duration) -> Vec<f32> {
    let mut tick_times_us = window.tick_times_us.clone();
    tick_times_us.sort_unstable();
    let second = Second {
        window,
        seconds: took.as_secs_f64().max(f64::EPSILON),
        tick_times_us,
    };
    let own = OWN.iter().map(|(_, _, value)| value(&second));
    let times = window
        .steps
        .iter()
        .chain(&window.stages)
        .chain(&window.gpus);
    let times = times.map(|time| second.mean_ms(*time));
    let counts = Counts::METRICS.iter().zip(window.counts);
    let counts = counts.map(|(count, sum)| match count.kind {
        MetricKind::Counter => second.rate(sum),
        MetricKind::Gauge => sum as f64,
    });
    let numbers = own.chain(times).chain(counts);
    // Three digits are enough to draw, and short to send.
    numbers.map(|number| rounded(number) as f32).collect()
}

/// The place of a series that is not a rate, which has no value without a tick.
pub fn keeps_its_value(series: &Series) -> bool {
    series.unit == Unit::Number
}

struct Second<'a> {
    window: &'a Window,
    seconds: f64,
    /// Ascending.
    tick_times_us: Vec<u32>,
}

impl Second<'_> {
    fn rate(&self, sum: u64) -> f64 {
        sum as f64 / self.seconds
    }

    /// The mean of a tick, of a sum over ticks.
    fn mean_ms(&self, sum: Duration) -> f64 {
        sum.as_secs_f64() * 1000.0 / self.window.ticks.max(1) as f64
    }

    /// The smallest time that so large a part of the ticks does not exceed.
    fn tick_ms(&self, quantile: f64) -> f64 {
        let count = self.tick_times_us.len();
        let rank = (quantile * count as f64).ceil() as usize;
        let time = self.tick_times_us.get(rank.max(1) - 1);
        time.map_or(0.0, |&us| f64::from(us) / 1000.0)
    }

    fn age_ms(&self, quantile: f64) -> f64 {
        let ages = &self.window.fan_out.ages;
        let clients: u64 = ages.iter().map(|(_, clients)| u64::from(clients)).sum();
        let rank = (quantile * clients as f64).ceil() as u64;
        let mut up_to = 0;
        let found = ages.iter().find(|&(_, clients)| {
            up_to += u64::from(clients);
            up_to >= rank.max(1)
        });
        let ticks = found.map_or(0, |(ticks, _)| ticks);
        (self.window.period * ticks).as_secs_f64() * 1000.0
    }
}

fn rounded(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return 0.0;
    }
    let digits = 3 - number.abs().log10().ceil() as i32;
    let scale = 10f64.powi(digits.max(0));
    (number * scale).round() / scale
}

type Value = fn(&Second<'_>) -> f64;

use Unit::{Milliseconds, Number, PerSecond};

/// Those that are not declared elsewhere.
const OWN: &[(&str, Unit, Value)] = &[
    ("clients", Number, |s| s.window.clients as f64),
    ("ticks", PerSecond, |s| s.rate(s.window.ticks)),
    ("tick_p50", Milliseconds, |s| s.tick_ms(0.5)),
    ("tick_p99", Milliseconds, |s| s.tick_ms(0.99)),
    ("tick_max", Milliseconds, |s| s.tick_ms(1.0)),
    ("fan_out_wait", Milliseconds, |s| {
        s.mean_ms(s.window.fan_out_wait)
    }),
    ("lateness_max", Milliseconds, |s| {
        s.window.lateness_max.as_secs_f64() * 1000.0
    }),
    ("age_p50", Milliseconds, |s| s.age_ms(0.5)),
    ("age_p99", Milliseconds, |s| s.age_ms(0.99)),
    ("bytes_out", PerSecond, |s| {
        s.rate(s.window.fan_out.packet_bytes_sent)
    }),
    ("bytes_in", PerSecond, |s| {
        s.rate(s.window.fan_out.packet_bytes_received)
    }),
    ("packets_out", PerSecond, |s| {
        s.rate(s.window.fan_out.packets_sent)
    }),
    ("packets_in", PerSecond, |s| {
        s.rate(s.window.fan_out.packets_received)
    }),
    ("datagram_bytes", PerSecond, |s| {
        s.rate(s.window.fan_out.datagram_bytes)
    }),
    ("stream_bytes", PerSecond, |s| {
        s.rate(s.window.fan_out.stream_bytes)
    }),
    ("notices", PerSecond, |s| s.rate(s.window.fan_out.notices)),
    ("ticks_late", PerSecond, |s| s.rate(s.window.late)),
    ("ticks_skipped", PerSecond, |s| s.rate(s.window.skipped)),
    ("ticks_unrecorded", PerSecond, |s| {
        s.rate(s.window.unrecorded)
    }),
    ("clients_put_off", PerSecond, |s| {
        s.rate(s.window.fan_out.deferred)
    }),
    ("clients_out_of_touch", PerSecond, |s| {
        s.rate(s.window.fan_out.out_of_touch)
    }),
    ("news_put_off", PerSecond, |s| {
        s.rate(s.window.fan_out.waiting)
    }),
    ("notices_full", PerSecond, |s| {
        s.rate(s.window.fan_out.notices_full)
    }),
    ("subscriptions_lost", PerSecond, |s| {
        s.rate(s.window.subscriptions_lost)
    }),
    ("socket_drops", PerSecond, |s| {
        s.rate(s.window.fan_out.socket_drops)
    }),
    ("sessions_lost", PerSecond, |s| {
        s.rate(s.window.fan_out.sessions_lost)
    }),
    ("commands_over_quota", PerSecond, |s| {
        s.rate(s.window.refusals.commands_over_quota)
    }),
    ("messages_malformed", PerSecond, |s| {
        s.rate(s.window.refusals.malformed)
    }),
    ("requests_refused", PerSecond, |s| {
        s.rate(s.window.refusals.requests)
    }),
    ("connections_refused", PerSecond, |s| {
        s.rate(s.window.refusals.connections)
    }),
    ("tokens_wrong", PerSecond, |s| {
        s.rate(s.window.refusals.tokens)
    }),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, window: &Window, took: Duration) -> f32 {
        let place = all().iter().position(|series| series.name == name);
        sample(window, took)[place.expect("a series")]
    }

    #[test]
    fn every_series_has_a_name_of_its_own_and_a_number() {
        let all = all();
        let mut names: Vec<&str> = all.iter().map(|series| &*series.name).collect();
        assert_eq!(sample(&Window::new(), Duration::ZERO).len(), names.len());
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn rates_are_a_second_and_times_are_a_tick() {
        let mut window = Window::new();
        window.ticks = 10;
        window.late = 5;
        window.period = Duration::from_millis(50);
        window.steps[Step::Listen as usize] = Duration::from_millis(40);
        window.gpus[1] = Duration::from_millis(25);
        window.tick_times_us = vec![9000, 1000, 2000, 3000];
        window.fan_out.ages.note(1);
        window.fan_out.ages.note(1);
        window.fan_out.ages.note(4);
        let number = |name| of(name, &window, Duration::from_millis(500));
        assert_eq!([number("ticks"), number("ticks_late")], [20.0, 10.0]);
        assert_eq!(number("step_listen"), 4.0);
        assert_eq!([number("gpu_0"), number("gpu_1")], [0.0, 2.5]);
        let ticks = ["tick_p50", "tick_p99", "tick_max"].map(number);
        assert_eq!(ticks, [2.0, 9.0, 9.0]);
        assert_eq!([number("age_p50"), number("age_p99")], [50.0, 200.0]);
    }

    #[test]
    fn numbers_are_short() {
        let numbers = [0.0, 1.23456, 12.3456, 123.456, 123_456.7, -0.001_234_56];
        let expected = [0.0, 1.23, 12.3, 123.0, 123_457.0, -0.001_23];
        assert_eq!(numbers.map(rounded), expected);
        assert_eq!(rounded(f64::NAN), 0.0);
    }
}
