//! What the kernels of region matching are given, declared once:
//! `kernels/regions_layout.cuh` is written from here.

use device::layout::Header;
use device::{ConstPointer, Pointer};

use super::sizes::{SIZE_CLASSES, Sizes};
use crate::regions::batch::Kind;

device::device_struct! {
    /// The space, what a step is to do, its scratch and its results.
    pub struct RegionsWorld(s: Sizes) {
        capacity: u32;
        /// Bits of a region's number.
        number_bits: u32;
        updates: u32;
        step: u32;
        key_bits: u32;
        tasks_max: u32;
        /// Not 0: all regions are taken to be new.
        overlaps: u32;
        /// Not 0: updated regions are listed by side, as tiles need them.
        listed: u32;
        /// 0: chosen on the device.
        cell_edge: u32;
        cells_max: u32;
        records_max: u32;
        padding: u32;
        /// The space.
        low: [i32; 3];
        high: [i32; 3];
        found_max: u64;
        /// The batch.
        words: ConstPointer<i32> = s.words;
        /// By side.
        tables: [RegionsTable; 2];
        /// Keys and entries, to be sorted: one half of the next four.
        raw_keys: Pointer<u32>;
        raw_entries: Pointer<u32>;
        keys: Pointer<u32> = s.records;
        keys_spare: Pointer<u32> = s.records;
        entries: Pointer<u32> = s.records;
        entries_spare: Pointer<u32> = s.records;
        /// The entries' boxes before the step and now, in order of keys.
        motions: Pointer<i32> = 2 * s.entries * s.box_words;
        /// Where each key begins among the sorted ones.
        directory: Pointer<u32> = s.directory;
        layout: Pointer<RegionsLayout> = 1;
        grid: Pointer<RegionsGrid> = 1;
        partials: Pointer<u32> = 2 * s.capacity.div_ceil(256);
        tasks: Pointer<RegionsTask> = s.tasks;
        counters: Pointer<RegionsCounters> = 1;
        /// Pairs that were found, to be sorted: one half of the next two.
        found: Pointer<u64>;
        sorted: Pointer<u64> = s.pairs;
        sorted_spare: Pointer<u64> = s.pairs;
        /// In the host's memory.
        output: Pointer<u64>;
    }
}

device::device_struct! {
    /// The regions of one side, by number.
    pub struct RegionsTable(s: Sizes) {
        /// The box before the step and the one now.
        boxes: Pointer<i32> = 2 * s.capacity * s.box_words;
        /// The last step that updated a region.
        stamps: Pointer<u32> = s.capacity;
        claims: Pointer<u64> = s.capacity;
        /// The numbers of the regions that the step updates.
        updated: Pointer<u32> = s.capacity;
    }
}

device::device_struct! {
    /// Counted in one step, from zero. All extremes are maxima of numbers that were made
    /// non-negative: `~ordered(low)` for a lowest corner.
    pub struct RegionsCounters {
        /// The complement of (update << 2 | reason), or 0.
        error: u64;
        updated: [u64; 2];
        added: [u64; 2];
        removed: [u64; 2];
        entries: u64;
        records: u64;
        found: u64;
        kept: u64;
        gained: u64;
        tasks: u64;
        /// Blocks that are done, in each kernel whose last one goes on alone.
        done: [u64; 4];
        /// By side and edge.
        mapped: [[u64; 32]; 2];
        mapped_updated: [u64; 32];
        low: [[u32; 3]; 2];
        high: [[u32; 3]; 2];
        count: [[u32; SIZE_CLASSES]; 2];
        reach: [[[u32; 3]; SIZE_CLASSES]; 2];
    }
}

device::device_struct! {
    /// Entries of one size, and the cells in which they are.
    pub struct RegionsClass {
        count: u32;
        /// The first of its keys.
        base: u32;
        /// The longest edge on each axis.
        reach: [u32; 3];
        /// A cell's edge as a power of two.
        shift: [u32; 3];
        cells: [u32; 3];
    }
}

device::device_struct! {
    /// One side's part of the index.
    pub struct RegionsSide {
        origin: [i32; 3];
        /// The largest distance of a low corner from the origin.
        span: [u32; 3];
        entries: u32;
        /// A bit for each class that has entries.
        used: u32;
        classes: [RegionsClass; SIZE_CLASSES];
    }
}

device::device_struct! {
    /// How entries are keyed.
    pub struct RegionsLayout {
        sides: [RegionsSide; 2];
        keys: u32;
    }
}

device::device_struct! {
    /// The grid of the paper's grid-based approach.
    pub struct RegionsGrid {
        edge: u32;
        /// A cell's edge is edge << shift.
        shift: u32;
        cells: [u32; 3];
        all: u32;
    }
}

device::device_struct! {
    /// Entries that one query is to be compared with; or, if `end` is ROWS, rows of
    /// cells that it is to look up, from `start`.
    pub struct RegionsTask {
        query: u32;
        start: u32;
        end: u32;
    }
}

/// Why an update is refused.
pub mod reason {
    pub const NAMED_TWICE: u32 = 0;
    pub const ALREADY_THERE: u32 = 1;
    pub const UNKNOWN: u32 = 2;
}

/// The text of `kernels/regions_layout.cuh`.
pub fn header() -> String {
    let named = |name: &str, number: u32| (name.to_owned(), number);
    Header::new("What the kernels of region matching are given.")
        .constant("SIZE_CLASSES", SIZE_CLASSES as u32)
        .enumeration(
            "RegionsKind",
            [
                named("ADD", Kind::Add as u32),
                named("MODIFY", Kind::Modify as u32),
                named("REMOVE", Kind::Remove as u32),
            ],
        )
        .enumeration(
            "RegionsReason",
            [
                named("NAMED_TWICE", reason::NAMED_TWICE),
                named("ALREADY_THERE", reason::ALREADY_THERE),
                named("UNKNOWN", reason::UNKNOWN),
            ],
        )
        .structure::<RegionsCounters>()
        .structure::<RegionsClass>()
        .structure::<RegionsSide>()
        .structure::<RegionsLayout>()
        .structure::<RegionsGrid>()
        .structure::<RegionsTask>()
        .structure::<RegionsTable>()
        .structure::<RegionsWorld>()
        .finish("REGIONS_LAYOUT_HASH")
}

/// The hash that the kernels must carry.
pub fn hash() -> u64 {
    Header::hash(&header())
}
