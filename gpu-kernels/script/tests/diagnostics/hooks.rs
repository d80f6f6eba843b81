//- no occasion
#[on]
fn bare(me: Entity) {}
#[on()]
fn empty(me: Entity) {}
#[on = "fall"]
fn value(me: Entity) {}
//- unknown names
#[on(fal)]
fn occasion(me: Entity) {}
#[on(death)]
fn far_from_any(me: Entity) {}
#[on(enter, "shrines")]
fn zone(me: Entity) {}
#[on(birth, kind = "playr")]
fn kind(me: Entity) {}
#[on(birth, whose = "player")]
fn option(me: Entity) {}
//- zones where they don't belong, and none where one does
#[on(enter)]
fn enter(me: Entity) {}
#[on(exit, kind = "player")]
fn exit(me: Entity) {}
#[on(fall, "shrine")]
fn fall(me: Entity) {}
#[on(reload, kind = "player")]
fn reload() {}
//- twice
#[on(enter, "shrine", "shrine")]
fn two_zones(me: Entity) {}
#[on(birth, kind = "player", kind = "item")]
fn two_kinds(me: Entity) {}
#[on(enter, "shrine")]
#[on(exit, "shrine")]
#[on(enter, "shrine")]
fn one_zone_twice(me: Entity) {}
#[on(birth, kind = "player")]
#[on(birth)]
fn one_kind_twice(me: Entity) {}
#[command(clients)]
#[on(fall)]
fn two_senders(me: Entity) {}
#[on(fall)]
#[command(clients)]
fn two_senders_again(me: Entity) {}
//- wrong parameters
#[on(join)]
fn join() {}
#[on(leave)]
fn leave(me: Entity, by: Entity) {}
#[on(birth)]
fn birth(me: Entity, n: i32) {}
#[on(fall)]
fn fall(me: Entity, damage: i32) {}
#[on(fall, kind = "player")]
fn victim(victim: Entity, by: Entity) {}
#[on(enter, "shrine")]
fn enter(me: Entity, carrier: Entity, n: i32) {}
#[on(reload)]
fn reload(me: Entity) {}
#[on(fall)]
#[on(birth)]
#[on(enter, "shrine")]
#[on(reload)]
fn several(me: Entity, by: Entity) {}
//- a result
#[on(fall)]
fn result(me: Entity) -> i32 { 1 }
//- hooks that are right
#[on(join)]
fn join(me: Entity) { me.gold += 1; }
#[on(leave, atomic)]
fn leave(me: Entity) { me.gold -= 1; }
#[on(birth, kind = "item")]
fn birth(me: Entity) { me.ripe = true; }
#[on(fall, kind = "player",)]
fn fall(me: Entity, by: Entity) { by.score += 1; }
#[on(enter, "shrine", kind = "player", atomic)]
fn enter(me: Entity) { me.hp += 1; }
#[on(exit, "shrine")]
fn exit(me: Entity, carrier: Entity) { carrier.score += me.gold; }
#[on(reload)]
fn reload() { spawn("item", point(1.0, 1.0)); }
#[on(birth, kind = "player")]
#[on(birth, kind = "item")]
#[on(join)]
#[on(enter, "shrine", atomic)]
fn several(me: Entity) { me.gold += 1; }
#[on(fall)]
#[on(exit, "shrine", kind = "player")]
fn with_another(me: Entity, other: Entity) { other.gold += 1; }
//- a hook that is called
#[on(birth)]
fn birth(me: Entity) { me.gold += 1; }
#[command(clients)]
fn again(me: Entity) {
    birth(me);
}
