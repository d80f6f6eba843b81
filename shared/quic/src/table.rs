//! Values by number, many to a piece of memory.
//!
//! Each in a piece of its own would waste what the allocator's sizes differ by: a tenth of a
//! connection. All in one piece would be copied, a gigabyte or more, when that grows.

/// Values by number. Those with numbers near each other share memory, which is given back
/// once none of them is left.
pub struct Table<T> {
    chunks: Vec<Chunk<T>>,
}

struct Chunk<T> {
    values: Vec<Option<T>>,
    used: usize,
}

impl<T> Table<T> {
    pub fn new() -> Table<T> {
        Table { chunks: vec![] }
    }

    pub fn get(&self, number: usize) -> Option<&T> {
        let chunk = self.chunks.get(number / CHUNK)?;
        chunk.values.get(number % CHUNK)?.as_ref()
    }

    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(number / CHUNK)?;
        chunk.values.get_mut(number % CHUNK)?.as_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| &chunk.values).flatten()
    }

    /// Puts a value in the place of another one, if there is any.
    pub fn insert(&mut self, number: usize, value: T) {
        let (chunk, place) = (number / CHUNK, number % CHUNK);
        while self.chunks.len() <= chunk {
            self.chunks.push(Chunk {
                values: vec![],
                used: 0,
            });
        }
        let Chunk { values, used } = &mut self.chunks[chunk];
        if values.is_empty() {
            values.reserve_exact(CHUNK);
        }
        while values.len() <= place {
            values.push(None);
        }
        *used += usize::from(values[place].is_none());
        values[place] = Some(value);
    }

    /// Drops a value. False if there is none.
    pub fn remove(&mut self, number: usize) -> bool {
        if self.get(number).is_none() {
            return false;
        }
        let chunk = &mut self.chunks[number / CHUNK];
        chunk.values[number % CHUNK] = None;
        chunk.used -= 1;
        if chunk.used == 0 {
            chunk.values = vec![];
        }
        true
    }
}

/// Of connections, 1.6 MB: the allocator rounds that up by little.
const CHUNK: usize = 256;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn values_are_found_by_number_until_they_are_removed() {
        let mut table = Table::new();
        let mut expected = BTreeMap::new();
        let mut random = 1u32;
        for step in 0..10_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = (random >> 16) as usize % (3 * CHUNK);
            if random & 0x100 == 0 {
                table.insert(number, step);
                expected.insert(number, step);
            } else {
                assert_eq!(table.remove(number), expected.remove(&number).is_some());
            }
            assert_eq!(table.get(number), expected.get(&number));
            assert_eq!(table.get_mut(number), expected.get_mut(&number));
        }
        assert!(table.iter().eq(expected.values()));
        assert_eq!(table.get(usize::MAX), None);
    }

    #[test]
    fn memory_is_given_back_once_no_value_of_it_is_left() {
        let mut table = Table::new();
        let value = Rc::new(());
        table.insert(CHUNK, value.clone());
        table.insert(CHUNK + 5, value.clone());
        assert_eq!(table.chunks[0].values.capacity(), 0);
        assert_eq!(table.chunks[1].values.capacity(), CHUNK);
        assert!(table.remove(CHUNK) && table.remove(CHUNK + 5));
        assert_eq!(table.chunks[1].values.capacity(), 0);
        assert_eq!(Rc::strong_count(&value), 1);
        table.insert(CHUNK + 1, value);
        assert!(table.get(CHUNK + 1).is_some());
    }
}
