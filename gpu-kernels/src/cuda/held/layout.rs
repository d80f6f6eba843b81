//! What kernels of worlds with regions are given, as `kernels/held.cuh` lays it out.

use crate::cuda::layout::Pointer;

/// Levels of a world's boxes, at most: buckets are one unit wide at least, and a
/// world less than 2^18.
pub const LEVELS_MAX: usize = 20;

/// The regions of a world: configuration, tables, state and index.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Held {
    pub per_client: u32,
    /// 1 where entities may carry regions, else 0.
    pub of_entities: u32,
    pub levels: u32,
    /// Changes of the tick's frame.
    pub sets: u32,
    /// Notifications that one client may hear; as many as a sort of them needs.
    pub hearings_max: u32,
    pub hearing_places: u32,
    pub set: Pointer,
    pub newborn: Pointer,
    pub clients: Pointer,
    pub publications: Pointer,
    pub subscriptions: Pointer,
    pub published: BoxIndex,
    pub areas: BoxIndex,
    pub heard: Pointer,
    pub heard_counts: Pointer,
    pub hearing_offsets: Pointer,
    pub hearings: Pointer,
    pub level: [Level; LEVELS_MAX],
}

/// Boxes by level and cell.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct BoxIndex {
    pub keys: Pointer,
    pub numbers: Pointer,
    pub boxes: Pointer,
    pub starts: Pointer,
    pub given_keys: Pointer,
    pub given_numbers: Pointer,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Level {
    pub base: u64,
    pub edge: u32,
    pub cells: [u32; 3],
}

/// A region: tag 0 none, 1 fixed, 2 follows an entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Region {
    pub tag: u32,
    pub slot: u32,
    pub generation: u32,
    pub low: [i32; 3],
    pub high: [i32; 3],
}

/// A change of a client's region (holder 0), or of an entity's publication (1) or
/// subscription (2).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct RegionSet {
    pub holder: u32,
    pub place: u32,
    pub generation: u32,
    /// Changes of the same entity's that went before it.
    pub repeats: u32,
    pub region: Region,
}

/// The sizes of the kernels' structures, in the order of `held_layout_bytes`.
pub const SIZES: [u32; 4] = [
    size_of::<Held>() as u32,
    size_of::<Region>() as u32,
    size_of::<RegionSet>() as u32,
    size_of::<Level>() as u32,
];
