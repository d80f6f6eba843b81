const REACH: Fixed = 10.0;

/// Gives `gold` of one's own to another entity in reach. Gifts of one tick see the same
/// `gold`: who must not give it twice needs a command that pays once a tick.
#[command(clients)]
fn trade(me: Entity, to: Entity, amount: i32) {
    require(to != me && is_within(me, to, REACH) && has(to.gold));
    let given = clamp(amount, 0, max(me.gold, 0));
    me.gold -= given;
    to.gold += given;
}
