use std::time::Duration;

use engines::counting::{CountingMatcher, Order};
use gpu_kernels::content::{AutoMatcher, CpuMatcher};

use super::baselines::{OneThread, Sff, Subsets, Tree};
use super::cuda;
use super::matcher::Way;
use super::options::{BackendName, Options};
use super::subject::{Maker, OURS, Subject};
use super::workload::Workload;

/// Makers of all ways that the options name and the workload allows.
pub fn makers(options: &Options, workload: &Workload, is_dense: bool) -> Vec<Maker> {
    let makers = options.backends.iter().map(|backend| match backend {
        BackendName::Baseline => baselines(options, workload, is_dense),
        BackendName::Cpu => cpu(options.run.threads()),
        BackendName::Auto => vec![auto(options.run.threads())],
        BackendName::Cuda => cuda::makers(is_dense),
    });
    makers.flatten().collect()
}

fn baselines(options: &Options, workload: &Workload, is_dense: bool) -> Vec<Maker> {
    let mut makers: Vec<Maker> = vec![Box::new(|subscriptions| {
        let sff = Sff::build(subscriptions);
        Ok(Some(Box::new(OneThread::new(sff))))
    })];
    // The language of a-tree has no patterns.
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
            Ok(Some(Box::new(OneThread::new(subsets))))
        }));
    }
    makers
}

/// The paper's way on all threads, and ours on one thread and on all.
fn cpu(threads: usize) -> Vec<Maker> {
    let mut makers: Vec<Maker> = vec![];
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
    makers
}

fn auto(threads: usize) -> Maker {
    Box::new(move |subscriptions| {
        let matcher = AutoMatcher::new(subscriptions, threads, crate::cuda::GPU)?;
        Ok(Way::boxed(matcher, "auto", OURS, threads))
    })
}

fn on_threads(n: usize) -> String {
    match n {
        1 => "1 thread".to_owned(),
        n => format!("{n} threads"),
    }
}

/// A tree may take this many times the measuring time to be built.
const TREE_PATIENCE: f64 = 40.0;
