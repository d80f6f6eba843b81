use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use anyhow::ensure;
use gpu_kernels::content::{Batch, Subscriptions};
use program::note;
use shared::predicate::Predicate;

use super::baselines::ATTRIBUTES_MAX;
use super::options::Options;
use super::scenario::Scenario;
use super::subject::{Checksum, Subject};
use super::ways::makers;
use super::workload::{Generator, Workload};
use crate::report::Row;

/// Rows of every way: one notification at a time, in batches, and in batches while
/// subscriptions come and go.
pub fn measure(scenario: &Scenario, options: &Options) -> anyhow::Result<Vec<Row>> {
    let workload = divided(scenario.workload, options.divide);
    let mut input = Input::new(&workload, options)?;
    let mut rows = vec![];
    let mut expected: Option<Checksum> = None;
    for maker in makers(options, &workload, is_dense(&workload)) {
        let begin = Instant::now();
        let Some(mut subject) = maker(&mut input.subscriptions)? else {
            continue;
        };
        let subject = subject.as_mut();
        subject.match_batch(&mut input.subscriptions, &input.sizes[0])?;
        let own = begin.elapsed();
        let checksum = subject.checksum();
        ensure!(
            *expected.get_or_insert(checksum) == checksum,
            "{} found {checksum:x?} where {expected:x?} was expected",
            subject.approach()
        );
        // Our index is deployed already; a GPU's copy of it is not.
        let deployment = match (subject.is_ours(), subject.backend()) {
            (true, "cpu") => input.deployed,
            (true, _) => input.deployed + own,
            (false, _) => own,
        };
        let largest = input.largest(subject, options)?;
        for mode in [Mode::Single, Mode::Batch(largest), Mode::Churn] {
            // The others would have to build their tables again.
            if mode == Mode::Churn && !subject.is_ours() {
                continue;
            }
            let mut row = input.measure(subject, mode, scenario, options)?;
            row.put("deployment_ms", deployment.as_secs_f64() * 1e3);
            row.checksum = format!("{:016x}", checksum.sum);
            rows.push(row);
        }
    }
    Ok(rows)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// One notification at a time.
    Single,
    /// Large batches: the index of their size.
    Batch(usize),
    /// Batches of 1,024, with filters replaced before each.
    Churn,
}

/// The matches of a scenario, the same in all ways.
struct Input {
    subscriptions: Subscriptions,
    /// The time to subscribe all.
    deployed: Duration,
    /// The time to subscribe one more filter and to unsubscribe it.
    change: Duration,
    /// Filters that come and go.
    changes: Vec<Predicate>,
    /// The first notifications: those that every way matches, a middle and a large batch.
    sizes: [Batch; 3],
    singles: Vec<Batch>,
}

/// The times of one way in one mode.
struct Times {
    samples: Vec<Duration>,
    /// The checksum of the first batch.
    first: Checksum,
    /// The mean time of each part in milliseconds.
    stages: BTreeMap<String, f64>,
    on_gpu: Option<u64>,
}

impl Input {
    fn new(workload: &Workload, options: &Options) -> anyhow::Result<Input> {
        let generator = Generator::new(*workload, options.run.seed())?;
        let predicates: Vec<_> = generator.predicates().collect();
        let mut subscriptions = generator.subscriptions();
        let begin = Instant::now();
        for (subscriber, predicate) in &predicates {
            subscriptions.subscribe(*subscriber, predicate)?;
        }
        let deployed = begin.elapsed();
        drop(predicates);
        let changes = generator.changes();
        let large = match is_dense(workload) {
            true => BATCH_DENSE,
            false => BATCH,
        };
        let singles = (0..SINGLES).map(|i| generator.batch(i, 1));
        Ok(Input {
            change: measure_changes(&changes, &mut subscriptions)?,
            subscriptions,
            deployed,
            changes,
            sizes: [
                generator.batch(0, COMMON)?,
                generator.batch(0, BATCH_MIDDLE)?,
                generator.batch(0, large)?,
            ],
            singles: singles.collect::<Result<_, _>>()?,
        })
    }

    /// The index of the largest batch that is matched in the measuring time.
    fn largest(&mut self, subject: &mut dyn Subject, options: &Options) -> anyhow::Result<usize> {
        // A matcher that chooses between sides and searches first tries each twice.
        let chooses = subject.is_ours() && subject.backend() != "cpu";
        for (i, pair) in self.sizes.windows(2).enumerate() {
            let [batch, larger] = pair else { break };
            let mut shortest = Duration::MAX;
            for _ in 0..1 + 5 * usize::from(chooses) {
                let begin = Instant::now();
                subject.match_batch(&mut self.subscriptions, batch)?;
                shortest = shortest.min(begin.elapsed());
            }
            let each = shortest.as_secs_f64() / batch.len() as f64;
            if each * larger.len() as f64 > options.seconds {
                return Ok(i);
            }
        }
        Ok(self.sizes.len() - 1)
    }

    fn measure(
        &mut self,
        subject: &mut dyn Subject,
        mode: Mode,
        scenario: &Scenario,
        options: &Options,
    ) -> anyhow::Result<Row> {
        let subscriptions = &mut self.subscriptions;
        let (name, batches, changes) = match mode {
            Mode::Single => ("single", &self.singles[..], None),
            Mode::Batch(size) => ("batch", &self.sizes[size..=size], None),
            Mode::Churn => ("churn", &self.sizes[1..=1], Some(&self.changes[..])),
        };
        let times = sample(subject, subscriptions, batches, changes, options)?;
        let longest = times.samples.iter().max().copied().unwrap_or_default();
        let notifications = batches[0].len();
        let mut row = Row::new(
            scenario.group.scenario(),
            subject.backend(),
            &subject.approach(),
            times.samples.iter().copied(),
        );
        let per_second = notifications as f64 / (row.total_ms / 1e3);
        note!(
            "{} {}: {} {}, {name}: {:.3} µs, {per_second:.0}/s",
            scenario.group.name(),
            scenario.at,
            row.backend,
            row.approach,
            row.total_ms * 1e3 / notifications as f64,
        );
        row.put("at", scenario.at);
        row.put("mode", name);
        row.put("constraints", subscriptions.constraints());
        row.put("filters", subscriptions.filters());
        row.put("notifications", notifications);
        row.put("pairs", times.first.pairs);
        row.put("threads", subject.threads());
        row.put("notifications_per_second", per_second);
        row.put("change_us", self.change.as_secs_f64() * 1e6);
        row.put("bytes", subject.bytes(subscriptions));
        row.put("longest_ms", longest.as_secs_f64() * 1e3);
        if let Some(batches) = times.on_gpu {
            row.put("batches_on_gpu", batches);
        }
        row.stages_ms = times.stages;
        row.work = notifications as u64;
        Ok(row)
    }
}

/// A workload with fewer filters.
fn divided(mut workload: Workload, by: usize) -> Workload {
    let fewer = |n: usize| (n / by).max(1);
    match workload.filters_per_subscriber {
        1 => workload.subscribers = fewer(workload.subscribers),
        filters => workload.filters_per_subscriber = fewer(filters),
    }
    workload
}

/// Whether notifications have so many attributes that they are in smaller batches.
fn is_dense(workload: &Workload) -> bool {
    workload.attributes.1 > ATTRIBUTES_MAX
}

/// The time to subscribe one more filter and to unsubscribe it.
fn measure_changes(
    predicates: &[Predicate],
    subscriptions: &mut Subscriptions,
) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    let mut ids = vec![];
    for predicate in predicates {
        ids.push(subscriptions.subscribe(0, predicate)?);
    }
    for id in ids {
        ensure!(subscriptions.unsubscribe(id), "it was subscribed");
    }
    Ok(begin.elapsed() / predicates.len() as u32)
}

/// Matches batch after batch for `options.seconds`, and at least three batches. With
/// changes, replaces some filters before each batch.
fn sample(
    subject: &mut dyn Subject,
    subscriptions: &mut Subscriptions,
    batches: &[Batch],
    changes: Option<&[Predicate]>,
    options: &Options,
) -> anyhow::Result<Times> {
    let before = subject.on_gpu();
    subject.match_batch(subscriptions, &batches[0])?;
    let first = subject.checksum();
    let mut samples = vec![];
    let mut stages = BTreeMap::new();
    let mut ids = VecDeque::new();
    let mut next = changes.into_iter().flatten().cycle();
    let begin = Instant::now();
    while samples.len() < 3 || begin.elapsed().as_secs_f64() < options.seconds {
        let batch = &batches[samples.len() % batches.len()];
        let start = Instant::now();
        for predicate in next.by_ref().take(CHANGES_PER_BATCH) {
            if ids.len() == CHANGES_AT_ONCE {
                let gone = ids.pop_front().map(|id| subscriptions.unsubscribe(id));
                ensure!(gone == Some(true), "it was subscribed");
            }
            ids.push_back(subscriptions.subscribe(0, predicate)?);
        }
        subject.match_batch(subscriptions, batch)?;
        samples.push(start.elapsed());
        for (name, ms) in subject.stages() {
            *stages.entry(name.to_owned()).or_default() += ms;
        }
    }
    for id in ids {
        ensure!(subscriptions.unsubscribe(id), "it was subscribed");
    }
    for ms in stages.values_mut() {
        *ms /= samples.len() as f64;
    }
    let on_gpu = subject.on_gpu().zip(before);
    Ok(Times {
        samples,
        first,
        stages,
        on_gpu: on_gpu.map(|(after, before)| after - before),
    })
}

/// Notifications of a large batch.
const BATCH: usize = 1 << 19;
const BATCH_DENSE: usize = 8_192;
const BATCH_MIDDLE: usize = 1_024;
/// Notifications that every way matches, for the comparison of results.
const COMMON: usize = 64;
/// The paper's number.
const SINGLES: usize = 1_000;
/// Filters that are replaced before each batch while subscriptions come and go.
const CHANGES_PER_BATCH: usize = 16;
/// Filters that are subscribed at the same time for these changes.
const CHANGES_AT_ONCE: usize = 512;
