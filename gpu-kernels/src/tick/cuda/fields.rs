//! Flow fields: `kernels/tick/fields.cu`, before the stage `logic`, once doors are closed.

use device::{Device, DriverError, Grid};
use shared::WorldConfig;
use shared::world::field::Goals;

use super::launcher::{BLOCK, Launcher};
use super::layout::World;
use super::sizes::Sizes;
use crate::space::field::{self, FieldCells};
use crate::tick::state::FieldState;

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
    /// Takes those fields that are due, brings into force what was taken before, and goes on with
    /// all. `are_begun` is false at the start and after a restore.
    pub fn run(
        &self,
        run: &mut Launcher,
        config: &WorldConfig,
        are_begun: &mut bool,
    ) -> Result<(), DriverError> {
        let fields = &config.schema.fields;
        if fields.is_empty() {
            return Ok(());
        }
        if !std::mem::replace(are_begun, true) {
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
            run.grid(self.finish, Grid::blocks(1, TILE_CELLS))?;
            run.items(self.force, run.sizes.field_cells.div_ceil(8))?;
            run.items(self.take, run.sizes.set_words)?;
            if let Goals::Kind(kind) = field.goals {
                run.tick.field_kind = kind.into();
                run.items(self.goals, run.sizes.capacity)?;
            }
            self.begin(run, number)?;
        }
        let tiles = run.sizes.field_tiles * fields.len() as u64;
        let blocks = tiles.min(u64::from(BLOCKS_EACH * run.device.multiprocessors()));
        for _ in 0..rounds(config, run.sizes) {
            run.grid(self.spread, Grid::blocks(blocks as u32, TILE_CELLS))?;
        }
        Ok(())
    }

    fn begin(&self, run: &mut Launcher, number: usize) -> Result<(), DriverError> {
        run.tick.field = number as u32;
        run.items(self.begin, run.sizes.field_cells)
    }

    /// Adds up the hash.
    pub fn hash(&self, run: &Launcher) -> Result<(), DriverError> {
        let words = run.sizes.fields * SETS * run.sizes.set_words;
        let blocks_max = u64::from(BLOCKS_EACH * run.device.multiprocessors());
        let blocks = words.div_ceil(u64::from(BLOCK)).min(blocks_max);
        run.grid(self.hash, Grid::blocks(blocks as u32, BLOCK))
    }
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

/// Uploads what fields have in common, and their goals that stay the same.
pub fn prepare(device: &Device, world: &World, config: &WorldConfig) -> Result<(), DriverError> {
    let schema = &config.schema;
    let Some(walls) = schema.layers.blocked() else {
        return Ok(());
    };
    let mut costs = vec![];
    for field in &schema.fields {
        costs.extend((0..=u8::MAX).map(|tag| field.cost(tag)));
    }
    device.write(world.field_costs.writable(), &costs)?;
    if world.field_tagged > 0 {
        device.write(world.field_tags.writable(), &schema.layers.tags_of_walls())?;
    }
    let mut goals = vec![];
    for field in &schema.fields {
        goals.extend(bits(field.own_goals(), walls.words()));
    }
    device.write(world.field_goals.writable(), &goals)?;
    let states = vec![FieldState::default(); schema.fields.len()];
    write_steps(device, world, config, &states)
}

/// Uploads the sets of a restored state, and the steps that are in force.
pub fn put(
    device: &Device,
    world: &World,
    config: &WorldConfig,
    states: &[FieldState],
) -> Result<(), DriverError> {
    let Some(walls) = config.schema.layers.blocked() else {
        return Ok(());
    };
    let mut sets = vec![];
    for FieldState {
        in_force,
        under_way,
    } in states
    {
        for FieldCells { goals, closed } in [in_force, under_way] {
            sets.extend(bits(goals, walls.words()));
            sets.extend(bits(closed, walls.words()));
        }
    }
    device.write(world.field_sets, &sets)?;
    write_steps(device, world, config, states)
}

fn write_steps(
    device: &Device,
    world: &World,
    config: &WorldConfig,
    states: &[FieldState],
) -> Result<(), DriverError> {
    let schema = &config.schema;
    let in_force = states.iter().map(|state| &state.in_force);
    let steps = field::steps(&schema.layers, &schema.fields, in_force);
    device.write(world.fields.writable(), &steps)
}

/// The sets of all fields as a snapshot has them.
pub fn states(sets: &[u32], fields: usize) -> Vec<FieldState> {
    if fields == 0 {
        return vec![];
    }
    let words = sets.len() / (fields * SETS as usize);
    let mut lists = sets.chunks_exact(words).map(cells);
    let mut next = || lists.next().unwrap_or_default();
    let state = |_| FieldState {
        in_force: FieldCells {
            goals: next(),
            closed: next(),
        },
        under_way: FieldCells {
            goals: next(),
            closed: next(),
        },
    };
    (0..fields).map(state).collect()
}

fn bits(cells: &[u32], words: usize) -> Vec<u32> {
    let mut bits = vec![0; words];
    for &cell in cells {
        bits[cell as usize / 32] |= 1 << (cell % 32);
    }
    bits
}

fn cells(bits: &[u32]) -> Vec<u32> {
    let words = (0..).zip(bits).filter(|(_, bits)| **bits != 0);
    let cells = words.flat_map(|(word, &bits)| {
        let own = (0..u32::BITS).filter(move |bit| bits >> bit & 1 == 1);
        own.map(move |bit| 32 * word + bit)
    });
    cells.collect()
}

/// Sets of cells that a field has: `SETS` of the kernels.
pub const SETS: u64 = 4;
/// The edge of a tile, and its cells: a thread for each.
const TILE: u32 = 32;
const TILE_CELLS: u32 = TILE * TILE;
/// Blocks for each multiprocessor.
const BLOCKS_EACH: u32 = 2;
const ROUNDS_MAX: u64 = 64;
