//! The copy of a part of a batch to the device.

use device::{Copies, DriverError, HostBuffer, Lane, Plain, Pointer};

use crate::content::batch::{Attribute, ResolvedString};

/// Arrays that stand one after the other on the device. They are collected in page-locked
/// memory while there is room, so that a small batch is one copy. Further arrays are copied
/// one by one.
pub struct Input<'scope, 'env> {
    copies: &'scope Copies<'scope, 'env>,
    to: Pointer<u64>,
    staging: &'scope mut HostBuffer<u64>,
    /// Words of 8 bytes of all arrays.
    used: usize,
    /// Words of the collected arrays.
    staged: usize,
}

impl<'scope, 'env> Input<'scope, 'env> {
    pub fn new(
        copies: &'scope Copies<'scope, 'env>,
        to: Pointer<u64>,
        staging: &'scope mut HostBuffer<u64>,
    ) -> Input<'scope, 'env> {
        Input {
            copies,
            to,
            staging,
            used: 0,
            staged: 0,
        }
    }

    /// Appends an array, and returns its place. `words` gives an item's bytes: 16, or the low
    /// 4 of the first word.
    pub fn put<T: Plain>(
        &mut self,
        items: &'scope [T],
        words: impl Fn(&T) -> [u64; 2],
    ) -> Result<Pointer<T>, DriverError> {
        let bytes = size_of::<T>();
        debug_assert!(bytes == 16 || bytes == 4);
        let start = self.used;
        // Arrays begin at multiples of 16 bytes.
        self.used += size_of_val(items).div_ceil(16) * 2;
        let place = self.to.at(start as u64).cast();
        if self.used > self.staging.len() || self.staged < start {
            self.copies.upload(Lane::Work, place, items)?;
            return Ok(place);
        }
        self.staged = self.used;
        let room = &mut self.staging[start..self.used];
        match bytes {
            16 => {
                for (to, item) in room.chunks_exact_mut(2).zip(items) {
                    to.copy_from_slice(&words(item));
                }
            }
            _ => {
                for (to, pair) in room.iter_mut().zip(items.chunks(2)) {
                    let high = pair.get(1).map_or(0, |item| words(item)[0] << 32);
                    *to = words(&pair[0])[0] | high;
                }
            }
        }
        Ok(place)
    }

    /// Starts the copy of the collected arrays.
    pub fn send(self) -> Result<(), DriverError> {
        let staging: &'scope HostBuffer<u64> = self.staging;
        self.copies
            .upload(Lane::Work, self.to, &staging[..self.staged])
    }
}

pub fn number_words(number: &u32) -> [u64; 2] {
    [u64::from(*number), 0]
}

pub fn attribute_words(attribute: &Attribute) -> [u64; 2] {
    let names = u64::from(attribute.name) | u64::from(attribute.is_string) << 32;
    [attribute.value, names]
}

pub fn string_words(string: &ResolvedString) -> [u64; 2] {
    let low = u64::from(string.exact) | u64::from(string.patterns_start) << 32;
    [low, u64::from(string.patterns_len)]
}
