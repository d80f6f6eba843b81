//! The populations of kinds that are new. A world's own are born in its first tick, so these
//! are born in an extra tick, which is not sent to clients.

use anyhow::{Context, Result};
use gpu_kernels::{Backend, Frame};
use shared::WorldConfig;

use super::names::Names;
use durability::checkpoint::Body;

/// Kinds of the new world with how many of each are to be born.
pub fn of_new_kinds(names: &Names<'_>) -> Vec<(u16, u32)> {
    let given = names.given;
    let kinds = (0..).zip(&given.schema.kinds).zip(&given.populations);
    let new = kinds.filter(|((_, kind), population)| {
        names.kept.schema.kind(&kind.name).is_none() && **population > 0
    });
    new.map(|((number, _), &population)| (number, population))
        .collect()
}

/// The world a tick later, with all of them for which there is room.
pub fn bear(body: &mut Body, populations: &[(u16, u32)], backend: &mut dyn Backend) -> Result<u64> {
    backend.restore(&body.snapshot)?;
    let output = backend.tick(&frame(&body.world, body, populations))?;
    // Births and deaths of the tick before are not settled yet.
    body.births.extend(output.births.iter().cloned());
    body.deaths.extend(output.deaths.iter().copied());
    body.deaths.sort_unstable_by_key(|entity| entity.slot);
    body.hash.clone_from(&output.hash);
    let born = output.counts.births;
    drop(output);
    body.snapshot = backend.snapshot().context("the new populations")?;
    body.snapshot.known.iter_mut().for_each(Vec::clear);
    body.snapshot.behind.clear();
    Ok(born)
}

fn frame(world: &WorldConfig, body: &Body, populations: &[(u16, u32)]) -> Frame {
    let mut frame = Frame::new(body.snapshot.tick);
    for &(kind, population) in populations {
        // As in a world's first tick.
        frame.spawn_population(world, kind, population);
    }
    frame.order(world.seed);
    frame
}
