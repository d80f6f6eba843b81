//! What flow fields depend on, between host and device.

use device::{Device, DriverError};
use shared::WorldConfig;

use super::layout::World;
use super::sizes::FIELD_SETS;
use crate::space::field::{self, FieldCells};
use crate::tick::state::FieldState;

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
    let words = sets.len() / (fields * FIELD_SETS as usize);
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
