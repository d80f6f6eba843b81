//! The nodes of the tree: a hash table with open addressing.

use shared::world::mix::mix;

use crate::content::slab::Dirty;

/// A sequence of tokens, with the filters that begin with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Node {
    /// A hash of the sequence; 0 for a free place. Two sequences of the same hash share a
    /// node. This costs time but no match is wrong, since filters are compared in full.
    pub key: u64,
    /// The bits of its children's tokens ([`token_bit`](super::token_bit)).
    pub child_bits: u64,
    /// Where its bucket begins.
    pub start: u32,
    /// Entries in the bucket.
    pub len: u32,
    /// Room of the bucket, in entries.
    pub capacity: u32,
    /// The number of children.
    pub children: u32,
}

device::plain!(Node {
    key: u64,
    child_bits: u64,
    start: u32,
    len: u32,
    capacity: u32,
    children: u32,
});

/// The key of a node's child. The key of the root is 0.
#[inline]
pub fn child_key(parent: u64, token: u64) -> u64 {
    mix(parent, token).max(1)
}

/// The tag of a key: never 0, and from its high bits, since places come from the low ones.
#[inline]
fn tag(key: u64) -> u8 {
    (key >> 56) as u8 | 0x80
}

/// Nodes by key, with linear probing. The size of the table is fixed: once it is three
/// quarters full, no nodes are added.
pub struct NodeTable {
    nodes: Vec<Node>,
    /// The tag of each node's key, 0 for a free place. Most look-ups fail, and need only the
    /// tags, which fit a cache even if the nodes don't.
    tags: Vec<u8>,
    len: usize,
    dirty: Dirty,
}

impl NodeTable {
    /// A table for this many filters.
    pub fn new(filters: usize) -> NodeTable {
        let places = (filters * 2).next_power_of_two().max(64);
        NodeTable {
            nodes: vec![Node::default(); places],
            tags: vec![0; places],
            len: 0,
            dirty: Dirty::default(),
        }
    }

    /// The place of the node with a key.
    pub fn find(&self, key: u64) -> Option<u32> {
        let mask = self.nodes.len() - 1;
        let mut at = self.find_tag(key, key as usize & mask)?;
        while self.nodes[at].key != key {
            at = self.find_tag(key, (at + 1) & mask)?;
        }
        Some(at as u32)
    }

    /// Whether there may be a node with a key, by its tag.
    #[inline]
    pub fn may_have(&self, key: u64) -> bool {
        self.find_tag(key, key as usize & (self.nodes.len() - 1))
            .is_some()
    }

    #[inline]
    fn find_tag(&self, key: u64, mut at: usize) -> Option<usize> {
        let mask = self.tags.len() - 1;
        let wanted = tag(key);
        loop {
            match self.tags[at] {
                0 => return None,
                found if found == wanted => return Some(at),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The place of the node with a key, and whether it was added just now; `None` if there
    /// is no room.
    pub fn find_or_add(&mut self, key: u64) -> Option<(u32, bool)> {
        let mask = self.nodes.len() - 1;
        let mut at = key as usize & mask;
        while self.nodes[at].key != 0 {
            if self.nodes[at].key == key {
                return Some((at as u32, false));
            }
            at = (at + 1) & mask;
        }
        if self.len >= self.nodes.len() / 4 * 3 {
            return None;
        }
        self.len += 1;
        let node = Node {
            key,
            ..Node::default()
        };
        self.set(at as u32, node);
        Some((at as u32, true))
    }

    /// Frees a place, and moves nodes to close the gap. There are no tombstones, so searches
    /// stay short after any number of removals.
    pub fn remove(&mut self, at: u32) {
        let mask = self.nodes.len() - 1;
        let mut gap = at as usize;
        let mut next = (gap + 1) & mask;
        while self.nodes[next].key != 0 {
            let home = self.nodes[next].key as usize & mask;
            // The node may move if the gap is between its home and its place.
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(gap) & mask {
                self.set(gap as u32, self.nodes[next]);
                gap = next;
            }
            next = (next + 1) & mask;
        }
        self.set(gap as u32, Node::default());
        self.len -= 1;
    }

    #[inline]
    pub fn get(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    pub fn set(&mut self, at: u32, node: Node) {
        self.nodes[at as usize] = node;
        self.tags[at as usize] = match node.key {
            0 => 0,
            key => tag(key),
        };
        self.dirty.touch(at as usize);
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The places that changed, each once.
    pub fn changed(&self) -> &[u32] {
        self.dirty.list()
    }

    pub fn dirty(&mut self) -> &mut Dirty {
        &mut self.dirty
    }

    #[allow(clippy::len_without_is_empty)]
    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of the nodes in use.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<Node>()
    }
}
