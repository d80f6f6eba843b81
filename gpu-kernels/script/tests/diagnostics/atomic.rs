//- an unknown word of a command
#[command(clients, alone)]
fn test(me: Entity) {}
//- looking around
#[command(clients, atomic)]
fn test(me: Entity, other: Entity) {
    for near in near(me, 5.0) {
        near.gold += 1;
    }
    me.gold += count_near(other, 5.0);
    nearest(me, 5.0).gold += 1;
}
//- changes that no atomic command makes
#[command(clients, atomic)]
fn test(me: Entity, other: Entity) {
    me.gold *= 2;
    me.alert += true;
    me.target += other;
    me.team += "red";
    me.target.min(other);
    me.position.min(1.0);
    me.gold = 1.5;
    me.kind = "item";
}
//- changes that an atomic command makes
#[command(clients, atomic)]
fn test(me: Entity, other: Entity, n: i32) {
    me.gold = 3;
    me.gold += n;
    me.best -= n;
    me.hp.min(3);
    me.least.max(3);
    me.speed += 1;
    me.target = other;
    me.team = "red";
    me.position = other.position;
    me.position -= point(1.0, 1.0);
    require_fits(me.gold -= n);
}
//- a value that is to fit
#[command(clients)]
fn ordinary(me: Entity) {
    require_fits(me.gold += 1);
}
#[command(clients, atomic)]
fn test(me: Entity, n: i32) {
    let mut sum = n;
    require_fits(me.gold);
    require_fits(sum += 1);
    require_fits(me.gold, 1);
}
//- a chain that a loop follows
#[command(clients, atomic)]
fn test(me: Entity) {
    let mut last = me;
    for i in 0..3 {
        last = last.target;
    }
    last.gold += 1;
}
//- a chain that is too long
fn fourth(of: Entity) -> Entity { of.target.target.target.target }
#[command(clients, atomic)]
fn test(me: Entity) {
    fourth(fourth(me)).gold += 1;
}
//- an entity that is computed
#[command(clients, atomic)]
fn test(me: Entity, n: i32) {
    resolve(n + 1).gold += 1;
}
//- a helper for atomic commands
fn pay(from: Entity, to: Entity, n: i32) {
    require(from.gold >= n);
    from.gold -= n;
    to.best += n;
}
#[command(clients, atomic)]
fn test(me: Entity, to: Entity) {
    pay(me, to, 3);
}
//- a helper for atomic commands in an ordinary one
fn pay(from: Entity, to: Entity, n: i32) {
    from.gold -= n;
    to.best += n;
}
#[command(clients)]
fn test(me: Entity, to: Entity) {
    pay(me, to, 3);
}
