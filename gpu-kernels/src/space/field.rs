//! The steps of flow fields: for each cell, the next one on a shortest way to a goal.
//!
//! The distance of a goal's cell is 0. That of another free cell is the least distance of those
//! beside it, and what it costs to leave the cell: there is exactly one solution. The step of a cell,
//! free or not, is to the cell beside it that has the least distance.

use serde::{Deserialize, Serialize};
use shared::world::field::{CELLS_IN_WORD, COST_MAX, Field, STEP_BITS, words};
use shared::world::layer::{Blocked, Layers};

/// What a field depends on besides the world file: places among the bits of walls, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldCells {
    /// The cells of goals that come and go.
    pub goals: Vec<u32>,
    /// The cells that doors block and nothing else does.
    pub closed: Vec<u32>,
}

/// The cells of a world, as all its fields have them.
#[derive(Clone, Debug)]
pub struct Ground {
    walls: Blocked,
    layers: Layers,
    /// By place among the bits of walls; empty in worlds without tags.
    tags: Vec<u8>,
}

impl Ground {
    /// `None` in worlds without fields. `layers` are those of a world without doors.
    pub fn new(layers: &Layers, fields: &[Field]) -> Option<Ground> {
        let walls = *layers.blocked().filter(|_| !fields.is_empty())?;
        let has_costs = fields.iter().any(|field| !field.costs.is_empty());
        Some(Ground {
            walls,
            layers: layers.clone(),
            tags: if has_costs {
                layers.tags_of_walls()
            } else {
                vec![]
            },
        })
    }

    /// The number of words of each field.
    pub fn words(&self) -> usize {
        words(&self.walls)
    }

    /// The place of a position's cell among the bits of walls.
    pub fn place(&self, position: [i32; 2]) -> u32 {
        let grid = self.walls.grid;
        let [x, y] = position.map(|axis| axis >> grid.edge_bits);
        (y * grid.row + x) as u32
    }
}

/// The words of all fields of a world, whose layers are those without doors.
pub fn steps<'a>(
    layers: &Layers,
    fields: &[Field],
    cells: impl Iterator<Item = &'a FieldCells>,
) -> Vec<i32> {
    let Some(ground) = Ground::new(layers, fields) else {
        return vec![];
    };
    let mut search = Search::default();
    let mut words = vec![0; ground.words() * fields.len()];
    let own = words.chunks_exact_mut(ground.words());
    for ((field, cells), steps) in fields.iter().zip(cells).zip(own) {
        search.run(&ground, field, cells, steps);
    }
    words
}

/// A search for the steps of one field at a time, by Dijkstra's algorithm. Its lists have a cell more
/// than the world on each side, which is blocked.
#[derive(Clone, Default)]
pub struct Search {
    /// By cell: what it costs to leave it; 0 where it is blocked.
    costs: Vec<u8>,
    /// By cell; `u32::MAX` where no goal is reached.
    distances: Vec<u32>,
    /// Cells by distance, modulo how many lists there are.
    queues: [Vec<u32>; COST_MAX as usize + 1],
}

impl Search {
    /// Bytes for each cell: the lists, and an entry of the queues for each of its sides.
    pub const CELL_BYTES: u64 = 1 + 4 + 4 * 4;

    /// Finds the steps of a field.
    pub fn run(&mut self, ground: &Ground, field: &Field, cells: &FieldCells, steps: &mut [i32]) {
        let [width, height] = ground.walls.grid.cells.map(|cells| cells as usize);
        let stride = width + 2;
        self.take_costs(ground, field, cells, stride);
        self.distances.clear();
        self.distances.resize(self.costs.len(), u32::MAX);
        let row = ground.walls.grid.row as usize;
        let at = |place: u32| {
            let (x, y) = (place as usize % row, place as usize / row);
            (y + 1) * stride + x + 1
        };
        for &goal in cells.goals.iter().chain(field.own_goals()) {
            let goal = at(goal);
            self.distances[goal] = 0;
            self.queues[0].push(goal as u32);
        }
        self.spread(stride);
        steps.fill(0);
        let sides = sides(stride);
        for y in 0..height {
            for x in 0..width {
                let cell = (y + 1) * stride + x + 1;
                let (mut step, mut least) = (0, u32::MAX);
                if self.distances[cell] > 0 {
                    for (side, number) in sides.into_iter().zip(1..) {
                        let distance = self.distances[cell.wrapping_add_signed(side)];
                        if distance < least {
                            (step, least) = (number, distance);
                        }
                    }
                }
                let place = y * row + x;
                let shift = (place % CELLS_IN_WORD) as u32 * STEP_BITS;
                steps[place / CELLS_IN_WORD] |= step << shift;
            }
        }
    }

    fn take_costs(&mut self, ground: &Ground, field: &Field, cells: &FieldCells, stride: usize) {
        let grid = ground.walls.grid;
        let height = grid.cells[1] as usize;
        let row = grid.row as usize;
        self.costs.clear();
        self.costs.resize(stride * (height + 2), 0);
        let words = ground.layers.words();
        for y in 0..height {
            for x in 0..grid.cells[0] as usize {
                let place = y * row + x;
                let is_wall = words[place / 32] >> (place % 32) & 1 == 1;
                let tag = ground.tags.get(place).copied().unwrap_or(0);
                let cost = if is_wall { 0 } else { field.cost(tag) };
                self.costs[(y + 1) * stride + x + 1] = cost;
            }
        }
        for &closed in &cells.closed {
            let (x, y) = (closed as usize % row, closed as usize / row);
            self.costs[(y + 1) * stride + x + 1] = 0;
        }
    }

    /// Finds the distances of all cells from which goals can be reached.
    fn spread(&mut self, stride: usize) {
        let sides = sides(stride);
        let lists = self.queues.len();
        // The distance of those in the list, and how many lists in a row were empty.
        let (mut distance, mut empty) = (0, 0);
        while empty < lists {
            let mut list = std::mem::take(&mut self.queues[distance as usize % lists]);
            empty = if list.is_empty() { empty + 1 } else { 0 };
            for cell in list.drain(..) {
                if self.distances[cell as usize] != distance {
                    continue;
                }
                for side in sides {
                    let beside = (cell as usize).wrapping_add_signed(side);
                    let cost = u32::from(self.costs[beside]);
                    let found = distance + cost;
                    if cost > 0 && found < self.distances[beside] {
                        self.distances[beside] = found;
                        self.queues[found as usize % lists].push(beside as u32);
                    }
                }
            }
            // A list with no room keeps what it had.
            self.queues[distance as usize % lists] = list;
            distance += 1;
        }
    }
}

/// The places of the cells beside one, as seen from it, in the order of
/// [`STEPS`](shared::world::field::STEPS).
fn sides(stride: usize) -> [isize; 4] {
    let stride = stride as isize;
    [1, stride, -1, -stride]
}
