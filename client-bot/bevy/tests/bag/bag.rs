//! A bag with an axe in it.

#[on(join)]
fn equip(me: Entity) { spawn(Bag { holder: me }); }

#[command(rules)]
fn fill(me: Entity) { if count_held(me) == 0 { spawn(Axe { holder: me }); } }

/// Takes the axe out of the bag, which ends.
#[command(clients)]
fn unpack(me: Entity) {
    for bag in held_by(me, "bag") {
        for it in held_by(bag) { it.holder = me; }
        despawn(bag);
    }
}
