use shared::EntityRef;

use super::{Catalog, Emit, Invocation, World, resolve};

/// Picks up an item that has no living owner, or puts down an item that the acting entity
/// owns. If several entities pick an item in one tick, the merge rule of `owner` decides.
pub fn run(
    catalog: &Catalog,
    world: &impl World,
    invocation: &Invocation<'_>,
    emit: &mut impl Emit,
) {
    let (Some(owner), &[item]) = (catalog.owner, invocation.words) else {
        return;
    };
    let from = invocation.entity.slot;
    let reach = catalog.config.rules.pick_reach.raw();
    let Some(slot) = catalog.target(world, from, item, reach, owner) else {
        return;
    };
    match resolve(world, EntityRef(world.attribute(slot, owner))) {
        None => emit.update(slot, owner, invocation.entity.reference().0),
        Some(current) if current == from => emit.update(slot, owner, EntityRef::NONE.0),
        Some(_) => {}
    }
}
