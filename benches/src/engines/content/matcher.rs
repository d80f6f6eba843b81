//! The engine's matchers on CPUs as subjects.

use engines::counting::CountingMatcher;
use gpu_kernels::content::auto::Side;
use gpu_kernels::content::{AutoMatcher, Batch, CpuMatcher, Matches, Subscriptions};

use super::subject::{Checksum, Subject};

/// A matcher of the engine.
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

/// A matcher as a subject, with the names of its rows.
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
