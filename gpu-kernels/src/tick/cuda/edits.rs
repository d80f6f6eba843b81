//! Cells of layers that scripts change: `kernels/tick/edits.cu`, after births and deaths. The host applies
//! the same edits to layers of its own, for the output and the state hash.

use device::{Device, DriverError, Grid};
use shared::world::edit::{Edit, LayerKind};
use shared::world::layer::Layers;
use shared::{Limits, WorldConfig};

use super::launcher::Launcher;
use super::layout::World;
use super::sizes::Sizes;
use crate::tick::edits;
use crate::tick::output::TickOutput;

device::kernels! {
    pub struct EditKernels {
        apply: "edits_apply",
    }
}

impl EditKernels {
    /// Changes the cells that the tick's notifications ask for.
    pub fn run(&self, run: &Launcher) -> Result<(), DriverError> {
        match run.sizes.edits {
            0 => Ok(()),
            _ => run.grid(self.apply, Grid::blocks(1, BLOCK)),
        }
    }
}

/// The layers after the last tick that was collected.
pub struct EditedLayers {
    layers: Layers,
    limits: Limits,
    /// What its edited cells add to the state hash.
    hash: u64,
}

impl EditedLayers {
    pub fn new(config: &WorldConfig) -> EditedLayers {
        EditedLayers {
            layers: config.schema.layers.clone(),
            limits: config.limits.clone(),
            hash: 0,
        }
    }

    /// Applies the edits of a tick to its output. Returns what all edited cells add to the state hash.
    pub fn apply(&mut self, output: &mut TickOutput) -> u64 {
        output.edits.clear();
        if self.limits.edits_per_tick > 0 {
            let added = edits::apply(&mut self.layers, &self.limits, output);
            self.hash = self.hash.wrapping_add(added);
        }
        self.hash
    }

    /// Those of a restored state.
    pub fn restore(&mut self, config: &WorldConfig, edits: &[Edit]) {
        self.layers = config.schema.layers.with_edits(edits);
        let elements = edits.iter().map(Edit::element);
        self.hash = elements.fold(0, u64::wrapping_add);
    }
}

/// What the kernel has to know of layers.
pub fn describe(world: &mut World, config: &WorldConfig) {
    let layers = &config.schema.layers;
    world.edits_max = config.limits.edits_per_tick;
    world.edited_max = config.limits.edited_cells;
    for layer in LayerKind::ALL {
        let number = layer as usize;
        if let Some(grid) = layers.grid(layer).filter(|_| layers.is_editable(layer)) {
            world.edit_first[number] = grid.first.cast_unsigned();
            world.edit_row[number] = grid.row.cast_unsigned();
            [world.edit_width[number], world.edit_height[number]] =
                grid.cells.map(i32::cast_unsigned);
        }
    }
    if let Some(tags) = layers.tag() {
        world.edit_symbols = tags.symbols.cast_unsigned();
        world.edit_tags = layers.words().len() as u32 - world.edit_symbols;
    }
}

/// Uploads the layers of a restored state.
pub fn put(
    device: &Device,
    world: &World,
    sizes: &Sizes,
    config: &WorldConfig,
    edits: &[Edit],
) -> Result<(), DriverError> {
    if sizes.edits == 0 {
        return Ok(());
    }
    let layers = config.schema.layers.with_edits(edits);
    device.write(world.layers.writable(), layers.words())?;
    let walls = &layers.words()[..sizes.edited_walls() as usize];
    device.write(world.walls.writable(), walls)?;
    device.write(world.edited, &[edits.len() as u32])
}

/// The cells that differ, by all words of layers and those of walls without doors, of which there may
/// be none.
pub fn of_words(base: &Layers, mut words: Vec<i32>, walls: &[i32]) -> Vec<Edit> {
    if words.is_empty() {
        return vec![];
    }
    words[..walls.len()].copy_from_slice(walls);
    base.edits_among(&words)
}

/// Threads of the only block: `BLOCK` of the kernels.
const BLOCK: u32 = 256;
