//! Tests of these scripts: `myriad logic test hollow.toml`.

#[test]
fn of_two_who_want_a_herb_one_gets_it() {
    let herb = spawn("herb", point(50.0, 50.0));
    let ann = spawn("player", herb);
    let bob = spawn("player", herb);
    ann.herbs = 0;
    bob.herbs = 0;
    send(pick(ann, herb));
    send(pick(bob, herb));
    ticks(2);
    assert_eq(ann.herbs + bob.herbs, 1);
    assert(!herb.ripe);
    ticks(100);
    assert(herb.ripe);
}

#[test]
fn a_deal_neither_loses_nor_makes_gold() {
    let ann = spawn("player", point(50.0, 50.0));
    let bob = spawn("player", ann);
    ann.herbs = 3;
    bob.gold = 10;
    let gold = ann.gold + bob.gold;
    send(offer(ann, bob, 2, 7));
    ticks(1);
    send(accept(bob, ann, 7));
    ticks(2);
    assert_eq(bob.herbs, 3);
    assert_eq(bob.gold, 3);
    assert_eq(ann.gold + bob.gold, gold);
}

#[test]
fn a_blow_that_fells_wins_more() {
    let wolf = spawn("wolf", point(50.0, 50.0));
    let ann = spawn("player", wolf);
    wolf.hp = 1;
    send(strike(ann, wolf));
    ticks(1);
    // What falls lives until its hook has run.
    assert(exists(wolf));
    assert_eq(ann.score, 1);
    ticks(1);
    assert(!exists(wolf));
    assert_eq(ann.score, 11);
}
