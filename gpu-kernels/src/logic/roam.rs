use super::{Catalog, Emit, Invocation};

/// Moves by a random step of at most `step` along each axis.
pub fn run(catalog: &Catalog, invocation: &Invocation<'_>, emit: &mut impl Emit) {
    let mut random = catalog.random(invocation);
    let step = catalog.config.rules.roam_step.raw();
    for axis in 0..catalog.dimensions {
        emit.update(invocation.entity.slot, axis, random.around_zero(step));
    }
}
