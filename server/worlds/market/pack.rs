//! Bags, which have room for three things.

/// Puts a thing into a bag, if one more fits, whoever else puts in something at the same time.
#[command(clients, atomic)]
fn put(me: Entity, bag: Entity, it: Entity) {
    require(bag.kind == "bag" && bag.holder == me, "it is not your bag");
    require(it.holder == me && it.kind != "bag", "it is not in your hands");
    require(bag.room > 0, "the bag is full");
    it.holder = bag;
    bag.room -= 1;
}

#[command(clients, atomic)]
fn take_out(me: Entity, bag: Entity, it: Entity) {
    require(bag.holder == me && it.holder == bag, "it is not in your bag");
    it.holder = me;
    bag.room += 1;
}

#[test]
fn a_bag_takes_three_things() {
    let ann = spawn("player", point(20.0, 30.0));
    let bag = spawn(Bag { holder: ann });
    for _n in 0..5 {
        let sword = spawn(Sword { holder: ann });
        send(put(ann, bag, sword));
        ticks(1);
    }
    assert_eq(count_held(bag), 3);
    assert_eq(count_held(ann, "sword"), 2);
    assert_eq(bag.room, 0);
}

#[test]
fn what_is_taken_out_makes_room() {
    let ann = spawn("player", point(20.0, 30.0));
    let bag = spawn(Bag { holder: ann });
    let sword = spawn(Sword { holder: ann });
    send(put(ann, bag, sword));
    ticks(1);
    assert(sword.holder == bag && bag.room == 2);
    send(take_out(ann, bag, sword));
    ticks(1);
    assert(sword.holder == ann && bag.room == 3);
}
