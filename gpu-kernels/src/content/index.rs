//! Our way to match: a tree over what filters have in common.
//!
//! A filter asks for **tokens**: the set of its names, where they are few, and each
//! name with the one key that it must have; where names are many, each name alone
//! in place of their set. A notification offers all these of its attributes. It can
//! only satisfy filters whose tokens it offers, so filters are kept in a tree of
//! tokens: a node is a sequence of them, and holds a bucket of filters that begin
//! with it. Once a bucket is full, filters move on to their next token. A
//! notification descends along its own tokens; each filter in a bucket on the way is
//! first compared by a mask of its names, and then condition by condition.
//!
//! A notification of few attributes looks for every subset of its names; one of many
//! goes through the list of sets instead, and looks for those that it has.
//!
//! So a filter of rare names costs nothing to those who lack them, filters that
//! differ in what they equal part by that, and what is common to many is looked at
//! once. A change costs what its own filters cost: nothing is ever rebuilt. Only the bucket
//! of a filter moves, by itself, when it has doubled: filters that nothing tells apart share
//! one.

mod nodes;
mod sets;

pub use nodes::{Node, NodeTable, child_key};
pub use sets::{NameSet, SET_NAMES_MAX, Sets, subsets};

use super::compile::{Condition, name_bit, tokens};
use super::slab::Slab;

/// The tree. All arrays are plain, so that a copy on a device is one of bytes.
pub struct Index {
    pub(super) nodes: NodeTable,
    /// Filters without tokens, and those that found no room further down.
    pub(super) root: Node,
    /// Buckets.
    pub(super) entries: Slab<Entry>,
    pub(super) conditions: Slab<Condition>,
    pub(super) sets: Sets,
    /// Which filter each entry is.
    entry_filters: Vec<u32>,
    filters: Vec<FilterRow>,
    /// Entries put anywhere, so far.
    moves: u64,
    tokens: Vec<u64>,
    path: Vec<u64>,
    /// Whether the path begins with a set of names.
    path_is_set: bool,
}

/// A filter in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Entry {
    /// The bits of all names that it asks for.
    pub names: u64,
    /// Where its conditions begin, or [`NO_CONDITIONS`], or [`NO_FILTER`].
    pub conditions: u32,
    pub interface: u32,
}

impl Default for Entry {
    fn default() -> Entry {
        Entry {
            names: 0,
            conditions: NO_FILTER,
            interface: 0,
        }
    }
}

const _: () = assert!(size_of::<Entry>() == 16);

/// A filter that holds always.
pub const NO_CONDITIONS: u32 = u32::MAX;
/// Of an entry that is free: nothing matches it, wherever it stands.
pub const NO_FILTER: u32 = u32::MAX - 1;

#[derive(Clone, Copy)]
struct FilterRow {
    conditions: u32,
    count: u32,
    /// Where it stands among the entries.
    entry: u32,
    /// How many of its tokens lead to its bucket, or [`GONE`].
    depth: u32,
}

impl FilterRow {
    const GONE: FilterRow = FilterRow {
        conditions: 0,
        count: 0,
        entry: 0,
        depth: GONE,
    };
}

const GONE: u32 = u32::MAX;

/// There is no room for another filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl Index {
    /// For so many filters and conditions at once.
    pub fn new(filters: usize, conditions: usize) -> Index {
        Index {
            nodes: NodeTable::new(filters),
            root: Node::default(),
            // Buckets are at least a quarter full, and some are free for a time.
            entries: Slab::new(filters * ENTRIES_PER_FILTER + 64),
            // Runs of some lengths may be free while another is asked for.
            conditions: Slab::new(conditions + conditions / 4),
            sets: Sets::default(),
            // Taken as they are used, and never moved.
            entry_filters: Vec::with_capacity(filters * ENTRIES_PER_FILTER + 64),
            filters: Vec::with_capacity(filters),
            moves: 0,
            tokens: vec![],
            path: vec![],
            path_is_set: false,
        }
    }

    /// Puts a filter under a number that is free.
    pub fn insert(
        &mut self,
        filter: u32,
        conditions: &[Condition],
        interface: u32,
    ) -> Result<(), Full> {
        let start = self.conditions.take(conditions.len()).ok_or(Full)?;
        for (i, condition) in conditions.iter().enumerate() {
            self.conditions.set(start + i as u32, *condition);
        }
        if self.filters.len() <= filter as usize {
            self.filters.resize(filter as usize + 1, FilterRow::GONE);
        }
        self.filters[filter as usize] = FilterRow {
            conditions: start,
            count: conditions.len() as u32,
            entry: 0,
            depth: GONE,
        };
        let entry = Entry {
            names: conditions
                .iter()
                .fold(0, |bits, c| bits | name_bit(u32::from(c.name))),
            conditions: match conditions.is_empty() {
                true => NO_CONDITIONS,
                false => start,
            },
            interface,
        };
        let mut own = std::mem::take(&mut self.tokens);
        tokens(conditions, &mut own);
        let is_set = NameSet::of(conditions).is_some();
        let done = self.descend(filter, entry, &own, is_set);
        self.tokens = own;
        if done.is_err() {
            self.conditions.give_back(start, conditions.len());
            // Nodes made on the way hold nothing.
            self.set_path(conditions, usize::MAX);
            self.prune();
        } else if let Some(set) = NameSet::of(conditions) {
            self.sets.add(set);
        }
        done
    }

    /// Takes a filter out.
    pub fn remove(&mut self, filter: u32) {
        let row = self.filters[filter as usize];
        let conditions = self.conditions_of(row).to_vec();
        self.set_path(&conditions, row.depth as usize);
        self.take_entry(row.entry);
        self.conditions
            .give_back(row.conditions, row.count as usize);
        self.filters[filter as usize].depth = GONE;
        self.prune();
        if let Some(set) = NameSet::of(&conditions) {
            self.sets.remove(set);
        }
    }

    /// The nodes of the first `depth` tokens.
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

    /// Each filter, with its interface and conditions, by number.
    pub(super) fn filters(&self) -> impl Iterator<Item = (u32, &[Condition])> {
        let there = self.filters.iter().filter(|row| row.depth != GONE);
        there.map(|&row| {
            let entry = &self.entries.items()[row.entry as usize];
            (entry.interface, self.conditions_of(row))
        })
    }

    fn conditions_of(&self, row: FilterRow) -> &[Condition] {
        let start = row.conditions as usize;
        match row.count {
            0 => &[],
            count => &self.conditions.items()[start..start + count as usize],
        }
    }

    /// Finds a filter's bucket, and makes nodes on the way.
    fn descend(
        &mut self,
        filter: u32,
        entry: Entry,
        own: &[u64],
        is_set: bool,
    ) -> Result<(), Full> {
        let mut parent = None;
        let mut depth = 0;
        loop {
            // The parent's bucket serves where the filter ends, or there is no room
            // for a node.
            let Some(&token) = own.get(depth) else {
                return self.push(parent, filter, entry, depth);
            };
            let parent_key = parent.map_or(0, |at| self.nodes.get(at).key);
            let Some((child, is_new)) = self.nodes.find_or_add(child_key(parent_key, token)) else {
                return self.push(parent, filter, entry, depth);
            };
            // The root knows its sets by their list.
            if is_new && (parent.is_some() || !is_set) {
                self.adopt(parent, token);
            }
            depth += 1;
            let node = *self.nodes.get(child);
            if node.children == 0 && (node.len < BUCKET_FULL || depth == DEPTH_MAX) {
                return self.push(Some(child), filter, entry, depth);
            }
            if node.children == 0 && depth < own.len() {
                self.split(child);
            }
            parent = Some(child);
        }
    }

    /// Notes a new child.
    fn adopt(&mut self, parent: Option<u32>, token: u64) {
        let mut node = self.node(parent);
        node.children += 1;
        node.child_bits |= token_bit(token);
        self.set_node(parent, node);
    }

    /// Moves those of a full bucket that have more tokens to children.
    fn split(&mut self, at: u32) {
        let mut node = *self.nodes.get(at);
        let mut i = 0;
        let mut own = vec![];
        while i < node.len {
            let place = node.start + i;
            let filter = self.entry_filters[place as usize];
            let row = self.filters[filter as usize];
            tokens(self.conditions_of(row), &mut own);
            let Some(&token) = own.get(row.depth as usize) else {
                i += 1;
                continue;
            };
            let Some((child, is_new)) = self.nodes.find_or_add(child_key(node.key, token)) else {
                break;
            };
            if is_new {
                self.adopt(Some(at), token);
            }
            let entry = self.entries.items()[place as usize];
            if self.push(Some(child), filter, entry, row.depth as usize + 1) == Err(Full) {
                break;
            }
            // Its new place is noted: only the old one is taken.
            self.close_gap(Some(at), place);
            node = *self.nodes.get(at);
        }
        self.fit(Some(at));
    }

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

    /// The last of a bucket takes the place of one that leaves.
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

    fn take_entry(&mut self, place: u32) {
        let at = self.path.last().and_then(|&key| self.nodes.find(key));
        self.close_gap(at, place);
        self.fit(at);
    }

    /// Shrinks a bucket that is mostly empty.
    fn fit(&mut self, at: Option<u32>) {
        let mut bucket = self.node(at);
        if bucket.capacity > 0 && bucket.len <= bucket.capacity / 4 {
            let capacity = match bucket.len {
                0 => 0,
                len => len.next_power_of_two(),
            };
            // Where there is no room to move to, it stays as large as it is.
            let _ = self.move_bucket(&mut bucket, capacity);
            self.set_node(at, bucket);
        }
    }

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

    /// Takes away the nodes at the end of the path that hold nothing any more.
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

    /// How many entries were put anywhere so far: the work that changes made.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Bytes in use: nodes, buckets, conditions, and what finds filters again.
    pub fn bytes(&self) -> usize {
        self.nodes.bytes()
            + size_of_val(self.entries.items())
            + size_of_val(self.conditions.items())
            + self.sets.bytes()
            + size_of_val(&self.entry_filters[..])
            + size_of_val(&self.filters[..])
    }
}

/// Which of a node's 64 bits tells of children with this token.
#[inline]
pub fn token_bit(token: u64) -> u64 {
    1 << (token >> 58)
}

/// A longer bucket is split, where its filters differ.
const BUCKET_FULL: u32 = 4;
/// The tree grows no deeper: a search's stack is as long.
const DEPTH_MAX: usize = 12;
const ENTRIES_PER_FILTER: usize = 6;
