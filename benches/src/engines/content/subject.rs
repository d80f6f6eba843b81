use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use anyhow::ensure;
use gpu_kernels::content::{Batch, Matches, Subscriptions};
use shared::content::Predicate;
use shared::mix::mix;

use super::options::Options;
use super::scenario::Scenario;
use super::subsets;
use super::ways::makers;
use super::workload::Generator;
use crate::report::Row;
use crate::report::statistics::Summary;

/// One way of matching. The subscriptions are shared.
pub trait Subject {
    fn backend(&self) -> &'static str;
    fn approach(&self) -> String;
    fn threads(&self) -> usize {
        1
    }
    /// Bytes of its own structures.
    fn bytes(&self, subscriptions: &Subscriptions) -> usize;
    /// Finds all matches, as a checksum: only what happens in here counts.
    fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
    ) -> anyhow::Result<()>;
    /// Of the last batch.
    fn checksum(&self) -> Checksum;
    /// Parts of the last batch's time, by name, where they are measured.
    fn stages(&self) -> Vec<(&'static str, f64)> {
        vec![]
    }
    /// How many batches went to the GPU, where there is a choice.
    fn on_gpu(&self) -> Option<u64> {
        None
    }
}

/// The pairs of notification and interface, in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    pairs: u64,
    sum: u64,
}

impl Checksum {
    pub fn add(&mut self, notification: usize, interface: u32) {
        self.pairs += 1;
        let pair = mix(notification as u64, u64::from(interface));
        self.sum = self.sum.wrapping_add(pair);
    }

    pub fn of(matches: &Matches) -> Checksum {
        let mut checksum = Checksum::default();
        for notification in 0..matches.len() {
            for &interface in matches.of(notification) {
                checksum.add(notification, interface);
            }
        }
        checksum
    }
}

/// Rows for every way: one at a time, and in batches.
pub fn measure(scenario: &Scenario, options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut workload = scenario.workload;
    match workload.filters_per_interface {
        1 => workload.interfaces = (workload.interfaces / options.divide).max(1),
        _ => {
            let filters = workload.filters_per_interface / options.divide;
            workload.filters_per_interface = filters.max(1);
        }
    }
    let generator = Generator::new(workload, options.run.seed)?;
    let predicates: Vec<_> = generator.predicates().collect();
    let mut subscriptions = generator.subscriptions();
    let begin = Instant::now();
    for (interface, predicate) in &predicates {
        subscriptions.subscribe(*interface, predicate)?;
    }
    let deployed = begin.elapsed();
    drop(predicates);
    let change = measure_changes(&generator, &mut subscriptions)?;
    let is_dense = workload.attributes.1 > subsets::ATTRIBUTES_MAX;
    let large = generator.batch(0, if is_dense { BATCH_DENSE } else { BATCH })?;
    let middle = generator.batch(0, BATCH_MIDDLE)?;
    let common = generator.batch(0, COMMON)?;
    let singles = (0..SINGLES)
        .map(|i| generator.batch(i, 1))
        .collect::<Result<Vec<_>, _>>()?;
    let mut rows = vec![];
    let mut expected: Option<Checksum> = None;
    let changes = generator.changes();
    for maker in makers(options, &workload, is_dense) {
        let begin = Instant::now();
        let Some(mut subject) = maker(&mut subscriptions)? else {
            continue;
        };
        subject.match_batch(&mut subscriptions, &common)?;
        let own = begin.elapsed();
        let checksum = subject.checksum();
        ensure!(
            *expected.get_or_insert(checksum) == checksum,
            "{} found {checksum:x?} where {expected:x?} was expected",
            subject.approach()
        );
        // The index is there already; a GPU's copy of it is not.
        let deployment = match (subject.approach().starts_with(OURS), subject.backend()) {
            (true, "cpu") => deployed,
            (true, _) => deployed + own,
            (false, _) => own,
        };
        let is_ours = subject.approach().starts_with(OURS);
        let chooses = is_ours && subject.backend() != "cpu";
        // The largest batch that can be matched in the time that there is.
        let mut batch = &common;
        for larger in [&middle, &large] {
            // Whoever has a choice, of sides or of searches, tries each twice first.
            let mut shortest = Duration::MAX;
            for _ in 0..1 + 5 * usize::from(chooses) {
                let begin = Instant::now();
                subject.match_batch(&mut subscriptions, batch)?;
                shortest = shortest.min(begin.elapsed());
            }
            let each = shortest.as_secs_f64() / batch.len() as f64;
            if each * larger.len() as f64 > options.seconds {
                break;
            }
            batch = larger;
        }
        for (mode, batches, changes) in [
            ("single", &singles[..], None),
            ("batch", std::slice::from_ref(batch), None),
            ("churn", std::slice::from_ref(&middle), Some(&changes[..])),
        ] {
            // The others' tables would have to be built anew.
            if changes.is_some() && !is_ours {
                continue;
            }
            let before = subject.on_gpu();
            let (samples, first, stages) = sample(
                subject.as_mut(),
                &mut subscriptions,
                batches,
                changes,
                options,
            )?;
            let longest = samples.iter().max().copied().unwrap_or_default();
            let on_gpu = subject
                .on_gpu()
                .zip(before)
                .map(|(after, before)| after - before);
            let total = Summary::of(samples.iter().copied());
            let notifications = batches[0].len();
            let per_second = notifications as f64 / (total.median / 1e3);
            eprintln!(
                "{} {}: {} {}, {mode}: {:.3} µs, {per_second:.0}/s",
                scenario.group.name(),
                scenario.at,
                subject.backend(),
                subject.approach(),
                total.median * 1e3 / notifications as f64,
            );
            let mut params: BTreeMap<String, serde_json::Value> = [
                ("at", scenario.at.into()),
                ("mode", mode.into()),
                ("constraints", subscriptions.constraints().into()),
                ("filters", subscriptions.filters().into()),
                ("notifications", notifications.into()),
                ("pairs", first.pairs.into()),
                ("threads", subject.threads().into()),
                ("notifications_per_second", per_second.into()),
                ("deployment_ms", (deployment.as_secs_f64() * 1e3).into()),
                ("change_us", (change.as_secs_f64() * 1e6).into()),
                ("bytes", subject.bytes(&subscriptions).into()),
                ("longest_ms", (longest.as_secs_f64() * 1e3).into()),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
            if let Some(batches) = on_gpu {
                params.insert("batches_on_gpu".to_owned(), batches.into());
            }
            rows.push(Row {
                scenario: scenario.group.scenario().to_owned(),
                params,
                backend: subject.backend().to_owned(),
                approach: subject.approach(),
                total_ms: total.median,
                total_ms_mean: total.mean,
                total_ms_deviation: total.deviation,
                stages_ms: stages,
                samples: samples.len(),
                work: notifications as u64,
                checksum: format!("{:016x}", checksum.sum),
            });
        }
    }
    Ok(rows)
}

/// What it costs to subscribe one more filter, and to unsubscribe it.
fn measure_changes(
    generator: &Generator,
    subscriptions: &mut Subscriptions,
) -> anyhow::Result<Duration> {
    let predicates = generator.changes();
    let begin = Instant::now();
    let mut held = vec![];
    for predicate in &predicates {
        held.push(subscriptions.subscribe(0, predicate)?);
    }
    for id in held {
        ensure!(subscriptions.unsubscribe(id), "it was subscribed");
    }
    Ok(begin.elapsed() / predicates.len() as u32)
}

/// Matches batch after batch for the time that there is, and at least three. Before
/// each, some filters take the place of others where changes are given. Gives the
/// checksum of the first batch and the parts' mean times, too.
fn sample(
    subject: &mut dyn Subject,
    subscriptions: &mut Subscriptions,
    batches: &[Batch],
    changes: Option<&[Predicate]>,
    options: &Options,
) -> anyhow::Result<(Vec<Duration>, Checksum, BTreeMap<String, f64>)> {
    subject.match_batch(subscriptions, &batches[0])?;
    let first = subject.checksum();
    let mut samples = vec![];
    let mut stages = BTreeMap::new();
    let mut held = VecDeque::new();
    let mut next = changes.into_iter().flatten().cycle();
    let begin = Instant::now();
    while samples.len() < 3 || begin.elapsed().as_secs_f64() < options.seconds {
        let batch = &batches[samples.len() % batches.len()];
        let start = Instant::now();
        for predicate in next.by_ref().take(CHANGES_PER_BATCH) {
            if held.len() == CHANGES_HELD {
                let gone = held.pop_front().map(|id| subscriptions.unsubscribe(id));
                ensure!(gone == Some(true), "it was subscribed");
            }
            held.push_back(subscriptions.subscribe(0, predicate)?);
        }
        subject.match_batch(subscriptions, batch)?;
        samples.push(start.elapsed());
        for (name, ms) in subject.stages() {
            *stages.entry(name.to_owned()).or_default() += ms;
        }
    }
    for id in held {
        ensure!(subscriptions.unsubscribe(id), "it was subscribed");
    }
    for ms in stages.values_mut() {
        *ms /= samples.len() as f64;
    }
    Ok((samples, first, stages))
}

/// How rows of our way begin.
pub const OURS: &str = "ours";
/// Notifications of a large batch.
const BATCH: usize = 1 << 19;
const BATCH_DENSE: usize = 8_192;
const BATCH_MIDDLE: usize = 1_024;
/// Notifications that every way matches.
const COMMON: usize = 64;
/// As many as the paper's.
const SINGLES: usize = 1_000;
/// Filters that take others' place before each batch, where subscriptions come and go.
const CHANGES_PER_BATCH: usize = 16;
const CHANGES_HELD: usize = 512;
