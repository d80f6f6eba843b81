//- and
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(me.hp > 1 and other.hp > 1);
}
//- or
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    if me.hp > 1 or me.gold > 2 { me.gold += 1; }
}
//- not
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(not me.alert);
}
//- not, called
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(not(me.alert));
}
//- and not
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(me.hp > 1 and not me.alert);
}
//- elif
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    if n > 1 { me.gold += 1; }
    elif n > 0 { me.gold += 2; }
}
//- else if without a blank
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    if n > 1 { me.gold += 1; } elseif (n > 0) { me.gold += 2; }
}
//- a choice
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let a = n > 1 ? 2 : 3;
}
//- a choice in a call
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    me.gold += max(n > 1 ? 2 : 3, 4);
}
//- increment
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let mut a = n;
    a++;
}
//- increment before
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let mut a = n;
    ++a;
}
//- decrement
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let mut a = n;
    a--;
}
//- decrement before
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let mut a = n;
    --a;
}
//- increment of an attribute
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    me.gold++;
}
//- three equal signs
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(n === 1);
}
//- not equal, thrice
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(n !== 1);
}
//- unequal
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(n <> 1);
}
//- unequal in Lua
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(n ~= 1);
}
//- a walrus
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    a := 5;
}
//- less or equal
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(n =< 1);
}
//- plus after equals
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    me.gold =+ 1;
}
//- a power
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let a = n ** 2;
}
//- an arrow
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    me->gold += 1;
}
//- two colons
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    me::gold += 1;
}
//- a comparison as a change
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    me.gold == 5;
}
//- a comparison as the last change
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    me.gold == 5
}
//- a comparison in a branch
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    if n > 1 { me.gold == 5 }
}
//- let with a comparison
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let a == 5;
}
//- let of a change
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let mut a = 1;
    let a += 1;
}
//- let of an attribute
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let me.gold = 5;
}
//- let mut of an attribute
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let mut me.gold = 5;
}
//- mut without let
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    mut a = 5;
}
//- mut after the name
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let a mut = 5;
}
//- a variable that isn't mut
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let a = 1;
    a += 1;
}
//- a change as a condition
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    if n = 1 { me.gold += 1; }
}
//- a change as a requirement
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(n = 1);
}
//- a value that nobody uses
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    n + 1;
    me.hp;
    3;
}
//- var
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    var a = 5;
}
//- int
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    int a = 5;
}
//- a type before a variable
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let int a = 5;
}
//- a loop in C
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    for (int i = 0; i < 3; i++) { me.gold += i; }
}
//- foreach
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    foreach it in near(me, 3.0) { it.gold += 1; }
}
//- range
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    for i in range(0, 3) { me.gold += i; }
}
//- switch
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    switch (n) { case 1: me.gold += 1; }
}
//- then
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    if n > 1 then me.gold += 1; end
}
//- a colon
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    if n > 1:
        me.gold += 1;
}
//- unless
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    unless n > 1 { me.gold += 1; }
}
//- null
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(me.target != null);
}
//- None
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(me.target != None);
}
//- True
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    me.alert = True;
}
//- self
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    self.gold += 1;
}
//- a comment
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    # gold
    me.gold += 1;
}
//- a tilde
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(~me.alert);
}
//- print
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    print(n);
}
//- a cast as a call
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let a: i32 = int(me.speed);
}
//- sleep
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    sleep(3);
}
//- an attribute alone
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    gold += 1;
}
//- is
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    require(me.target is none);
}
//- mod
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let a = n mod 2;
}
//- foreign types
#[command(clients)]
fn test(me: Entity, other: Entity, n: i32) {
    let a: int = 1;
    let b: f32 = 1.0;
    let c: string = "red";
    let d: Vec2 = me.position;
}
//- function
function test(me: Entity) { me.gold += 1; }
//- def
def test(me):
    me.gold += 1
//- a constant without a type
const REACH = 3.0;
//- types before names
fn test(Entity me, int n) {}
//- import
import gold;
fn test(me: Entity) {}
