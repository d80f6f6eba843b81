// A script in Rust's syntax. Constants can be set in the world file:
// [commands]
// NAME = { reach = 5, push = 2 }

/// How far away the target may be.
const REACH: Fixed = 10.0;
/// How far the target is pushed along each axis.
const PUSH: Fixed = 1.0;
/// Ticks until the target comes back.
const TICKS: i32 = 20;

/// Pushes one other entity in reach away, for a while.
#[command(clients)]
fn NAME(me: Entity, target: Entity) {
    // If this does not hold, the command has no effect.
    require(target != me && is_within(me, target, REACH));
    // Reads give the values at the start of the tick; changes of commands are merged at its
    // end.
    target.position += clamp(target.position - me.position, -PUSH, PUSH);
    after(TICKS, end_NAME(target, me));
}

/// Neither clients nor rules give this one: only `after` does.
#[command]
fn end_NAME(me: Entity, from: Entity) {
    // The pusher may be gone by now.
    require(exists(from));
    me.position -= clamp(me.position - from.position, -PUSH, PUSH);
}
