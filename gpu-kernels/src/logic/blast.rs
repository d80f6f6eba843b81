use script::builtin;

use super::burn::schedule_embers;
use super::{Catalog, Emit, Invocation, World, within_distance};
use crate::space::Area;
use crate::tick::notification::Notification;

/// Takes hit points from all entities around a point within reach, except the acting one,
/// and leaves embers there. The notification reaches as far as the blast's sound.
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
    schedule_embers(catalog, center, rules.blast_ember_ticks, emit);
    if catalog.tells(builtin::BLAST_NOTIFICATION) {
        let sound = Area::around(center, rules.blast_sound.raw(), catalog.dimensions);
        emit.notify(Notification::new(
            builtin::BLAST_NOTIFICATION,
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
