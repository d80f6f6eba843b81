//! Herbs for gold, so that neither is lost or made.
//!
//! All commands of a tick see the same gold, so who paid in a command could spend it twice.
//! Here commands only note what is wanted: a seller has one buyer, who has one seller, as
//! both attributes merge by `first`. `settle` pays, once per player and tick, and nothing
//! else takes gold.

const REACH: Fixed = 15.0;

struct Deal {
    buyer: Entity,
    herbs: i32,
    price: i32,
}

/// Offers herbs to another player.
#[command(clients)]
fn offer(me: Entity, to: Entity, herbs: i32, price: i32) {
    require(to != me && to.kind == me.kind && herbs > 0 && price >= 0);
    me.buyer = to;
    me.bundle = herbs;
    me.price = price;
}

/// Takes an offer, for so much gold at most.
#[command(clients)]
fn accept(me: Entity, seller: Entity, most: i32) {
    require(seller.buyer == me);
    me.seller = seller;
    me.most = most;
}

/// Pays for the offer that was taken. A rule runs it for each player in every tick.
// A seller has one buyer, so nobody else takes what is taken here.
#[allow(double_spends)]
#[command(rules)]
fn settle(me: Entity) {
    let seller = me.seller;
    require(exists(seller));
    me.seller = none;
    // The offer may have changed since it was taken.
    require(seller.buyer == me && is_within(me, seller, REACH));
    require(seller.price <= min(me.most, me.gold) && seller.bundle <= seller.herbs);
    me.gold -= seller.price;
    seller.gold += seller.price;
    me.herbs += seller.bundle;
    seller.herbs -= seller.bundle;
    seller.buyer = none;
    tell(Deal { buyer: me, herbs: seller.bundle, price: seller.price }, around(me, REACH));
}
