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
    pub wide_max: u32,
    /// Not 0: all regions are taken to be new.
    pub overlaps: u32,
    pub found_max: u64,
    pub words: Pointer,
    pub before: [Pointer; 2],
    pub now: [Pointer; 2],
    pub stamps: [Pointer; 2],
    pub claims: [Pointer; 2],
    pub updated: [Pointer; 2],
    pub raw_keys: [Pointer; 2],
    pub raw_entries: [Pointer; 2],
    pub keys: [Pointer; 2],
    pub entries: [Pointer; 2],
    pub motions: [Pointer; 2],
    pub directory: [Pointer; 2],
    pub layouts: Pointer,
    pub tasks: Pointer,
    pub wide: Pointer,
    pub counters: Pointer,
    pub found: Pointer,
    pub sorted: Pointer,
    pub output: Pointer,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Counters {
    pub error: u64,
    pub updated: [u64; 2],
    pub added: [u64; 2],
    pub removed: [u64; 2],
    pub entries: [u64; 2],
    pub found: u64,
    pub kept: u64,
    pub gained: u64,
    pub lost: u64,
    pub tasks: u64,
    pub wide: u64,
    low: [[u32; 3]; 2],
    high: [[u32; 3]; 2],
    count: [[u32; 16]; 2],
    reach: [[[u32; 3]; 16]; 2],
}

/// One side's `RegionsLayout`, which only kernels read.
pub const LAYOUT_BYTES: u64 = 32 + 16 * 44;
/// A `RegionsTask`.
pub const TASK_BYTES: u64 = 12;

/// The sizes of the kernels' structures, in the order of `regions_layout_bytes`.
pub const SIZES: [u32; 4] = [
    size_of::<World>() as u32,
    size_of::<Counters>() as u32,
    LAYOUT_BYTES as u32,
    TASK_BYTES as u32,
];
