//! Flow fields: for each cell of the layer `blocked`, the next one on a shortest way to a goal.
//!
//! A field is taken anew every so many ticks: where its goals are and which cells doors block, at the
//! start of a tick. It comes into force as many ticks later, and stays until the next one does.

use std::sync::Arc;

use super::id::Tick;
use super::layer::Blocked;

/// A field, of which scripts ask by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub goals: Goals,
    /// From 1 to [`REFRESH_TICKS_MAX`].
    pub refresh_ticks: u32,
    /// The first tick in which it is taken; less than `refresh_ticks`.
    pub first: u32,
    /// What it costs to leave a cell, from 1 to [`COST_MAX`]: by the number of its tag, where 0 is
    /// none. Tags beyond its end cost 1.
    pub costs: Vec<u8>,
}

/// Where the ways of a field end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goals {
    /// In the cells of all living entities of a kind.
    Kind(u16),
    /// In cells that stay the same: their places among the bits of walls, ascending.
    Cells(Arc<[u32]>),
}

impl Field {
    /// Whether it is taken at the start of a tick, and the one before comes into force.
    pub fn is_due(&self, tick: Tick) -> bool {
        tick.0 % u64::from(self.refresh_ticks) == u64::from(self.first)
    }

    /// What it costs to leave a cell whose tag has a number.
    pub fn cost(&self, tag: u8) -> u8 {
        self.costs.get(usize::from(tag)).copied().unwrap_or(1)
    }

    /// The cells of its goals that stay the same.
    pub fn own_goals(&self) -> &[u32] {
        match &self.goals {
            Goals::Kind(_) => &[],
            Goals::Cells(cells) => cells,
        }
    }
}

/// The number of words of a field: each has the steps of [`CELLS_IN_WORD`] cells, those of the
/// lowest place in its lowest bits.
pub fn words(walls: &Blocked) -> usize {
    walls.grid.row as usize * walls.grid.cells[1] as usize / CELLS_IN_WORD
}

/// How many steps are in a word.
pub const CELLS_IN_WORD: usize = 8;
/// Bits of a step: 0 is none, others are places in [`STEPS`], from 1.
pub const STEP_BITS: u32 = 4;
/// To the cell of higher `x`, of higher `y`, of lower `x`, of lower `y`. Of several steps on shortest
/// ways, the first is taken.
pub const STEPS: [[i32; 2]; 4] = [[1, 0], [0, 1], [-1, 0], [0, -1]];
/// The most fields of a world.
pub const FIELDS_MAX: usize = 64;
/// The most cells of all fields together, each of whose rows counts as a power of two, at least 32:
/// 64 fields of 1024 by 1024.
pub const FIELD_CELLS_MAX: u64 = 1 << 26;
/// The longest time between two refreshes.
pub const REFRESH_TICKS_MAX: u32 = 100_000;
/// What it costs at most to leave a cell.
pub const COST_MAX: u8 = 15;
