#[range(0.0, 262143.0)]
const REACH: Fixed = 10.0;
#[range(0, 2147483647)]
const AMOUNT: i32 = 4;

/// Gives hit points to one entity in reach, which may be oneself.
#[command(clients)]
fn heal(me: Entity, target: Entity) {
    require(is_within(me, target, REACH));
    target.hp += AMOUNT;
}
