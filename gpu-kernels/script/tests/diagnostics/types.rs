//- that differ
fn whole() -> i32 { 1 }
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32, x: Fixed) {
    me.hp += x;
    me.hp += 2.5;
    me.speed = n;
    me.speed = whole();
    me.alert = 1;
    me.team = 1;
    me.target = 3;
    me.team = "green";
    me.alert = "red";
    let a: Fixed = n;
    let b: bool = n;
    let c: i32 = "red";
    me.position += other;
    require(n);
    if n { me.gold += 1; }
    let d = n + true;
    let e = n + x;
    let f = me == 3;
    let g = !x;
    let h = -true;
    let i = true && n;
    let j = me < other;
    let k = true + false;
    let l = x & 1.0;
    let m = me.position * me.position;
    let o = me.position + 1.0;
    let p = "red" == "blue";
    let q = *me;
    let r = &me;
    let s = n as bool;
    let t = me as i32;
    let u = n as u8;
}
//- of numbers that don't fit
#[command(clients)]
fn test(me: Entity) {
    me.gold += 2147483648;
    me.gold += 99999999999999999999;
    me.gold += -2147483649;
    me.gold += 0xFFFFFFFF;
    me.speed = 600000;
    me.speed = 1e9;
    me.gold += 1u8;
    me.speed = 1.5f32;
    me.gold += 'a';
    me.gold += b"a";
}
//- of blocks
fn missing() -> i32 { 1; }
fn empty() -> i32 {}
fn early(n: i32) -> i32 { if n > 1 { return 1.5; } 2 }
fn bare(n: i32) -> i32 { if n > 1 { return; } 2 }
fn unit(n: i32) { if n > 1 { return 1; } }
fn branches(n: i32) -> i32 { if n > 1 { 1 } else { true } }
fn one(n: i32) -> i32 { if n > 1 { 1 } }
fn arms(n: i32) -> i32 { match n { 1 => 1, _ => 2.5 } }
fn nothing(n: i32) { let a = if n > 1 { 1 }; }
fn nothing_too(n: i32) { let a = unit(n); }
//- of what is matched
const LIMIT: i32 = 5;
#[command(clients)]
fn test(me: Entity, n: i32, x: Fixed) {
    match me { _ => {} }
    match x { _ => {} }
    match n { 1 => {} }
    match n { "a" => {} _ => {} }
    match n { 1..=5 => {} _ => {} }
    match n { LIMITS => {} _ => {} }
    match n { 1.5 => {} _ => {} }
    match me.team { "green" => {} _ => {} }
    match me.alert { true => {} }
    match n { LIMIT if n => {} _ => {} }
}
