//! The gates of the keep: players swing those that are near, and what nobody is near falls shut.

/// How near a player has to be.
const REACH: Fixed = 3.0;

/// Opens a gate, or closes it.
#[command(clients)]
fn swing(me: Entity, gate: Entity) {
    require(distance(me, gate) <= REACH);
    gate.closed = !gate.closed;
}

/// A gate near which nobody is falls shut.
#[command(rules)]
fn tend(me: Entity) {
    if count_near(me, REACH) == 1 { me.closed = true; }
}

#[test]
fn a_gate_that_is_swung_blocks_no_cells_until_it_falls_shut() {
    let at = point(12.0, 20.5);
    let gate = spawn("gate", at);
    let ann = spawn("player", point(12.0, 19.0));
    assert(is_blocked(at) && !sees(ann, point(12.0, 22.5)));
    send(swing(ann, gate));
    ticks(1);
    assert(!gate.closed && !is_blocked(at));
    assert(sees(ann, point(12.0, 22.5)));
    despawn(ann);
    send(tend(gate));
    ticks(2);
    send(tend(gate));
    ticks(1);
    assert(gate.closed && is_blocked(at));
}
