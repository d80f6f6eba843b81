use shared::EntityId;
use script::builtin;

use super::{Catalog, Emit, Invocation, World};

/// Embers: take hit points from all entities around a point, in as many ticks as the last
/// word says.
pub fn run(
    catalog: &Catalog,
    world: &impl World,
    invocation: &Invocation<'_>,
    emit: &mut impl Emit,
) {
    let (Some(hp), Some(&remaining)) = (catalog.hp, invocation.words.last()) else {
        return;
    };
    let rules = &catalog.config.rules;
    let center = catalog.point(invocation.words);
    schedule_embers(catalog, center, remaining.saturating_sub(1), emit);
    world.within(center, rules.blast_radius.raw(), |slot| {
        if catalog.has(world, slot, hp) {
            emit.update(slot, hp, -rules.blast_ember_damage);
        }
    });
}

/// Schedules embers around a point for this many ticks, beginning with the next one.
pub fn schedule_embers(catalog: &Catalog, center: [i32; 3], ticks: i32, emit: &mut impl Emit) {
    if ticks <= 0 {
        return;
    }
    let axes = catalog.dimensions;
    let mut words = [0; 4];
    words[..axes].copy_from_slice(&center[..axes]);
    words[axes] = ticks;
    emit.after(1, EntityId::NONE, builtin::BURN, &words[..=axes]);
}
