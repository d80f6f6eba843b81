const REACH: Fixed = 100.0;

/// Goes to a point in reach at once.
#[command(clients, rules)]
fn teleport(me: Entity, to: Point) {
    let goal = inside(to);
    require(is_within(me, goal, REACH));
    me.position += goal - me.position;
}
