//! Content matching: which subscribers' predicates does a notification match?
//!
//! After Margara and Cugola's CCM ("High Performance Content-Based Matching Using
//! GPUs", DEBS 2011), whose data model is in [`shared::predicate`]. A **subscriber** is a
//! receiver of matches, known by its number. It has any number of subscriptions, and its predicate
//! is the disjunction of theirs. So the cost of one more subscription depends only on its
//! own size.
//!
//! | module | holds |
//! | --- | --- |
//! | [`batch`] | notifications to match, and the matches |
//! | `dictionary` | strings that constraints name, as numbers |
//! | [`compile`] | filters as conditions on keys |
//! | [`subscriptions`] | the subscriptions of each subscriber, and their filters in the index |
//! | [`index`] | a tree over common parts of filters |
//! | [`cpu`] | matching with the index, on CPUs |
//! | [`single`] | matching one predicate by itself |
//! | `cuda` | matching with the index, on NVIDIA GPUs |
//! | [`auto`] | both of them: each batch goes to the side that costs less |
//! | `policy` | the choice between two ways, by their costs so far |
//!
//! All matchers give the same matches. The paper's way (select by name, evaluate, count) is
//! in the `engines` crate.

pub mod auto;
pub mod batch;
pub mod compile;
pub mod cpu;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod cuda;
mod dictionary;
pub mod index;
mod policy;
pub mod single;
mod slab;
pub mod subscriptions;

pub use auto::AutoMatcher;
pub use batch::{Batch, Matches};
pub use cpu::CpuMatcher;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use cuda::CudaMatcher;
pub use subscriptions::{SubscribeError, SubscriptionId, Subscriptions};

use shared::predicate::PredicateLimits;

/// The most that a matcher must hold. All memory is sized by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub predicate: PredicateLimits,
    /// Subscribers have numbers below this.
    pub subscribers: usize,
    /// Filters of all subscriptions together.
    pub filters: usize,
    /// Constraints of all filters together.
    pub constraints: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            predicate: PredicateLimits::default(),
            subscribers: 1 << 16,
            filters: 1 << 20,
            constraints: 1 << 22,
        }
    }
}

/// The most attributes of a notification.
pub const ATTRIBUTES_MAX: usize = 192;
/// The longest string in a notification.
pub const STRING_BYTES_MAX: usize = 4_096;
