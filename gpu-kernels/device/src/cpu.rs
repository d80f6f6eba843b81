//! A CPU's threads, its vector instructions, and its sorts.

mod buckets;
mod crew;
mod disjoint;
pub mod lanes;
mod radix;
mod workers;

pub use buckets::{BucketSorter, NO_BUCKET, Sorted};
pub use crew::Crew;
pub use disjoint::DisjointWriter;
pub use radix::{Digits, RadixSorter};
pub use workers::{ThreadError, Workers, grow, partition_point, ranges, take};
