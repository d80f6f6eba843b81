//! What kernels are given, as `kernels/regions.cuh` lays it out.

use crate::cuda::layout::Pointer;

/// State, scratch and sizes.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct World {
    pub capacity: u32,
    pub number_bits: u32,
    pub updates: u32,
    pub step: u32,
    pub key_bits: u32,
    pub tasks_max: u32,
    /// Not 0: all regions are taken to be new.
    pub overlaps: u32,
    /// Not 0: updated regions are listed by side, as tiles need them.
    pub listed: u32,
    /// 0: chosen on the device.
    pub cell_edge: u32,
    pub cells_max: u32,
    pub records_max: u32,
    pub padding: u32,
    /// The space.
    pub low: [i32; 3],
    pub high: [i32; 3],
    pub found_max: u64,
    pub words: Pointer,
    /// By number: the box before the step and the one now.
    pub regions: [Pointer; 2],
    pub stamps: [Pointer; 2],
    pub claims: [Pointer; 2],
    pub updated: [Pointer; 2],
    pub raw_keys: Pointer,
    pub raw_entries: Pointer,
    pub keys: Pointer,
    pub entries: Pointer,
    pub motions: Pointer,
    pub directory: Pointer,
    pub layout: Pointer,
    pub grid: Pointer,
    pub partials: Pointer,
    pub tasks: Pointer,
    pub counters: Pointer,
    pub found: Pointer,
    pub sorted: Pointer,
    /// In the host's memory.
    pub output: Pointer,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Counters {
    pub error: u64,
    updated: [u64; 2],
    pub added: [u64; 2],
    pub removed: [u64; 2],
    pub entries: u64,
    pub records: u64,
    pub found: u64,
    pub kept: u64,
    pub gained: u64,
    tasks: u64,
    done: [u64; 4],
    mapped: [[u64; 32]; 2],
    mapped_updated: [u64; 32],
    low: [[u32; 3]; 2],
    high: [[u32; 3]; 2],
    count: [[u32; 16]; 2],
    reach: [[[u32; 3]; 16]; 2],
}

/// A `RegionsLayout`, which only kernels read.
pub const LAYOUT_BYTES: u64 = 2 * (32 + 16 * 44) + 4;
/// A `RegionsTask`.
pub const TASK_BYTES: u64 = 12;
/// A `RegionsGrid`.
pub const GRID_BYTES: u64 = 24;

/// The sizes of the kernels' structures, in the order of `regions_layout_bytes`.
pub const SIZES: [u32; 5] = [
    size_of::<World>() as u32,
    size_of::<Counters>() as u32,
    LAYOUT_BYTES as u32,
    TASK_BYTES as u32,
    GRID_BYTES as u32,
];
