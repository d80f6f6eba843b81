//! The index of filters: a tree over their common parts.
//!
//! A filter has **tokens**: one for the set of its names, and one for each name with the one
//! key that it must have (a *point*). A filter of too many names for a set has a token for
//! each name instead. A notification offers the tokens of its own attributes, and can only
//! match filters whose tokens it offers.
//!
//! A node of the tree is a sequence of tokens, and has a bucket of filters that begin with
//! this sequence. When a bucket is full, its filters move to the children for their next
//! tokens. A notification descends along its own tokens. Each filter in a bucket on the way
//! is compared by a mask of its names first, and then condition by condition.
//!
//! A notification of few attributes looks up every subset of its names. A notification of
//! many attributes goes through the list of all sets instead, and looks up those that it has.
//!
//! So a filter of rare names costs nothing for notifications without these names, filters
//! with different points are separated by them, and a common part of many filters is
//! looked at once. The cost of a change depends only on its own filters, since nothing is ever
//! rebuilt. Only the bucket of a filter is moved as a whole, when it has doubled: filters
//! with the same tokens share a bucket.

mod nodes;
mod sets;
mod tokens;

pub use nodes::{Node, NodeTable, child_key};
pub use sets::{Sets, subsets};
pub use tokens::{NameSet, SET_NAMES_MAX, name_bit, name_token, point_token};

use super::compile::Condition;
use super::slab::Slab;
use tokens::tokens;

/// The tree. All arrays hold plain data, so that they can be copied to a device.
pub struct Index {
    pub(super) nodes: NodeTable,
    /// Filters without tokens, and those for which there was no node further down.
    pub(super) root: Node,
    /// The entries of all buckets.
    pub(super) entries: Slab<Entry>,
    pub(super) conditions: Slab<Condition>,
    pub(super) sets: Sets,
    /// By entry: the number of its filter.
    entry_filters: Vec<u32>,
    /// By number.
    filters: Vec<FilterRow>,
    /// How many entries were written so far.
    moves: u64,
    /// Scratch: the tokens of one filter.
    tokens: Vec<u64>,
    /// The keys of the nodes that lead to a filter, from the root.
    path: Vec<u64>,
    /// Whether the first node of the path is that of a set of names.
    path_is_set: bool,
}

/// A filter in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Entry {
    /// The bits of all its names.
    pub names: u64,
    /// Where its conditions begin, or [`NO_CONDITIONS`], or [`NO_FILTER`].
    pub conditions: u32,
    pub subscriber: u32,
}

impl Default for Entry {
    fn default() -> Entry {
        Entry {
            names: 0,
            conditions: NO_FILTER,
            subscriber: 0,
        }
    }
}

device::plain!(Entry {
    names: u64,
    conditions: u32,
    subscriber: u32,
});

#[derive(Clone, Copy)]
struct FilterRow {
    /// Where its conditions begin.
    conditions: u32,
    /// How many conditions it has.
    count: u32,
    /// The place of its entry.
    entry: u32,
    /// How many of its tokens lead to its bucket, or [`NO_DEPTH`].
    depth: u32,
}

impl FilterRow {
    const NONE: FilterRow = FilterRow {
        conditions: 0,
        count: 0,
        entry: 0,
        depth: NO_DEPTH,
    };
}

/// There is no room for another filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl Index {
    /// An index for at most this many filters and conditions.
    pub fn new(filters: usize, conditions: usize) -> Index {
        Index {
            nodes: NodeTable::new(filters),
            root: Node::default(),
            entries: Slab::new(filters * ENTRIES_PER_FILTER + 64),
            // Some room more, since free runs may be too short for a filter.
            conditions: Slab::new(conditions + conditions / 4),
            sets: Sets::default(),
            // Reserved at once, so that they never move.
            entry_filters: Vec::with_capacity(filters * ENTRIES_PER_FILTER + 64),
            filters: Vec::with_capacity(filters),
            moves: 0,
            tokens: vec![],
            path: vec![],
            path_is_set: false,
        }
    }

    /// Adds a filter under a free number.
    pub fn insert(
        &mut self,
        filter: u32,
        conditions: &[Condition],
        subscriber: u32,
    ) -> Result<(), Full> {
        let start = self.conditions.take(conditions.len()).ok_or(Full)?;
        for (i, condition) in conditions.iter().enumerate() {
            self.conditions.set(start + i as u32, *condition);
        }
        if self.filters.len() <= filter as usize {
            self.filters.resize(filter as usize + 1, FilterRow::NONE);
        }
        self.filters[filter as usize] = FilterRow {
            conditions: start,
            count: conditions.len() as u32,
            entry: 0,
            depth: NO_DEPTH,
        };
        let entry = Entry {
            names: conditions
                .iter()
                .fold(0, |bits, c| bits | name_bit(u32::from(c.name))),
            conditions: match conditions.is_empty() {
                true => NO_CONDITIONS,
                false => start,
            },
            subscriber,
        };
        let mut own_tokens = std::mem::take(&mut self.tokens);
        tokens(conditions, &mut own_tokens);
        let is_set = NameSet::of(conditions).is_some();
        let result = self.descend(filter, entry, &own_tokens, is_set);
        self.tokens = own_tokens;
        if result.is_err() {
            self.conditions.give_back(start, conditions.len());
            // The nodes that were added on the way are empty.
            self.set_path(conditions, usize::MAX);
            self.prune();
        } else if let Some(set) = NameSet::of(conditions) {
            self.sets.add(set);
        }
        result
    }

    /// Removes a filter.
    pub fn remove(&mut self, filter: u32) {
        let row = self.filters[filter as usize];
        let conditions = self.conditions_of(row).to_vec();
        self.set_path(&conditions, row.depth as usize);
        self.remove_entry(row.entry);
        self.conditions
            .give_back(row.conditions, row.count as usize);
        self.filters[filter as usize].depth = NO_DEPTH;
        self.prune();
        if let Some(set) = NameSet::of(&conditions) {
            self.sets.remove(set);
        }
    }

    /// Makes the nodes of a filter's first `depth` tokens the path.
    fn set_path(&mut self, conditions: &[Condition], depth: usize) {
        tokens(conditions, &mut self.tokens);
        self.path_is_set = NameSet::of(conditions).is_some();
        self.path.clear();
        let mut key = 0;
        for &token in self.tokens.iter().take(depth) {
            key = child_key(key, token);
            self.path.push(key);
        }
    }

    /// Each filter by its subscriber and conditions, in ascending order of numbers.
    pub(super) fn filters(&self) -> impl Iterator<Item = (u32, &[Condition])> {
        let existing = self.filters.iter().filter(|row| row.depth != NO_DEPTH);
        existing.map(|&row| {
            let entry = &self.entries.items()[row.entry as usize];
            (entry.subscriber, self.conditions_of(row))
        })
    }

    fn conditions_of(&self, row: FilterRow) -> &[Condition] {
        let start = row.conditions as usize;
        match row.count {
            0 => &[],
            count => &self.conditions.items()[start..start + count as usize],
        }
    }

    /// Finds the bucket for a filter, and puts its entry there. Adds nodes on the way.
    fn descend(
        &mut self,
        filter: u32,
        entry: Entry,
        own_tokens: &[u64],
        is_set: bool,
    ) -> Result<(), Full> {
        let mut parent = None;
        let mut depth = 0;
        loop {
            // The filter goes to the parent's bucket if it has no more tokens, or if there
            // is no room for a node.
            let Some(&token) = own_tokens.get(depth) else {
                return self.push(parent, filter, entry, depth);
            };
            let parent_key = parent.map_or(0, |at| self.nodes.get(at).key);
            let Some((child, is_new)) = self.nodes.find_or_add(child_key(parent_key, token)) else {
                return self.push(parent, filter, entry, depth);
            };
            // The root has a list of its sets instead of bits.
            if is_new && (parent.is_some() || !is_set) {
                self.add_child(parent, token);
            }
            depth += 1;
            let node = *self.nodes.get(child);
            if node.children == 0 && (node.len < BUCKET_FULL || depth == DEPTH_MAX) {
                return self.push(Some(child), filter, entry, depth);
            }
            if node.children == 0 && depth < own_tokens.len() {
                self.split(child);
            }
            parent = Some(child);
        }
    }

    /// Counts a new child of a node.
    fn add_child(&mut self, parent: Option<u32>, token: u64) {
        let mut node = self.node(parent);
        node.children += 1;
        node.child_bits |= token_bit(token);
        self.set_node(parent, node);
    }

    /// Moves the filters of a full bucket that have more tokens to children.
    fn split(&mut self, at: u32) {
        let mut node = *self.nodes.get(at);
        let mut i = 0;
        let mut own_tokens = vec![];
        while i < node.len {
            let place = node.start + i;
            let filter = self.entry_filters[place as usize];
            let row = self.filters[filter as usize];
            tokens(self.conditions_of(row), &mut own_tokens);
            let Some(&token) = own_tokens.get(row.depth as usize) else {
                i += 1;
                continue;
            };
            let Some((child, is_new)) = self.nodes.find_or_add(child_key(node.key, token)) else {
                break;
            };
            if is_new {
                self.add_child(Some(at), token);
            }
            let entry = self.entries.items()[place as usize];
            if self.push(Some(child), filter, entry, row.depth as usize + 1) == Err(Full) {
                break;
            }
            // The filter's row has the new place already.
            self.close_gap(Some(at), place);
            node = *self.nodes.get(at);
        }
        self.shrink(Some(at));
    }

    /// Adds an entry to a bucket.
    fn push(
        &mut self,
        node: Option<u32>,
        filter: u32,
        entry: Entry,
        depth: usize,
    ) -> Result<(), Full> {
        let mut bucket = self.node(node);
        if bucket.len == bucket.capacity {
            let capacity = (bucket.capacity * 2).max(1);
            self.move_bucket(&mut bucket, capacity)?;
        }
        let place = bucket.start + bucket.len;
        self.put_entry(place, entry, filter);
        self.filters[filter as usize].depth = depth as u32;
        bucket.len += 1;
        self.set_node(node, bucket);
        Ok(())
    }

    fn put_entry(&mut self, place: u32, entry: Entry, filter: u32) {
        self.moves += 1;
        self.entries.set(place, entry);
        if self.entry_filters.len() <= place as usize {
            self.entry_filters.resize(place as usize + 1, 0);
        }
        self.entry_filters[place as usize] = filter;
        self.filters[filter as usize].entry = place;
    }

    /// Moves the last entry of a bucket to a place in it that becomes free.
    fn close_gap(&mut self, at: Option<u32>, place: u32) {
        let mut bucket = self.node(at);
        bucket.len -= 1;
        let last = bucket.start + bucket.len;
        if place != last {
            let entry = self.entries.items()[last as usize];
            self.put_entry(place, entry, self.entry_filters[last as usize]);
        }
        self.entries.set(last, Entry::default());
        self.set_node(at, bucket);
    }

    /// Removes an entry from the bucket at the end of the path.
    fn remove_entry(&mut self, place: u32) {
        let at = self.path.last().and_then(|&key| self.nodes.find(key));
        self.close_gap(at, place);
        self.shrink(at);
    }

    /// Shrinks a bucket that is mostly empty.
    fn shrink(&mut self, at: Option<u32>) {
        let mut bucket = self.node(at);
        if bucket.capacity > 0 && bucket.len <= bucket.capacity / 4 {
            let capacity = match bucket.len {
                0 => 0,
                len => len.next_power_of_two(),
            };
            // Without room for the smaller bucket, it stays as it is.
            let _ = self.move_bucket(&mut bucket, capacity);
            self.set_node(at, bucket);
        }
    }

    /// Moves a bucket to a run of another capacity.
    fn move_bucket(&mut self, bucket: &mut Node, capacity: u32) -> Result<(), Full> {
        let start = self.entries.take(capacity as usize).ok_or(Full)?;
        for i in 0..bucket.len {
            let old = bucket.start + i;
            let entry = self.entries.items()[old as usize];
            self.put_entry(start + i, entry, self.entry_filters[old as usize]);
            self.entries.set(old, Entry::default());
        }
        self.entries
            .give_back(bucket.start, bucket.capacity as usize);
        (bucket.start, bucket.capacity) = (start, capacity);
        Ok(())
    }

    /// Removes the nodes at the end of the path that are empty now.
    fn prune(&mut self) {
        while let Some(key) = self.path.pop() {
            let Some(at) = self.nodes.find(key) else {
                continue;
            };
            let node = self.nodes.get(at);
            if node.len > 0 || node.children > 0 {
                return;
            }
            self.entries.give_back(node.start, node.capacity as usize);
            self.nodes.remove(at);
            let parent = self.path.last().and_then(|&key| self.nodes.find(key));
            if parent.is_none() && self.path_is_set {
                return;
            }
            let mut node = self.node(parent);
            node.children -= 1;
            if node.children == 0 {
                node.child_bits = 0;
            }
            self.set_node(parent, node);
        }
    }

    fn node(&self, at: Option<u32>) -> Node {
        at.map_or(self.root, |at| *self.nodes.get(at))
    }

    fn set_node(&mut self, at: Option<u32>, node: Node) {
        match at {
            Some(at) => self.nodes.set(at, node),
            None => self.root = node,
        }
    }

    /// How many entries were written so far: the work of all changes.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Bytes in use: nodes, entries, conditions, sets, and the rows of filters.
    pub fn bytes(&self) -> usize {
        self.nodes.bytes()
            + size_of_val(self.entries.items())
            + size_of_val(self.conditions.items())
            + self.sets.bytes()
            + size_of_val(&self.entry_filters[..])
            + size_of_val(&self.filters[..])
    }
}

/// The bit of a node's `child_bits` for children with this token.
#[inline]
pub fn token_bit(token: u64) -> u64 {
    1 << (token >> 58)
}

/// The conditions of an entry whose filter matches everything.
pub const NO_CONDITIONS: u32 = u32::MAX;
/// The conditions of a free entry, which matches nothing.
pub const NO_FILTER: u32 = u32::MAX - 1;
/// The depth of a filter that does not exist.
const NO_DEPTH: u32 = u32::MAX;
/// A longer bucket is split, if its filters differ.
const BUCKET_FULL: u32 = 4;
/// The greatest depth of the tree: the length of a search's stack.
pub const DEPTH_MAX: usize = 12;
/// Buckets are at least a quarter full, and some are free for a time.
const ENTRIES_PER_FILTER: usize = 6;
