use super::{Catalog, Emit, Invocation};

/// Moves by an offset, which is clamped to the maximum speed along each axis.
pub fn run(catalog: &Catalog, invocation: &Invocation<'_>, emit: &mut impl Emit) {
    let speed = catalog.config.rules.move_speed_max.raw();
    for (axis, &step) in invocation.words.iter().enumerate() {
        emit.update(invocation.entity.slot, axis, step.clamp(-speed, speed));
    }
}
