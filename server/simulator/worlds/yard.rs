/// Notes a number, of which each is given once.
#[command(clients)]
fn mark(me: Entity, number: i32) {
    me.marks += 1;
    me.last.max(number);
}

/// Takes coins out of a chest.
#[command(clients, atomic)]
fn take(me: Entity, chest: Entity, amount: i32) {
    require(amount > 0 && chest.filled >= amount);
    chest.filled -= amount;
    me.coins += amount;
}

/// Puts coins into a chest.
#[command(clients, atomic)]
fn put(me: Entity, chest: Entity, amount: i32) {
    require(amount > 0 && me.coins >= amount);
    me.coins -= amount;
    require_fits(chest.filled += amount);
}

/// What a player has stays when it leaves.
#[on(leave, atomic)]
fn lose(me: Entity) {
    world.found += me.coins;
}
