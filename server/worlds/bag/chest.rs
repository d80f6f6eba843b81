//! Chests, which all who stand by them share, and bags.

#[range(0.0, 60.0)]
const REACH: Fixed = 4.0;
/// The most wood, and the most stones, with which a chest is filled.
#[range(0, 100)]
const STOCK: i32 = 6;

/// Of more bags in the world, chests have no new ones.
#[range(0, 1000)]
const BAGS: i32 = 100;

/// Fills a chest a little.
#[command(rules)]
fn stock(me: Entity) {
    if count_held(me, "wood") < STOCK { spawn(Wood { holder: me }); }
    if count_held(me, "stone") < STOCK { spawn(Stone { holder: me }); }
    if count_held(me, "bag") == 0 && count("bag") < BAGS { spawn(Bag { holder: me }); }
}

/// Clients see how much is in it.
#[command(rules)]
fn count_content(me: Entity) { me.content = count_held(me); }

/// Opens a chest: its player sees what is in it.
#[command(clients)]
fn open(me: Entity, chest: Entity) {
    require(chest.kind == "chest" && is_within(me, chest, REACH), "too far");
    me.looks_into = chest;
}

#[command(clients)]
fn close(me: Entity) { me.looks_into = none; }

/// Who walks away sees into it no more.
#[command(rules)]
fn look_away(me: Entity) {
    if exists(me.looks_into) && !is_within(me, me.looks_into, REACH) { me.looks_into = none; }
}

/// Takes a thing out of a chest. Of many who take it, one gets it.
#[command(clients, atomic)]
fn take(me: Entity, chest: Entity, it: Entity) {
    require(chest.kind == "chest" && is_within(me, chest, REACH), "too far");
    require(it.holder == chest, "it is gone");
    it.holder = me;
}

/// Puts all wood and all stones into a chest.
#[command(clients)]
fn store(me: Entity, chest: Entity) {
    require(chest.kind == "chest" && is_within(me, chest, REACH), "too far");
    for it in held_by(me, "wood") { it.holder = chest; }
    for it in held_by(me, "stone") { it.holder = chest; }
}

/// Packs what is in the hands into a bag.
#[command(clients)]
fn pack(me: Entity) {
    for bag in held_by(me, "bag") {
        for it in held_by(me) { if it != bag && it.kind != "bag" { it.holder = bag; } }
        return;
    }
}

/// Takes all out of a bag.
#[command(clients)]
fn unpack(me: Entity, bag: Entity) {
    require(bag.holder == me, "it is not yours");
    for it in held_by(bag) { it.holder = me; }
}

#[test]
fn of_two_who_grab_one_thing_one_has_it() {
    let chest = spawn("chest", point(50.0, 50.0));
    let wood = spawn(Wood { holder: chest });
    let ann = spawn("player", chest);
    let bob = spawn("player", chest);
    send(take(ann, chest, wood));
    send(take(bob, chest, wood));
    ticks(3);
    assert_eq(count_held(ann) + count_held(bob), 1);
    assert(wood.holder == ann || wood.holder == bob);
}

#[test]
fn who_walks_away_from_a_chest_looks_away() {
    let chest = spawn("chest", point(50.0, 50.0));
    let ann = spawn("player", chest);
    send(open(ann, chest));
    ticks(8);
    assert(ann.looks_into == chest);
    ann.position = point(60.0, 50.0);
    ticks(8);
    assert(ann.looks_into == none);
    send(open(ann, chest));
    ticks(1);
    assert(ann.looks_into == none);
}

#[test]
fn a_bag_is_packed() {
    let ann = spawn("player", point(50.0, 50.0));
    let bag = spawn(Bag { holder: ann });
    spawn(Wood { holder: ann });
    spawn(Stone { holder: ann });
    send(pack(ann));
    ticks(1);
    assert_eq(count_held(ann), 1);
    assert_eq(count_held(bag), 2);
    send(unpack(ann, bag));
    ticks(1);
    assert_eq(count_held(ann), 3);
}

#[test]
fn what_players_carry_goes_with_them() {
    let chest = spawn("chest", point(50.0, 50.0));
    let ann = spawn("player", chest);
    let bag = spawn(Bag { holder: ann });
    let wood = spawn(Wood { holder: bag });
    let axe = spawn(Axe { holder: ann });
    let stone = spawn(Stone { holder: chest });
    despawn(ann);
    ticks(1);
    assert(!exists(ann) && !exists(bag) && !exists(wood) && !exists(axe));
    assert(exists(stone));
}
