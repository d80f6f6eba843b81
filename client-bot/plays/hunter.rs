//! Hunts the nearest other entity: walks towards it, strikes it, and heals itself in time.

/// How far it looks.
const SIGHT: Fixed = 50.0;
/// From how far it strikes.
const REACH: Fixed = 8.0;
/// The length of a step.
const STEP: Fixed = 1.5;
/// Hit points at which it heals itself.
const LOW: i32 = 40;

fn act() {
    if me.hp < LOW {
        send(heal(me));
    }
    let prey = nearest(me, SIGHT);
    if exists(prey) {
        chase(me, prey);
    } else {
        send(r#move(random_offset(STEP)));
    }
}

/// Strikes what is in reach, and else comes nearer.
fn chase(me: Entity, prey: Entity) {
    if is_within(me, prey, REACH) {
        send(strike(prey));
    } else {
        send(r#move(towards(me, prey, STEP) - me.position));
    }
}
