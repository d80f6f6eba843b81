//! What players do in the mire.

/// How far a shout scares elk, and for how many ticks.
const SHOUT: Fixed = 15.0;
const SCARED: i32 = 40;
/// Where fires are seen from, how long they burn, and how far they are noticed.
#[range(0, 255)]
const HILL: i32 = 60;
const BURNS: i32 = 300;
const FAR: Fixed = 200.0;

/// Scares the elk around, which run the other way.
#[command(clients)]
fn shout(me: Entity) {
    for elk in near(me, SHOUT, "elk") {
        elk.scared_by = me;
        elk.scared_until.max(tick() + SCARED);
    }
}

/// What those around a hill are sent of a fire on it.
struct Fire {
    by: Entity,
    height: i32,
}

/// Lights a fire on a hill, that those far away see.
#[command(clients)]
fn light(me: Entity) {
    require(height(me) >= HILL, "a fire is only seen from a hill");
    require(tick() >= me.fire_until, "it burns already");
    me.fire_until.max(tick() + BURNS);
    tell(Fire { by: me, height: height(me) }, around(me, FAR));
}

/// Wears out who wades, and lets those rest who are on the road.
#[command(rules)]
fn wade(me: Entity) {
    if tag(me) == "swamp" || tag(me) == "water" { me.hp -= 1; }
    if tag(me) == "road" { me.hp += 2; }
}

/// Counts each elk that is driven into the pen, once in its life.
#[on(enter, "pen", kind = "elk")]
fn pen(me: Entity) {
    if me.is_penned { return; }
    me.is_penned = true;
    world.penned += 1;
}

#[test]
fn a_fire_is_lit_on_hills_only() {
    let ann = spawn("player", point(1120.0, 844.0));
    send(light(ann));
    ticks(1);
    assert_eq(ann.fire_until, 0);
}

#[test]
fn elk_run_from_a_shout() {
    let ann = spawn("player", point(480.0, 1400.0));
    let elk = spawn("elk", point(485.0, 1400.0));
    send(shout(ann));
    ticks(20);
    assert(distance(ann, elk) > 15.0);
}

#[test]
fn elk_that_come_into_the_pen_are_counted() {
    let ann = spawn("player", point(1160.0, 844.0));
    let elk = spawn("elk", point(1155.0, 844.0));
    send(shout(ann));
    ticks(20);
    assert_eq(world.penned, 1);
    assert(elk.is_penned);
}
