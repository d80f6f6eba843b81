//! The shadows of the keep: players hide in them, guards find those who are near, and who has a
//! lantern of a captain sees them.

/// The bit of `veil` of those in the shadows.
const SHADOW: i32 = 1;
/// How far a guard finds who hides.
const FINDS: Fixed = 1.5;
/// How near a captain has to be.
const REACH: Fixed = 2.0;

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

/// Takes the lantern of a captain of the guard, in whose light nobody is hidden.
#[command(clients)]
fn take_lantern(me: Entity, captain: Entity) {
    require(captain.kind == "guard" && captain.rank == "captain", "only captains have lanterns");
    require(distance(me, captain) <= REACH, "the captain is too far away");
    me.insight = SHADOW;
}

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
}

#[test]
fn only_a_captain_has_a_lantern() {
    let ann = spawn("player", point(24.0, 12.0));
    let guard = spawn("guard", point(25.0, 12.0));
    guard.rank = "watch";
    send(take_lantern(ann, guard));
    ticks(1);
    assert(ann.insight == 0);
    guard.rank = "captain";
    send(take_lantern(ann, guard));
    ticks(1);
    assert(ann.insight == SHADOW);
}
