//! Lists of nodes that are allocated one by one, as in `std::list`: the bench measures
//! the cost of following their pointers. This is the only reason for unsafe code.
#![allow(unsafe_code)]

use std::ptr;

/// A grid whose buckets are doubly linked lists of clients.
///
/// Each pointer is null or comes from a box, and is freed on drop only. Nodes never
/// leave the grid, and nothing outside refers to them.
pub struct Grid {
    size: i32,
    edge: i32,
    /// Buckets per axis.
    side: usize,
    /// The first node of each bucket, row by row.
    heads: Vec<*mut Node>,
    /// The node of each client.
    nodes: Vec<*mut Node>,
}

struct Node {
    next: *mut Node,
    previous: *mut Node,
    position: [i32; 2],
    client: u32,
}

impl Grid {
    /// Allocates and links the clients' nodes in the given order.
    pub fn new(size: i32, edge: i32, positions: &[[i32; 2]], order: &[u32]) -> Grid {
        let side = ((size - 1) / edge + 1) as usize;
        let mut grid = Grid {
            size,
            edge,
            side,
            heads: vec![ptr::null_mut(); side * side],
            nodes: vec![ptr::null_mut(); positions.len()],
        };
        for &client in order {
            let node = Box::into_raw(Box::new(Node {
                next: ptr::null_mut(),
                previous: ptr::null_mut(),
                position: positions[client as usize],
                client,
            }));
            grid.nodes[client as usize] = node;
            grid.link(node, grid.bucket(positions[client as usize]));
        }
        grid
    }

    /// Moves a client by an offset, and into another list if its bucket changed.
    pub fn step(&mut self, client: usize, offset: &[i32]) {
        let node = self.nodes[client];
        // SAFETY: the grid's node, and no reference to any node lives.
        let from = unsafe { (*node).position };
        let to = [0, 1].map(|axis| (from[axis] + offset[axis]).clamp(0, self.size - 1));
        // SAFETY: as above.
        unsafe { (*node).position = to };
        let (before, after) = (self.bucket(from), self.bucket(to));
        if before != after {
            self.unlink(node, before);
            self.link(node, after);
        }
    }

    /// Calls `visit` for all clients in a client's bucket and those around it.
    pub fn neighbours(&self, client: usize, mut visit: impl FnMut(u32)) {
        // SAFETY: the grid's node, which does not change while `self` is borrowed.
        let position = unsafe { (*self.nodes[client]).position };
        let [x, y] = position.map(|p| (p / self.edge) as usize);
        let around = |at: usize| at.saturating_sub(1)..=(at + 1).min(self.side - 1);
        for row in around(y) {
            for column in around(x) {
                let mut node = self.heads[row * self.side + column];
                while !node.is_null() {
                    // SAFETY: as above, for every node of a list.
                    unsafe {
                        visit((*node).client);
                        node = (*node).next;
                    }
                }
            }
        }
    }

    fn bucket(&self, position: [i32; 2]) -> usize {
        let [x, y] = position.map(|p| (p / self.edge) as usize);
        y * self.side + x
    }

    fn link(&mut self, node: *mut Node, bucket: usize) {
        let head = std::mem::replace(&mut self.heads[bucket], node);
        // SAFETY: both are the grid's nodes, and no reference to any node lives.
        unsafe {
            (*node).previous = ptr::null_mut();
            (*node).next = head;
            if !head.is_null() {
                (*head).previous = node;
            }
        }
    }

    /// Takes a node out of its bucket's list, in constant time.
    fn unlink(&mut self, node: *mut Node, bucket: usize) {
        // SAFETY: its neighbours are the grid's nodes, and no reference to any
        // node lives.
        unsafe {
            let (previous, next) = ((*node).previous, (*node).next);
            match previous.is_null() {
                true => self.heads[bucket] = next,
                false => (*previous).next = next,
            }
            if !next.is_null() {
                (*next).previous = previous;
            }
        }
    }
}

impl Drop for Grid {
    fn drop(&mut self) {
        for &node in self.nodes.iter().filter(|node| !node.is_null()) {
            // SAFETY: made from a box in `new`, and freed here once.
            drop(unsafe { Box::from_raw(node) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbours(grid: &Grid, client: usize) -> Vec<u32> {
        let mut found = vec![];
        grid.neighbours(client, |client| found.push(client));
        found.sort_unstable();
        found
    }

    #[test]
    fn neighbours_are_the_clients_of_nine_buckets() {
        // Edge 10: buckets (0, 0), (1, 0), (2, 0), (0, 0), (3, 3).
        let positions = [[5, 5], [15, 5], [25, 5], [9, 9], [39, 39]];
        let mut grid = Grid::new(40, 10, &positions, &[4, 2, 0, 3, 1]);
        assert_eq!(neighbours(&grid, 0), [0, 1, 3]);
        assert_eq!(neighbours(&grid, 1), [0, 1, 2, 3]);
        assert_eq!(neighbours(&grid, 4), [4]);
        // Client 3 moves into the bucket of client 4; client 0 stays.
        grid.step(3, &[100, 100]);
        assert_eq!(neighbours(&grid, 4), [3, 4]);
        assert_eq!(neighbours(&grid, 0), [0, 1]);
        grid.step(4, &[-10, 0]);
        assert_eq!(neighbours(&grid, 4), [3, 4]);
        grid.step(4, &[-10, 0]);
        assert_eq!(neighbours(&grid, 4), [4]);
        assert_eq!(neighbours(&grid, 3), [3]);
    }
}
