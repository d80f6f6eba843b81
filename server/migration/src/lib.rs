//! Moves a persistent world to another world file. Attributes, kinds, symbols and commands are
//! matched by name; new values have their defaults, and removed ones are counted.
//!
//! | module | holds |
//! | --- | --- |
//! | `names` | the names of both worlds, matched |
//! | `slots` | entities and their values |
//! | `waiting` | commands that wait for their tick |
//! | `clients` | clients, and their holdings |
//! | [`populations`] | the populations of kinds that are new |
//! | [`changes`] | the report of changes |
//! | [`store`] | the new checkpoint beside the old files, and their archive |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod changes;
mod clients;
mod names;
pub mod populations;
mod slots;
pub mod store;
mod waiting;

#[cfg(test)]
mod tests;

use gpu_kernels::{RestoreError, SlotState, Snapshot, StateHash};
use shared::world::edit::Edit;
use shared::{ClientRow, Tick, WorldConfig};
use thiserror::Error;

use changes::{Changes, counted};
use durability::checkpoint::Body;
use names::Names;

/// Options of a migration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MigrationOptions {
    /// Entities of kinds that are gone are removed.
    pub removes_entities: bool,
    /// Attributes that have another name in the new file: the old one, and the new one.
    pub renames: Vec<(String, String)>,
}

/// A migrated world.
#[derive(Debug)]
pub struct Migrated {
    pub body: Body,
    /// The changes, a line each.
    pub changes: Vec<String>,
    /// Populations to be born: see [`populations::bear`].
    pub populations: Vec<(u16, u32)>,
}

/// Why a world can't be migrated to another file.
#[derive(Debug, Error)]
pub enum MigrationError {
    #[error("the world has {kept} axes, and the new file {given}: a world keeps its axes")]
    OtherAxes { kept: usize, given: usize },
    #[error(
        "there are entities of kinds that the new file lacks: {0}; keep these kinds, or remove \
         the entities with --remove-entities"
    )]
    KindsGone(String),
    #[error(
        "the new capacity is {capacity}, and {entities} entities live in higher slots: expected a \
         capacity of at least {needed}"
    )]
    CapacityTooSmall {
        capacity: u32,
        entities: usize,
        needed: u32,
    },
    #[error(
        "the new file allows {limit} clients, and {found} that may come back have higher \
         rows: expected limits.clients of at least {needed}"
    )]
    TooFewClients {
        limit: u32,
        found: usize,
        needed: u32,
    },
    #[error("rename {old}={new}: {reason}")]
    Rename {
        old: String,
        new: String,
        reason: &'static str,
    },
    #[error("the migrated world does not run: {0}")]
    Invalid(#[from] RestoreError),
}

/// The state of a world before a tick, for another world file.
pub fn migrate(
    kept: Body,
    given: &WorldConfig,
    options: &MigrationOptions,
) -> Result<Migrated, MigrationError> {
    let axes = [kept.world.dimensions(), given.dimensions()];
    if axes[0] != axes[1] {
        return Err(MigrationError::OtherAxes {
            kept: axes[0],
            given: axes[1],
        });
    }
    let old_world = kept.world;
    let renames = names::of_each_value(&options.renames, &old_world.schema, &given.schema);
    let names = Names::new(&old_world, given, &renames)?;
    let mut changes = Changes::default();
    names.describe(&mut changes);
    let mut snapshot = empty(given, &kept.snapshot);
    let removed = slots::migrate(&names, &kept.snapshot, &mut snapshot, options, &mut changes)?;
    keep_edits(
        &old_world,
        given,
        &kept.snapshot.edits,
        &mut snapshot,
        &mut changes,
    );
    waiting::migrate(&names, &kept.snapshot, &mut snapshot, &mut changes);
    let mut roster = kept.roster;
    clients::migrate(
        &names,
        &kept.snapshot,
        &mut snapshot,
        &mut roster,
        &mut changes,
    )?;
    snapshot.check(given)?;
    let (mut births, mut deaths) = (kept.births, kept.deaths);
    for birth in &mut births {
        let kind = names.kind(birth.kind);
        birth.kind = kind.unwrap_or(given.player_kind);
    }
    // Their clients are born again, as after any death.
    deaths.extend(removed);
    deaths.sort_unstable_by_key(|entity| entity.slot);
    let columns = given.schema.attributes.len();
    let hash = StateHash::of(
        &snapshot,
        columns,
        given.limits.observers_per_client as usize,
    );
    // A world that has not begun bears all of its own.
    let populations = match snapshot.tick {
        Tick(0) => vec![],
        _ => populations::of_new_kinds(&names),
    };
    for &(kind, population) in &populations {
        let kind = &given.schema.kinds[usize::from(kind)].name;
        let population = counted(u64::from(population), "entity", "entities");
        changes.say(format!(
            "kind {kind}: its population of {population} is born"
        ));
    }
    Ok(Migrated {
        body: Body {
            world: given.clone(),
            snapshot,
            hash,
            roster,
            births,
            deaths,
        },
        changes: changes.lines,
        populations,
    })
}

/// A world of the new file without entities and clients, before the same tick.
fn empty(given: &WorldConfig, kept: &Snapshot) -> Snapshot {
    let limits = &given.limits;
    let capacity = given.schema.world.capacity as usize;
    let clients = limits.clients as usize;
    let carriers = capacity * usize::from(limits.entity_regions);
    Snapshot {
        tick: kept.tick,
        states: vec![SlotState::Free; capacity],
        generations: vec![0; capacity],
        kinds: vec![0; capacity],
        due: vec![Default::default(); capacity],
        rows: vec![0; capacity * given.schema.attributes.len()],
        // No observer has a place yet, as clients are sent the world anew.
        past: vec![0; capacity * given.limits.rewind_ticks as usize * given.dimensions()],
        ready: vec![Tick(0); capacity * given.schema.resting_commands().count()],
        tracks: vec![Default::default(); capacity * usize::from(given.motion.is_some())],
        // Clients come back, and observe then.
        observers: vec![None; clients * limits.observers_per_client as usize],
        regions: vec![None; clients * limits.regions_per_client as usize],
        publications: vec![None; carriers],
        subscriptions: vec![None; carriers],
        known: vec![vec![]; clients],
        behind: vec![],
        timed: vec![],
        next_sequence: 0,
        deferred: vec![],
        // They are taken anew, as goals and doors are now.
        fields: vec![Default::default(); given.schema.fields.len()],
        edits: vec![],
        logic: given.logic.clone(),
    }
}

/// Keeps the cells that scripts changed, where the layers are those that they were made in.
fn keep_edits(
    old: &WorldConfig,
    given: &WorldConfig,
    edits: &[Edit],
    snapshot: &mut Snapshot,
    changes: &mut Changes,
) {
    let is_same = old.schema.layers.hash() == given.schema.layers.hash();
    if is_same && edits.len() <= given.limits.edited_cells as usize {
        snapshot.edits = edits.to_vec();
    } else if !edits.is_empty() {
        let cells = counted(edits.len() as u64, "cell", "cells");
        changes.say(format!(
            "layers: {cells} that scripts changed are as the file has them"
        ));
    }
}

/// The place of a client's thing in a list of so many for each client.
fn place(client: ClientRow, index: u32, per_client: u32) -> usize {
    client.index() * per_client as usize + index as usize
}
