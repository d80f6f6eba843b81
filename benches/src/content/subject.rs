use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::ensure;
use gpu_kernels::content::batch::ResolvedStrings;
use gpu_kernels::content::counting::Order;
use gpu_kernels::content::{Batch, CountingMatcher, CpuMatcher, Matches, Subscriptions};
use shared::mix::mix;

use super::gpu;
use super::options::{BackendName, Options};
use super::scenario::Scenario;
use super::sff::Sff;
use super::subsets::{self, Subsets};
use super::workload::Generator;
use crate::report::Row;
use crate::statistics::Summary;

/// One way of matching. The subscriptions are shared.
pub trait Subject {
    fn backend(&self) -> &'static str;
    fn approach(&self) -> String;
    fn threads(&self) -> usize {
        1
    }
    /// Told of a batch that will be matched often.
    fn lock(&mut self, _: &Batch) {}
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
}

/// The pairs of notification and interface, in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    pairs: u64,
    sum: u64,
}

impl Checksum {
    fn add(&mut self, notification: usize, interface: u32) {
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
    let generator = Generator::new(workload, options.seed)?;
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
    for maker in makers(options, is_dense) {
        let begin = Instant::now();
        let mut subject = maker(&mut subscriptions)?;
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
        subject.lock(&large);
        // The largest batch that can be matched in the time that there is.
        let mut batch = &common;
        for larger in [&middle, &large] {
            let begin = Instant::now();
            subject.match_batch(&mut subscriptions, batch)?;
            let each = begin.elapsed().as_secs_f64() / batch.len() as f64;
            if each * larger.len() as f64 > options.seconds {
                break;
            }
            batch = larger;
        }
        for (mode, batches) in [
            ("single", &singles[..]),
            ("batch", std::slice::from_ref(batch)),
        ] {
            let (samples, first) = sample(subject.as_mut(), &mut subscriptions, batches, options)?;
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
            let params: BTreeMap<String, serde_json::Value> = [
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
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
            rows.push(Row {
                scenario: format!("content {}", scenario.group.name()),
                params,
                backend: subject.backend().to_owned(),
                approach: subject.approach(),
                total_ms: total.median,
                total_ms_mean: total.mean,
                total_ms_deviation: total.deviation,
                stages_ms: BTreeMap::new(),
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

/// Matches batch after batch for the time that there is, and at least three.
/// Gives the checksum of the first batch, too.
fn sample(
    subject: &mut dyn Subject,
    subscriptions: &mut Subscriptions,
    batches: &[Batch],
    options: &Options,
) -> anyhow::Result<(Vec<Duration>, Checksum)> {
    subject.match_batch(subscriptions, &batches[0])?;
    let first = subject.checksum();
    let mut samples = vec![];
    let begin = Instant::now();
    while samples.len() < 3 || begin.elapsed().as_secs_f64() < options.seconds {
        let batch = &batches[samples.len() % batches.len()];
        let start = Instant::now();
        subject.match_batch(subscriptions, batch)?;
        samples.push(start.elapsed());
    }
    Ok((samples, first))
}

pub type Maker = Box<dyn Fn(&mut Subscriptions) -> anyhow::Result<Box<dyn Subject>>>;

fn makers(options: &Options, is_dense: bool) -> Vec<Maker> {
    let mut makers: Vec<Maker> = vec![];
    for &backend in &options.backends {
        match backend {
            BackendName::Baseline => {
                makers.push(Box::new(|subscriptions| {
                    let sff = Sff::build(subscriptions);
                    Ok(Box::new(OneThread::new(Baseline::Sff(sff))))
                }));
                if !is_dense {
                    makers.push(Box::new(|subscriptions| {
                        let subsets = Subsets::build(subscriptions);
                        Ok(Box::new(OneThread::new(Baseline::Subsets(subsets))))
                    }));
                }
            }
            BackendName::Cpu => {
                let threads = options.threads();
                for order in [Order::AsFound, Order::ByOperator] {
                    makers.push(Box::new(move |_| {
                        Ok(Box::new(Counting::new(threads, order)?))
                    }));
                }
                let mut counts = vec![1, threads];
                counts.dedup();
                for threads in counts {
                    makers.push(Box::new(move |_| Ok(Box::new(Ours::new(threads)?))));
                }
            }
            BackendName::Cuda => makers.extend(gpu::makers(is_dense)),
        }
    }
    makers
}

struct Ours {
    matcher: CpuMatcher,
    matches: Matches,
    threads: usize,
}

impl Ours {
    fn new(threads: usize) -> anyhow::Result<Ours> {
        Ok(Ours {
            matcher: CpuMatcher::new(threads)?,
            matches: Matches::new(),
            threads,
        })
    }
}

impl Subject for Ours {
    fn backend(&self) -> &'static str {
        "cpu"
    }

    fn approach(&self) -> String {
        format!("{OURS}, {}", threads(self.threads))
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn bytes(&self, subscriptions: &Subscriptions) -> usize {
        subscriptions.index_bytes()
    }

    fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
    ) -> anyhow::Result<()> {
        let matches = &mut self.matches;
        self.matcher.match_batch(subscriptions, batch, matches);
        Ok(())
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(&self.matches)
    }
}

struct Counting {
    matcher: CountingMatcher,
    matches: Matches,
    threads: usize,
    order: Order,
}

impl Counting {
    fn new(threads: usize, order: Order) -> anyhow::Result<Counting> {
        Ok(Counting {
            matcher: CountingMatcher::new(threads, order)?,
            matches: Matches::new(),
            threads,
            order,
        })
    }
}

impl Subject for Counting {
    fn backend(&self) -> &'static str {
        "cpu"
    }

    fn approach(&self) -> String {
        let order = match self.order {
            Order::AsFound => "",
            Order::ByOperator => ", by operator",
        };
        format!("counting{order}, {}", threads(self.threads))
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn bytes(&self, _: &Subscriptions) -> usize {
        self.matcher.table().bytes()
    }

    fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
    ) -> anyhow::Result<()> {
        let matches = &mut self.matches;
        self.matcher.match_batch(subscriptions, batch, matches);
        Ok(())
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(&self.matches)
    }
}

enum Baseline {
    Sff(Sff),
    Subsets(Subsets),
}

struct OneThread {
    baseline: Baseline,
    resolved: ResolvedStrings,
    pairs: Vec<(u32, u32)>,
}

impl OneThread {
    fn new(baseline: Baseline) -> OneThread {
        OneThread {
            baseline,
            resolved: ResolvedStrings::default(),
            pairs: vec![],
        }
    }
}

impl Subject for OneThread {
    fn backend(&self) -> &'static str {
        "baseline"
    }

    fn approach(&self) -> String {
        match self.baseline {
            Baseline::Sff(_) => "counting as SFF, 1 thread",
            Baseline::Subsets(_) => "subsets of names, 1 thread",
        }
        .to_owned()
    }

    fn bytes(&self, _: &Subscriptions) -> usize {
        match &self.baseline {
            Baseline::Sff(sff) => sff.bytes(),
            Baseline::Subsets(subsets) => subsets.bytes(),
        }
    }

    fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
    ) -> anyhow::Result<()> {
        subscriptions.resolve(batch, &mut self.resolved);
        self.pairs.clear();
        let pairs = &mut self.pairs;
        let visit = |notification, interface| pairs.push((notification as u32, interface));
        match &mut self.baseline {
            Baseline::Sff(sff) => sff.match_batch(batch, &self.resolved, visit),
            Baseline::Subsets(subsets) => subsets.match_batch(batch, &self.resolved, visit),
        }
        Ok(())
    }

    fn checksum(&self) -> Checksum {
        let mut checksum = Checksum::default();
        for &(notification, interface) in &self.pairs {
            checksum.add(notification as usize, interface);
        }
        checksum
    }
}

fn threads(n: usize) -> String {
    match n {
        1 => "1 thread".to_owned(),
        n => format!("{n} threads"),
    }
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
