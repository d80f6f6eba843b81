//! Cells of layers that scripts change: `kernels/tick/edits.cu`, after what clients see was found. The host applies
//! the same edits to layers of its own, for the output and the state hash.

use device::{DriverError, Grid};
use shared::world::edit::Edit;
use shared::world::layer::Layers;
use shared::{Limits, WorldConfig};

use super::launcher::Launcher;
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

/// Threads of the only block: `BLOCK` of the kernels.
const BLOCK: u32 = 256;
