//! Gems are taken, and brought to the camp.

/// From how far a gem can be taken.
const REACH: Fixed = 3.0;
/// How far along each axis a delivery is seen.
const SIGHT: Fixed = 30.0;

/// A player has brought gems to the camp.
struct Delivery {
    gems: i32,
}

/// Takes a gem. Of several players in a tick, one has it: the command is `atomic`.
#[command(clients, atomic)]
fn take(me: Entity, gem: Entity) {
    require(gem.kind == "gem" && is_within(me, gem, REACH));
    require(gem.left > 0 && me.gems < 5);
    gem.left -= 1;
    me.gems += 1;
}

/// Gems that come to the camp are points.
#[on(enter, "camp", kind = "player")]
fn deliver(me: Entity) {
    let gems = me.gems;
    require(gems > 0);
    me.gems -= gems;
    me.score += gems;
    tell(Delivery { gems }, around(me, SIGHT));
}

#[test]
fn of_two_players_one_has_the_gem() {
    let gem = spawn("gem", point(20.0, 20.0));
    let one = spawn("player", point(21.0, 20.0));
    let other = spawn("player", point(20.0, 21.0));
    ticks(1);
    send(take(one, gem));
    send(take(other, gem));
    ticks(1);
    assert_eq(one.gems + other.gems, 1);
}

#[test]
fn gems_are_points_in_the_camp() {
    let me = spawn("player", point(60.0, 70.5));
    ticks(1);
    me.gems = 3;
    // The camp is 10 units around (60, 60).
    send(r#move(me, point(0.0, -1.0)));
    ticks(3);
    assert_eq(me.gems, 0);
    assert_eq(me.score, 3);
}
