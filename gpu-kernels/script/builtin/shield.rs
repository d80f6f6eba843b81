const AMOUNT: i32 = 20;
const TICKS: i32 = 50;

/// Adds to one's `shield`, and takes the same away later.
#[command(clients)]
fn shield(me: Entity) {
    me.shield += AMOUNT;
    after(TICKS, unshield(me));
}

#[command]
fn unshield(me: Entity) {
    me.shield -= AMOUNT;
}
