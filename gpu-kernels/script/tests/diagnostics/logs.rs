//- what is logged only reads
#[command(clients)]
fn act(me: Entity) {
    log("drawn", random(1, 6));
}

//- nothing that can end the run
#[command(clients)]
fn act(me: Entity) {
    log("alive", alive(me));
}
fn alive(who: Entity) -> i32 {
    require(who.hp > 0);
    who.hp
}

//- a text first
#[command(clients)]
fn act(me: Entity) {
    log(me.hp);
}

//- no value
#[command(clients)]
fn act(me: Entity) {
    log("none", despawn(me));
}

//- what is computed, also by a helper function with branches
#[command(clients)]
fn act(me: Entity, n: i32) {
    log("{} is {}", n, size(n), me.target, "red" == me.team);
    me.hp += 1;
}
fn size(n: i32) -> i32 {
    if n > 10 { return 3; }
    match n { 0 => 0, _ => 1 }
}

//- a function for tests alone, with what tests can't have
#[test]
#[command(clients)]
fn both() {}
#[test]
fn takes(n: i32) {}
#[cfg(unix)]
fn other() {}
