const REACH: Fixed = 10.0;

/// Gives `gold` of one's own to another entity in reach: as much as there is, at most, and nothing
/// if it does not fit.
#[command(clients, atomic)]
fn trade(me: Entity, to: Entity, amount: i32) {
    require(to != me && is_within(me, to, REACH) && has(to.gold));
    let given = clamp(amount, 0, max(me.gold, 0));
    require_fits(me.gold -= given);
    require_fits(to.gold += given);
}
