use super::{Catalog, Emit, Invocation, World};

/// Takes hit points from another entity within reach.
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
    match catalog.target(world, from, target, rules.strike_reach.raw(), hp) {
        Some(slot) if slot != from => emit.update(slot, hp, -rules.strike_damage),
        _ => {}
    }
}
