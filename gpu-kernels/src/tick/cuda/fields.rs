//! Flow fields: `kernels/tick/fields.cu`, before the stage `logic`, once doors are closed.

use device::{DriverError, Grid};
use shared::WorldConfig;
use shared::world::field::Goals;

use super::launcher::{BLOCK, Launcher};
use super::sizes::Sizes;

device::kernels! {
    pub struct FieldKernels {
        begin: "fields_begin",
        spread: "fields_spread",
        finish: "fields_finish",
        force: "fields_force",
        take: "fields_take",
        goals: "fields_goals",
        hash: "fields_hash",
    }
}

impl FieldKernels {
    /// Takes those fields that are due, brings into force what was taken before, and continues with
    /// all.
    pub fn run(
        &self,
        run: &mut Launcher,
        config: &WorldConfig,
        progress: &mut Progress,
    ) -> Result<(), DriverError> {
        let fields = &config.schema.fields;
        if fields.is_empty() {
            return Ok(());
        }
        run.tick.field_round = progress.round;
        let tiles = run.sizes.field_tiles * fields.len() as u64;
        if !std::mem::replace(&mut progress.are_begun, true) {
            run.device.fill(run.world.field_dirty, tiles, 0)?;
            for number in 0..fields.len() {
                self.begin(run, number)?;
            }
        }
        let now = shared::Tick(run.tick.number);
        for (number, field) in fields.iter().enumerate() {
            if !field.is_due(now) {
                continue;
            }
            run.tick.field = number as u32;
            run.grid(self.finish, Grid::blocks(1, BLOCK))?;
            run.items(self.force, run.sizes.field_cells.div_ceil(8))?;
            run.items(self.take, run.sizes.set_words)?;
            if let Goals::Kind(kind) = field.goals {
                run.tick.field_kind = kind.into();
                run.items(self.goals, run.sizes.capacity)?;
            }
            self.begin(run, number)?;
        }
        let blocks_max = u64::from(BLOCKS_EACH * run.device.multiprocessors());
        let blocks = tiles.div_ceil(TILES_AT_ONCE).min(blocks_max);
        for _ in 0..rounds(config, run.sizes) {
            run.grid(self.spread, Grid::blocks(blocks as u32, BLOCK))?;
            progress.round = (progress.round + 1) % ROUNDS;
            run.tick.field_round = progress.round;
        }
        Ok(())
    }

    fn begin(&self, run: &mut Launcher, number: usize) -> Result<(), DriverError> {
        run.tick.field = number as u32;
        run.items(self.begin, run.sizes.field_cells)
    }

    /// Adds up the hash.
    pub fn hash(&self, run: &Launcher) -> Result<(), DriverError> {
        let words = run.sizes.field_sets();
        let blocks_max = u64::from(BLOCKS_EACH * run.device.multiprocessors());
        let blocks = words.div_ceil(u64::from(BLOCK)).min(blocks_max);
        run.grid(self.hash, Grid::blocks(blocks as u32, BLOCK))
    }
}

/// How far all fields are.
#[derive(Default)]
pub struct Progress {
    /// False at the start and after a restore.
    are_begun: bool,
    /// The number of the next round.
    round: u32,
}

/// Rounds of a tick: as many as a way across the world takes in most, in the time of the field that is
/// refreshed the most often. What is left, a field's last tick does.
fn rounds(config: &WorldConfig, sizes: &Sizes) -> u64 {
    let ticks = config.schema.fields.iter().map(|field| field.refresh_ticks);
    let least = u64::from(ticks.min().unwrap_or(1));
    let across = config.schema.layers.blocked().map_or(0, |walls| {
        let along = |cells: i32| u64::from(cells.unsigned_abs().div_ceil(TILE));
        2 * (along(walls.grid.cells[0]) + along(walls.grid.cells[1]))
    });
    across
        .min(sizes.field_tiles)
        .div_ceil(least)
        .clamp(1, ROUNDS_MAX)
}

/// The edge of a tile, and how many a block has at once: a warp for each.
const TILE: u32 = 32;
const TILES_AT_ONCE: u64 = BLOCK as u64 / 32;
/// Blocks for each multiprocessor.
const BLOCKS_EACH: u32 = 4;
/// Rounds are numbered modulo this: there are two lists, and three numbers of how long they are.
const ROUNDS: u32 = 6;
const ROUNDS_MAX: u64 = 64;
