//! Content matching: which interfaces' predicates does a notification satisfy?
//!
//! After Margara and Cugola's CCM ("High Performance Content-Based Matching Using
//! GPUs", DEBS 2011), whose data model is in [`shared::content`]. An **interface**
//! is whoever matches are delivered to. It holds any number of subscriptions, and
//! its predicate is the disjunction of all of them, so that one more costs only
//! its own size.
//!
//! | module | holds |
//! | --- | --- |
//! | [`batch`] | notifications to match, and the matches |
//! | `dictionary` | strings that constraints name, as numbers |
//! | [`compile`] | filters as conditions on keys |
//! | [`subscriptions`] | who asked for what; hands out and takes back |
//! | [`index`] | our way to match: a tree over what filters have in common |
//! | [`cpu`] | matching with the index, on CPUs |
//! | `cuda` | matching with the index, and the paper's way, on NVIDIA GPUs |
//! | [`auto`] | both sides, each batch on the one that costs less |
//! | `policy` | which of two ways that is, by what they cost so far |
//! | [`listen`] | a world's clients: who is told of a tick's changes and notifications |
//! | [`counting`] | the paper's way: select by name, evaluate, count |
//!
//! Every way gives the same sets.

pub mod auto;
pub mod batch;
pub mod compile;
pub mod counting;
pub mod cpu;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod cuda;
mod dictionary;
pub mod index;
pub mod listen;
mod policy;
mod slab;
pub mod subscriptions;

pub use auto::AutoMatcher;
pub use batch::{Batch, Matches};
pub use counting::CountingMatcher;
pub use cpu::CpuMatcher;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use cuda::CudaMatcher;
pub use subscriptions::{SubscribeError, SubscriptionId, Subscriptions};

use shared::content::PredicateLimits;

/// What a matcher is made for. All memory follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub predicate: PredicateLimits,
    /// Interfaces are numbered below this.
    pub interfaces: usize,
    /// Of all subscriptions together.
    pub filters: usize,
    /// Of all filters together.
    pub constraints: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            predicate: PredicateLimits::default(),
            interfaces: 1 << 16,
            filters: 1 << 20,
            constraints: 1 << 22,
        }
    }
}

/// Attributes of one notification.
pub const ATTRIBUTES_MAX: usize = 192;
/// Of a string in a notification.
pub const STRING_BYTES_MAX: usize = 4_096;
