//! Gems, which count in a round.

#[range(0.0, 60.0)]
const REACH: Fixed = 4.0;

struct Taken {
    by: Entity,
}

/// Grabs a gem. Of many who want it in a tick, one gets it.
#[command(clients, atomic)]
fn grab(me: Entity, gem: Entity) {
    require(world.phase == "round" && gem.kind == "gem");
    require(gem.left > 0 && is_within(me, gem, REACH));
    gem.left -= 1;
    if me.played != world.round {
        me.played = world.round;
        me.points = 0;
    }
    me.points += 1;
    if me.points > world.best {
        world.best = me.points;
        world.champion = me;
    }
}

#[on(fall, kind = "gem")]
fn shatter(me: Entity, by: Entity) {
    tell(Taken { by }, around(me, 30.0));
}

#[test]
fn of_two_who_grab_a_gem_one_has_it_and_leads() {
    let gem = spawn("gem", point(50.0, 50.0));
    let ann = spawn("player", gem);
    let bob = spawn("player", gem);
    world.phase = "round";
    world.round = 3;
    world.ticks_left = 100;
    send(grab(ann, gem));
    send(grab(bob, gem));
    ticks(1);
    assert_eq(ann.points + bob.points, 1);
    assert_eq(world.best, 1);
    assert(world.champion == ann || world.champion == bob);
}
