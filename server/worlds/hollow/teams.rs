//! Two teams, each with a banner that keeps its score.

/// From the middle of the world to its corners.
const EVERYWHERE: Fixed = 170.0;
const REACH: Fixed = 10.0;
const DAMAGE: i32 = 8;
/// Points of a blow, and of felling.
const HIT: i32 = 1;
const FELLED: i32 = 10;
/// How far along each axis it is heard that somebody was felled.
const SOUND: Fixed = 25.0;

struct Felled {
    by: Entity,
}

/// Gives a newborn player the banner of its side.
#[on(birth, kind = "player")]
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
    require(is_foe(me, target));
    hurt(target, DAMAGE);
    win(me, HIT);
}

/// Of all that fall, by whatever: a player that felled a foe wins points for it.
#[on(fall)]
fn fell(me: Entity, by: Entity) {
    tell(Felled { by }, around(me, SOUND));
    require(by.kind == "player" && by != me && is_foe(by, me));
    win(by, FELLED);
}

fn is_foe(one: Entity, other: Entity) -> bool {
    one.kind != other.kind || one.banner != other.banner
}

fn win(winner: Entity, points: i32) {
    // `best` merges by `max`: of the values that a tick's commands give, so its own is one.
    winner.banner.best.max(max(winner.banner.best, winner.score + points));
    winner.score += points;
    winner.banner.score += points;
}
