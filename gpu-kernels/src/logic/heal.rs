use super::{Catalog, Emit, Invocation, World};

/// Gives hit points to an entity within reach, which may be the acting one.
pub fn run(
    catalog: &Catalog,
    world: &impl World,
    invocation: &Invocation<'_>,
    emit: &mut impl Emit,
) {
    let (Some(hp), &[target]) = (catalog.hp, invocation.words) else {
        return;
    };
    let rules = &catalog.config.rules;
    let from = invocation.entity.slot;
    if let Some(slot) = catalog.target(world, from, target, rules.heal_reach.raw(), hp) {
        emit.update(slot, hp, rules.heal_amount);
    }
}
