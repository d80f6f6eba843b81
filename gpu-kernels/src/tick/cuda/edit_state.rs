//! Layers that scripts change, between host and device.

use device::{Device, DriverError};
use shared::WorldConfig;
use shared::world::edit::{Edit, LayerKind};
use shared::world::layer::Layers;

use super::layout::World;
use super::sizes::Sizes;

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
