const RADIUS: Fixed = 15.0;

/// Makes all that have a `target` in reach turn to oneself.
#[command(clients, rules)]
fn taunt(me: Entity) {
    for other in near(me, RADIUS) {
        if other != me {
            other.target = me;
        }
    }
}
