use super::{Catalog, Emit, Invocation, World, within_distance};

/// Takes hit points from everyone but oneself around a point in reach.
pub fn run(
    catalog: &Catalog,
    world: &impl World,
    invocation: &Invocation<'_>,
    emit: &mut impl Emit,
) {
    let Some(hp) = catalog.hp else { return };
    let rules = &catalog.config.rules;
    let from = invocation.entity.slot;
    let mut center = [0; 3];
    // Words are anything a client likes; in the world, distances cannot overflow.
    for ((axis, &word), size) in center.iter_mut().zip(invocation.words).zip(catalog.size) {
        *axis = word.clamp(0, size - 1);
    }
    if !within_distance(
        catalog.position(world, from),
        center,
        rules.blast_reach.raw(),
    ) {
        return;
    }
    world.within(center, rules.blast_radius.raw(), |slot| {
        if slot != from && catalog.has(world, slot, hp) {
            emit.update(slot, hp, -rules.blast_damage);
        }
    });
}
