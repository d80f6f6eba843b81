//! Chests, which all who stand by them share.

#[range(0.0, 60.0)]
const REACH: Fixed = 4.0;
/// The most wood, and the most stones, with which a chest is filled.
#[range(0, 100)]
const STOCK: i32 = 6;

/// Fills a chest a little.
#[command(rules)]
fn stock(me: Entity) {
    if count_held(me, "wood") < STOCK { spawn(Wood { holder: me }); }
    if count_held(me, "stone") < STOCK { spawn(Stone { holder: me }); }
}

/// Clients see how much is in it.
#[command(rules)]
fn count_content(me: Entity) { me.content = count_held(me); }

/// And each what it has itself, in its hands and in its bags.
#[command(rules)]
fn count_own(me: Entity) {
    let mut wood = count_held(me, "wood");
    let mut stone = count_held(me, "stone");
    let mut axe = count_held(me, "axe");
    for bag in held_by(me, "bag") {
        wood += count_held(bag, "wood");
        stone += count_held(bag, "stone");
        axe += count_held(bag, "axe");
    }
    me.wood = wood;
    me.stone = stone;
    me.axe = axe;
}

/// Takes the n-th thing of a chest.
#[command(clients)]
fn grab(me: Entity, chest: Entity, n: i32) {
    let mut left = n;
    for it in held_by(chest) {
        if left == 0 {
            after(1, take(me, chest, it));
            return;
        }
        left -= 1;
    }
}

/// Of many who grab a thing, one gets it.
#[command(atomic)]
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

#[test]
fn of_two_who_grab_one_thing_one_has_it() {
    let chest = spawn("chest", point(50.0, 50.0));
    let wood = spawn(Wood { holder: chest });
    let ann = spawn("player", chest);
    let bob = spawn("player", chest);
    send(grab(ann, chest, 0));
    send(grab(bob, chest, 0));
    ticks(3);
    assert_eq(count_held(ann) + count_held(bob), 1);
    assert(wood.holder == ann || wood.holder == bob);
}

#[test]
fn a_bag_is_packed_and_counts() {
    let ann = spawn("player", point(50.0, 50.0));
    let bag = spawn(Bag { holder: ann });
    spawn(Wood { holder: ann });
    spawn(Stone { holder: ann });
    send(pack(ann));
    ticks(1);
    assert_eq(count_held(ann), 1);
    assert_eq(count_held(bag), 2);
    ticks(6);
    assert_eq(ann.wood, 1);
    assert_eq(ann.stone, 1);
}

#[test]
fn wood_of_those_who_leave_belongs_to_the_world_and_axes_end() {
    let ann = spawn("player", point(50.0, 50.0));
    let wood = spawn(Wood { holder: ann });
    let axe = spawn(Axe { holder: ann });
    despawn(ann);
    ticks(1);
    assert(!exists(ann));
    ticks(1);
    assert(exists(wood) && wood.holder == none);
    assert(!exists(axe));
}
