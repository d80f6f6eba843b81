//! Tests of auctions.

#[test]
fn the_highest_bid_has_the_sword_and_all_others_their_gold() {
    let stall = spawn("stall", point(20.0, 30.0));
    let ann = spawn("player", stall);
    let bob = spawn("player", stall);
    let cid = spawn("player", stall);
    let sword = spawn(Sword { holder: ann });
    send(offer(ann, stall, sword));
    ticks(1);
    assert(sword.holder == stall);
    send(bid(bob, stall, 10));
    send(bid(cid, stall, 10));
    ticks(1);
    // One of two who bid the same was first.
    assert_eq(bob.gold + cid.gold, 90);
    send(bid(bob, stall, 20));
    ticks(1);
    send(bid(bob, stall, 45));
    send(bid(cid, stall, 60));
    ticks(1);
    assert_eq(bob.gold, 5);
    assert_eq(cid.gold, 50);
    stall.ends_at = tick();
    ticks(6);
    assert(sword.holder == bob && stall.lot == none);
    assert_eq(ann.gold, 95);
    assert_eq(bob.gold + cid.gold, 55);
}

#[test]
fn a_thing_that_nobody_wants_goes_back() {
    let stall = spawn("stall", point(20.0, 30.0));
    let ann = spawn("player", stall);
    let sword = spawn(Sword { holder: ann });
    let other = spawn(Sword { holder: ann });
    send(offer(ann, stall, sword));
    send(offer(ann, stall, other));
    ticks(1);
    assert_eq(count_held(stall), 1);
    stall.ends_at = tick();
    ticks(6);
    assert(sword.holder == ann && other.holder == ann);
    assert_eq(ann.gold, 50);
}
