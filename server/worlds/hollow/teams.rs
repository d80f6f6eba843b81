//! Two teams, of which the world keeps the scores.

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
    one.kind != other.kind || one.side != other.side
}

fn win(winner: Entity, points: i32) {
    // `best` merges by `max`: of the values that a tick's commands give, so its own is one.
    let side = winner.side;
    world.best[side].max(max(world.best[side], winner.score + points));
    world.won[side] += points;
    winner.score += points;
}
