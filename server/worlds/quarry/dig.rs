#[range(1.0, 10.0)]
const REACH: Fixed = 2.5;

/// Digs a cell of rock away from the next tick on, for its stone. Of two who dig it in one tick, both get some.
#[command(clients)]
fn dig(me: Entity, at: Point) {
    require(is_within(me, at, REACH), "too far away");
    require(is_blocked(at), "nothing to dig");
    set_blocked(at, false);
    me.stone += 1;
    if tag(at) == "ore" {
        me.ore += 1;
        set_tag(at, "rubble");
    }
}

/// Walls a cell up.
#[command(clients)]
fn build(me: Entity, at: Point) {
    require(is_within(me, at, REACH), "too far away");
    require(!is_blocked(at), "a wall is there");
    require(me.stone > 0, "no stone");
    set_blocked(at, true);
    me.stone -= 1;
}

/// Clears rubble away.
#[command(clients)]
fn sweep(me: Entity) {
    require(tag(me) == "rubble", "nothing to sweep");
    clear_tag(me);
}
