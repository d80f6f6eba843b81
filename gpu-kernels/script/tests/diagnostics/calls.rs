//- of helper functions
fn twice(n: i32) -> i32 { n * 2 }
fn ping(n: i32) -> i32 { pong(n) }
fn pong(n: i32) -> i32 { ping(n) }
fn own() { own(); }
#[command(clients)]
fn test(me: Entity, n: i32) {
    me.gold += twice();
    me.gold += twice(1, 2);
    me.gold += twice(1.5);
    me.gold += twice(me);
    me.gold += (n)(3);
    me.gold += me.twice(3);
    me.gold += twice::<i32>(3);
}
//- of built-in functions
#[command(clients)]
fn test(me: Entity, n: i32) {
    require();
    require(1, 2);
    require(n > 0, "");
    require(n > 0, "a", "b");
    exists();
    let a = exists(n);
    let b = resolve(me);
    let c = is_within(me, me);
    let d = is_within(n, me, 3);
    let e = distance(me);
    let f = count_near(me);
    let g = count_near(me, 3.0, "wolf");
    let h = nearest(n, 3.0);
    let i = random(1);
    let j = random(true, false);
    let k = random(1, n, 3);
    let l = random_offset(n);
    let m = min(1, true);
    let o = min(n, 2.5);
    let p = min(1);
    let q = abs(me);
    let r = clamp(n, 1);
    let s = clamp(n, 1.5, 2.5);
    let t = clamp(true, 1, 2);
    let u = sqrt(true);
    let v = point(1.0);
    let w = point(1.0, 2.0, 3.0);
    let x = point(true, n);
    let y = inside(me);
    let z = tick(3);
    let aa = has(me);
    let ab = has(me.mana);
    let ac = has(n.hp);
    let ad = around(me, 3.0);
    let ae = towards(me, me);
    let af = n.max(3);
    let ag = me.position.length();
    let ah = sine(true);
    let ai = cosine(n);
    let aj = angle(me);
    let ak = turn(30.0, me.position);
    let al = sin(n);
    let am = atan2(1, 2);
    let an = cosin(30.0);
}
