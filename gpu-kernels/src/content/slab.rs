//! An array whose runs of items are taken and given back, and which records its changes.

use std::collections::BTreeMap;

/// Runs of items in one array that never moves. A run that was given back is reused for
/// later runs of at most its length.
pub struct Slab<T> {
    items: Vec<T>,
    /// Starts of free runs, by length.
    free: BTreeMap<u32, Vec<u32>>,
    max: usize,
    dirty: Dirty,
}

/// Which items changed since the last copy to a device.
#[derive(Default)]
pub struct Dirty {
    bits: Vec<u64>,
    list: Vec<u32>,
}

impl Dirty {
    /// Records that an item changed.
    pub fn touch(&mut self, index: usize) {
        let Some(word) = self.bits.get_mut(index / 64) else {
            return; // Changes are not recorded.
        };
        let bit = 1 << (index % 64);
        if *word & bit == 0 {
            *word |= bit;
            self.list.push(index as u32);
        }
    }

    /// Begins to record changes.
    pub fn watch(&mut self, items: usize) {
        self.bits = vec![0; items.div_ceil(64)];
        self.list.clear();
    }

    /// The items that changed, each once.
    pub fn list(&self) -> &[u32] {
        &self.list
    }

    pub fn clear(&mut self) {
        for &index in &self.list {
            self.bits[index as usize / 64] = 0;
        }
        self.list.clear();
    }
}

impl<T: Copy + Default> Slab<T> {
    /// An empty array for up to `max` items. The system provides its memory as it is used.
    pub fn new(max: usize) -> Slab<T> {
        Slab {
            items: Vec::with_capacity(max),
            free: BTreeMap::new(),
            max,
            dirty: Dirty::default(),
        }
    }

    /// Takes a run of `len` items, and returns where it begins; `None` if there is no room.
    pub fn take(&mut self, len: usize) -> Option<u32> {
        let len = len as u32;
        if len == 0 {
            return Some(0);
        }
        if let Some(start) = self.take_free(len, len) {
            return Some(start);
        }
        let start = self.items.len();
        if start + len as usize <= self.max {
            self.items.resize(start + len as usize, T::default());
            // A copy does not have these items yet.
            (start..start + len as usize).for_each(|index| self.dirty.touch(index));
            return Some(start as u32);
        }
        let larger = self
            .free
            .range(len..)
            .find(|(_, starts)| !starts.is_empty());
        let (&larger, _) = larger?;
        self.take_free(larger, len)
    }

    /// Takes a run of `len` items from a free run of `free_len` items.
    fn take_free(&mut self, free_len: u32, len: u32) -> Option<u32> {
        let start = self.free.get_mut(&free_len)?.pop()?;
        self.give_back(start + len, (free_len - len) as usize);
        Some(start)
    }

    pub fn give_back(&mut self, start: u32, len: usize) {
        if len > 0 {
            self.free.entry(len as u32).or_default().push(start);
        }
    }

    pub fn items(&self) -> &[T] {
        &self.items
    }

    pub fn set(&mut self, index: u32, item: T) {
        self.items[index as usize] = item;
        self.dirty.touch(index as usize);
    }

    /// The most items.
    pub fn max(&self) -> usize {
        self.max
    }

    /// Begins to record changes.
    pub fn watch(&mut self) {
        self.dirty.watch(self.max);
    }

    /// The items that changed, each once.
    pub fn changed(&self) -> &[u32] {
        self.dirty.list()
    }

    pub fn dirty(&mut self) -> &mut Dirty {
        &mut self.dirty
    }
}
