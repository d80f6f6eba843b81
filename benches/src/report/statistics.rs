//! Median, mean and deviation of samples.

use std::time::Duration;

/// A summary of times, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    pub median: f64,
    pub mean: f64,
    /// The sample standard deviation; 0 for a single sample.
    pub deviation: f64,
}

impl Summary {
    pub fn of(samples: impl IntoIterator<Item = Duration>) -> Summary {
        let mut ms: Vec<f64> = samples.into_iter().map(|s| s.as_secs_f64() * 1e3).collect();
        ms.sort_by(f64::total_cmp);
        let n = ms.len();
        if n == 0 {
            return Summary::default();
        }
        let mean = ms.iter().sum::<f64>() / n as f64;
        let squares = ms.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>();
        Summary {
            median: (ms[(n - 1) / 2] + ms[n / 2]) / 2.0,
            mean,
            deviation: (squares / (n - 1).max(1) as f64).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_mean_and_deviation_are_those_of_the_textbook() {
        let samples = [2, 4, 4, 4, 5, 5, 7, 9].map(Duration::from_millis);
        let summary = Summary::of(samples);
        assert!((summary.median - 4.5).abs() < 1e-9);
        assert!((summary.mean - 5.0).abs() < 1e-9);
        assert!((summary.deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn a_single_sample_has_no_deviation() {
        let summary = Summary::of([Duration::from_millis(3)]);
        assert_eq!((summary.median, summary.deviation), (3.0, 0.0));
    }
}
