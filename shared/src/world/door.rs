//! Doors: entities that block cells of the layer `blocked` while they live and are closed.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::layer::{Grid, Layers};

/// A kind whose entities block cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Door {
    pub kind: u16,
    /// How many cells an entity blocks along `x` and `y`: those nearest around it, each from 1 to
    /// [`DOOR_CELLS_MAX`].
    pub cells: [u8; 2],
    /// The column that is 0 while an entity is open; `None`: it never is.
    pub closed: Option<u16>,
}

/// The most cells that an entity blocks along an axis.
pub const DOOR_CELLS_MAX: u8 = 32;

impl Door {
    /// Whether an entity with these attributes blocks its cells.
    pub fn is_closed(&self, row: &[i32]) -> bool {
        self.closed.is_none_or(|column| {
            row.get(usize::from(column))
                .is_some_and(|&value| value != 0)
        })
    }

    /// Calls `visit` with the place, among the bits of walls, of each cell that an entity at a
    /// position blocks. Cells outside of the world are left out.
    pub fn each_cell(&self, layers: &Layers, position: [i32; 2], mut visit: impl FnMut(u32)) {
        let Some(grid) = layers.blocked().map(|walls| walls.grid) else {
            return;
        };
        let [along, across] = self.span(&grid, position);
        for y in across {
            for x in along.clone() {
                visit((y * grid.row + x) as u32);
            }
        }
    }

    /// Whether a line as of [`Layers::sees`] leads to an entity: cells that it may block around it hide
    /// it from nobody, so that a closed door is seen.
    pub fn is_seen(&self, layers: &Layers, from: [i32; 3], position: [i32; 3]) -> bool {
        layers.blocked().is_none_or(|walls| {
            let own = self.span(&walls.grid, [position[0], position[1]]);
            layers.sees_over(from, position, &own)
        })
    }

    /// The cells along `x` and `y` that an entity at a position blocks in a grid of walls. Cells
    /// outside of the world are left out.
    pub fn span(&self, grid: &Grid, position: [i32; 2]) -> [Range<i32>; 2] {
        [0, 1].map(|axis| {
            let count = i32::from(self.cells[axis]);
            let half = 1 << (grid.edge_bits - 1);
            let low = position[axis].wrapping_sub((count - 1) * half) >> grid.edge_bits;
            low.max(0)..low.saturating_add(count).min(grid.cells[axis])
        })
    }
}

/// The cells, by their places among the bits of walls, that entities block: their kinds and rows.
pub fn closed_cells<'a>(
    doors: &[Door],
    layers: &Layers,
    entities: impl IntoIterator<Item = (u16, &'a [i32])>,
) -> Vec<u32> {
    let mut cells = vec![];
    for (kind, row) in entities {
        let door = doors.iter().find(|door| door.kind == kind);
        if let Some(door) = door.filter(|door| door.is_closed(row)) {
            door.each_cell(layers, [row[0], row[1]], |cell| cells.push(cell));
        }
    }
    cells
}

/// The layers of a world with the doors of its entities.
pub fn layers_with<'a>(
    doors: &[Door],
    layers: &Layers,
    entities: impl IntoIterator<Item = (u16, &'a [i32])>,
) -> Layers {
    let mut now = layers.clone();
    if !doors.is_empty() {
        now.close(closed_cells(doors, layers, entities));
    }
    now
}

/// Whether these can be the doors of a world with so many kinds and attributes; else what is wrong.
pub fn check(doors: &[Door], kinds: usize, attributes: usize) -> Result<(), &'static str> {
    let expected = [
        (
            doors.is_sorted_by(|a, b| a.kind < b.kind),
            "the kinds that block cells are not in order",
        ),
        (
            doors.iter().all(|door| usize::from(door.kind) < kinds),
            "a kind that blocks cells is none of the world's",
        ),
        (
            (doors.iter().flat_map(|door| door.cells)).all(|n| (1..=DOOR_CELLS_MAX).contains(&n)),
            "a kind blocks too few cells, or too many",
        ),
        (
            (doors.iter().filter_map(|door| door.closed))
                .all(|column| usize::from(column) < attributes),
            "what says whether a door is closed is no attribute of the world",
        ),
    ];
    match expected.into_iter().find(|(holds, _)| !holds) {
        Some((_, what)) => Err(what),
        None => Ok(()),
    }
}
