// A script in Rust's syntax. Constants can be set in the world file:
// [commands]
// NAME = { reach = 5, damage = 2 }

/// How far away the target may be.
const REACH: Fixed = 10.0;
/// How much is taken from the target's `ATTRIBUTE`.
const DAMAGE: i32 = 3;
/// Ticks until the target gets it back.
const TICKS: i32 = 20;

/// Takes some `ATTRIBUTE` from one other entity in reach, for a while.
#[command(clients)]
fn NAME(me: Entity, target: Entity) {
    // If this does not hold, the command has no effect.
    require(target != me && is_within(me, target, REACH));
    // Attributes are read as they were at the start of the tick; changes of commands are
    // merged at its end.
    target.ATTRIBUTE -= DAMAGE;
    after(TICKS, end_NAME(target));
}

/// Neither clients nor rules give this one: only `after` does.
#[command]
fn end_NAME(me: Entity) {
    me.ATTRIBUTE += DAMAGE;
}
