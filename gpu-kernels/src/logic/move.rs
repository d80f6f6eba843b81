use super::{Catalog, Emit, Invocation};

/// A step: each axis of the offset cut to `speed_max`.
pub fn run(catalog: &Catalog, invocation: &Invocation<'_>, emit: &mut impl Emit) {
    let speed = catalog.config.rules.move_speed_max.raw();
    for (axis, &step) in invocation.words.iter().enumerate() {
        emit.update(invocation.entity.slot, axis, step.clamp(-speed, speed));
    }
}
