//- that scripts lack
#[command(clients)]
fn test(me: Entity, n: i32) {
    loop {}
    while let 1 = n {}
    'b: while n > 1 {}
    'a: for i in 0..3 {}
    'a: {}
    for i in 0..3 { break 'a; }
    println!("{n}");
    let s = format!("{n}");
    fn inner() {}
    const A: i32 = 1;
    let a = |x| x;
    let b = [1, 2];
    let c = (1, 2);
    let d = b[0];
    let e = async {};
    let f = n?;
    let Some(g) = n else { return };
    let h: i32;
    let (i, j) = n;
    let ref k = n;
    if let 1 = n {}
    if n > 1 && let 2 = n {}
    let l = 0..3;
    let m = unsafe { n };
    let o = Hug { a: 1 };
    let _ = n;
}
//- loops
#[command(clients)]
fn test(me: Entity, n: i32) {
    for i in n {}
    for i in 0.. {}
    for i in ..3 {}
    for i in 0.5..3.0 {}
    for (i, j) in 0..3 {}
    for e in near(me) {}
    for e in near(n, 1.0) {}
    for e in near(me, 3, "itme") {}
    for e in near(me, 3, "item", n) {}
    let e = near(me, 1.0);
    break;
    continue;
    for a in near(me, 1.0) {
        for b in near(a, 1.0) {
            for c in near(b, 1.0) {
                for d in near(c, 1.0) {
                    d.gold += count_near(d, 1.0);
                }
            }
        }
    }
}
//- assignments
const LIMIT: i32 = 5;
#[command(clients)]
fn test(me: Entity, n: i32) {
    let a = 1;
    a = 2;
    a += 2;
    n = 3;
    LIMIT = 3;
    3 = n;
    n + 1 = n;
    twice(n) = 3;
    let p = me.position;
    p.x = 1.0;
    let mut q = me.position;
    q.z = 1.0;
    q.x += n;
    q += 1.0;
    let mut b = true;
    b += true;
    me.position.x = 1.0;
    me = none;
    me.0 = 1;
    for i in 0..3 { i += 1; }
}
fn twice(n: i32) -> i32 { n * 2 }
