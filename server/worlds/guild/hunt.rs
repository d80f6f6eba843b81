//! Wolves, and what a party learns of them together.

#[range(1.0, 40.0)]
const REACH: Fixed = 6.0;
#[range(1, 1000)]
const LESSON: i32 = 60;

/// Strikes the nearest wolf, which bites.
#[command(clients)]
fn strike(me: Entity) {
    let wolf = nearest(me, REACH, "wolf");
    require(exists(wolf), "there is no wolf here");
    wolf.bites -= 10;
    me.hp -= 1;
}

/// All of the party learn of it, wherever they are, and the guild of who struck last is known for it.
#[on(fall, kind = "wolf")]
fn learn(me: Entity, by: Entity) {
    let n = count_members(by.party, "party");
    if n == 0 { by.xp += LESSON; }
    for other in members(by.party, "party") { other.xp += LESSON / n; }
    by.guild.score += 1;
}

/// For the maps of the party.
#[command(rules)]
fn note_place(me: Entity) {
    if !exists(me.party) { return; }
    me.map_x = me.position.x;
    me.map_y = me.position.y;
}

#[test]
fn a_party_learns_together_wherever_its_members_are() {
    let party = spawn(Party { size: 2 });
    let wolf = spawn("wolf", point(50.0, 50.0));
    let ann = spawn("player", point(50.0, 50.0));
    let bob = spawn("player", point(350.0, 350.0));
    let cid = spawn("player", point(50.0, 50.0));
    ann.party = party;
    bob.party = party;
    for _n in 0..3 {
        send(strike(ann));
        ticks(1);
    }
    ticks(2);
    assert(!exists(wolf));
    assert_eq(ann.xp, LESSON / 2);
    assert_eq(bob.xp, LESSON / 2);
    assert_eq(cid.xp, 0);
}
