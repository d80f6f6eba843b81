//! A matcher for both sides, which sends each batch to the side that costs less. The paper
//! ends with the remark (section 5) that small problems aren't worth a launch, and that
//! this can be predicted.

use std::time::Instant;

use crate::tick::error::StartError;

use super::batch::{Batch, Matches};
use super::cpu::CpuMatcher;
use super::policy::Policy;
pub use super::policy::Reason;
use super::subscriptions::Subscriptions;

/// Where a batch is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Cpu,
    Gpu,
}

impl Side {
    pub const ALL: [Side; 2] = [Side::Cpu, Side::Gpu];

    pub const fn name(self) -> &'static str {
        match self {
            Side::Cpu => "cpu",
            Side::Gpu => "cuda",
        }
    }
}

/// The side for a batch, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    pub side: Side,
    pub reason: Reason,
}

/// Matches each batch on the CPUs or on the GPU.
pub struct AutoMatcher {
    cpu: CpuMatcher,
    /// The error is the reason why the GPU isn't used.
    gpu: Result<gpu::Matcher, String>,
    policy: Policy,
    metrics: Metrics,
}

/// Counts of batches and notifications by side, and the last choice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Batches by side, as in [`Side::ALL`].
    pub batches: [u64; 2],
    /// Notifications by side.
    pub notifications: [u64; 2],
    /// Batches that the GPU failed to match, so that the CPUs did.
    pub gpu_failures: u64,
    /// The choice for the last batch.
    pub last: Option<Choice>,
}

impl AutoMatcher {
    /// A matcher that uses the GPU with this number. If the GPU can't be used, the CPUs match
    /// everything.
    pub fn new(
        subscriptions: &mut Subscriptions,
        threads: usize,
        ordinal: u32,
    ) -> Result<AutoMatcher, StartError> {
        AutoMatcher::open(subscriptions, threads, ordinal, None)
    }

    /// As [`AutoMatcher::new`], but with less of the GPU's memory: enough for batches of about
    /// this many notifications, and pairs of notification and subscriber. Larger batches are
    /// cut.
    pub fn with_batches(
        subscriptions: &mut Subscriptions,
        threads: usize,
        ordinal: u32,
        notifications: usize,
        pairs: usize,
    ) -> Result<AutoMatcher, StartError> {
        AutoMatcher::open(
            subscriptions,
            threads,
            ordinal,
            Some((notifications, pairs)),
        )
    }

    fn open(
        subscriptions: &mut Subscriptions,
        threads: usize,
        ordinal: u32,
        batches: Option<(usize, usize)>,
    ) -> Result<AutoMatcher, StartError> {
        let gpu = gpu::open(ordinal, subscriptions, batches);
        Ok(AutoMatcher {
            cpu: CpuMatcher::new(threads)?,
            gpu,
            policy: Policy::default(),
            metrics: Metrics::default(),
        })
    }

    /// Finds all matches of a batch. `subscriptions` must be those that the matcher was made
    /// with.
    pub fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) {
        let n = batch.len();
        let (way, reason) = match self.gpu {
            Ok(_) => self.policy.choose(n),
            Err(_) => (Side::Cpu as usize, Reason::Only),
        };
        let mut choice = Choice {
            side: Side::ALL[way],
            reason,
        };
        let is_unmeasured = reason == Reason::Only || self.policy.note_unmeasured((way, reason), n);
        let begin = (!is_unmeasured).then(Instant::now);
        if let (Side::Gpu, Ok(matcher)) = (choice.side, &mut self.gpu)
            && let Err(error) = gpu::match_batch(matcher, subscriptions, batch, matches)
        {
            self.metrics.gpu_failures += 1;
            if let Some(reason) = error {
                self.gpu = Err(reason);
            }
            choice = Choice {
                side: Side::Cpu,
                reason: Reason::Only,
            };
        }
        if choice.side == Side::Cpu {
            self.cpu.match_batch(subscriptions, batch, matches);
        }
        // If the GPU failed, the time spent there counts as its cost.
        if let Some(begin) = begin {
            self.policy.note((way, reason), n, begin.elapsed());
        }
        self.metrics.batches[choice.side as usize] += 1;
        self.metrics.notifications[choice.side as usize] += n as u64;
        self.metrics.last = Some(choice);
    }

    /// From now on, [`AutoMatcher::sampled`] has the cost of each subscriber's filters.
    pub fn keep_sample(&mut self) {
        self.cpu.keep_sample();
    }

    /// As [`CpuMatcher::sampled`]; nothing if the GPU matched the last batch, where filters
    /// that don't match cost little.
    pub fn sampled(&self) -> impl Iterator<Item = u32> {
        let last = self.metrics.last.map(|choice| choice.side);
        let cpu = (last == Some(Side::Cpu)).then_some(&self.cpu);
        cpu.into_iter().flat_map(CpuMatcher::sampled)
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The reason why the GPU isn't used at all, if so.
    pub fn why_no_gpu(&self) -> Option<&str> {
        self.gpu.as_ref().err().map(String::as_str)
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod gpu {
    use crate::content::cuda::{BatchSizes, CudaMatcher, MatchError};
    use crate::content::{Batch, Matches, Subscriptions};

    pub type Matcher = CudaMatcher;

    /// A matcher for batches of about this many notifications and pairs, or of the default
    /// size.
    pub fn open(
        ordinal: u32,
        subscriptions: &mut Subscriptions,
        batches: Option<(usize, usize)>,
    ) -> Result<Matcher, String> {
        let sizes = match batches {
            Some((notifications, pairs)) => BatchSizes {
                notifications,
                input_bytes: notifications * INPUT_BYTES_PER_NOTIFICATION,
                pairs,
            },
            None => BatchSizes::default(),
        };
        CudaMatcher::new(ordinal, subscriptions, sizes).map_err(|e| e.to_string())
    }

    /// About thirty attributes.
    const INPUT_BYTES_PER_NOTIFICATION: usize = 512;

    /// The error is the reason why the GPU can't be used any more, or `None` if it can't
    /// match this batch only.
    pub fn match_batch(
        matcher: &mut Matcher,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) -> Result<(), Option<String>> {
        let result = matcher.match_batch(subscriptions, batch, matches);
        result.map_err(|error| match error {
            MatchError::Driver(error) => Some(error.to_string()),
            MatchError::Strings { .. } => None,
        })
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod gpu {
    use crate::content::{Batch, Matches, Subscriptions};

    pub enum Matcher {}

    pub fn open(
        _: u32,
        _: &mut Subscriptions,
        _: Option<(usize, usize)>,
    ) -> Result<Matcher, String> {
        Err("the cuda backend needs Linux on x86-64".to_owned())
    }

    pub fn match_batch(
        matcher: &mut Matcher,
        _: &mut Subscriptions,
        _: &Batch,
        _: &mut Matches,
    ) -> Result<(), Option<String>> {
        match *matcher {}
    }
}
