//! The matcher of a world's subscriptions, and how much it is given at once.

use crate::content::{AutoMatcher, Batch, CpuMatcher, Matches, Subscriptions};
use crate::tick::error::StartError;

pub(super) enum Matcher {
    Cpu(CpuMatcher),
    Auto(Box<AutoMatcher>),
}

impl Matcher {
    pub(super) fn new(
        subscriptions: &mut Subscriptions,
        threads: usize,
        gpu: Option<u32>,
    ) -> Result<Matcher, StartError> {
        Ok(match gpu {
            Some(ordinal) => {
                let mut matcher = AutoMatcher::with_batches(
                    subscriptions,
                    threads,
                    ordinal,
                    BATCH_MAX,
                    PAIRS_WANTED,
                )?;
                matcher.keep_sample();
                Matcher::Auto(Box::new(matcher))
            }
            None => {
                let mut matcher = CpuMatcher::new(threads)?;
                matcher.keep_sample();
                Matcher::Cpu(matcher)
            }
        })
    }

    pub(super) fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) {
        match self {
            Matcher::Cpu(matcher) => matcher.match_batch(subscriptions, batch, matches),
            Matcher::Auto(matcher) => matcher.match_batch(subscriptions, batch, matches),
        }
    }
}

/// The length of a batch whose candidates cost so many filters each.
pub(super) fn batch_len(filters: usize) -> usize {
    (FILTERS_WANTED / filters.max(1)).clamp(BATCH_MIN, BATCH_MAX)
}

/// A batch is made to look at about this many filters: what one more batch costs is little
/// beside it, and clients that cost too much are found by then.
const FILTERS_WANTED: usize = 1 << 20;
/// The most pairs of candidate and subscription that a GPU finds at a time.
const PAIRS_WANTED: usize = 1 << 21;
const BATCH_MIN: usize = 64;
const BATCH_MAX: usize = 1 << 16;
