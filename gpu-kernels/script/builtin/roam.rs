/// The longest step along each axis.
#[range(0.0, 262143.0)]
const STEP: Fixed = 1.0;

/// A random step.
#[command(rules)]
fn roam(me: Entity) {
    me.position += random_offset(STEP);
}
