use shared::mix::mix;

use crate::content::slab::Dirty;

/// A sequence of tokens, with the filters that begin with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Node {
    /// A hash of the sequence; 0 for a free place. Where two sequences have the
    /// same, they share a node, which costs time but no match: filters are always
    /// compared in full.
    pub key: u64,
    /// See [`token_bit`](super::token_bit): where a bit is 0, no child has it.
    pub child_bits: u64,
    /// The bucket.
    pub start: u32,
    pub len: u32,
    pub capacity: u32,
    pub children: u32,
}

const _: () = assert!(size_of::<Node>() == 32);

/// The key of a node's child; the root's own key is 0.
#[inline]
pub fn child_key(parent: u64, token: u64) -> u64 {
    mix(parent, token).max(1)
}

/// Nodes by key: open addressing with linear probing. Its size is set at the
/// start; once it is three quarters full, filters stay where they are.
pub struct NodeTable {
    nodes: Vec<Node>,
    len: usize,
    dirty: Dirty,
}

impl NodeTable {
    pub fn new(filters: usize) -> NodeTable {
        let places = (filters * 2).next_power_of_two().max(64);
        NodeTable {
            nodes: vec![Node::default(); places],
            len: 0,
            dirty: Dirty::default(),
        }
    }

    #[inline]
    pub fn find(&self, key: u64) -> Option<u32> {
        let mask = self.nodes.len() - 1;
        let mut at = key as usize & mask;
        loop {
            match self.nodes[at].key {
                found if found == key => return Some(at as u32),
                0 => return None,
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The node's place, and whether it is new; None if there is no room.
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

    /// Frees a place, and closes the gap: no marks of the dead are left behind, so
    /// searches stay short however much comes and goes.
    pub fn remove(&mut self, at: u32) {
        let mask = self.nodes.len() - 1;
        let mut gap = at as usize;
        let mut next = (gap + 1) & mask;
        while self.nodes[next].key != 0 {
            let home = self.nodes[next].key as usize & mask;
            // It may move back if the gap is on the way from its home.
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
        self.dirty.touch(at as usize);
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Which places changed.
    pub fn changed(&self) -> &[u32] {
        self.dirty.list()
    }

    pub fn dirty(&mut self) -> &mut Dirty {
        &mut self.dirty
    }

    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Those in use.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<Node>()
    }
}
