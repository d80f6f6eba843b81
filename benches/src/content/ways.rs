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
                let threads = options.threads.count();
                for order in [Order::AsFound, Order::ByOperator] {
                    makers.push(Box::new(move |_| {
                        Ok(Some(Box::new(Counting::new(threads, order)?)))
                    }));
                }
                let mut counts = vec![1, threads];
                counts.dedup();
                for threads in counts {
                    makers.push(Box::new(move |_| Ok(Some(Box::new(Ours::new(threads)?)))));
                }
            }
            BackendName::Auto => {
                let threads = options.threads.count();
                makers.push(Box::new(move |subscriptions| {
                    Ok(Some(Box::new(Auto::new(subscriptions, threads)?)))
                }));
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

struct Auto {
    matcher: AutoMatcher,
    matches: Matches,
    threads: usize,
}

impl Auto {
    fn new(subscriptions: &mut Subscriptions, threads: usize) -> anyhow::Result<Auto> {
        Ok(Auto {
            matcher: AutoMatcher::new(subscriptions, threads)?,
            matches: Matches::new(),
            threads,
        })
    }
}

impl Subject for Auto {
    fn backend(&self) -> &'static str {
        "auto"
    }

    fn approach(&self) -> String {
        OURS.to_owned()
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

    fn on_gpu(&self) -> Option<u64> {
        Some(self.matcher.metrics().batches[Side::Gpu as usize])
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

/// How often the time for measuring a tree may take to be built.
const TREE_PATIENCE: f64 = 40.0;
