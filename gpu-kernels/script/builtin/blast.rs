/// How far away the blast may be.
#[range(0.0, 262143.0)]
const REACH: Fixed = 30.0;
#[range(0.0, 262143.0)]
const RADIUS: Fixed = 8.0;
#[range(0, 2147483647)]
const DAMAGE: i32 = 3;
/// How many ticks its embers burn; 0: it leaves none.
#[range(0, 1000000)]
const EMBER_TICKS: i32 = 0;
#[range(0, 2147483647)]
const EMBER_DAMAGE: i32 = 1;
/// How far along each axis it is heard; 0: it is not heard.
#[range(0.0, 262143.0)]
const SOUND: Fixed = 0.0;

/// Takes hit points from everybody else around a point, and leaves embers there.
#[command(clients, rules)]
fn blast(me: Entity, at: Point) {
    let center = inside(at);
    require(is_within(me, center, REACH));
    for other in near(center, RADIUS) {
        if other != me {
            other.hp -= DAMAGE;
        }
    }
    if EMBER_TICKS > 0 {
        after(1, burn(center, EMBER_TICKS));
    }
    if SOUND > 0.0 {
        tell(Blast { at: center }, around(center, SOUND));
    }
}

/// Embers: take hit points from everybody around a point, now and in the ticks after.
#[command]
fn burn(at: Point, ticks: i32) {
    let center = inside(at);
    if ticks > 1 {
        after(1, burn(center, ticks - 1));
    }
    for other in near(center, RADIUS) {
        other.hp -= EMBER_DAMAGE;
    }
}
