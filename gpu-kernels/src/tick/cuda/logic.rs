//! Stage: commands to updates, by count, scan and store (thesis 3.3).

use device::{DriverError, Grid, Kernel};

use super::launcher::Launcher;
use super::scripts::Scripts;
use super::upload::FrameCounts;
use super::world::{update_keys, update_values};

device::kernels! {
    pub struct LogicKernels {
        judge: "logic_judge",
        group: "logic_group",
        sum: "logic_sum",
        offsets: "logic_offsets",
        refused_count: "logic_refused_count",
        refused_store: "logic_refused_store",
        after: "logic_after",
    }
}

impl LogicKernels {
    pub fn run(
        &self,
        run: &mut Launcher,
        scripts: &Scripts,
        counts: &FrameCounts,
    ) -> Result<(), DriverError> {
        let commands = counts.commands_max;
        // Only of kinds that the tick may have.
        let of_kinds: Vec<(Kernel, Kernel, Grid)> = scripts
            .commands()
            .filter_map(|command| {
                let (count, store) = command.kernels()?;
                let n = counts.of_kind(command.form.kind);
                (n > 0).then(|| (count, store, grid(run, n)))
            })
            .collect();
        run.items(self.judge, commands)?;
        let is_given = |kind| counts.of_kind(kind) > 0;
        // No client gives another command.
        if !scripts.commands().any(|c| is_given(c.form.kind)) {
            return run.items(self.sum, commands);
        }
        run.items(self.group, commands)?;
        for &(count, _, grid) in &of_kinds {
            run.grid(count, grid)?;
        }
        run.items(self.sum, commands)?;
        run.items(self.offsets, commands)?;
        let given = u64::from(run.tick.frame_commands);
        run.items(self.refused_count, given)?;
        run.items(self.refused_store, given)?;
        let (keys, values) = (update_keys(&run.world), update_values(&run.world));
        // Updates are stored where the sort reads them, and read where it writes them.
        run.world.keys = keys.given(run.world.key_bits);
        run.world.values = values.given(run.world.key_bits);
        for &(_, store, grid) in &of_kinds {
            run.grid(store, grid)?;
        }
        run.world.keys = keys.first;
        run.world.values = values.first;
        match scripts.schedules_any() {
            true => run.items(self.after, u64::from(run.world.timed_max)),
            false => Ok(()),
        }
    }
}

/// Threads for `n` commands of a kind; those that get no thread of their own wait for one.
fn grid(run: &Launcher, n: u64) -> Grid {
    let blocks_max = u64::from(BLOCKS_EACH * run.device.multiprocessors());
    let blocks = n.div_ceil(u64::from(THREADS)).min(blocks_max);
    Grid::blocks(blocks as u32, THREADS)
}

/// So small that few commands are on many multiprocessors.
const THREADS: u32 = 128;
/// Blocks that a multiprocessor runs at once.
const BLOCKS_EACH: u32 = 16;
