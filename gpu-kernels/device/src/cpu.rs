//! A CPU's threads, its vector instructions, and the radix sort.

mod crew;
mod disjoint;
pub mod lanes;
mod radix;
mod workers;

pub use crew::Crew;
pub use disjoint::DisjointWriter;
pub use radix::{Digits, RadixSorter};
pub use workers::{ThreadError, Workers, grow, partition_point, ranges, take};
