//! The shadows of the keep: players hide in them, guards find those who are near, and a game master sees all.

/// The bit of `veil` of those in the shadows.
const SHADOW: i32 = 1;
/// How far a guard finds who hides.
const FINDS: Fixed = 1.5;

/// Hides, unless a guard sees it from near.
#[command(clients)]
fn hide(me: Entity) {
    require(count_near(me, FINDS, "guard") == 0, "a guard is too near");
    me.veil = SHADOW;
}

/// Comes out of the shadows.
#[command(clients)]
fn appear(me: Entity) { me.veil = 0; }

/// Finds those who hide near a guard.
#[command(rules)]
fn search(me: Entity) {
    for other in near(me, FINDS, "player") {
        if other.veil != 0 && sees(me, other) { other.veil = 0; }
    }
}

/// Makes a player a game master, who sees through all that hides others, or no longer.
#[command]
fn promote(me: Entity, is_master: bool) { me.insight = if is_master { SHADOW } else { 0 }; }

#[test]
fn one_in_the_shadows_is_found_by_a_guard_that_is_near() {
    let ann = spawn("player", point(24.0, 12.0));
    send(hide(ann));
    ticks(1);
    assert(ann.veil == SHADOW);
    let guard = spawn("guard", point(26.0, 12.0));
    send(search(guard));
    ticks(1);
    assert(ann.veil == SHADOW);
    let captain = spawn("guard", point(25.0, 12.0));
    send(search(captain));
    ticks(1);
    assert(ann.veil == 0);
    send(hide(ann));
    ticks(1);
    assert(ann.veil == 0);
    send(promote(ann, true));
    ticks(1);
    assert(ann.insight == SHADOW);
}
