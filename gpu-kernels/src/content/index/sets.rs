use std::collections::HashMap;

use crate::content::compile::{Condition, name_token};
use crate::content::slab::Dirty;

/// The distinct names of a filter, ascending. Filters of few names are kept by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct NameSet {
    names: [u16; SET_NAMES_MAX],
    len: u32,
}

const _: () = assert!(size_of::<NameSet>() == 16);

impl NameSet {
    /// None where there are no names, or more than are kept by their set.
    pub fn of(conditions: &[Condition]) -> Option<NameSet> {
        let mut set = NameSet::default();
        for condition in conditions {
            let len = set.len as usize;
            let Err(at) = set.names[..len].binary_search(&condition.name) else {
                continue;
            };
            if len == SET_NAMES_MAX {
                return None;
            }
            set.names.copy_within(at..len, at + 1);
            set.names[at] = condition.name;
            set.len += 1;
        }
        (set.len > 0).then_some(set)
    }

    pub fn names(&self) -> &[u16] {
        &self.names[..self.len as usize]
    }

    /// Any order of names gives the same token.
    pub fn token(&self) -> u64 {
        let tokens = self.names().iter().map(|&name| name_token(name.into()));
        tokens.fold(NO_NAMES, |set, token| set ^ token)
    }

    pub fn words(&self) -> [u64; 2] {
        let [a, b, c, d, e, f] = self.names.map(u64::from);
        let low = a | b << 16 | c << 32 | d << 48;
        [low, e | f << 16 | u64::from(self.len) << 32]
    }
}

/// Every set of names that a filter has, once.
pub struct Sets {
    rows: Vec<NameSet>,
    /// Where each stands, and how many filters have it: in many maps, since one that grows
    /// moves all that it holds.
    places: Vec<HashMap<NameSet, (u32, u32)>>,
    /// How many there are of each size.
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
    /// One filter more.
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

    /// One filter less.
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
        // The last one takes its place.
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

    /// A bit for each size that some set has.
    pub fn size_bits(&self) -> u32 {
        let bits = self.sizes.iter().enumerate();
        bits.fold(0, |bits, (size, &count)| {
            bits | u32::from(count > 0) << size
        })
    }

    /// Whether it costs less to look for every subset of so many names than to look
    /// at every set.
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

    /// Which rows changed.
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

/// Calls `visit` with the token of each subset whose size has a bit in `sizes`.
/// `names` are the tokens of names.
pub fn subsets(names: &[u64], sizes: u32, visit: &mut impl FnMut(u64)) {
    add_names(names, sizes >> 1, NO_NAMES, visit);
}

/// `sizes`: from the next larger size on.
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

/// Which map a set is in.
fn part(set: &NameSet) -> usize {
    let names = set.names().iter();
    names.fold(0, |part, &name| part * 31 + usize::from(name)) % PARTS
}

const PARTS: usize = 256;
pub const SET_NAMES_MAX: usize = 6;
/// Apart from any name's own token.
const NO_NAMES: u64 = 0x7365_7473;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsets_are_those_of_the_sizes_asked_for() {
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
    fn a_set_is_there_as_long_as_a_filter_has_it() {
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
