//! Gathers gems, brings them to the camp, and strikes slimes that come near.

const SIGHT: Fixed = 30.0;
const REACH: Fixed = 3.0;
const STEP: Fixed = 1.4;
/// With so many gems it goes to the camp.
const ENOUGH: i32 = 3;

fn act() {
    let slime = nearest(me, 5.0, "slime");
    if exists(slime) {
        send(strike(slime));
    }
    if me.gems >= ENOUGH {
        walk(me, point(60.0, 60.0));
        return;
    }
    let gem = nearest(me, SIGHT, "gem");
    if !exists(gem) {
        send(r#move(random_offset(STEP)));
    } else if is_within(me, gem, REACH) {
        send(take(gem));
    } else {
        send(r#move(towards(me, gem, STEP) - me.position));
    }
}

fn walk(me: Entity, to: Point) {
    send(r#move(towards(me, to, STEP) - me.position));
}
