//! What players have with them, and in hand.

/// Players begin with a bag and a sword.
#[on(join)]
fn equip(me: Entity) {
    spawn(Bag { holder: me });
    spawn(Sword { holder: me });
}

/// Takes a sword in hand; the same one again puts it away.
#[command(clients, atomic)]
fn wield(me: Entity, it: Entity) {
    require(it.kind == "sword" && it.holder == me, "it is not yours");
    if me.hand == it { me.hand = none; } else { me.hand = it; }
}

/// What went elsewhere is in hand no more.
#[command(rules, atomic)]
fn check_hand(me: Entity) {
    require(me.hand != none && me.hand.holder != me);
    me.hand = none;
}

#[test]
fn who_hands_a_sword_on_has_it_in_hand_no_more() {
    let ann = spawn("player", point(20.0, 30.0));
    let bob = spawn("player", point(20.0, 30.0));
    let sword = spawn(Sword { holder: ann });
    send(wield(bob, sword));
    send(wield(ann, sword));
    ticks(1);
    assert(ann.hand == sword && bob.hand == none);
    sword.holder = bob;
    ticks(6);
    assert(ann.hand == none);
    send(wield(bob, sword));
    ticks(1);
    send(wield(bob, sword));
    ticks(1);
    assert(bob.hand == none);
}
