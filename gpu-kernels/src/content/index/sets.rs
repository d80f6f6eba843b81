//! The sets of names that filters have.

use std::collections::HashMap;

use super::tokens::{NO_NAMES, NameSet, SET_NAMES_MAX};
use crate::content::slab::Dirty;

/// Every set of names that any filter has, once.
pub struct Sets {
    rows: Vec<NameSet>,
    /// The row of each set, and how many filters have it. In many maps, since a map that
    /// grows moves all its entries at once.
    places: Vec<HashMap<NameSet, (u32, u32)>>,
    /// The number of sets of each size.
    sizes: [u32; SET_NAMES_MAX + 1],
    dirty: Dirty,
}

impl Default for Sets {
    fn default() -> Sets {
        Sets {
            rows: vec![],
            places: vec![HashMap::new(); PARTS],
            sizes: [0; SET_NAMES_MAX + 1],
            dirty: Dirty::default(),
        }
    }
}

impl Sets {
    /// Counts a filter with this set.
    pub fn add(&mut self, set: NameSet) {
        let next = self.rows.len() as u32;
        let place = self.places[part(&set)].entry(set).or_insert((next, 0));
        place.1 += 1;
        if place.1 == 1 {
            self.rows.push(set);
            self.dirty.touch(next as usize);
            self.sizes[set.len as usize] += 1;
        }
    }

    /// Uncounts a filter with this set.
    pub fn remove(&mut self, set: NameSet) {
        let Some(place) = self.places[part(&set)].get_mut(&set) else {
            return;
        };
        place.1 -= 1;
        if place.1 > 0 {
            return;
        }
        let at = place.0;
        self.places[part(&set)].remove(&set);
        self.sizes[set.len as usize] -= 1;
        // The last row takes its place.
        self.rows.swap_remove(at as usize);
        if let Some(moved) = self.rows.get(at as usize) {
            if let Some(place) = self.places[part(moved)].get_mut(moved) {
                place.0 = at;
            }
            self.dirty.touch(at as usize);
        }
    }

    pub fn rows(&self) -> &[NameSet] {
        &self.rows
    }

    /// A bit for each size that any set has.
    pub fn size_bits(&self) -> u32 {
        let bits = self.sizes.iter().enumerate();
        bits.fold(0, |bits, (size, &count)| {
            bits | u32::from(count > 0) << size
        })
    }

    /// Whether `names` names have fewer subsets of the sizes of sets than there are sets.
    pub fn are_subsets_fewer(&self, names: usize) -> bool {
        let mut subsets = 0;
        let mut of_size = 1;
        for (size, &count) in self.sizes.iter().enumerate().skip(1) {
            // At most 192 names: this stays far below 2^64.
            of_size = of_size * names.saturating_sub(size - 1) / size;
            subsets += of_size * usize::from(count > 0);
        }
        subsets <= self.rows.len()
    }

    /// The rows that changed, each once.
    pub fn changed(&self) -> &[u32] {
        self.dirty.list()
    }

    pub fn dirty(&mut self) -> &mut Dirty {
        &mut self.dirty
    }

    pub fn bytes(&self) -> usize {
        self.rows.len() * (2 * size_of::<NameSet>() + size_of::<(u32, u32)>())
    }
}

/// Calls `visit` with the token of each subset of some names whose size has a bit in
/// `sizes`. `names` has the tokens of the names.
pub fn subsets(names: &[u64], sizes: u32, visit: &mut impl FnMut(u64)) {
    add_names(names, sizes >> 1, NO_NAMES, visit);
}

/// Adds each of `names` to a set. Bit 0 of `sizes` is for the set with one name more.
fn add_names(names: &[u64], sizes: u32, set: u64, visit: &mut impl FnMut(u64)) {
    if sizes == 0 || names.len() <= sizes.trailing_zeros() as usize {
        return;
    }
    for (i, &name) in names.iter().enumerate() {
        let larger = set ^ name;
        if sizes & 1 != 0 {
            visit(larger);
        }
        if sizes > 1 {
            add_names(&names[i + 1..], sizes >> 1, larger, visit);
        }
    }
}

/// The map that a set is in.
fn part(set: &NameSet) -> usize {
    let names = set.names().iter();
    names.fold(0, |part, &name| part * 31 + usize::from(name)) % PARTS
}

const PARTS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::compile::Condition;

    #[test]
    fn subsets_have_the_wanted_sizes() {
        for n in 0..7u32 {
            for sizes in 0..1 << (SET_NAMES_MAX + 1) {
                let names: Vec<u64> = (0..n).map(|i| 1 << (40 + i)).collect();
                let mut found = vec![];
                subsets(&names, sizes, &mut |token| found.push(token));
                let all = (1..1u64 << n).filter(|set| sizes >> set.count_ones() & 1 == 1);
                let mut expected: Vec<u64> = all.map(|set| NO_NAMES ^ set << 40).collect();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn a_set_is_listed_while_a_filter_has_it() {
        let set = |names: &[u16]| {
            let conditions = names.iter().map(|&name| Condition {
                name,
                ..Condition::default()
            });
            NameSet::of(&conditions.collect::<Vec<_>>()).unwrap()
        };
        let (a, b) = (set(&[3, 1, 3]), set(&[2]));
        assert_eq!(a.names(), [1, 3]);
        let mut sets = Sets::default();
        for set in [a, b, a] {
            sets.add(set);
        }
        assert_eq!((sets.rows(), sets.size_bits()), (&[a, b][..], 0b110));
        sets.remove(a);
        assert_eq!(sets.rows(), [a, b]);
        sets.remove(a);
        assert_eq!((sets.rows(), sets.size_bits()), (&[b][..], 0b10));
        sets.remove(b);
        assert_eq!((sets.rows(), sets.size_bits()), (&[][..], 0));
    }
}
