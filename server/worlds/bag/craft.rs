//! Axes of two pieces of wood and a stone.

/// Looks for what an axe takes.
#[command(clients)]
fn craft(me: Entity) {
    let mut first = none;
    let mut second = none;
    for it in held_by(me, "wood") {
        if !exists(first) { first = it; } else { second = it; }
    }
    let mut stone = none;
    for it in held_by(me, "stone") { stone = it; }
    require(exists(second) && exists(stone), "an axe takes two pieces of wood and a stone");
    after(1, join(me, first, second, stone));
}

/// What is used up is dropped at once, so nothing is used twice.
#[command(atomic)]
fn join(me: Entity, first: Entity, second: Entity, stone: Entity) {
    require(first.holder == me && second.holder == me && stone.holder == me, "it is gone");
    first.holder = none;
    second.holder = none;
    stone.holder = none;
    despawn(first);
    despawn(second);
    despawn(stone);
    spawn(Axe { holder: me });
}

#[test]
fn two_pieces_of_wood_and_a_stone_are_an_axe() {
    let ann = spawn("player", point(50.0, 50.0));
    for _n in 0..2 { spawn(Wood { holder: ann }); }
    spawn(Stone { holder: ann });
    send(craft(ann));
    // It is given twice, and works once.
    send(craft(ann));
    ticks(3);
    assert_eq(count_held(ann), 1);
    assert_eq(count_held(ann, "axe"), 1);
}

#[test]
fn one_piece_of_wood_is_no_axe() {
    let ann = spawn("player", point(50.0, 50.0));
    spawn(Wood { holder: ann });
    spawn(Stone { holder: ann });
    send(craft(ann));
    ticks(3);
    assert_eq(count_held(ann), 2);
}
