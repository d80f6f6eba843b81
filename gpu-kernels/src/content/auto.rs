//! A matcher with both sides, which sends each batch to the one that costs less: the
//! paper's last remark (section 5) is that small problems aren't worth a launch, and
//! that this can be known beforehand.

use std::time::Instant;

use crate::backend::StartError;

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
    /// Or why there is none.
    gpu: Result<gpu::Matcher, String>,
    policy: Policy,
    metrics: Metrics,
}

/// What was matched where, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// By side, as in [`Side::ALL`].
    pub batches: [u64; 2],
    pub notifications: [u64; 2],
    /// Batches that the GPU failed at, which the CPUs matched then.
    pub gpu_failures: u64,
    /// For the last batch.
    pub last: Option<Choice>,
}

impl AutoMatcher {
    /// Where no GPU can be used, the CPUs match everything.
    pub fn new(
        subscriptions: &mut Subscriptions,
        threads: usize,
    ) -> Result<AutoMatcher, StartError> {
        AutoMatcher::open(subscriptions, threads, None)
    }

    /// As [`AutoMatcher::new`], with less of the GPU's memory: for batches of about so
    /// many notifications and pairs of notification and interface. Larger ones are cut.
    pub fn with_batches(
        subscriptions: &mut Subscriptions,
        threads: usize,
        notifications: usize,
        pairs: usize,
    ) -> Result<AutoMatcher, StartError> {
        AutoMatcher::open(subscriptions, threads, Some((notifications, pairs)))
    }

    fn open(
        subscriptions: &mut Subscriptions,
        threads: usize,
        batches: Option<(usize, usize)>,
    ) -> Result<AutoMatcher, StartError> {
        let gpu = gpu::open(subscriptions, batches);
        Ok(AutoMatcher {
            cpu: CpuMatcher::new(threads)?,
            gpu,
            policy: Policy::default(),
            metrics: Metrics::default(),
        })
    }

    /// Finds all matches of a batch. It must be given the subscriptions that it was
    /// made for.
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
        let is_noted = reason == Reason::Only || self.policy.pass((way, reason), n);
        let begin = (!is_noted).then(Instant::now);
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
        // A batch that the GPU failed at took long there.
        if let Some(begin) = begin {
            self.policy.note((way, reason), n, begin.elapsed());
        }
        self.metrics.batches[choice.side as usize] += 1;
        self.metrics.notifications[choice.side as usize] += n as u64;
        self.metrics.last = Some(choice);
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Why the GPU isn't used at all, if so.
    pub fn why_no_gpu(&self) -> Option<&str> {
        self.gpu.as_ref().err().map(String::as_str)
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod gpu {
    use crate::content::cuda::{BatchSizes, CudaMatcher, MatchError};
    use crate::content::{Batch, Matches, Subscriptions};

    pub type Matcher = CudaMatcher;

    /// For batches of about so many notifications and pairs, or of the usual size.
    pub fn open(
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
        CudaMatcher::new(subscriptions, sizes).map_err(|e| e.to_string())
    }

    /// Some thirty attributes.
    const INPUT_BYTES_PER_NOTIFICATION: usize = 512;

    /// The error says why no other batch will do, or nothing where only this one
    /// doesn't.
    pub fn match_batch(
        matcher: &mut Matcher,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) -> Result<(), Option<String>> {
        let done = matcher.match_batch(subscriptions, batch, matches);
        done.map_err(|error| match error {
            MatchError::Driver(error) => Some(error.to_string()),
            MatchError::Strings { .. } => None,
        })
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod gpu {
    use crate::content::{Batch, Matches, Subscriptions};

    pub enum Matcher {}

    pub fn open(_: &mut Subscriptions, _: Option<(usize, usize)>) -> Result<Matcher, String> {
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
