//! The cells that entities block: before the stage `logic`.

use device::DriverError;

use super::launcher::Launcher;

device::kernels! {
    pub struct DoorKernels {
        open: "doors_open",
        close: "doors_close",
    }
}

impl DoorKernels {
    /// Blocks the cells of all doors that live and are closed, and frees those of others.
    pub fn run(&self, run: &Launcher) -> Result<(), DriverError> {
        if run.sizes.wall_words == 0 {
            return Ok(());
        }
        run.items(self.open, run.sizes.wall_words)?;
        run.items(self.close, run.sizes.capacity)
    }
}
