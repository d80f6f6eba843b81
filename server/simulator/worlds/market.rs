/// Takes something from the ground.
#[command(clients)]
fn gather(me: Entity) {
    for it in all("pouch") { if it.holder == none { after(1, claim(me, it)); return; } }
    for it in all("gem") { if it.holder == none { after(1, claim(me, it)); return; } }
}

#[command(atomic)]
fn claim(me: Entity, it: Entity) {
    require(it.holder == none);
    it.holder = me;
}

/// Gives one of the things that it has to another, or drops it, or packs it.
#[command(clients)]
fn hand(me: Entity, other: Entity, number: i32) {
    let mut left = number;
    for it in held_by(me) {
        if left == 0 { after(1, deal(me, other, it)); return; }
        left -= 1;
        if it.kind == "pouch" {
            for inner in held_by(it) {
                if left == 0 { after(1, deal(it, other, inner)); return; }
                left -= 1;
            }
        }
    }
}

#[command(atomic)]
fn deal(me: Entity, other: Entity, it: Entity) {
    require(it.holder == me);
    it.holder = other;
}

/// Packs one of the things that it has.
#[command(clients)]
fn pack(me: Entity, number: i32) {
    let mut left = number;
    for pouch in held_by(me, "pouch") {
        for it in held_by(me, "gem") {
            if left == 0 { after(1, deal(me, pouch, it)); return; }
            left -= 1;
        }
        return;
    }
}
