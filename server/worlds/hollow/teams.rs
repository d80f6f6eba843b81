//! Two teams, each with a banner that keeps its score.

/// From the middle of the world to its corners.
const EVERYWHERE: Fixed = 170.0;
const REACH: Fixed = 10.0;
const DAMAGE: i32 = 8;
/// Points of a blow, and of one that fells.
const HIT: i32 = 1;
const FELLED: i32 = 10;
/// How far along each axis it is heard that somebody was felled.
const SOUND: Fixed = 25.0;

struct Felled {
    victim: Entity,
}

/// Gives a newborn player the banner of its side.
#[command]
fn enlist(me: Entity) {
    let middle = point(120.0, 120.0);
    me.banner = if me.side == "oak" {
        nearest(middle, EVERYWHERE, "oak")
    } else {
        nearest(middle, EVERYWHERE, "elm")
    };
}

/// Strikes whatever has hit points and is not of one's own team.
#[command(clients)]
fn strike(me: Entity, target: Entity) {
    require(is_within(me, target, REACH) && has(target.hp));
    require(target.kind != me.kind || target.banner != me.banner);
    let mut points = HIT;
    if target.hp + target.shield <= DAMAGE {
        points = FELLED;
        tell(Felled { victim: target }, around(target, SOUND));
    }
    hurt(target, DAMAGE);
    // `best` merges by `max`: of the values that a tick's commands give, so its own is one.
    me.banner.best.max(max(me.banner.best, me.score + points));
    me.score += points;
    me.banner.score += points;
}
