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
    found
}
