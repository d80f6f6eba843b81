//! The vaults below the keep: a stair in the town leads each party to one of its own, where rats are. One
//! that all have left is closed.

/// How near to the stair, or to the landing below, a player has to be.
const STEPS: Fixed = 3.0;
/// For so many ticks others can follow the first of a party.
const FOLLOW: i32 = 100;
/// All of a vault.
const ALL: Fixed = 40.0;
/// Looks at a vault, one in 50 ticks, after which it is closed if nobody was there.
const LOOKS: i32 = 4;
/// A rat's step, and how far it smells.
const SCURRY: Fixed = 0.5;
const SMELL: Fixed = 8.0;

/// Has a vault that is free, for the next party.
#[command(rules)]
fn offer(me: Entity) {
    for landing in all("landing") {
        if !landing.open { me.next = landing; }
    }
}

/// Goes down: with a party that has just gone, or else to a vault of one's own.
#[command(clients, atomic)]
fn descend(me: Entity, stair: Entity) {
    require(stair.kind == "stair" && distance(me, stair) <= STEPS, "too far from the stair");
    if tick() >= stair.until {
        let free = stair.next;
        require(exists(free) && !free.open, "all vaults are taken");
        free.open = true;
        free.quiet = 0;
        stair.to = plane(free);
        stair.until = tick() + FOLLOW;
        spawn("rat", in_plane(plane(free), point(15.5, 3.5)));
        spawn("rat", in_plane(plane(free), point(20.5, 8.5)));
        spawn("rat", in_plane(plane(free), point(14.5, 12.5)));
    }
    me.position = in_plane(stair.to, point(2.5, 9.5));
}

/// Goes up again.
#[command(clients, atomic)]
fn ascend(me: Entity, landing: Entity) {
    require(landing.kind == "landing" && distance(me, landing) <= STEPS, "too far from the steps");
    me.position = in_plane(0, point(10.5, 11.5));
}

#[command(clients)]
fn slay(me: Entity, rat: Entity) {
    require(rat.kind == "rat" && distance(me, rat) <= STEPS);
    despawn(rat);
}

/// Closes a vault that is empty, with what is left in it.
#[command(rules)]
fn watch_vault(me: Entity) {
    if !me.open { return; }
    if count_near(me, ALL, "player") > 0 {
        me.quiet = 0;
    } else if me.quiet < LOOKS {
        me.quiet = me.quiet + 1;
    } else {
        me.open = false;
        for rat in near(me, ALL, "rat") { despawn(rat); }
    }
}

/// What a rat does.
#[command(rules)]
fn prowl(me: Entity) {
    let prey = nearest(me, SMELL, "player");
    if exists(prey) && distance(me, prey) < 1.0 {
        prey.hp -= 1;
    } else if exists(prey) {
        me.position += approach(me, prey, SCURRY, 15);
    } else {
        me.position += slide(me, random_offset(SCURRY));
    }
}

#[test]
fn each_party_has_a_vault_of_its_own_until_all_have_left() {
    let stair = spawn("stair", point(10.5, 12.5));
    let first = spawn("landing", in_plane(first_plane("vault"), point(2.5, 9.5)));
    let second = spawn("landing", in_plane(first_plane("vault") + 1, point(2.5, 9.5)));
    let ann = spawn("player", point(10.5, 11.5));
    let bob = spawn("player", point(11.5, 12.5));
    let cid = spawn("player", point(11.5, 11.5));
    send(offer(stair));
    ticks(1);
    send(descend(ann, stair));
    ticks(1);
    send(descend(bob, stair));
    ticks(1);
    // Bob has followed Ann; Cid comes too late for that.
    assert(plane(ann) > 0 && plane(ann) == plane(bob) && plane(cid) == 0);
    assert_eq(count("rat"), 3);
    send(offer(stair));
    ticks(FOLLOW);
    send(descend(cid, stair));
    ticks(2);
    assert(plane(cid) > 0 && plane(cid) != plane(ann));
    assert_eq(count("rat"), 6);
    assert_eq(count_near(cid, ALL, "player"), 1);
    let landing = if plane(cid) == plane(first) { first } else { second };
    send(ascend(cid, landing));
    ticks(1);
    assert(plane(cid) == 0 && landing.open);
    for _ in 0..LOOKS + 1 {
        send(watch_vault(landing));
        ticks(1);
    }
    ticks(2);
    assert(!landing.open);
    assert_eq(count("rat"), 3);
}
