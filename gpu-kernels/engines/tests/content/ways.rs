//! Every way of matching, with its label.

use engines::counting::{CountingMatcher, Order};
use gpu_kernels::content::auto::Side;
use gpu_kernels::content::{AutoMatcher, Batch, CpuMatcher, Matches, Subscriptions};

pub fn match_all(subscriptions: &mut Subscriptions, batch: &Batch) -> Vec<(String, Matches)> {
    let mut found = vec![];
    for threads in [1, 3] {
        let mut matches = Matches::new();
        let mut matcher = CpuMatcher::new(threads).unwrap();
        matcher.match_batch(subscriptions, batch, &mut matches);
        found.push((format!("index, {threads} threads"), matches));
        for order in [Order::AsFound, Order::ByOperator] {
            let mut matches = Matches::new();
            let mut matcher = CountingMatcher::new(threads, order).unwrap();
            matcher.match_batch(subscriptions, batch, &mut matches);
            found.push((format!("counting {order:?}, {threads} threads"), matches));
        }
    }
    let mut auto = AutoMatcher::new(subscriptions, 2, 0).unwrap();
    for _ in 0..3 {
        let mut matches = Matches::new();
        auto.match_batch(subscriptions, batch, &mut matches);
        let last = auto.metrics().last.unwrap();
        found.push((format!("auto, {last:?}"), matches));
    }
    let metrics = auto.metrics();
    assert_eq!(metrics.batches.iter().sum::<u64>(), 3);
    let on_gpu_at_all = metrics.batches[Side::Gpu as usize] > 0;
    assert_eq!(on_gpu_at_all, auto.why_no_gpu().is_none());
    found.extend(on_gpu(subscriptions, batch));
    found
}

/// Each way on the GPU, also with little room, so that batches are cut.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn on_gpu(subscriptions: &mut Subscriptions, batch: &Batch) -> Vec<(String, Matches)> {
    use engines::counting::{CudaCountingMatcher, Reset};
    use gpu_kernels::content::cuda::{BatchSizes, CudaMatcher};

    let mut found = vec![];
    if testkit::backends::gpu().is_none() {
        return found;
    }
    for notifications in [1, 7, 1 << 12] {
        let sizes = BatchSizes {
            notifications,
            pairs: 100,
            ..BatchSizes::default()
        };
        let mut matcher = CudaMatcher::new(0, subscriptions, sizes).unwrap();
        let mut matches = Matches::new();
        matcher
            .match_batch(subscriptions, batch, &mut matches)
            .unwrap();
        found.push((format!("index on the GPU, by {notifications}"), matches));
    }
    for reset in [Reset::InKernel, Reset::Memset] {
        for order in [Order::AsFound, Order::ByOperator] {
            let mut matcher = CudaCountingMatcher::new(0, subscriptions, order, reset).unwrap();
            let mut matches = Matches::new();
            matcher
                .match_batch(subscriptions, batch, &mut matches)
                .unwrap();
            let label = format!("counting {order:?} on the GPU, reset {reset:?}");
            found.push((label, matches));
        }
    }
    found
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn on_gpu(_: &mut Subscriptions, _: &Batch) -> Vec<(String, Matches)> {
    println!("skipped: no GPU on this platform");
    vec![]
}
