//! The parameters of the kernels of content matching, declared once.
//! `kernels/content/layout.cuh` is generated from here, comments included.

use device::layout::Header;
use device::{ConstPointer, Pointer};

use crate::content::batch::{Attribute, ResolvedString};
use crate::content::compile::{Condition, ConditionKind};
use crate::content::index::{
    DEPTH_MAX, Entry, NO_CONDITIONS, NO_FILTER, NameSet, Node, SET_NAMES_MAX,
};

device::device_struct! {
    /// One batch, and where its matches go: a bit for each subscriber, or a list of pairs
    /// in any order.
    pub struct Search {
        nodes: ConstPointer<Node>;
        entries: ConstPointer<Entry>;
        conditions: ConstPointer<Condition>;
        sets: ConstPointer<NameSet>;
        offsets: ConstPointer<u32>;
        attributes: ConstPointer<Attribute>;
        strings: ConstPointer<ResolvedString>;
        patterns: ConstPointer<u32>;
        bits: Pointer<u32>;
        pairs: Pointer<u64>;
        pair_count: Pointer<u64>;
        pairs_max: u64;
        root: Node;
        node_mask: u32;
        notifications: u32;
        slices: u32;
        attributes_max: u32;
        /// Words of bits for one notification; 0: pairs.
        words: u32;
        /// Bits of a pair's subscriber.
        subscriber_bits: u32;
        /// A bit for each size that a set of names has.
        set_sizes: u32;
        set_count: u32;
        /// Places of entries, free ones too.
        entry_count: u32;
        padding: u32;
    }
}

device::describe_struct! {
    /// A node of the tree of tokens.
    Node {
        key: u64 = key;
        child_bits: u64 = child_bits;
        start: u32 = start;
        len: u32 = len;
        capacity: u32 = capacity;
        children: u32 = children;
    }
}

device::describe_struct! {
    /// A filter in a node's bucket.
    Entry {
        names: u64 = names;
        conditions: u32 = conditions;
        subscriber: u32 = subscriber;
    }
}

device::describe_struct! {
    /// The distinct names of a filter, ascending.
    NameSet {
        names: [u16; SET_NAMES_MAX] = names;
        len: u32 = len;
    }
}

device::describe_struct! {
    /// What the key of one name must be like.
    Condition {
        low: u64 = low;
        high: u64 = high;
        name: u16 = name;
        kind: u8 = kind;
        is_last: u8 = is_last;
        padding: u32 = padding;
    }
}

device::describe_struct! {
    /// A named value of a notification.
    Attribute {
        value: u64 = value;
        name: u32 = name;
        is_string: u32 = is_string;
    }
}

device::describe_struct! {
    /// A string of a batch.
    ResolvedString {
        exact: u32 = exact;
        patterns_start: u32 = patterns_start;
        patterns_len: u32 = patterns_len;
        padding: u32 = padding;
    }
}

/// The text of `kernels/content/layout.cuh`.
pub fn header() -> String {
    let kind = |name: &str, kind: ConditionKind| (name.to_owned(), u32::from(kind.0));
    Header::new("What the kernels of content matching are given.")
        .namespace("content")
        .constant("NO_CONDITIONS", NO_CONDITIONS)
        .constant("NO_FILTER", NO_FILTER)
        .constant("SET_NAMES_MAX", SET_NAMES_MAX as u32)
        .constant("DEPTH_MAX", DEPTH_MAX as u32)
        .enumeration(
            "ConditionKind",
            [
                kind("WITHIN", ConditionKind::WITHIN),
                kind("NOT", ConditionKind::NOT),
                kind("PATTERN", ConditionKind::PATTERN),
            ],
        )
        .structure::<Node>()
        .structure::<Entry>()
        .structure::<NameSet>()
        .structure::<Condition>()
        .structure::<Attribute>()
        .structure::<ResolvedString>()
        .structure::<Search>()
        .finish("CONTENT_LAYOUT_HASH")
}

/// The hash that the kernels must carry.
pub fn hash() -> u64 {
    Header::hash(&header())
}
