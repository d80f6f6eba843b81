#[range(0.0, 262143.0)]
const REACH: Fixed = 10.0;
#[range(0, 2147483647)]
const DAMAGE: i32 = 5;

/// Takes hit points from one other entity in reach.
#[command(clients)]
fn strike(me: Entity, target: Entity) {
    require(target != me && is_within(me, target, REACH));
    target.hp -= DAMAGE;
}
