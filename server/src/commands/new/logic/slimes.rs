//! Slimes creep after players and sting them; players strike back.

/// How far a slime sees.
#[range(0.0, 60.0)]
const SIGHT: Fixed = 15.0;
/// A step after a player, and one without.
const SPEED: Fixed = 0.8;
const STROLL: Fixed = 0.5;
/// From how far a slime stings, and a player strikes.
const STING: Fixed = 2.0;
const REACH: Fixed = 5.0;
#[range(0, 100)]
const DAMAGE: i32 = 2;

/// A slime has stung a player.
struct Sting {
    prey: Entity,
}

/// A step after the nearest player in sight, or a sting. A rule gives it to each slime.
#[command(rules)]
fn creep(me: Entity) {
    let prey = nearest(me, SIGHT, "player");
    if !exists(prey) {
        me.position += random_offset(STROLL);
        return;
    }
    if !is_within(me, prey, STING) {
        me.position += towards(me, prey, SPEED) - me.position;
        return;
    }
    prey.hp -= DAMAGE;
    tell(Sting { prey }, around(me, SIGHT));
}

/// Strikes a slime in reach.
#[command(clients)]
fn strike(me: Entity, slime: Entity) {
    require(slime.kind == "slime" && is_within(me, slime, REACH));
    slime.hp -= 10;
}

#[test]
fn a_slime_comes_and_stings() {
    let slime = spawn("slime", point(20.0, 20.0));
    let me = spawn("player", point(24.0, 20.0));
    ticks(10);
    assert(is_within(slime, me, STING));
    assert(me.hp < 100);
}
