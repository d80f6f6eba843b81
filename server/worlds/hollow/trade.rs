//! Herbs for gold, so that neither is lost or made.
//!
//! An offer only says what is wanted, so it is an ordinary command. Taking one pays and hands over
//! at once, and runs as if alone: of two buyers, or of two deals with the same gold, the second
//! sees that it is gone.

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
#[command(clients, atomic)]
fn accept(me: Entity, seller: Entity, most: i32) {
    require(seller.buyer == me, "the seller has offered you nothing");
    require(is_within(me, seller, REACH), "the seller is too far away");
    let herbs = seller.bundle;
    let price = seller.price;
    require(price <= min(most, me.gold), "the price is too high");
    require(herbs <= seller.herbs, "the seller has too few herbs");
    me.gold -= price;
    require_fits(seller.gold += price);
    require_fits(me.herbs += herbs);
    seller.herbs -= herbs;
    seller.buyer = none;
    tell(Deal { buyer: me, herbs, price }, around(me, REACH));
}
