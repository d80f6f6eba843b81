/// The longest step of a tick along each axis.
#[range(0.0, 262143.0)]
const SPEED_MAX: Fixed = 2.0;

/// From now on goes by this offset in each tick, each axis clamped to `SPEED_MAX`.
#[command(clients, rules)]
fn steer(me: Entity, step: Point) {
    let step = clamp(step, -SPEED_MAX, SPEED_MAX);
    me.vx = step.x;
    me.vy = step.y;
}

/// A step as `steer` has set it: a rule for every tick.
#[command(rules)]
fn drift(me: Entity) {
    me.position += point(me.vx, me.vy);
}
