const SPEED_MAX: Fixed = 2.0;
/// How near it comes.
const DISTANCE: Fixed = 3.0;
const SIGHT: Fixed = 50.0;

/// A step towards another entity in sight.
#[command(clients)]
fn follow(me: Entity, target: Entity) {
    require(target != me && is_within(me, target, SIGHT));
    let way = distance(me, target) - DISTANCE;
    require(way > 0.0);
    me.position += towards(me, target, min(way, SPEED_MAX)) - me.position;
}
