use shared::NotificationKind;

use super::burn::kindle;
use super::{Catalog, Emit, Invocation, World, within_distance};
use crate::output::{Area, Notification};

/// Takes hit points from everyone but oneself around a point in reach, and leaves
/// embers there. It is heard farther than it hurts.
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
    if catalog.tells(NotificationKind::Blast) {
        let sound = Area::around(center, rules.blast_sound.raw(), catalog.dimensions);
        emit.notify(Notification::new(
            NotificationKind::Blast,
            invocation.entity,
            Some(sound),
            &center[..catalog.dimensions],
        ));
    }
    world.within(center, rules.blast_radius.raw(), |slot| {
        if slot != from && catalog.has(world, slot, hp) {
            emit.update(slot, hp, -rules.blast_damage);
        }
    });
}
