//! A CPU's threads, and the radix sort that runs on them.

mod crew;
mod disjoint;
mod radix;
mod workers;

pub use crew::Crew;
pub use disjoint::DisjointWriter;
pub use radix::{Digits, RadixSorter};
pub use workers::{ThreadError, Workers, grow, partition_point, ranges, take};
