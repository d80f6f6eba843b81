//! What the counting kernel is given, declared once: `kernels/counting_layout.cuh` is
//! written from here.

use device::layout::Header;
use device::{ConstPointer, Pointer};
use gpu_kernels::content::ATTRIBUTES_MAX;
use gpu_kernels::content::batch::{Attribute, ResolvedString};
use gpu_kernels::content::compile::Condition;

use crate::counting::table::{Counted, CountedFilter};

device::describe_struct! {
    /// A constraint, and the filter that it is part of.
    Counted {
        condition: Condition = condition;
        filter: u32 = filter;
        padding: u32 = padding;
    }
}

device::describe_struct! {
    /// A filter: how many constraints it has, and who subscribed by it.
    CountedFilter {
        size: u32 = size;
        subscriber: u32 = subscriber;
    }
}

device::device_struct! {
    /// A wave of notifications, the tables, and what becomes of them.
    pub struct CountJob(s: CountSizes) {
        row_offsets: ConstPointer<u32> = s.names + 1;
        constraints: ConstPointer<Counted> = s.constraints;
        filters: ConstPointer<CountedFilter> = s.filters;
        offsets: ConstPointer<u32> = s.wave + 1;
        attributes: ConstPointer<Attribute> = s.wave * ATTRIBUTES_MAX as u64;
        strings: ConstPointer<ResolvedString> = STRINGS_MAX as u64;
        patterns: ConstPointer<u32> = PATTERNS_MAX as u64;
        /// By notification and filter, 16 bits each; and those of the next wave.
        counters: Pointer<u32> = s.wave * s.counter_words;
        next_counters: Pointer<u32> = s.wave * s.counter_words;
        /// By notification: a bit for each subscriber.
        bits: Pointer<u32> = s.wave * s.bit_words;
        /// Words of `next_counters` that are to become 0.
        words_to_clear: u64;
        /// Words of one notification's counters, and of its bits.
        counter_words: u32;
        bit_words: u32;
        names: u32;
        notifications: u32;
        /// Where the wave's attributes begin in the batch.
        first: u32;
        /// Blocks for one attribute.
        row_blocks: u32;
    }
}

/// How much a matcher has room for.
#[derive(Clone, Copy, Debug)]
pub struct CountSizes {
    pub names: u64,
    pub constraints: u64,
    pub filters: u64,
    /// Notifications of one launch.
    pub wave: u64,
    pub counter_words: u64,
    pub bit_words: u64,
}

/// The text of `kernels/counting_layout.cuh`.
pub fn header() -> String {
    Header::new("What the kernel of matching by counting is given.")
        .include("content/layout.cuh")
        .namespace("content")
        .structure::<Counted>()
        .structure::<CountedFilter>()
        .structure::<CountJob>()
        .finish("COUNTING_LAYOUT_HASH")
}

/// The hash that the kernels must carry.
pub fn hash() -> u64 {
    Header::hash(&header())
}

/// Strings of a batch, and patterns that they satisfy.
pub const STRINGS_MAX: usize = 1 << 16;
pub const PATTERNS_MAX: usize = 1 << 20;
