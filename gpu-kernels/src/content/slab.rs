use std::collections::BTreeMap;

/// Runs of items in one array that never moves as a whole. A run that was given
/// back serves the next one that fits.
pub struct Slab<T> {
    items: Vec<T>,
    /// Starts of free runs, by length.
    free: BTreeMap<u32, Vec<u32>>,
    max: usize,
    dirty: Dirty,
}

/// Which items changed since they were last copied elsewhere.
#[derive(Default)]
pub struct Dirty {
    bits: Vec<u64>,
    list: Vec<u32>,
}

impl Dirty {
    pub fn touch(&mut self, index: usize) {
        let Some(word) = self.bits.get_mut(index / 64) else {
            return; // Nobody copies.
        };
        let bit = 1 << (index % 64);
        if *word & bit == 0 {
            *word |= bit;
            self.list.push(index as u32);
        }
    }

    /// From now on, changes are noted.
    pub fn watch(&mut self, items: usize) {
        self.bits = vec![0; items.div_ceil(64)];
        self.list.clear();
    }

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
    /// Memory is taken as it is used, up to `max` items.
    pub fn new(max: usize) -> Slab<T> {
        Slab {
            items: Vec::with_capacity(max),
            free: BTreeMap::new(),
            max,
            dirty: Dirty::default(),
        }
    }

    /// A run of `len` items, or None where there is no room.
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
            return Some(start as u32);
        }
        let larger = self
            .free
            .range(len..)
            .find(|(_, starts)| !starts.is_empty());
        let of = larger.map(|(&of, _)| of)?;
        self.take_free(of, len)
    }

    fn take_free(&mut self, of: u32, len: u32) -> Option<u32> {
        let start = self.free.get_mut(&of)?.pop()?;
        self.give_back(start + len, (of - len) as usize);
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

    /// The most items that there can be.
    pub fn max(&self) -> usize {
        self.max
    }

    /// From now on, changes are noted.
    pub fn watch(&mut self) {
        self.dirty.watch(self.max);
    }

    /// Which items changed.
    pub fn changed(&self) -> &[u32] {
        self.dirty.list()
    }

    pub fn dirty(&mut self) -> &mut Dirty {
        &mut self.dirty
    }
}
