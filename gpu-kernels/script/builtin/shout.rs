/// How far along each axis a shout is heard at most; 0: there are no shouts.
#[range(0.0, 262143.0)]
const RADIUS_MAX: Fixed = 0.0;

/// Tells everybody around of a number.
#[command(clients, rules)]
fn shout(me: Entity, radius: Fixed, number: i32) {
    require(RADIUS_MAX > 0.0);
    tell(Shout { number }, around(me, clamp(radius, 0.0, RADIUS_MAX)));
}
