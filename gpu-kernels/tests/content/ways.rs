//! Every way of matching, with its label.

use gpu_kernels::content::counting::{CountingMatcher, Order};
use gpu_kernels::content::{Batch, CpuMatcher, Matches, Subscriptions};

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
    found.extend(on_gpu(subscriptions, batch));
    found
}

/// Also with room for little, so that batches are cut.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn on_gpu(subscriptions: &mut Subscriptions, batch: &Batch) -> Vec<(String, Matches)> {
    use gpu_kernels::content::cuda::{BatchSizes, CudaCountingMatcher, CudaMatcher, Reset};

    let mut found = vec![];
    if let Err(reason) = gpu_kernels::cuda::gpu() {
        println!("skipped: no GPU ({reason})");
        return found;
    }
    for notifications in [1, 7, 1 << 12] {
        let sizes = BatchSizes {
            notifications,
            pairs: 100,
            ..BatchSizes::default()
        };
        let mut matcher = CudaMatcher::new(subscriptions, sizes).unwrap();
        let mut matches = Matches::new();
        matcher
            .match_batch(subscriptions, batch, &mut matches)
            .unwrap();
        found.push((format!("index on the GPU, by {notifications}"), matches));
    }
    for reset in [Reset::InKernel, Reset::Memset] {
        for order in [Order::AsFound, Order::ByOperator] {
            let mut matcher = CudaCountingMatcher::new(subscriptions, order, reset).unwrap();
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
