use script::builtin;

use super::{Catalog, Emit, Invocation, World};
use crate::space::Area;
use crate::tick::notification::Notification;

/// Emits a notification of a number, which is the second word. The first word is the distance
/// at which it is heard.
pub fn run(
    catalog: &Catalog,
    world: &impl World,
    invocation: &Invocation<'_>,
    emit: &mut impl Emit,
) {
    let &[radius, number] = invocation.words else {
        return;
    };
    let radius = radius.clamp(0, catalog.config.rules.shout_radius_max.raw());
    let position = catalog.position(world, invocation.entity.slot);
    emit.notify(Notification::new(
        builtin::SHOUT_NOTIFICATION,
        invocation.entity,
        Some(Area::around(position, radius, catalog.dimensions)),
        &[number],
    ));
}
