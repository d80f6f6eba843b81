use super::layout::{Counters, LAYOUT_BYTES, TASK_BYTES, World};
use crate::cuda::layout::Pointer;
use crate::cuda::plan::{TILE_U32, TILE_U64, sort_scratch_bytes};
use crate::cuda::sort::passes;
use crate::regions::RegionsConfig;

/// What regions need on a GPU: named parts of one allocation.
pub struct Plan {
    parts: Vec<(&'static str, u64, u64)>,
    bytes: u64,
}

impl Plan {
    pub fn new(config: &RegionsConfig) -> Plan {
        let mut plan = Plan {
            parts: vec![],
            bytes: 0,
        };
        for (name, bytes) in parts(config) {
            plan.parts.push((name, plan.bytes, bytes));
            plan.bytes += bytes.next_multiple_of(ALIGNMENT);
        }
        plan
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where a part begins in an allocation at `base`.
    pub fn place(&self, base: Pointer, name: &str) -> Pointer {
        let part = self.parts.iter().find(|part| part.0 == name);
        base + part.expect("a part of the plan").1
    }

    /// The second buffers of the sorts of entries.
    pub fn spare(&self, config: &RegionsConfig, base: Pointer) -> Spare {
        let bytes = Sizes::new(config).entries * 4;
        let two = |name| [self.place(base, name), self.place(base, name) + bytes];
        Spare {
            keys: two("spare keys"),
            entries: two("spare entries"),
            found: self.place(base, "spare found"),
        }
    }

    pub fn world(&self, config: &RegionsConfig, base: Pointer) -> World {
        let sizes = Sizes::new(config);
        let place = |name| self.place(base, name);
        let two = |name, bytes: u64| [place(name), place(name) + bytes];
        let spare = self.spare(config, base);
        let (keys, entries) = (
            two("keys", sizes.entries * 4),
            two("entries", sizes.entries * 4),
        );
        // A sort of an odd number of passes begins in its second buffers, and every
        // sort ends in its first.
        let is_odd = passes(key_bits(config)) % 2 == 1;
        World {
            capacity: config.capacity,
            number_bits: number_bits(config),
            updates: 0,
            step: 0,
            key_bits: key_bits(config),
            tasks_max: sizes.tasks as u32,
            wide_max: sizes.wide as u32,
            overlaps: 0,
            found_max: config.pairs_max.into(),
            words: place("words"),
            before: two("before", sizes.boxes),
            now: two("now", sizes.boxes),
            stamps: two("stamps", sizes.capacity * 4),
            claims: two("claims", sizes.capacity * 8),
            updated: two("updated", sizes.capacity * 4),
            raw_keys: if is_odd { spare.keys } else { keys },
            raw_entries: if is_odd { spare.entries } else { entries },
            keys,
            entries,
            motions: two("motions", 4 * sizes.boxes),
            directory: two("directory", sizes.runs * 4),
            layouts: place("layouts"),
            tasks: place("tasks"),
            wide: place("wide"),
            counters: place("counters"),
            found: match passes(found_bits(config)) % 2 {
                1 => spare.found,
                _ => place("sorted"),
            },
            sorted: place("sorted"),
            output: place("output"),
        }
    }
}

/// Of publications, of subscriptions.
#[derive(Clone, Copy)]
pub struct Spare {
    pub keys: [Pointer; 2],
    pub entries: [Pointer; 2],
    pub found: Pointer,
}

/// Of one side, where not said otherwise; all such that a second one begins at a
/// multiple of 16 bytes.
struct Sizes {
    capacity: u64,
    /// A region has two at most.
    entries: u64,
    /// Bytes of a box for each region.
    boxes: u64,
    /// Runs of keys in a directory.
    runs: u64,
    tasks: u64,
    wide: u64,
}

impl Sizes {
    fn new(config: &RegionsConfig) -> Sizes {
        let capacity = u64::from(config.capacity).next_multiple_of(4);
        Sizes {
            capacity,
            entries: 2 * capacity,
            boxes: capacity * 8 * config.space.dimensions().len() as u64,
            runs: 4 * capacity + 68,
            tasks: (4 * capacity).clamp(1 << 16, 1 << 22),
            wide: (2 * capacity).min(1 << 16),
        }
    }
}

/// Bits of a region's number.
fn number_bits(config: &RegionsConfig) -> u32 {
    (u32::BITS - (config.capacity - 1).leading_zeros()).max(1)
}

/// Bits of a found pair: which list, which publication, which subscription.
fn found_bits(config: &RegionsConfig) -> u32 {
    2 * number_bits(config) + 1
}

/// Whole passes of the sort, and some cells for each entry.
fn key_bits(config: &RegionsConfig) -> u32 {
    match config.capacity {
        0..=16_384 => 16,
        16_385..=8_388_608 => 24,
        _ => 32,
    }
}

fn parts(config: &RegionsConfig) -> Vec<(&'static str, u64)> {
    let s = Sizes::new(config);
    let stride = 1 + 2 * config.space.dimensions().len() as u64;
    let pairs = u64::from(config.pairs_max);
    let scratch = sort_scratch_bytes(s.entries, TILE_U32, 4).max(sort_scratch_bytes(
        pairs,
        TILE_U64,
        passes(found_bits(config)).into(),
    ));
    vec![
        ("words", (2 * s.capacity + 1) * stride * 4),
        ("before", 2 * s.boxes),
        ("now", 2 * s.boxes),
        ("stamps", 2 * s.capacity * 4),
        ("claims", 2 * s.capacity * 8),
        ("updated", 2 * s.capacity * 4),
        ("spare keys", 2 * s.entries * 4),
        ("spare entries", 2 * s.entries * 4),
        ("keys", 2 * s.entries * 4),
        ("entries", 2 * s.entries * 4),
        ("motions", 2 * 4 * s.boxes),
        ("directory", 2 * s.runs * 4),
        ("layouts", 2 * LAYOUT_BYTES),
        ("tasks", s.tasks * TASK_BYTES),
        ("wide", s.wide * 4),
        ("counters", size_of::<Counters>() as u64),
        ("spare found", pairs * 8),
        ("sorted", pairs * 8),
        ("output", pairs * 8),
        ("sort scratch", scratch),
    ]
}

const ALIGNMENT: u64 = 256;
