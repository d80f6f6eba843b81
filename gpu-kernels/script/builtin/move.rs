/// The longest step along each axis.
#[range(0.0, 262143.0)]
const SPEED_MAX: Fixed = 2.0;

/// A step by an offset, each axis clamped to `SPEED_MAX`.
#[command(clients, rules)]
fn r#move(me: Entity, step: Point) {
    me.position += clamp(step, -SPEED_MAX, SPEED_MAX);
}
