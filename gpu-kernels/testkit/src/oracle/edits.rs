//! Edits: cells of layers that scripts changed, one notification after another.

use shared::world::edit::{EDIT_KIND, Edit, LayerKind};
use shared::world::layer::Sheets;

use super::{Oracle, OracleOutput};

impl Oracle {
    /// Changes cells as the tick's notifications ask.
    pub(super) fn change_cells(&mut self, out: &mut OracleOutput) {
        let limits = &self.config.limits;
        let (edits_max, cells_max) = (limits.edits_per_tick as usize, limits.edited_cells as usize);
        let sheets = self.config.schema.layers.sheets();
        let mut taken = 0;
        for notification in &out.notifications {
            if notification.kind != EDIT_KIND.0 {
                continue;
            }
            let words = notification.words();
            let (layer, cell) = (LayerKind::ALL[words[0] as usize], words[1] as u32);
            let value = match layer {
                LayerKind::Blocked => i32::from(words[2] != 0),
                LayerKind::Height => words[2].clamp(-32768, 32767),
                LayerKind::Tag if words[2] == -1 => 0,
                LayerKind::Tag => match sheets.tag_symbols.iter().position(|&s| s == words[2]) {
                    Some(place) => place as i32 + 1,
                    None => {
                        out.counts.edits_dropped += 1;
                        continue;
                    }
                },
            };
            let base = cell_of(&sheets, layer, cell);
            let before = self.edited.get(&(layer, cell)).copied();
            let is_full = before.is_none() && value != base && self.edited.len() >= cells_max;
            if taken == edits_max || is_full {
                out.counts.edits_dropped += 1;
                continue;
            }
            taken += 1;
            if value == before.unwrap_or(base) {
                continue;
            }
            self.edited.remove(&(layer, cell));
            if value != base {
                self.edited.insert((layer, cell), value);
            }
            out.edits.push(Edit { layer, cell, value });
        }
        out.counts.edits = out.edits.len() as u64;
    }

    /// All cells that are not as the file has them.
    pub(super) fn edits(&self) -> Vec<Edit> {
        let edited = self.edited.iter();
        let edits = edited.map(|(&(layer, cell), &value)| Edit { layer, cell, value });
        edits.collect()
    }

    /// Whether the cell of a place is a wall, doors aside.
    pub(super) fn has_wall(&self, place: [i32; 3]) -> bool {
        let layers = &self.config.schema.layers;
        let Some(walls) = layers.blocked() else {
            return false;
        };
        let inside = |axis: usize| place[axis].clamp(0, self.size(axis) - 1);
        let [x, y] = [0, 1].map(|axis| inside(axis) >> walls.grid.edge_bits);
        let cell = (y * walls.grid.cells[0] + x) as u32;
        match self.edited.get(&(LayerKind::Blocked, cell)) {
            Some(&is_wall) => is_wall != 0,
            None => layers.is_blocked(place),
        }
    }

    /// A word of the layers, doors aside.
    pub(super) fn edited_word(&self, place: i32) -> i32 {
        let layers = &self.config.schema.layers;
        let mut word = layers.word(place) as u32;
        for (&(layer, cell), &value) in &self.edited {
            let grid = layers
                .grid(layer)
                .expect("edits are of layers that are there");
            let width = grid.cells[0] as u32;
            let bits = match layer {
                LayerKind::Blocked => 1,
                LayerKind::Height => 16,
                LayerKind::Tag => 8,
            };
            let bit = (cell / width * grid.row as u32 + cell % width) * bits;
            if grid.first + (bit / 32) as i32 == place {
                let mask = (1 << bits) - 1;
                word &= !(mask << (bit % 32));
                word |= (value as u32 & mask) << (bit % 32);
            }
        }
        word as i32
    }
}

/// What a cell is in the file.
fn cell_of(sheets: &Sheets, layer: LayerKind, cell: u32) -> i32 {
    let cell = cell as usize;
    let found = match layer {
        LayerKind::Blocked => (sheets.blocked.as_ref()).map(|sheet| i32::from(sheet.cells[cell])),
        LayerKind::Height => (sheets.height.as_ref()).map(|sheet| i32::from(sheet.cells[cell])),
        LayerKind::Tag => (sheets.tag.as_ref()).map(|sheet| i32::from(sheet.cells[cell])),
    };
    found.expect("scripts change layers that are there")
}
