//- spent twice by clients that name the same entity
#[command(clients)]
fn buy(me: Entity, stall: Entity, count: i32) {
    require(count > 0 && stall.gold >= count);
    stall.gold -= count;
    me.wood += count;
}

//- spent twice by two commands of one entity
#[command(clients)]
fn gamble(me: Entity, stake: i32) {
    require(me.gold >= stake);
    me.gold -= stake;
}
#[command(clients)]
fn gift(me: Entity, to: Entity) {
    if me.gold > 5 {
        me.gold -= 5;
        to.gold += 5;
    }
}

//- spent once, as only one command takes it, once a tick
#[command(clients)]
fn gamble(me: Entity, stake: i32) {
    require(me.gold >= stake);
    me.gold -= stake;
}

//- spent twice, as it is bounded by what is there
#[command(clients)]
fn steal(me: Entity, from: Entity, amount: i32) {
    let taken = clamp(amount, 0, from.gold);
    from.gold -= taken;
    me.gold += taken;
}

//- a mark that two commands find
#[command(clients)]
fn harvest(me: Entity, plant: Entity) {
    require(plant.ripe);
    plant.ripe = false;
    me.wood += 1;
}

//- a debit that no look guards
#[command(clients)]
fn strike(me: Entity, target: Entity) {
    target.hp -= 5;
    if target.hp < 5 {
        me.score += 1;
    }
}

//- read after write, in a helper function, and of another entity
#[command(clients)]
fn rest(me: Entity, other: Entity) {
    me.hp += 10;
    if me.hp > 50 {
        me.alert = false;
    }
    wake(other);
    if other.alert {
        other.score += 1;
    }
    me.score += other.hp;
}
fn wake(who: Entity) {
    who.alert = true;
    if who.hp == 0 { return; }
}

//- no read after write: another branch, another entity, an earlier read
#[command(clients)]
fn branch(me: Entity, n: i32) {
    if n > 0 {
        me.hp += n;
    } else {
        me.best.max(me.hp);
    }
    for other in near(me, 5.0) {
        if other.wood > 3 { continue; }
        other.wood += 1;
    }
    me.gold += me.gold / 10;
}

//- read after write through an attribute
#[command(clients)]
fn aid(me: Entity) {
    me.target.hp += 1;
    require(me.target.hp > 3);
    me.target.hp += 1;
}

//- a comparison that goes nowhere
#[command(clients)]
fn mark(me: Entity, n: i32) {
    if n > 3 {
        me.score == n
    } else {
        me.score += 1;
    }
    me.score += 1;
}

//- code after return
#[command(clients)]
fn stop(me: Entity, n: i32) {
    if n > 3 {
        return;
        me.score += 1;
    }
    for i in 0..n {
        if i > 3 { break; } else { continue; }
        me.score += i;
    }
}

//- unused names
const LEFT: i32 = 3;
const LOW: i32 = 0;
#[range(LOW, 100)]
const USED: i32 = 4;
fn idle(n: i32) -> i32 { n }
#[command(clients)]
fn act(me: Entity, n: i32, _m: i32) {
    let far = distance(me, none);
    let mut place = me.position;
    place.x += 1.0;
    let mut count = 0;
    count += USED;
    let _silent = 1;
    for round in 0..3 { me.score += 1; }
}

//- a command that nothing gives, and one that another schedules
#[command]
fn lost(me: Entity) { me.score += 1; }
#[command]
fn found(me: Entity) { me.score += 1; }
#[command(clients)]
fn begin(me: Entity) { after(1, found(me)); }

//- a loop beyond the budget
const ROUNDS: i32 = 100;
#[command(clients)]
fn spin(me: Entity) {
    for _ in 0..5000 { me.score += 1; }
    for a in 0..ROUNDS { for b in 0..=ROUNDS { me.score += a * b; } }
    for c in 0..5000 { if c > 3 { break; } me.score += c; }
}

//- a hidden value sent
#[command(clients)]
fn cry(me: Entity) {
    let speed = me.vx * 2.0;
    tell(Cry { speed, fast: me.vy > 3.0, y: abs(me.vy) }, around(me, 5.0));
}

//- a delay out of range
#[command]
fn later(me: Entity) { me.score += 1; }
#[command(clients)]
fn wait(me: Entity) {
    after(random(0, 10), later(me));
    after(random(1, 1000000), later(me));
}

//- silenced where it stands
#![allow(unused_constants)]
const SPARE: i32 = 1;
#[allow(double_spends)]
#[command(clients)]
fn buy(me: Entity, stall: Entity, count: i32) {
    require(stall.gold >= count);
    stall.gold -= count;
    #[allow(stale_reads)]
    if stall.gold > 3 {
        me.wood += count;
    }
    #[allow(stale_reads, unused_variables)]
    let left = stall.gold - count;
    me.score += stall.gold;
}
