//! Stalls, which sell one thing at a time to who bids most.

#[range(0.0, 60.0)]
const REACH: Fixed = 6.0;
#[range(1, 10000)]
const TICKS: i32 = 200;

/// Offers a thing. Its bidder pays at least one piece of gold.
#[command(clients, atomic)]
fn offer(me: Entity, stall: Entity, it: Entity) {
    require(stall.kind == "stall" && is_within(me, stall, REACH), "too far");
    require(it.holder == me, "it is not yours");
    require(stall.lot == none, "the stall has something else");
    it.holder = stall;
    stall.lot = it;
    stall.seller = me;
    stall.ends_at = tick() + TICKS;
}

/// Bids more than the one before, who has the gold back. The stall keeps it until the end.
#[command(clients, atomic)]
fn bid(me: Entity, stall: Entity, gold: i32) {
    require(stall.lot != none, "nothing is offered");
    require(gold > stall.bid, "somebody bids more");
    stall.bidder.gold += stall.bid;
    require(me.gold >= gold, "too little gold");
    me.gold -= gold;
    stall.bid = gold;
    stall.bidder = me;
}

/// Ends an auction: the thing one way, the gold the other. Without a bid, the thing goes back.
#[command(rules, atomic)]
fn close(me: Entity) {
    require(me.lot != none && tick() >= me.ends_at);
    me.seller.gold += me.bid;
    if exists(me.bidder) { me.lot.holder = me.bidder; } else { me.lot.holder = me.seller; }
    me.lot = none;
    me.seller = none;
    me.bidder = none;
    me.bid = 0;
}

/// Looks into a stall, or away from all.
#[command(clients)]
fn look(me: Entity, stall: Entity) {
    if stall.kind == "stall" && me.looks_into != stall { me.looks_into = stall; } else { me.looks_into = none; }
}
