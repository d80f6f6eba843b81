use super::burn::kindle;
use super::{Catalog, Emit, Invocation, World, within_distance};

/// Takes hit points from everyone but oneself around a point in reach, and leaves
/// embers there.
pub fn run(
    catalog: &Catalog,
    world: &impl World,
    invocation: &Invocation<'_>,
    emit: &mut impl Emit,
) {
    let Some(hp) = catalog.hp else { return };
    let rules = &catalog.config.rules;
    let from = invocation.entity.slot;
    let center = catalog.point(invocation.words);
    if !within_distance(
        catalog.position(world, from),
        center,
        rules.blast_reach.raw(),
    ) {
        return;
    }
    kindle(catalog, center, rules.blast_ember_ticks, emit);
    world.within(center, rules.blast_radius.raw(), |slot| {
        if slot != from && catalog.has(world, slot, hp) {
            emit.update(slot, hp, -rules.blast_damage);
        }
    });
}
