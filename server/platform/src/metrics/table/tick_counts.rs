//! The tick's own counts, as they are declared beside the tick.

use gpu_kernels::Counts;
use gpu_kernels::tick::counts::{Metric as Count, MetricKind};
use metrics::{counter, gauge};

use super::{Kind, Metric};

/// Records the counts of one tick.
pub fn record_counts(counts: &Counts) {
    for count in Counts::METRICS {
        let number = (count.value)(counts);
        match (count.kind, count.label) {
            (MetricKind::Gauge, _) => gauge!(count.name).set(number as f64),
            (MetricKind::Counter, Some((label, value))) => {
                counter!(count.name, label => value).increment(number);
            }
            (MetricKind::Counter, None) => counter!(count.name).increment(number),
        }
    }
}

/// The metrics of counts that have no label. Those with one belong to a metric that
/// counts other things too.
pub fn metrics() -> impl Iterator<Item = Metric> {
    let own = Counts::METRICS.iter().filter(|count| count.label.is_none());
    own.map(metric)
}

fn metric(count: &Count) -> Metric {
    Metric {
        name: count.name,
        kind: match count.kind {
            MetricKind::Counter => Kind::Counter,
            MetricKind::Gauge => Kind::Gauge,
        },
        label: None,
        help: count.help,
    }
}
