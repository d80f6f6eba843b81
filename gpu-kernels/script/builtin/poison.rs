const REACH: Fixed = 5.0;
/// Hit points that each bout takes.
const DAMAGE: i32 = 2;
const BOUTS: i32 = 5;
/// Ticks from one bout to the next.
const PERIOD: i32 = 10;

/// Poisons one other entity in reach.
#[command(clients)]
fn poison(me: Entity, target: Entity) {
    require(target != me && is_within(me, target, REACH) && has(target.hp));
    after(1, sicken(target, BOUTS));
}

/// A bout of poison. It ends with the life of who has it.
#[command]
fn sicken(me: Entity, bouts: i32) {
    me.hp -= DAMAGE;
    if bouts > 1 {
        after(PERIOD, sicken(me, bouts - 1));
    }
}
