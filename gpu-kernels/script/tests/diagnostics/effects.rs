//- updates
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    me.hp = 3;
    me.hp *= 3;
    me.hp.min(3);
    me.speed += 1;
    me.speed.max(1.0);
    me.target += other;
    me.alert = 3;
    me.alert += true;
    me.best = 3;
    me.best += 3;
    me.best.min(3);
    me.best.max(3, 4);
    me.least = 3;
    me.team += 1;
    me.position = point(1.0, 1.0);
    me.position += 3.0;
    me.position -= other.position;
    me.kind = "item";
    n.hp -= 1;
    me.position.hp -= 1;
}
//- commands that are scheduled
#[command]
fn long(me: Entity, a: Point, b: Point, c: i32) {}
#[command]
fn later(me: Entity, n: i32) {}
#[command(clients)]
fn test(me: Entity, n: i32) {
    after(1);
    after(1.5, later(me, 3));
    after(1, 3);
    after(1, later);
    after(1, later(me));
    after(1, later(me, me));
    after(1, (n)(me));
    after(1, latr(me, 3));
    after(1, min(1, 2));
    after(0, later(me, 3));
    after(-3, later(me, 3));
    after(500 * 10000, later(me, 3));
    spawn("wolf", me);
    spawn(item, me);
    spawn("item");
    spawn("item", 3);
    despawn();
    despawn(3);
    let a = after(1, later(me, 3));
}
//- values of newborns
#[command(clients)]
fn test(me: Entity, n: i32) {
    spawn(Itme { ripe: true }, me);
    spawn(Wolf {}, me);
    spawn(item { ripe: true }, me);
    spawn(items::Item { ripe: true }, me);
    spawn(Item { rip: true }, me);
    spawn(Item { hp: 3 }, me);
    spawn(Item { ripe: 3 }, me);
    spawn(Item { owner: n }, me);
    spawn(Item { ripe: true, ripe: false }, me);
    spawn(Item { ripe: true, ..n }, me);
    spawn(Item { position: me.position }, me);
    spawn(Item { x: 3.0 }, me);
    spawn(Item { kind: "player" }, me);
    spawn(Item { 0: true }, me);
    spawn(Item { ripe }, me);
    spawn(Item { ripe: true });
    spawn(Item, me);
    spawn(Player { team: "green" }, me);
    spawn(Player { hp: 1.5 }, me);
    spawn(Player { hp: 1, gold: 1, best: 1, least: 1, shield: 1, wood: 1, score: 1, speed: 1, alert: true }, me);
    let a = Item { ripe: true };
}
//- notifications
struct Hug { by: Entity, times: i32 }
#[command(clients)]
fn test(me: Entity, n: i32) {
    tell(3);
    tell("hug");
    tell(Hug { by: me });
    tell(Hug { by: me, times: 1, more: 2 });
    tell(Hug { by: 3, times: 1 });
    tell(Hug { by: me, times: 1.5 });
    tell(Hug { by: me, ..n });
    tell(hug::Hug { by: me });
    tell(Kiss { n: 1 });
    tell(Kiss { n: 1.5 });
    tell(Kiss { m: 1 });
    tell(Kiss { n: 1, n: 1 });
    tell(Pair { 0: 1 });
    tell(Long { a: me.position, b: me.position, c: me.position, d: me.position, e: 1 });
    tell(Empty { a: tell(Kiss { n: 1 }) });
    tell(Fall { n: 1 });
    tell(Hug { by: me, times: 1 }, me);
    tell(Hug { by: me, times: 1 }, near(me, 3.0));
    tell(Hug { by: me, times: 1 }, around(me));
    tell(Hug { by: me, times: 1 }, around(n, 3.0));
    tell(Hug { by: me, times: 1 }, around(me, n));
    let a = Hug { by: me, times: 1 };
}

//- timers
#[command(clients)]
fn light(me: Entity, other: Entity) {
    me.hp = after(5, later(me));
    me.speed = after(5, later(me));
    me.score = after(5, later(me));
    cancel(me.score);
    cancel(me.team);
    cancel(5);
    cancel(me);
}

#[command]
fn later(me: Entity) {}

//- timers of others
#[command(clients, atomic)]
fn light(me: Entity, other: Entity) {
    me.score = after(5, later(other));
    me.gold = after(5, anyone());
    me.wood = after(5, many(me, 1, 2, 3, 4, 5));
    cancel(me.hp);
}

#[command]
fn later(me: Entity) {}

#[command]
fn anyone() {}

#[command]
fn many(me: Entity, a: i32, b: i32, c: i32, d: i32, e: i32) {}

//- arguments that wait
#[command(clients)]
fn sent(me: Entity, a: i32, b: i32, c: i32, d: i32, e: i32, f: i32) { after(1, sent(me, a, b, c, d, e, f)); }

#[command(clients, atomic)]
fn waits(me: Entity, a: i32, b: i32, c: i32, d: i32, e: i32, f: i32) {}

#[command]
fn later(me: Entity, a: i32, b: i32, c: i32, d: i32, e: i32, f: i32) {}

//- newborns
#[command(clients)]
fn drop(me: Entity, n: i32, at: Point) {
    let wolf = spawn("item", me);
    after(1, chase(wolf, me));
    wolf.hp += 1;
    me.target = wolf;
    tell(Hug { by: wolf, times: 1 });
    let same = wolf;
    if wolf == me { return; }
    despawn(wolf);
    let mut other = spawn("item", me);
    let third = spawn("item", wolf);
    let fourth: i32 = spawn("item", me);
    let fifth = spawn("item", at);
    after(1, chase(wolf, fifth));
    after(1, feed(me, wolf, 1, at, 2));
    after(1, feed(wolf, me, n, at, 2));
    after(1, number(me, wolf));
    wolf = me;
}

#[command]
fn chase(me: Entity, prey: Entity) {}

#[command]
fn feed(me: Entity, by: Entity, n: i32, at: Point, m: i32) {}

#[command]
fn number(me: Entity, n: i32) {}

//- timers and newborns
#[command(clients, atomic)]
fn drop(me: Entity) {
    let wolf = spawn("item", me);
    me.score = after(5, chase(me, wolf));
}

#[command]
fn chase(me: Entity, prey: Entity) {}
