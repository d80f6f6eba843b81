//! The elk of the mire, and the wolves that hunt them.

/// Ticks of a day, and of the night that ends it.
const DAY: i32 = 3000;
const NIGHT: i32 = 1200;
/// Steps, each of two ticks: strolling, going somewhere, running.
const STROLL: Fixed = 0.5;
const WALK: Fixed = 1.5;
const RUN: Fixed = 3.0;
const CHASE: Fixed = 4.0;
/// How far an elk smells a wolf, and a wolf an elk; how far it bites.
const SMELL: Fixed = 12.0;
const SCENT: Fixed = 25.0;
const REACH: Fixed = 1.5;
const BITE: i32 = 4;

/// A step on this ground: half of it in water and swamp, and a third more on roads.
fn pace(me: Entity, step: Fixed) -> Fixed {
    if tag(me) == "swamp" || tag(me) == "water" { return step / 2.0; }
    if tag(me) == "road" { return step * 4.0 / 3.0; }
    step
}

/// What an elk does: it runs from wolves and from those who scared it, or goes where the herd goes.
#[command(rules)]
fn graze(me: Entity) {
    let wolf = nearest(me, SMELL, "wolf");
    if exists(wolf) {
        me.position += slide(me, away(me, wolf, pace(me, RUN)));
        return;
    }
    let by = me.scared_by;
    if tick() < me.scared_until && exists(by) {
        me.position += slide(me, away(me, by, pace(me, RUN)));
        return;
    }
    let mut way = toward(me, "fell", pace(me, WALK));
    if tick() % DAY >= DAY - NIGHT { way = toward(me, "ford", pace(me, WALK)); }
    if way.x == 0.0 && way.y == 0.0 { way = random_offset(STROLL); }
    me.position += way + random_offset(STROLL);
}

/// A step away from another, or anywhere, if it is in the same place.
fn away(me: Entity, other: Entity, step: Fixed) -> Point {
    let back = me.position - towards(me, other, step);
    if back.x == 0.0 && back.y == 0.0 { return random_offset(step); }
    back
}

/// What a wolf does: it follows the field to the nearest elk, and what it smells, and bites.
#[command(rules)]
fn prowl(me: Entity) {
    let prey = nearest(me, SCENT, "elk");
    if !exists(prey) {
        me.position += toward(me, "elk", pace(me, WALK)) + random_offset(STROLL);
        return;
    }
    if distance(me, prey) <= REACH {
        prey.hp -= BITE;
        return;
    }
    // Straight on, unless a wall is between.
    let mut way = approach(me, prey, pace(me, CHASE), 31);
    if sees(me, prey) { way = slide(me, towards(me, prey, pace(me, CHASE)) - me.position); }
    me.position += way;
}

#[test]
fn the_herd_goes_to_the_fell_by_day() {
    let elk = spawn("elk", point(900.0, 1300.0));
    ticks(60);
    assert(elk.x < 880.0);
}

#[test]
fn an_elk_runs_from_a_wolf() {
    let elk = spawn("elk", point(480.0, 1400.0));
    let wolf = spawn("wolf", point(485.0, 1400.0));
    ticks(2);
    assert(distance(elk, wolf) > 5.0 || elk.x < 480.0);
}

#[test]
fn a_wolf_catches_an_elk() {
    let elk = spawn("elk", point(940.0, 1100.0));
    spawn("wolf", point(955.0, 1100.0));
    ticks(100);
    assert(!exists(elk));
}
