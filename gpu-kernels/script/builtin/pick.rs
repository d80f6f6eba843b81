#[range(0.0, 262143.0)]
const REACH: Fixed = 5.0;

/// Picks up an item in reach that has no living owner, or puts down one's own.
#[command(clients)]
fn pick(me: Entity, item: Entity) {
    require(is_within(me, item, REACH));
    if !exists(item.owner) {
        item.owner = me;
    } else if item.owner == me {
        item.owner = none;
    }
}
