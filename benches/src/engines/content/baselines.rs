//! Baselines of content matching, each on one thread.

mod a_tree;
mod sff;
mod subsets;

use gpu_kernels::content::batch::ResolvedStrings;
use gpu_kernels::content::{Batch, Subscriptions};

use super::subject::{Checksum, Subject};
pub use a_tree::Tree;
pub use sff::Sff;
pub use subsets::{ATTRIBUTES_MAX, Subsets};

/// A baseline that finds pairs of notification and subscriber.
pub trait Finder {
    const APPROACH: &'static str;

    /// Bytes of its own structures.
    fn bytes(&self) -> usize;

    /// Calls `visit` with each pair of notification and subscriber.
    fn match_batch(
        &mut self,
        batch: &Batch,
        resolved: &ResolvedStrings,
        visit: impl FnMut(usize, u32),
    );
}

/// A finder with the pairs of its last batch.
pub struct OneThread<F> {
    finder: F,
    resolved: ResolvedStrings,
    pairs: Vec<(u32, u32)>,
}

impl<F: Finder> OneThread<F> {
    pub fn new(finder: F) -> OneThread<F> {
        OneThread {
            finder,
            resolved: ResolvedStrings::default(),
            pairs: vec![],
        }
    }
}

impl<F: Finder> Subject for OneThread<F> {
    fn backend(&self) -> &'static str {
        "baseline"
    }

    fn approach(&self) -> String {
        F::APPROACH.to_owned()
    }

    fn bytes(&self, _: &Subscriptions) -> usize {
        self.finder.bytes()
    }

    fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
    ) -> anyhow::Result<()> {
        subscriptions.resolve(batch, &mut self.resolved);
        self.pairs.clear();
        let pairs = &mut self.pairs;
        let visit = |notification, subscriber| pairs.push((notification as u32, subscriber));
        self.finder.match_batch(batch, &self.resolved, visit);
        Ok(())
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_pairs(&self.pairs)
    }
}
