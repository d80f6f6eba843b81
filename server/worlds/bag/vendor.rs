//! A vendor, who sells axes and buys them back.

#[range(1, 1000)]
const PRICE: i32 = 12;
#[range(0.0, 60.0)]
const NEAR: Fixed = 6.0;

/// Has an axe to sell.
#[command(rules)]
fn forge(me: Entity) {
    if count_held(me, "axe") == 0 { spawn(Axe { holder: me }); }
}

/// Asks for an axe.
#[command(clients)]
fn buy(me: Entity, vendor: Entity) {
    for it in held_by(vendor, "axe") {
        after(1, deal(vendor, me, it));
        return;
    }
}

/// Offers an axe.
#[command(clients)]
fn sell(me: Entity, vendor: Entity) {
    for it in held_by(me, "axe") {
        after(1, deal(me, vendor, it));
        return;
    }
}

/// Gold one way, and an axe the other.
#[command(atomic)]
fn deal(me: Entity, buyer: Entity, axe: Entity) {
    require(me.kind == "vendor" || buyer.kind == "vendor");
    require(is_within(me, buyer, NEAR), "too far");
    require(axe.holder == me, "it is gone");
    require(buyer.gold >= PRICE, "too little gold");
    buyer.gold -= PRICE;
    me.gold += PRICE;
    axe.holder = buyer;
}

#[test]
fn an_axe_is_sold_once_and_bought_back() {
    let vendor = spawn("vendor", point(50.0, 50.0));
    let axe = spawn(Axe { holder: vendor });
    let ann = spawn("player", vendor);
    let bob = spawn("player", vendor);
    send(buy(ann, vendor));
    send(buy(bob, vendor));
    ticks(3);
    assert_eq(ann.gold + bob.gold, 40 - PRICE);
    assert(axe.holder == ann || axe.holder == bob);
    send(sell(ann, vendor));
    send(sell(bob, vendor));
    ticks(3);
    assert(axe.holder == vendor);
    assert_eq(ann.gold + bob.gold, 40);
}
