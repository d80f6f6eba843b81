use std::time::Duration;

use gpu_kernels::content::auto::Side;
use gpu_kernels::content::batch::ResolvedStrings;
use gpu_kernels::content::counting::Order;
use gpu_kernels::content::{
    AutoMatcher, Batch, CountingMatcher, CpuMatcher, Matches, Subscriptions,
};

use super::atree::Tree;
use super::gpu;
use super::options::{BackendName, Options};
use super::sff::Sff;
use super::subject::{Checksum, OURS, Subject};
use super::subsets::Subsets;
use super::workload::Workload;

/// Makes one way of matching, or none where it wouldn't be ready in time.
pub type Maker = Box<dyn Fn(&mut Subscriptions) -> anyhow::Result<Option<Box<dyn Subject>>>>;

pub fn makers(options: &Options, workload: &Workload, is_dense: bool) -> Vec<Maker> {
    let mut makers: Vec<Maker> = vec![];
    for &backend in &options.backends {
        match backend {
            BackendName::Baseline => {
                makers.push(Box::new(|subscriptions| {
                    let sff = Sff::build(subscriptions);
                    Ok(Some(Box::new(OneThread::new(Baseline::Sff(sff)))))
                }));
                // Its language has no patterns.
                if workload.numeric_percent == 100 {
                    let limit = Duration::from_secs_f64(options.seconds * TREE_PATIENCE);
                    makers.push(Box::new(move |subscriptions| {
                        let tree = Tree::build(subscriptions, limit)?;
                        Ok(tree.map(|tree| Box::new(tree) as Box<dyn Subject>))
                    }));
                }
                if !is_dense {
                    makers.push(Box::new(|subscriptions| {
                        let subsets = Subsets::build(subscriptions);
                        Ok(Some(Box::new(OneThread::new(Baseline::Subsets(subsets)))))
                    }));
                }
            }
            BackendName::Cpu => {
                let threads = options.run.threads();
                for (order, name) in [
                    (Order::AsFound, "counting"),
                    (Order::ByOperator, "counting, by operator"),
                ] {
                    makers.push(Box::new(move |_| {
                        let matcher = CountingMatcher::new(threads, order)?;
                        let approach = format!("{name}, {}", on_threads(threads));
                        Ok(Way::boxed(matcher, "cpu", approach, threads))
                    }));
                }
                let mut counts = vec![1, threads];
                counts.dedup();
                for threads in counts {
                    makers.push(Box::new(move |_| {
                        let matcher = CpuMatcher::new(threads)?;
                        let approach = format!("{OURS}, {}", on_threads(threads));
                        Ok(Way::boxed(matcher, "cpu", approach, threads))
                    }));
                }
            }
            BackendName::Auto => {
                let threads = options.run.threads();
                makers.push(Box::new(move |subscriptions| {
                    let matcher = AutoMatcher::new(subscriptions, threads)?;
                    Ok(Way::boxed(matcher, "auto", OURS, threads))
                }));
            }
            BackendName::Cuda => makers.extend(gpu::makers(is_dense)),
        }
    }
    makers
}

/// One of the engine's matchers.
pub trait Matcher {
    fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) -> anyhow::Result<()>;
    /// Bytes of its own structures.
    fn bytes(&self, subscriptions: &Subscriptions) -> usize;
    fn stages(&self) -> Vec<(&'static str, f64)> {
        vec![]
    }
    fn on_gpu(&self) -> Option<u64> {
        None
    }
}

/// One of the engine's matchers, with what its rows are called.
pub struct Way<M> {
    matcher: M,
    matches: Matches,
    backend: &'static str,
    approach: String,
    threads: usize,
}

impl<M: Matcher + 'static> Way<M> {
    pub fn boxed(
        matcher: M,
        backend: &'static str,
        approach: impl Into<String>,
        threads: usize,
    ) -> Option<Box<dyn Subject>> {
        Some(Box::new(Way {
            matcher,
            matches: Matches::new(),
            backend,
            approach: approach.into(),
            threads,
        }))
    }
}

impl<M: Matcher> Subject for Way<M> {
    fn backend(&self) -> &'static str {
        self.backend
    }

    fn approach(&self) -> String {
        self.approach.clone()
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn bytes(&self, subscriptions: &Subscriptions) -> usize {
        self.matcher.bytes(subscriptions)
    }

    fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
    ) -> anyhow::Result<()> {
        let matches = &mut self.matches;
        self.matcher.match_batch(subscriptions, batch, matches)
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(&self.matches)
    }

    fn stages(&self) -> Vec<(&'static str, f64)> {
        self.matcher.stages()
    }

    fn on_gpu(&self) -> Option<u64> {
        self.matcher.on_gpu()
    }
}

impl Matcher for CpuMatcher {
    fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) -> anyhow::Result<()> {
        CpuMatcher::match_batch(self, subscriptions, batch, matches);
        Ok(())
    }

    fn bytes(&self, subscriptions: &Subscriptions) -> usize {
        subscriptions.index_bytes()
    }
}

impl Matcher for AutoMatcher {
    fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) -> anyhow::Result<()> {
        AutoMatcher::match_batch(self, subscriptions, batch, matches);
        Ok(())
    }

    fn bytes(&self, subscriptions: &Subscriptions) -> usize {
        subscriptions.index_bytes()
    }

    fn on_gpu(&self) -> Option<u64> {
        Some(self.metrics().batches[Side::Gpu as usize])
    }
}

impl Matcher for CountingMatcher {
    fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) -> anyhow::Result<()> {
        CountingMatcher::match_batch(self, subscriptions, batch, matches);
        Ok(())
    }

    fn bytes(&self, _: &Subscriptions) -> usize {
        self.table().bytes()
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

fn on_threads(n: usize) -> String {
    match n {
        1 => "1 thread".to_owned(),
        n => format!("{n} threads"),
    }
}

/// How often the time for measuring a tree may take to be built.
const TREE_PATIENCE: f64 = 40.0;
