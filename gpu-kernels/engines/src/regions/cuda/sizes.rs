//! How much a GPU has to have room for.

use device::gpu::sort::scratch_bytes;

use crate::regions::RegionsConfig;

/// Sizes of both sides together, unless a field is documented otherwise. They count items,
/// unless a field counts bytes.
pub struct Sizes {
    /// Regions of one side.
    pub capacity: u64,
    /// Words of a box.
    pub box_words: u64,
    /// Words of a batch.
    pub words: u64,
    /// A region has two at most.
    pub entries: u64,
    /// Entries in lists of grid cells.
    pub records: u64,
    pub cells: u64,
    /// Keys of the index, or lists of grid cells.
    pub directory: u64,
    pub tasks: u64,
    pub pairs: u64,
    /// Bytes of the sort's scratch.
    pub sort_scratch: u64,
}

impl Sizes {
    pub fn new(config: &RegionsConfig) -> Sizes {
        let capacity = u64::from(config.capacity);
        let box_words = 2 * config.space.dimensions().len() as u64;
        let entries = 4 * capacity;
        let records = (16 * capacity).clamp(1 << 16, 1 << 30);
        let cells = (4 * capacity).clamp(1 << 10, 1 << 23);
        let pairs = u64::from(config.pairs_max);
        let sorting_pairs = scratch_bytes::<u64>(pairs, found_bits(config));
        Sizes {
            capacity,
            box_words,
            words: (2 * capacity + 1) * (1 + box_words),
            entries,
            records,
            cells,
            directory: (2 * entries + KEYS_MORE).max(2 * cells + 1),
            tasks: (8 * capacity).clamp(1 << 16, 1 << 22),
            pairs,
            sort_scratch: scratch_bytes::<u32>(records, u32::BITS).max(sorting_pairs),
        }
    }
}

/// Bits of a found pair: which list, which publication, which subscription.
pub fn found_bits(config: &RegionsConfig) -> u32 {
    2 * number_bits(config) + 1
}

/// Bits of a region's number.
pub fn number_bits(config: &RegionsConfig) -> u32 {
    (u32::BITS - (config.capacity - 1).leading_zeros()).max(1)
}

/// A class has boxes whose longest edges differ by less than four times.
pub const SIZE_CLASSES: usize = 16;
/// Keys of the index beyond two for each entry: some for each size class of each side.
pub const KEYS_MORE: u64 = (2 * SIZE_CLASSES * 8 + 2) as u64;
