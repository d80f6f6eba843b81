use super::layout::{Counters, GRID_BYTES, LAYOUT_BYTES, TASK_BYTES, World};
use crate::cuda::layout::Pointer;
use crate::cuda::plan::{TILE_U32, TILE_U64, sort_scratch_bytes};
use crate::cuda::sort::{Doubled, passes};
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

    /// What is sorted in a step, first and second buffers.
    pub fn sorts(&self, base: Pointer) -> Sorts {
        let doubled = |first, second| Doubled {
            first: self.place(base, first),
            second: self.place(base, second),
        };
        Sorts {
            keys: doubled("keys", "spare keys"),
            entries: doubled("entries", "spare entries"),
            found: doubled("sorted", "spare found"),
        }
    }

    pub fn world(&self, config: &RegionsConfig, base: Pointer) -> World {
        let sizes = Sizes::new(config);
        let place = |name| self.place(base, name);
        let two = |name, bytes: u64| [place(name), place(name) + bytes];
        let mut world = World {
            capacity: config.capacity,
            number_bits: number_bits(config),
            tasks_max: sizes.tasks as u32,
            cell_edge: config.cell_edge.unwrap_or(0),
            cells_max: sizes.cells as u32,
            records_max: sizes.records as u32,
            found_max: config.pairs_max.into(),
            words: place("words"),
            regions: two("regions", 2 * sizes.boxes),
            stamps: two("stamps", sizes.capacity * 4),
            claims: two("claims", sizes.capacity * 8),
            updated: two("updated", sizes.capacity * 4),
            keys: place("keys"),
            entries: place("entries"),
            motions: place("motions"),
            directory: place("directory"),
            layout: place("layout"),
            grid: place("grid"),
            partials: place("partials"),
            tasks: place("tasks"),
            counters: place("counters"),
            found: self.sorts(base).found.start(found_bits(config)),
            sorted: place("sorted"),
            ..World::default()
        };
        for (axis, dimension) in config.space.dimensions().iter().enumerate() {
            world.low[axis] = dimension.low;
            world.high[axis] = dimension.high;
        }
        world
    }
}

#[derive(Clone, Copy)]
pub struct Sorts {
    pub keys: Doubled,
    pub entries: Doubled,
    pub found: Doubled,
}

impl Doubled {
    /// Where a sort of so many bits begins, that it ends in the first buffer.
    pub fn start(self, bits: u32) -> Pointer {
        match passes(bits) % 2 {
            1 => self.second,
            _ => self.first,
        }
    }
}

/// Bits of a found pair: which list, which publication, which subscription.
pub fn found_bits(config: &RegionsConfig) -> u32 {
    2 * number_bits(config) + 1
}

/// Bits of a region's number.
fn number_bits(config: &RegionsConfig) -> u32 {
    (u32::BITS - (config.capacity - 1).leading_zeros()).max(1)
}

/// Of both sides together, where not said otherwise; all such that a second part
/// begins at a multiple of 16 bytes.
struct Sizes {
    /// Of one side.
    capacity: u64,
    /// Bytes of a box for each region of one side.
    boxes: u64,
    /// A region has two at most.
    entries: u64,
    /// Of entries in lists of grid cells.
    records: u64,
    cells: u64,
    tasks: u64,
}

impl Sizes {
    fn new(config: &RegionsConfig) -> Sizes {
        let capacity = u64::from(config.capacity).next_multiple_of(4);
        Sizes {
            capacity,
            boxes: capacity * 8 * config.space.dimensions().len() as u64,
            entries: 4 * capacity,
            records: (16 * capacity).clamp(1 << 16, 1 << 30),
            cells: (4 * capacity).clamp(1 << 10, 1 << 23),
            tasks: (8 * capacity).clamp(1 << 16, 1 << 22),
        }
    }
}

fn parts(config: &RegionsConfig) -> Vec<(&'static str, u64)> {
    let s = Sizes::new(config);
    let stride = 1 + 2 * config.space.dimensions().len() as u64;
    let pairs = u64::from(config.pairs_max);
    let scratch = sort_scratch_bytes(s.records, TILE_U32, 4).max(sort_scratch_bytes(
        pairs,
        TILE_U64,
        passes(found_bits(config)).into(),
    ));
    // Keys of the index: two for each entry, and some for each size class.
    let directory = (2 * s.entries + 2 * 16 * 8 + 2).max(2 * s.cells + 1);
    vec![
        ("words", (2 * s.capacity + 1) * stride * 4),
        ("regions", 4 * s.boxes),
        ("stamps", 2 * s.capacity * 4),
        ("claims", 2 * s.capacity * 8),
        ("updated", 2 * s.capacity * 4),
        ("spare keys", s.records * 4),
        ("spare entries", s.records * 4),
        ("keys", s.records * 4),
        ("entries", s.records * 4),
        ("motions", 8 * s.boxes),
        ("directory", directory * 4),
        ("layout", LAYOUT_BYTES),
        ("grid", GRID_BYTES),
        ("partials", 2 * s.capacity.div_ceil(256) * 4),
        ("tasks", s.tasks * TASK_BYTES),
        ("counters", size_of::<Counters>() as u64),
        ("spare found", pairs * 8),
        ("sorted", pairs * 8),
        ("sort scratch", scratch),
    ]
}

const ALIGNMENT: u64 = 256;
