//! The size of a copy of the state: see `copy`.

use device::plan::ALIGNMENT;

use super::layout::{self, TIMED_COLUMNS};
use super::sizes::Sizes;
use crate::tick::frame::Command;
use crate::tick::timed::TIMED_WORDS_MAX;

/// The bytes of a copy on the device.
pub fn copy_bytes(s: &Sizes) -> u64 {
    let slots = s.capacity * s.motion;
    let words = [
        s.capacity,
        s.capacity,
        s.capacity,
        2 * s.capacity,
        2 * s.capacity * s.resting,
        s.capacity * s.columns,
        slots,
        3 * slots,
        3 * slots,
        s.past(),
        s.field_sets(),
        s.edited_words(),
        s.edited_walls(),
    ];
    let words = words.into_iter().map(|count| count * 4);
    let timed = (0..TIMED_COLUMNS).map(|_| s.timed * 4);
    let deferred = [size_of::<Command>() as u64, 4 * TIMED_WORDS_MAX as u64, 4];
    let deferred = deferred.map(|bytes| s.deferred * bytes);
    let observers = s.observers * size_of::<layout::Observer>() as u64;
    let region = size_of::<layout::Region>() as u64;
    let regions = [s.client_regions, s.carriers, s.carriers].map(|count| count * region);
    let all = words.chain(timed).chain(deferred);
    let all = all.chain([observers]).chain(regions);
    all.map(|bytes| bytes.next_multiple_of(ALIGNMENT)).sum()
}
